/* exercise.c — what a configuration that loads promises: every call that its model can take succeeds, in an
 * arena of just the size that a dry run asks for. Numbers may be infinite or not numbers. */
#include "support/exercise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "tensor/check.h"

#define PARAMETERS_MOST ((double)(2 << 20)) /* 8 MiB */
#define TABLES_MOST ((double)(1 << 16))     /* numbers, each a sine and a power */
#define WORK_MOST 1e7                       /* multiply-adds of one pass */
#define SCORE_WORK 64                       /* what else a score costs: above all its exponential */
#define LOOK_MOST 32 /* weights are looked at where there are no more tokens */
#define LAYERS_MOST 64
#define ROWS 2
#define UNBOUNDED ((int64_t)1 << 40)

typedef struct exercise {
	hec_ctx *ctx, *dry;
	hec_model *model;
	const hec_model_config *c;
	char what[160]; /* under way */
} exercise;

/* ---- how large ---- */

static hec_status count_param(void *user, const hec_param *p)
{
	double n = 1;
	for (int i = 0; i < p->rank; i++)
		n *= (double)p->shape[i];
	*(double *)user += n;
	return HEC_OK;
}

static int64_t longest_of(const hec_stack_config *s)
{
	const hec_position_kind kind = s->position.kind;
	return s->layers > 0 && kind != HEC_POSITION_NONE && kind != HEC_POSITION_RELATIVE
	               ? s->position.max
	               : UNBOUNDED;
}

static int64_t at_most(int64_t n, int64_t most)
{
	return n < most ? n : most;
}

/* Tokens of the encoder (frames: all of them) where a pass has T. */
static int64_t source_tokens(const hec_model_config *c, int64_t T)
{
	return c->front.features > 0 ? c->encoder.position.max
	                             : at_most(T, longest_of(&c->encoder));
}

/* Numbers of a table that is made, not learned. */
static double made_table(const hec_model_config *c, const hec_stack_config *s)
{
	const hec_position_config *p = &s->position;
	return s->layers == 0                       ? 0
	       : p->kind == HEC_POSITION_SINUSOIDAL ? (double)p->max * (double)c->width
	       : p->kind == HEC_POSITION_ROTARY     ? (double)p->max * (double)p->rotary_width
	                                            : 0;
}

static double attention_work(const hec_stack_config *s, double T, double S)
{
	const hec_multi_head_config *a = &s->attention;
	return (double)s->layers * (double)a->heads * (double)(a->d_k + a->d_v + SCORE_WORK) * T *
	       S;
}

static double pass_work(const hec_model_config *c, double parameters, int64_t T)
{
	const double t = (double)at_most(T, longest_of(&c->decoder)),
		     s = (double)source_tokens(c, T), frames = c->front.features > 0 ? 2 : 1;
	return parameters * (s * frames + t) + attention_work(&c->encoder, s, s) +
	       attention_work(&c->decoder, t, t + (c->encoder.layers > 0 ? s : 0));
}

static double parameters_of(const hec_model_config *c)
{
	double n = 0;
	if (c->encoder.layers + c->decoder.layers > LAYERS_MOST ||
	    model_each_param(c, count_param, &n) != HEC_OK)
		return INFINITY;
	return n;
}

static bool pass_fits(const hec_model_config *c, int64_t T)
{
	return pass_work(c, parameters_of(c), T) <= WORK_MOST;
}

bool exercise_fits(const hec_model_config *c)
{
	return parameters_of(c) <= PARAMETERS_MOST &&
	       made_table(c, &c->encoder) + made_table(c, &c->decoder) <= TABLES_MOST &&
	       pass_fits(c, 5);
}

/* ---- a batch, in an arena that is made for it ---- */

typedef struct batch {
	hec_model_input input;
	hec_model_output output;
	int32_t length[ROWS], decoder_length[ROWS];
} batch;

/* Ids from one end of the vocabulary to the other; the last that counts ends the sequence. */
static void draw_ids(const hec_model_config *c, hec_tensor *ids, const int32_t *length,
                     int64_t words)
{
	uint64_t state = 7;
	const int64_t n = ids->shape[1];
	int32_t *at = ids->data;
	for (int64_t i = 0; i < ROWS * n; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		at[i] = i % 4 == 0   ? 0
		        : i % 4 == 1 ? (int32_t)(words - 1)
		                     : (int32_t)((state >> 33) % (uint64_t)words);
	}
	for (int64_t b = 0; b < ROWS && c->eos_id >= 0 && words == c->vocab; b++)
		at[b * n + length[b] - 1] = c->eos_id;
}

static hec_status make_ids(const exercise *e, hec_arena *arena, int64_t n, int32_t length[ROWS],
                           int64_t words, hec_tensor *ids)
{
	for (int64_t b = 0; b < ROWS; b++)
		length[b] = (int32_t)(b == 0 ? n : (n + 1) / 2);
	hec_status status = hec_arena_tensor(arena, HEC_I32, 2, (int64_t[]){ROWS, n}, ids);
	if (status == HEC_OK)
		draw_ids(e->c, ids, length, words);
	return status;
}

static hec_status make_features(const exercise *e, hec_arena *arena, int64_t rows, hec_tensor *x)
{
	const int64_t shape[] = {rows, e->c->front.features, 2 * e->c->encoder.position.max};
	hec_status status = hec_arena_tensor(arena, HEC_F32, 3, shape, x);
	for (int64_t i = 0; status == HEC_OK && i < hec_tensor_count(x); i++)
		((float *)x->data)[i] = (float)((i * 37) % 19) / 10 - 1;
	return status;
}

static hec_status make_input(const exercise *e, hec_arena *arena, int64_t S, int64_t T, batch *b)
{
	const hec_model_config *c = e->c;
	*b = (batch){.input = {.size = sizeof b->input}, .output = {.size = sizeof b->output}};
	hec_status status = HEC_OK;
	if (c->front.features > 0)
		status = make_features(e, arena, ROWS, &b->input.features);
	else if (c->encoder.layers > 0)
		status = make_ids(e, arena, S, b->length, c->vocab, &b->input.ids);
	if (status == HEC_OK && is_present(&b->input.ids))
		b->input.length = b->length;
	if (status == HEC_OK && c->types > 0) {
		int32_t unused[ROWS];
		status = make_ids(e, arena, S, unused, c->types, &b->input.types);
	}
	if (status == HEC_OK && c->decoder.layers > 0) {
		status = make_ids(e, arena, T, b->decoder_length, c->vocab, &b->input.decoder_ids);
		b->input.decoder_length = b->decoder_length;
	}
	return status;
}

/* The shape of the logits; its rank. */
static int logits_shape(const hec_model_config *c, int64_t T, int64_t shape[3])
{
	const int64_t wide =
		c->head == HEC_HEAD_LM || c->head == HEC_HEAD_MASKED ? c->vocab : c->labels;
	const bool one = c->head == HEC_HEAD_CLASSIFY;
	shape[0] = ROWS;
	shape[1] = one ? wide : T;
	shape[2] = wide;
	return one ? 2 : 3;
}

static hec_status make_output(const exercise *e, hec_arena *arena, int64_t S, int64_t T, batch *b)
{
	const hec_model_config *c = e->c;
	const bool encoder = c->encoder.layers > 0, decoder = c->decoder.layers > 0;
	const int64_t last = decoder ? T : S, C = c->width, EL = c->encoder.layers,
		      DL = c->decoder.layers, EH = c->encoder.attention.heads,
		      DH = c->decoder.attention.heads;
	int64_t logits[3];
	const int rank = logits_shape(c, last, logits);
	const bool look = S <= LOOK_MOST && T <= LOOK_MOST;
	hec_model_output *o = &b->output;
	const struct {
		bool wanted;
		hec_tensor *to;
		int rank;
		const int64_t *shape;
	} list[] = {{true, &o->hidden, 3, (int64_t[]){ROWS, last, C}},
	            {encoder && decoder, &o->memory, 3, (int64_t[]){ROWS, S, C}},
	            {c->head != HEC_HEAD_NONE, &o->logits, rank, logits},
	            {c->pooler, &o->pooled, 2, (int64_t[]){ROWS, C}},
	            {look && encoder, &o->encoder_weights, 4, (int64_t[]){EL * ROWS, EH, S, S}},
	            {look && decoder, &o->decoder_weights, 4, (int64_t[]){DL * ROWS, DH, T, T}},
	            {look && encoder && decoder, &o->cross_weights, 4,
	             (int64_t[]){DL * ROWS, DH, T, S}}};
	hec_status status = HEC_OK;
	for (size_t i = 0; status == HEC_OK && i < sizeof list / sizeof *list; i++)
		if (list[i].wanted)
			status = hec_arena_tensor(arena, HEC_F32, list[i].rank, list[i].shape,
			                          list[i].to);
	return status;
}

/* ---- in earnest what it was dry ---- */

typedef hec_status pass_fn(exercise *e, hec_ctx *ctx, hec_arena *arena, int64_t T, void *user);

/* Dry in addresses alone, then in an arena of that size, which stays for the caller. */
static const char *run_pass(exercise *e, pass_fn *pass, int64_t T, void *user, hec_arena **arena)
{
	static char what[200];
	hec_arena *measured = NULL;
	*arena = NULL;
	if (hec_arena_create_reserved((size_t)1 << 36, &measured) != HEC_OK)
		return "addresses";
	hec_status status = pass(e, e->dry, measured, T, user);
	const size_t peak = hec_arena_peak(measured);
	hec_arena_destroy(measured);
	snprintf(what, sizeof what, "%s, measured with %lld tokens", e->what, (long long)T);
	if (status != HEC_OK)
		return what;
	snprintf(what, sizeof what, "%s with %lld tokens, in %zu bytes", e->what, (long long)T,
	         peak);
	status = hec_arena_create(peak, arena);
	if (status == HEC_OK)
		status = pass(e, e->ctx, *arena, T, user);
	return status == HEC_OK && hec_arena_peak(*arena) == peak ? NULL : what;
}

/* user: the batch. */
static hec_status pass_forward(exercise *e, hec_ctx *ctx, hec_arena *arena, int64_t T, void *user)
{
	batch *b = user;
	const int64_t S = source_tokens(e->c, T), D = at_most(T, longest_of(&e->c->decoder));
	hec_status status = make_input(e, arena, S, D, b);
	if (status == HEC_OK)
		status = make_output(e, arena, S, D, b);
	return status == HEC_OK
	               ? hec_model_fwd(ctx, arena, e->model, &b->input, NULL, &b->output, NULL)
	               : status;
}

static const char *forward(exercise *e, int64_t T, batch *b, hec_arena **arena)
{
	snprintf(e->what, sizeof e->what, "forward");
	return run_pass(e, pass_forward, T, b, arena);
}

/* The longest sequence that some stack can take. */
static int64_t longest(const hec_model_config *c)
{
	const int64_t encoder = c->front.features > 0 ? UNBOUNDED : longest_of(&c->encoder);
	return at_most(encoder, longest_of(&c->decoder));
}

static const char *run_lengths(exercise *e)
{
	const int64_t most = longest(e->c), lengths[] = {1, 3, 5, most};
	for (int i = 0; i < 4; i++) {
		batch b;
		hec_arena *arena;
		if (lengths[i] > most || !pass_fits(e->c, lengths[i]))
			continue;
		const char *broken = forward(e, lengths[i], &b, &arena);
		hec_arena_destroy(arena);
		if (broken)
			return broken;
	}
	return NULL;
}

/* One token more than the model knows positions. */
static const char *run_beyond(exercise *e)
{
	const int64_t most = longest(e->c);
	hec_arena *arena;
	batch b;
	if (most > 1 << 16)
		return NULL;
	hec_status status = hec_arena_create_reserved((size_t)1 << 32, &arena);
	if (status == HEC_OK)
		status = make_input(e, arena, most + 1, most + 1, &b);
	if (status == HEC_OK)
		status = hec_model_fwd(e->dry, arena, e->model, &b.input, NULL, &b.output, NULL);
	hec_arena_destroy(arena);
	return status == HEC_ERR_SHAPE ? NULL : "more tokens than positions are taken";
}

/* ---- a session ---- */

static hec_status start_sources(const exercise *e, hec_session *s, hec_arena *arena)
{
	hec_tensor x;
	int32_t length[ROWS];
	hec_status status;
	if (e->c->encoder.layers == 0)
		return hec_session_start(s, ROWS, NULL, NULL);
	if (e->c->front.features > 0) {
		status = make_features(e, arena, ROWS, &x);
		return status == HEC_OK ? hec_session_start_features(s, ROWS, &x) : status;
	}
	status = make_ids(e, arena, session_options(s)->max_source, length, e->c->vocab, &x);
	return status == HEC_OK ? hec_session_start(s, ROWS, &x, length) : status;
}

static hec_status step(const exercise *e, hec_session *s, hec_arena *arena, int64_t T)
{
	hec_tensor ids, logits;
	const int64_t rows = 2 * hec_session_sources(s);
	hec_status status = hec_arena_tensor(arena, HEC_I32, 2, (int64_t[]){rows, T}, &ids);
	for (int64_t i = 0; status == HEC_OK && i < rows * T; i++)
		((int32_t *)ids.data)[i] = (int32_t)(i % 2 ? e->c->vocab - 1 : 0);
	if (status == HEC_OK)
		status = hec_arena_tensor(arena, HEC_F32, 2, (int64_t[]){rows, e->c->vocab},
		                          &logits);
	return status == HEC_OK ? hec_session_step(s, &ids, NULL, &logits) : status;
}

static hec_status look_back(const exercise *e, hec_session *s, hec_arena *arena)
{
	hec_tensor w;
	const int64_t T = hec_session_length(s, 0), last = e->c->decoder.layers - 1,
		      shape[] = {e->c->decoder.attention.heads, T, T};
	hec_status status = hec_arena_tensor(arena, HEC_F32, 3, shape, &w);
	return status == HEC_OK ? hec_session_weights(s, HEC_ATTENTION_DECODER, last, 0, &w)
	                        : status;
}

static hec_status write_some(const exercise *e, hec_session *s, hec_arena *arena)
{
	const int64_t most = session_options(s)->max_target;
	hec_status status = start_sources(e, s, arena);
	if (status == HEC_OK)
		status = step(e, s, arena, at_most(3, most));
	for (int64_t t = 3; status == HEC_OK && t < most; t++) {
		status = hec_session_reorder(s, (int32_t[]){1, 0, 2, 2});
		if (status == HEC_OK)
			status = step(e, s, arena, 1);
	}
	if (status == HEC_OK)
		status = look_back(e, s, arena);
	if (status == HEC_OK)
		status = hec_session_keep(s, (int64_t[]){1}, 1);
	if (status == HEC_OK)
		status = hec_session_rewind(s);
	return status == HEC_OK ? step(e, s, arena, 1) : status;
}

static const char *run_session(exercise *e)
{
	const hec_model_config *c = e->c;
	if (c->decoder.layers == 0 || c->head != HEC_HEAD_LM)
		return NULL;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = ROWS;
	o.beams = 2;
	o.keep_attention = true;
	o.max_source = c->encoder.layers > 0 ? source_tokens(c, 5) : 0;
	o.max_target = at_most(6, longest_of(&c->decoder));
	hec_session *s = NULL;
	hec_arena *arena = NULL;
	if (hec_session_create(e->ctx, e->model, &o, &s) != HEC_OK)
		return "a session";
	hec_status status = hec_arena_create_reserved((size_t)1 << 32, &arena);
	if (status == HEC_OK)
		status = write_some(e, s, arena);
	bool full = true;
	if (status == HEC_OK)
		for (int64_t t = 1; full && t <= o.max_target; t++)
			full = (step(e, s, arena, 1) == HEC_OK) == (t < o.max_target);
	hec_arena_destroy(arena);
	hec_session_destroy(s);
	return status != HEC_OK ? "steps of a session" : full ? NULL : "a session that is full";
}

/* ---- learning ---- */

static hec_status make_targets(const exercise *e, hec_arena *arena, int64_t T, hec_tensor *targets)
{
	const hec_head head = e->c->head;
	const int64_t most = head == HEC_HEAD_ANSWER                          ? (T + 1) / 2
	                     : head == HEC_HEAD_LM || head == HEC_HEAD_MASKED ? e->c->vocab
	                                                                      : e->c->labels;
	const int64_t shape[] = {ROWS, head == HEC_HEAD_ANSWER ? 2 : T};
	const int rank = head == HEC_HEAD_CLASSIFY ? 1 : 2;
	hec_status status = hec_arena_tensor(arena, HEC_I32, rank, shape, targets);
	for (int64_t i = 0; status == HEC_OK && i < hec_tensor_count(targets); i++)
		((int32_t *)targets->data)[i] = (int32_t)(i % 2 ? most - 1 : 0);
	return status;
}

/* user: the gradient. */
static hec_status pass_learn(exercise *e, hec_ctx *ctx, hec_arena *arena, int64_t T, void *user)
{
	const hec_dropout_key key = {1, 2, 3};
	const int64_t S = source_tokens(e->c, T), D = at_most(T, longest_of(&e->c->decoder));
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	hec_model_kept *kept;
	batch b;
	double sum;
	int64_t count;
	hec_status status = make_input(e, arena, S, D, &b);
	if (status != HEC_OK)
		return status;
	if (e->c->head == HEC_HEAD_NONE) {
		hec_tensor dhidden;
		const int64_t shape[] = {ROWS, e->c->decoder.layers > 0 ? D : S, e->c->width};
		status = hec_arena_tensor(arena, HEC_F32, 3, shape, &dhidden);
		if (status == HEC_OK)
			status = hec_tensor_fill(ctx, 0.5, &dhidden);
		if (status == HEC_OK)
			status = hec_model_fwd(ctx, arena, e->model, &b.input, &key, NULL, &kept);
		return status == HEC_OK ? hec_model_bwd(ctx, arena, e->model, &b.input, &key, kept,
		                                        &dhidden, user)
		                        : status;
	}
	loss.smoothing = e->c->head == HEC_HEAD_ANSWER ? 0 : 0.1;
	status = make_targets(e, arena, e->c->decoder.layers > 0 ? D : S, &loss.targets);
	return status == HEC_OK ? hec_model_learn(ctx, arena, e->model, &b.input, &loss, &key, user,
	                                          &sum, &count)
	                        : status;
}

static const char *run_learning(exercise *e)
{
	hec_model *grad = NULL;
	hec_arena *arena = NULL;
	if (hec_model_create_like(e->model, &grad) != HEC_OK)
		return "a gradient";
	snprintf(e->what, sizeof e->what, "learning");
	const char *broken = run_pass(e, pass_learn, at_most(3, longest(e->c)), grad, &arena);
	hec_arena_destroy(arena);
	hec_model_destroy(grad);
	return broken;
}

/* ---- saved and loaded ---- */

/* Not a number is the same as not a number. */
static bool same_bits(const hec_tensor *x, const hec_tensor *y)
{
	const float *a = x->data, *b = y->data;
	for (int64_t i = 0; is_present(x) && i < hec_tensor_count(x); i++)
		if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])))
			return false;
	return true;
}

static const char *compare_with(exercise *e, hec_model *other, const char *what)
{
	hec_model *own = e->model;
	hec_arena *arenas[2] = {NULL, NULL};
	batch b[2];
	const int64_t T = at_most(3, longest(e->c));
	const char *broken = forward(e, T, &b[0], &arenas[0]);
	e->model = other;
	if (!broken)
		broken = forward(e, T, &b[1], &arenas[1]);
	e->model = own;
	if (!broken && (!same_bits(&b[0].output.hidden, &b[1].output.hidden) ||
	                !same_bits(&b[0].output.logits, &b[1].output.logits) ||
	                !same_bits(&b[0].output.pooled, &b[1].output.pooled)))
		broken = what;
	hec_arena_destroy(arenas[0]);
	hec_arena_destroy(arenas[1]);
	return broken;
}

static const char *run_again(exercise *e, const char *folder)
{
	hec_model *back = NULL;
	if (hec_model_save(e->ctx, e->model, HEC_F32, folder) != HEC_OK)
		return "saving";
	if (hec_model_load(e->ctx, folder, NULL, &back) != HEC_OK)
		return "loading what was saved";
	const char *broken = compare_with(e, back, "loaded again it says something else");
	hec_model_destroy(back);
	return broken;
}

static const char *run_all(exercise *e, const char *folder)
{
	const char *broken = run_lengths(e);
	if (!broken)
		broken = run_beyond(e);
	if (!broken && (hec_model_unpack(e->ctx, e->model) != HEC_OK ||
	                hec_model_pack(e->ctx, e->model, true) != HEC_OK))
		broken = "packing";
	if (!broken)
		broken = run_session(e);
	if (!broken)
		broken = run_learning(e);
	return broken ? broken : run_again(e, folder);
}

const char *exercise_model(hec_ctx *ctx, hec_model *model, const char *folder)
{
	exercise e = {.ctx = ctx, .model = model, .c = hec_model_config_of(model)};
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = hec_ctx_threads(ctx);
	options.isa = hec_ctx_isa(ctx);
	if (hec_ctx_create_dry(&options, &e.dry) != HEC_OK)
		return "a dry context";
	const char *broken = run_all(&e, folder);
	hec_ctx_destroy(e.dry);
	return broken;
}
