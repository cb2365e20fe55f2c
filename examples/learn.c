/* learn.c — an encoder layer and a decoder layer learn to write words backwards, in ten seconds.
 *
 * The whole of learning in one file: batches, forward, loss, backward, AdamW, then greedy decoding of
 * words it has never seen, and a look at which letter of the input each head of the cross-attention
 * read for each letter that was written.
 *
 *   cc learn.c $(pkg-config --cflags --libs hecate) -lm -o learn && ./learn [SECONDS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hecate/hecate.h>

enum {
	LETTERS = 26,
	BEGIN = LETTERS, /* what the decoder is given first */
	END,             /* what it says last */
	VOCAB,
	C = 64, /* width */
	HEADS = 4,
	BATCH = 16,
	SHORTEST = 3,
	LONGEST = 8,
	S = LONGEST,     /* of the encoder */
	T = LONGEST + 1, /* of the decoder: one more for BEGIN or END */
	PARAMS = 64,     /* at most */
	WARM_UP = 100    /* steps */
};

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) != HEC_OK) {                                                            \
			fprintf(stderr, "learn: %s\n", hec_error_message());                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* ---- the model: parameters, or their gradients, or one of AdamW's two averages ---- */

typedef struct model {
	hec_embedding embedding;
	hec_encoder_layer encoder;
	hec_decoder_layer decoder;
	hec_linear out;
	hec_tensor *param[PARAMS]; /* all of the above, as a list */
	int params;
} model;

static hec_status add_to_list(void *user, const hec_param *p)
{
	model *m = user;
	m->param[m->params++] = p->tensor;
	return HEC_OK;
}

static hec_status for_each_param(model *m, hec_param_fn *fn, void *user)
{
	hec_param embedding = {.name = "embedding",
	                       .tensor = &m->embedding.table,
	                       .rank = 2,
	                       .shape = {VOCAB, C},
	                       .init = HEC_INIT_NORMAL};
	hec_param w = {.name = "out.w",
	               .tensor = &m->out.w,
	               .linear = &m->out,
	               .rank = 2,
	               .shape = {VOCAB, C},
	               .init = HEC_INIT_XAVIER};
	hec_param b = {.name = "out.b", .tensor = &m->out.b, .rank = 1, .shape = {VOCAB}};
	hec_status status = fn(user, &embedding);
	if (status == HEC_OK)
		status = hec_encoder_layer_params(&m->encoder, "encoder", fn, user);
	if (status == HEC_OK)
		status = hec_decoder_layer_params(&m->decoder, "decoder", fn, user);
	if (status == HEC_OK)
		status = fn(user, &w);
	return status == HEC_OK ? fn(user, &b) : status;
}

static void make_model(hec_param_alloc *alloc, model *m)
{
	hec_multi_head_config heads = {.size = sizeof heads, .width = C, .heads = HEADS};
	hec_feed_forward_config feed_forward = {
		.size = sizeof feed_forward, .width = C, .hidden = 4 * C, .act = HEC_ACT_GELU};
	hec_encoder_layer_config encoder = {.size = sizeof encoder,
	                                    .attention = heads,
	                                    .feed_forward = feed_forward,
	                                    .norm_first = true};
	hec_decoder_layer_config decoder = {.size = sizeof decoder,
	                                    .self = heads,
	                                    .cross = heads,
	                                    .feed_forward = feed_forward,
	                                    .norm_first = true,
	                                    .site = HEC_ENCODER_LAYER_SITES};
	*m = (model){.embedding = {.scale = sqrt(C), .padding_id = -1}};
	MUST(hec_encoder_layer_setup(&encoder, &m->encoder));
	MUST(hec_decoder_layer_setup(&decoder, &m->decoder));
	MUST(for_each_param(m, hec_param_allocate, alloc));
	MUST(for_each_param(m, add_to_list, m));
}

/* ---- words: drawn by counter, so that a seed gives the same words everywhere ---- */

typedef struct batch {
	int32_t source[BATCH * S], input[BATCH * T], target[BATCH * T];
	int32_t source_length[BATCH], target_length[BATCH];
} batch;

/* One word in sixteen, by its letters alone, is kept for the test: learning never sees it. */
static bool is_for_test(const int32_t *word, int32_t n)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	for (int32_t j = 0; j < n; j++)
		hash = (hash ^ (uint32_t)word[j]) * 16777619u;
	return (hash ^ hash >> 16) % 16 == 0;
}

/* Draws words until one belongs to the test, or to learning; returns its length. */
static int32_t draw_word(uint32_t seed, uint32_t step, uint32_t i, bool test, int32_t word[S])
{
	for (uint32_t draw = 1;; draw++) {
		uint32_t random[4], key[2] = {seed, 0};
		hec_philox((uint32_t[4]){0, i, step, draw}, key, random);
		int32_t n = SHORTEST + (int32_t)(random[0] % (LONGEST - SHORTEST + 1));
		for (int32_t j = 0; j < n; j++) {
			hec_philox((uint32_t[4]){(uint32_t)j + 1, i, step, draw}, key, random);
			word[j] = (int32_t)(random[0] % LETTERS);
		}
		if (is_for_test(word, n) == test)
			return n;
	}
}

static void make_batch(uint32_t seed, uint32_t step, bool test, batch *b)
{
	memset(b, 0, sizeof *b);
	for (uint32_t i = 0; i < BATCH; i++) {
		int32_t word[S], n = draw_word(seed, step, i, test, word);
		b->source_length[i] = n;
		b->target_length[i] = n + 1;
		int32_t *source = &b->source[i * S], *input = &b->input[i * T];
		int32_t *target = &b->target[i * T];
		memcpy(source, word, (size_t)n * sizeof *word);
		input[0] = BEGIN;
		for (int32_t j = 0; j < T; j++)
			target[j] = j < n ? source[n - 1 - j] : j == n ? END : -100;
		for (int32_t j = 0; j < n; j++)
			input[j + 1] = target[j];
	}
}

/* ---- one pass over a batch of B words, `queries` letters of which are written so far ---- */

typedef struct pass {
	hec_tensor source_ids, input_ids; /* [B·S], [B·queries] */
	hec_tensor x, memory;             /* encoder: in, out [B, S, C] */
	hec_tensor z, h;                  /* decoder: in, out [B, queries, C] */
	hec_tensor logits;                /* [B·queries, VOCAB] */
	hec_mask source_mask, self_mask, cross_mask;
	hec_encoder_layer_kept *encoder;
	hec_decoder_layer_kept *decoder;
} pass;

static hec_tensor rows(const hec_tensor *x)
{
	return hec_tensor_2d(x->data, x->dtype, x->shape[0] * x->shape[1], x->shape[2]);
}

/* cross_weights: [B, HEADS, queries, S] or NULL. keep: for backward. */
static void forward(hec_ctx *ctx, hec_arena *arena, const model *m, const hec_tensor *positions,
                    batch *b, int64_t B, int64_t queries, bool keep, hec_tensor *cross_weights,
                    pass *p)
{
	*p = (pass){.source_ids = hec_tensor_1d(b->source, HEC_I32, B * S),
	            .input_ids = hec_tensor_1d(b->input, HEC_I32, B * queries),
	            .source_mask = HEC_MASK_INIT,
	            .self_mask = HEC_MASK_INIT,
	            .cross_mask = HEC_MASK_INIT};
	p->source_mask.key_length = p->source_mask.query_length = b->source_length;
	p->cross_mask.key_length = b->source_length;
	p->self_mask.causal = true;

	const int64_t source[3] = {B, S, C}, target[3] = {B, queries, C};
	const int64_t logits[2] = {B * queries, VOCAB};
	MUST(hec_arena_tensor(arena, HEC_F32, 3, source, &p->x));
	MUST(hec_arena_tensor(arena, HEC_F32, 3, source, &p->memory));
	MUST(hec_arena_tensor(arena, HEC_F32, 3, target, &p->z));
	MUST(hec_arena_tensor(arena, HEC_F32, 3, target, &p->h));
	MUST(hec_arena_tensor(arena, HEC_F32, 2, logits, &p->logits));
	hec_tensor x = rows(&p->x), z = rows(&p->z), h = rows(&p->h);

	MUST(hec_embedding_fwd(ctx, &m->embedding, &p->source_ids, &x));
	MUST(hec_position_add_fwd(ctx, positions, 0, &p->x, &p->x));
	MUST(hec_encoder_layer_fwd(ctx, arena, &m->encoder, &p->x, &p->source_mask, NULL,
	                           &p->memory, NULL, keep ? &p->encoder : NULL));
	MUST(hec_embedding_fwd(ctx, &m->embedding, &p->input_ids, &z));
	MUST(hec_position_add_fwd(ctx, positions, 0, &p->z, &p->z));
	MUST(hec_decoder_layer_fwd(ctx, arena, &m->decoder, &p->z, &p->memory, &p->self_mask,
	                           &p->cross_mask, NULL, &p->h, NULL, cross_weights,
	                           keep ? &p->decoder : NULL));
	MUST(hec_linear_fwd(ctx, &m->out, HEC_ACT_NONE, &h, NULL, &p->logits, NULL));
}

static void backward(hec_ctx *ctx, hec_arena *arena, const model *m, const pass *p,
                     const hec_tensor *dlogits, model *grad)
{
	hec_tensor dx, dmemory, dz, dh;
	hec_tensor *const made[] = {&dx, &dmemory, &dz, &dh};
	const hec_tensor *const as[] = {&p->x, &p->memory, &p->z, &p->h};
	for (int i = 0; i < 4; i++) {
		MUST(hec_arena_tensor(arena, HEC_F32, 3, as[i]->shape, made[i]));
		MUST(hec_tensor_fill(ctx, 0, made[i]));
	}
	hec_tensor h = rows(&p->h), dh_rows = rows(&dh), dz_rows = rows(&dz), dx_rows = rows(&dx);
	MUST(hec_linear_bwd(ctx, &m->out, dlogits, &h, &dh_rows, &grad->out));
	MUST(hec_decoder_layer_bwd(ctx, arena, &m->decoder, &dh, &p->z, &p->memory, &p->self_mask,
	                           &p->cross_mask, NULL, p->decoder, &dz, &dmemory, NULL, NULL,
	                           &grad->decoder));
	MUST(hec_embedding_bwd(ctx, &m->embedding, &dz_rows, &p->input_ids,
	                       &grad->embedding.table));
	MUST(hec_encoder_layer_bwd(ctx, arena, &m->encoder, &dmemory, &p->x, &p->source_mask, NULL,
	                           p->encoder, &dx, NULL, &grad->encoder));
	MUST(hec_embedding_bwd(ctx, &m->embedding, &dx_rows, &p->source_ids,
	                       &grad->embedding.table));
}

/* One step of learning; returns the mean loss of a letter. */
static double learn(hec_ctx *ctx, hec_arena *arena, const hec_tensor *positions, batch *b,
                    int64_t step, model *m, model *grad, model *first, model *second)
{
	hec_arena_rewind(arena, 0);
	pass p;
	forward(ctx, arena, m, positions, b, BATCH, T, true, NULL, &p);

	hec_cross_entropy loss = HEC_CROSS_ENTROPY_INIT;
	hec_tensor targets = hec_tensor_1d(b->target, HEC_I32, BATCH * T), losses, lse;
	const int64_t n = BATCH * T;
	double sum;
	int64_t count;
	MUST(hec_arena_tensor(arena, HEC_F32, 1, &n, &losses));
	MUST(hec_arena_tensor(arena, HEC_F32, 1, &n, &lse));
	MUST(hec_cross_entropy_fwd(ctx, &loss, &p.logits, &targets, &losses, &lse));
	MUST(hec_cross_entropy_sum(ctx, &loss, &losses, &targets, &sum, &count));
	MUST(hec_cross_entropy_bwd(ctx, &loss, &p.logits, &targets, &lse, 1.0 / (double)count,
	                           &p.logits)); /* the logits become their gradient */

	for (int i = 0; i < grad->params; i++)
		MUST(hec_tensor_fill(ctx, 0, grad->param[i]));
	backward(ctx, arena, m, &p, &p.logits, grad);

	double square = 0;
	for (int i = 0; i < grad->params; i++)
		MUST(hec_sum_squares(ctx, grad->param[i], &square));
	hec_adamw adamw = HEC_ADAMW_INIT;
	adamw.lr = 4e-3 * fmin((double)step / WARM_UP, sqrt(WARM_UP / (double)step));
	adamw.grad_scale = fmin(1, 1 / sqrt(square)); /* gradients longer than 1 are cut to 1 */
	for (int i = 0; i < m->params; i++)
		MUST(hec_adamw_step(ctx, &adamw, step, grad->param[i], first->param[i],
		                    second->param[i], m->param[i]));
	return sum / (double)count;
}

/* ---- writing: the most likely letter, again and again ---- */

static int32_t best_of(const float *logits)
{
	int32_t best = 0;
	for (int32_t v = 1; v < VOCAB; v++) {
		if (logits[v] > logits[best])
			best = v;
	}
	return best;
}

/* Writes the answer to word i of a batch into `written`; returns how many letters before END.
 * weights: [HEADS, T, S] of the last pass. */
static int write_word(hec_ctx *ctx, hec_arena *arena, const model *m, const hec_tensor *positions,
                      const batch *b, int i, int32_t written[T], float *weights)
{
	batch one = {.source_length = {b->source_length[i]}};
	memcpy(one.source, &b->source[i * S], S * sizeof *one.source);
	one.input[0] = BEGIN;
	for (int t = 0; t < T; t++) {
		hec_arena_rewind(arena, 0);
		hec_tensor w = hec_tensor_4d(weights, HEC_F32, 1, HEADS, t + 1, S);
		w.stride[1] = T * S;
		pass p;
		forward(ctx, arena, m, positions, &one, 1, t + 1, false, &w, &p);
		written[t] = best_of((const float *)p.logits.data + t * VOCAB);
		if (written[t] == END || t == T - 1)
			return t;
		one.input[t + 1] = written[t];
	}
	return T;
}

static void word_text(const int32_t *ids, int n, char *text)
{
	for (int i = 0; i < n; i++)
		text[i] = ids[i] < LETTERS ? (char)('a' + ids[i]) : '?';
	text[n] = 0;
}

static int count_right(hec_ctx *ctx, hec_arena *arena, const model *m, const hec_tensor *positions,
                       const batch *b, int words)
{
	static float weights[HEADS * T * S];
	int right = 0;
	for (int i = 0; i < words; i++) {
		int32_t written[T], n = b->source_length[i];
		int length = write_word(ctx, arena, m, positions, b, i, written, weights);
		right += length == n &&
		         !memcmp(written, &b->target[i * T], (size_t)n * sizeof *written);
	}
	return right;
}

/* ---- what a person sees ---- */

static void print_heads(const float *weights, const char *input, const char *output)
{
	static const char *const shade[] = {" ", "░", "▒", "▓", "█"};
	const char *none = getenv("NO_COLOR"); /* set to nothing, it asks for nothing */
	bool colour = isatty(STDOUT_FILENO) && !(none && *none);
	int n = (int)strlen(input), rows_shown = (int)strlen(output);
	for (int h = 0; h < HEADS; h++)
		printf("   head %d%*s", h, 2 * n - 5, "");
	printf("\n");
	for (int h = 0; h < HEADS; h++) {
		printf("   ");
		for (int s = 0; s < n; s++)
			printf("%c ", input[s]);
		printf(" ");
	}
	printf("\n");
	for (int t = 0; t < rows_shown; t++) {
		for (int h = 0; h < HEADS; h++) {
			printf(" %c ", output[t]);
			for (int s = 0; s < n; s++) {
				double w = (double)weights[(h * T + t) * S + s];
				int level = (int)(w * 4.999);
				if (colour)
					printf("\033[48;5;%dm  \033[0m", 232 + (int)(w * 23));
				else
					printf("%s%s", shade[level], shade[level]);
			}
			printf(" ");
		}
		printf("\n");
	}
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10;
	hec_ctx *ctx;
	hec_arena *params, *work;
	MUST(hec_ctx_create(NULL, &ctx));
	MUST(hec_arena_create((size_t)16 << 20, &params));
	MUST(hec_arena_create((size_t)64 << 20, &work));
	hec_param_alloc alloc = {
		.size = sizeof alloc, .ctx = ctx, .arena = params, .dtype = HEC_F32, .seed = 1};
	static model m, grad, first, second;
	make_model(&alloc, &m);
	make_model(&alloc, &grad);
	make_model(&alloc, &first);
	make_model(&alloc, &second);
	MUST(for_each_param(&m, hec_param_initialise, &alloc));
	hec_tensor positions;
	const int64_t shape[2] = {T, C};
	MUST(hec_arena_tensor(params, HEC_F32, 2, shape, &positions));
	MUST(hec_position_sinusoidal(ctx, HEC_SINUSOID_INTERLEAVED, 10000, 0, &positions));

	printf("An encoder layer and a decoder layer learn to write words backwards: %.0f "
	       "seconds,\n"
	       "%d thread%s, %s.\n\n",
	       seconds, hec_ctx_threads(ctx), hec_ctx_threads(ctx) == 1 ? "" : "s",
	       hec_ctx_isa(ctx));
	static batch b;
	double begin = now(), report = begin;
	for (int64_t step = 1;; step++) {
		make_batch(1, (uint32_t)step, false, &b);
		double loss = learn(ctx, work, &positions, &b, step, &m, &grad, &first, &second);
		double t = now();
		if (t - report > seconds / 10 || step == 1 || t - begin > seconds) {
			report = t;
			int bar = (int)(fmin(loss, 3) * 16);
			printf("%5.1f s  step %5lld  loss %.4f  ", t - begin, (long long)step,
			       loss);
			for (int i = 0; i < bar; i++)
				printf("▪");
			printf("\n");
			fflush(stdout);
		}
		if (t - begin > seconds)
			break;
	}

	int right = 0, words = 0;
	for (uint32_t i = 0; i < 4; i++, words += BATCH) {
		make_batch(2, i, true, &b);
		right += count_right(ctx, work, &m, &positions, &b, BATCH);
	}
	printf("\n%d of %d unseen words are right. One of them, and where each head looked:\n\n",
	       right, words);
	static float weights[HEADS * T * S];
	int32_t written[T];
	char input[S + 1], output[T + 1];
	int length = write_word(ctx, work, &m, &positions, &b, 0, written, weights);
	word_text(b.source, b.source_length[0], input);
	word_text(written, length, output);
	printf("   %s → %s\n\n", input, output);
	print_heads(weights, input, output);

	hec_arena_destroy(work);
	hec_arena_destroy(params);
	hec_ctx_destroy(ctx);
	return 0;
}
