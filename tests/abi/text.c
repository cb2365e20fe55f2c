/* text.c — writing with models: sessions, decoding, translating, generating. */
#include "world.h"

static hec_status count_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	EXPECT(*phase != 0 && done <= total);
	++*(int *)user;
	return HEC_OK;
}

/* ---- session.h ---- */

static void show_step(hec_session *session, const int32_t *ids, int64_t rows)
{
	float logits[4 * VOCAB];
	int32_t fed[4];
	memcpy(fed, ids, (size_t)rows * sizeof *ids);
	hec_tensor in = hec_tensor_2d(fed, HEC_I32, rows, 1),
		   out = hec_tensor_2d(logits, HEC_F32, rows, VOCAB);
	EXPECT_OK(hec_session_step(session, &in, NULL, &out));
	show_floats("logits", logits, rows * VOCAB);
}

static void check_weights(hec_session *session)
{
	float weights[2 * 2 * 5];
	hec_tensor out = hec_tensor_3d(weights, HEC_F32, 2, 2, 5);
	EXPECT_OK(hec_session_weights(session, HEC_ATTENTION_CROSS, 1, 1, &out));
	for (int i = 0; i < 4; i++) {
		double sum = 0;
		for (int j = 0; j < 5; j++)
			sum += weights[5 * i + j];
		EXPECT_NEAR(sum, 1);
	}
	show_floats("weights", weights, 20);
}

static void run_session(hec_ctx *ctx, const hec_model *both)
{
	int32_t ids[10] = {CLS, 5, 6, 9, SEP, CLS, 10, 7, SEP, PAD}, length[2] = {5, 4};
	const int32_t first[4] = {CLS, CLS, CLS, CLS}, second[4] = {5, 6, 7, 8};
	const int32_t from[4] = {1, 0, 2, 2};
	hec_tensor source = hec_tensor_2d(ids, HEC_I32, 2, 5);
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	hec_session *session;
	o.sources = o.beams = 2;
	o.max_source = 7;
	o.keep_attention = true;
	EXPECT_OK(hec_session_create(ctx, both, &o, &session));
	hec_session_options made;
	hec_session_options_of(session, &made, sizeof made);
	EXPECT(made.size == sizeof made && made.sources == 2 && made.beams == 2);
	EXPECT(made.max_source == 7 && made.max_target == PLACES && made.keep_attention);
	EXPECT_OK(hec_session_start(session, 2, &source, length));
	show_step(session, first, 4);
	show_step(session, second, 4);
	EXPECT(hec_session_length(session, 3) == 2);
	check_weights(session);
	EXPECT_OK(hec_session_reorder(session, from));
	show_step(session, second, 4);
	hec_session_destroy(session);
}

/* ---- decode.h ---- */

enum { SOURCES = 3 };
static int32_t source_ids[SOURCES][4] = {{CLS, 5, 6, SEP}, {CLS, 7, SEP}, {CLS, 12, 8, SEP}};
static const int32_t *const sources[SOURCES] = {source_ids[0], source_ids[1], source_ids[2]};
static const int64_t lengths[SOURCES] = {4, 3, 4};

static void show_decoded(const char *name, const hec_decoded *decoded, int64_t nbest, int64_t most)
{
	for (int64_t i = 0; i < SOURCES; i++) {
		for (int64_t r = 0; r < nbest; r++) {
			const hec_hypothesis *h = hec_decoded_at(decoded, i, r);
			EXPECT(h && h->n >= 1 && h->n <= most && h->score < 0);
			printf("%s %d.%d: %.17g", name, (int)i, (int)r, h->score);
			show_ids("", h->ids, h->n);
			EXPECT(r == 0 || hec_decoded_at(decoded, i, r - 1)->score >= h->score);
		}
	}
	EXPECT(!hec_decoded_at(decoded, 0, nbest) && !hec_decoded_at(decoded, SOURCES, 0));
}

typedef struct written {
	int tokens;
	int32_t last[SOURCES];
} written;

static hec_status take_token(void *user, int64_t source, int32_t id)
{
	written *w = user;
	EXPECT(source >= 0 && source < SOURCES);
	w->tokens++;
	w->last[source] = id;
	return HEC_OK;
}

/* Field by field up to the last one: each changes what is written. */
static void run_greedy(hec_session *session)
{
	static const int32_t suppress[] = {6, 7}, begin_suppress[] = {9};
	static const int64_t each[SOURCES] = {3, 6, 2};
	static const uint64_t streams[SOURCES] = {5, 5, 9};
	written w = {0};
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	hec_decoded *decoded;
	o.max_tokens = 6;
	o.max_tokens_each = each;
	o.min_tokens = 6;
	o.suppress = suppress;
	o.suppressed = 2;
	o.begin_suppress = begin_suppress;
	o.begin_suppressed = 1;
	o.token = take_token;
	o.user = &w;
	EXPECT_OK(hec_decode(session, SOURCES, sources, lengths, &o, &decoded));
	show_decoded("greedy", decoded, 1, 6);
	EXPECT(w.tokens == 3 + 6 + 2);
	for (int i = 0; i < SOURCES; i++) {
		const hec_hypothesis *h = hec_decoded_at(decoded, i, 0);
		EXPECT(h->n == each[i] && h->ids[h->n - 1] == w.last[i]);
		for (int64_t j = 0; j < h->n; j++)
			EXPECT(h->ids[j] != 6 && h->ids[j] != 7);
	}
	hec_decoded_free(decoded);
	o.sample = true;
	o.temperature = 2;
	o.top_k = 8;
	o.seed = 3;
	o.streams = streams;
	EXPECT_OK(hec_decode(session, SOURCES, sources, lengths, &o, &decoded));
	show_decoded("drawn", decoded, 1, 6);
	hec_decoded_free(decoded);
}

static void run_beams(hec_ctx *ctx, const hec_model *both)
{
	int calls = 0;
	hec_session_options place = HEC_SESSION_OPTIONS_INIT;
	hec_session *session;
	hec_decoded *decoded;
	place.sources = 2;
	EXPECT_OK(hec_session_create(ctx, both, &place, &session));
	run_greedy(session);
	hec_session_destroy(session);
	place.beams = 3;
	EXPECT_OK(hec_session_create(ctx, both, &place, &session));
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.beams = 3;
	o.nbest = 2;
	o.max_tokens = 7;
	o.length_penalty = 0.5;
	o.early = HEC_EARLY_NEVER;
	o.renormalize = true;
	o.progress = count_progress;
	o.user = &calls;
	EXPECT_OK(hec_decode(session, SOURCES, sources, lengths, &o, &decoded));
	show_decoded("beams", decoded, 2, 7);
	EXPECT(calls > 0);
	hec_decoded_free(decoded);
	hec_session_destroy(session);
}

/* ---- translate.h ---- */

static void run_translate(hec_ctx *ctx, const hec_model *both, const hec_tokenizer *tokenizer)
{
	const char *texts[] = {"the big cat saw a bird .", "", "home"};
	hec_decode_options decode;
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	hec_translator *t;
	hec_translations *out;
	EXPECT_OK(hec_translator_create(ctx, both, tokenizer, &t));
	hec_translator_defaults(t, &decode, sizeof decode);
	EXPECT(decode.size == sizeof decode && decode.beams == 1 && decode.top_k == -1);
	EXPECT(!decode.streams && !decode.renormalize);
	decode.beams = decode.nbest = 2;
	decode.max_tokens = 5;
	o.decode = &decode;
	o.batch = 2;
	o.prefix = "red ";
	EXPECT_OK(hec_translate(t, 3, texts, NULL, &o, &out));
	for (int64_t i = 0; i < 3; i++) {
		for (int64_t r = 0; r < 2; r++) {
			const hec_translation *x = hec_translations_at(out, i, r);
			EXPECT(x && x->text_bytes == strlen(x->text));
			printf("translation %d.%d: \"%s\" %.17g", (int)i, (int)r, x->text,
			       x->score);
			show_ids("", x->ids, x->n);
			if (r == 0 && i != 1) {
				EXPECT(x->start == CLS && x->source_n > 2);
				EXPECT(x->source[0] == CLS && x->source[1] == 11);
				EXPECT(x->source[x->source_n - 1] == SEP);
			}
		}
	}
	EXPECT(!hec_translations_at(out, 0, 2) && !hec_translations_at(out, 3, 0));
	hec_translations_free(out);
	o.windows = true; /* the last field */
	decode.nbest = 2;
	EXPECT(hec_translate(t, 3, texts, NULL, &o, &out) == HEC_ERR_ARGUMENT && !out);
	hec_translator_destroy(t);
}

/* ---- generate.h ---- */

typedef struct heard {
	char text[3][256];
} heard;

static hec_status hear(void *user, int64_t prompt, const char *text, size_t bytes)
{
	heard *h = user;
	EXPECT(prompt >= 0 && prompt < 3);
	strncat(h->text[prompt], text, bytes);
	return HEC_OK;
}

static void run_generate(hec_ctx *ctx, const hec_model *decoder, const hec_tokenizer *tokenizer)
{
	static const int32_t ids[] = {CLS, 5, 6};
	const hec_prompt prompts[3] = {{.text = "the dog ran", .bytes = 11},
	                               {.ids = ids, .n = 3},
	                               {.text = "a", .bytes = 1}};
	heard h = {0};
	hec_decode_options decode;
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	hec_generator *g;
	hec_generations *out;
	EXPECT_OK(hec_generator_create(ctx, decoder, tokenizer, &g));
	hec_generator_defaults(g, &decode, sizeof decode);
	EXPECT(decode.size == sizeof decode && decode.max_tokens == -1);
	decode.max_tokens = 5;
	decode.min_tokens = 3;
	o.decode = &decode;
	o.batch = 2;
	o.no_special = true;
	o.text = hear;
	o.user = &h;
	o.no_min_length = true;
	EXPECT_OK(hec_generate(g, 3, prompts, &o, &out));
	for (int64_t i = 0; i < 3; i++) {
		const hec_generation *x = hec_generations_at(out, i, 0);
		EXPECT(x && x->n >= 3 && x->n <= 5 && x->text_bytes == strlen(x->text));
		EXPECT_TEXT(x->text, h.text[i]);
		printf("generation %d: \"%s\" %.17g", (int)i, x->text, x->score);
		show_ids("", x->ids, x->n);
		show_ids("after", x->prompt, x->prompt_n);
	}
	EXPECT(hec_generations_at(out, 0, 0)->prompt_n == 3);
	EXPECT(hec_generations_at(out, 1, 0)->prompt_n == 3);
	EXPECT(hec_generations_at(out, 2, 0)->prompt_n == 1);
	EXPECT(!hec_generations_at(out, 0, 1) && !hec_generations_at(out, 3, 0));
	hec_generations_free(out);
	hec_generator_destroy(g);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	hec_ctx *ctx = world_ctx();
	hec_tokenizer *tokenizer = world_tokenizer(argv[1]);
	hec_model *both = world_model(ctx, true, true, HEC_HEAD_LM, 11);
	hec_model *decoder = world_model(ctx, false, true, HEC_HEAD_LM, 12);
	run_session(ctx, both);
	run_beams(ctx, both);
	run_translate(ctx, both, tokenizer);
	run_generate(ctx, decoder, tokenizer);
	hec_model_destroy(decoder);
	hec_model_destroy(both);
	hec_tokenizer_destroy(tokenizer);
	hec_ctx_destroy(ctx);
	return 0;
}
