/* test_draws.c — what is drawn depends on the seed, the stream and the position alone, and no draw tells
 * anything about another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decode/warp.h"
#include "support/draws.h"
#include "support/searches.h"
#include "support/tasks.h"

static const int64_t lags[] = {1, 2, 3, 7, 8, 16, 64, 100, 128, 1000, 0};

/* ---- seed, stream, position ---- */

#define DRAWS 20000
#define VALUES 16

static double even[VALUES];
static chance equals[VALUES];

static void make_even(void)
{
	for (int32_t v = 0; v < VALUES; v++) {
		even[v] = 1.0 / VALUES;
		equals[v] = (chance){1, v};
	}
}

static int32_t one_draw(uint64_t seed, uint64_t stream, uint64_t position)
{
	return warp_draw(seed, stream, position, equals, VALUES);
}

static void put_counts(int32_t *drawn, int a, int b, int c)
{
	for (int i = 0; i < a + b + c; i++)
		drawn[i] = i < a ? 0 : i < a + b ? 1 : 2;
}

/* The tests' own tool: against what is known of chi-square, and with draws that are wrong. */
static void draws_that_lean_or_come_again_are_noticed(void **state)
{
	(void)state;
	kit k = kit_open(9);
	int32_t drawn[DRAWS];
	make_even();
	/* Of 2 degrees of freedom exp(-x / 2) is beyond x; of 1, a table says so. */
	const double third[] = {1. / 3, 1. / 3, 1. / 3}, half[] = {.5, .5};
	put_counts(drawn, 110, 100, 90);
	assert_true(fabs(draws_fit(&(draws){drawn, 300, third, 3}) - exp(-1)) < 1e-12);
	put_counts(drawn, 130, 100, 70);
	assert_true(fabs(draws_fit(&(draws){drawn, 300, third, 3}) - exp(-9)) < 1e-12);
	put_counts(drawn, 40, 60, 0);
	assert_true(fabs(draws_fit(&(draws){drawn, 100, half, 2}) - 0.0455003) < 1e-6);
	const draws d = {drawn, DRAWS, even, VALUES};
	for (int64_t period = 1; period <= 4096; period *= 8) {
		for (int64_t i = 0; i < DRAWS; i++)
			drawn[i] = i < period ? (int32_t)draw_in(&k, 0, VALUES - 1)
			                      : drawn[i - period];
		assert_true(draws_apart(&d, period) < 1e-9);
		assert_true(period > 512 || draws_fit(&d) < 1e-9);
	}
	/* One of three is that of 64 before. */
	for (int64_t i = 0; i < DRAWS; i++)
		drawn[i] =
			i % 3 == 2 && i >= 64 ? drawn[i - 64] : (int32_t)draw_in(&k, 0, VALUES - 1);
	assert_true(draws_apart(&d, 64) < 1e-9);
	assert_true(draws_fit(&d) > 1e-6);
	/* One value is half again as likely as the others. */
	for (int64_t i = 0; i < DRAWS; i++) {
		int64_t v = draw_in(&k, 0, VALUES * 2);
		drawn[i] = v == VALUES * 2 ? 3 : (int32_t)(v % VALUES);
	}
	assert_true(draws_fit(&d) < 1e-9);
	kit_close(&k);
}

static void draws_of_any_two_seeds_streams_or_positions_have_no_link(void **state)
{
	(void)state;
	kit k = kit_open(1);
	int32_t drawn[DRAWS];
	const draws d = {drawn, DRAWS, even, VALUES};
	static const char *const axes[] = {"seeds", "streams", "positions"};
	make_even();
	for (int axis = 0; axis < 3; axis++) {
		/* The low bits of a number, its middle, those beyond 32. */
		for (int shift = 0; shift <= 40; shift += 20) {
			for (uint64_t i = 0; i < DRAWS; i++) {
				uint64_t at[3] = {11, 3, 0};
				at[axis] = i << shift;
				drawn[i] = one_draw(at[0], at[1], at[2]);
			}
			check_draws(&k, axes[axis], &d, lags);
		}
	}
	/* What another takes the place of: (a, b) and (b, a), and those of one sum, side by side. */
	static const int64_t next[] = {1, 0};
	for (int way = 0; way < 4; way++) {
		for (uint64_t i = 0; i < DRAWS; i += 2) {
			const uint64_t a = i % 200, b = 1000 + i / 200; /* a is even */
			drawn[i] = way == 0   ? one_draw(5, a, b)
			           : way == 1 ? one_draw(a, b, 5)
			           : way == 2 ? one_draw(a, 5, b)
			                      : one_draw(5, a, b);
			drawn[i + 1] = way == 0   ? one_draw(5, b, a)
			               : way == 1 ? one_draw(b, a, 5)
			               : way == 2 ? one_draw(b, 5, a)
			                          : one_draw(5, a + 1, b - 1);
		}
		check_draws(&k, "two that change places", &d, next);
	}
	kit_close(&k);
}

/* ---- prompts of a generator ---- */

#define PROMPTS 200
#define TOKENS 4

static const int32_t prompt_ids[] = {5, 9, 12};

static hec_generator *open_generator(kit *k, const char *dir)
{
	char path[512];
	hec_generator *g;
	searches_path(dir, path);
	OK(k, hec_generator_load(k->ctx, path, NULL, &g));
	return g;
}

static hec_decode_options sampling(uint64_t seed, int64_t tokens)
{
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.sample = true;
	o.seed = seed;
	o.max_tokens = tokens;
	return o;
}

/* n times the same prompt, as the prompts `first` and following of a longer input. */
static hec_generations *write_prompts(const kit *k, hec_generator *g, hec_decode_options *decode,
                                      uint64_t first, int64_t n, int64_t batch)
{
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	hec_prompt *prompts = calloc((size_t)n, sizeof *prompts);
	hec_generations *out;
	assert_non_null(prompts);
	for (int64_t i = 0; i < n; i++)
		prompts[i] = (hec_prompt){.ids = prompt_ids, .n = 3};
	o.decode = decode;
	o.batch = batch;
	decode->first_stream = first;
	OK(k, hec_generate(g, n, prompts, &o, &out));
	free(prompts);
	return out;
}

static bool same_words(const hec_generation *a, const hec_generation *b)
{
	return a->n == b->n && memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids) == 0;
}

static void check_alone_and_together(kit *k, hec_generator *g)
{
	static const int64_t batches[] = {1, 7, 64, 100};
	hec_decode_options decode = sampling(21, TOKENS);
	hec_generations *alone[PROMPTS];
	int differ = 0;
	for (int i = 0; i < PROMPTS; i++) {
		alone[i] = write_prompts(k, g, &decode, (uint64_t)i, 1, 1);
		differ += !same_words(hec_generations_at(alone[i], 0, 0),
		                      hec_generations_at(alone[i / 2], 0, 0));
	}
	assert_true(differ > PROMPTS / 2);
	for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
		/* In one call, and in calls of uneven sizes. */
		for (int64_t call = PROMPTS; call > 60; call -= 63) {
			for (int64_t first = 0; first < PROMPTS; first += call) {
				int64_t n = first + call < PROMPTS ? call : PROMPTS - first;
				hec_generations *out = write_prompts(k, g, &decode, (uint64_t)first,
				                                     n, batches[b]);
				for (int64_t i = 0; i < n; i++)
					CHECK(k,
					      same_words(
						      hec_generations_at(out, i, 0),
						      hec_generations_at(alone[first + i], 0, 0)),
					      "prompt %lld, %lld at a time", (long long)(first + i),
					      (long long)batches[b]);
				hec_generations_free(out);
			}
		}
	}
	/* Streams that the caller chose. */
	uint64_t streams[PROMPTS];
	for (uint64_t i = 0; i < PROMPTS; i++)
		streams[i] = i * 3 % PROMPTS;
	decode.streams = streams;
	hec_generations *out = write_prompts(k, g, &decode, 1000, PROMPTS, 16);
	for (int64_t i = 0; i < PROMPTS; i++)
		CHECK(k,
		      same_words(hec_generations_at(out, i, 0),
		                 hec_generations_at(alone[streams[i]], 0, 0)),
		      "prompt %lld of stream %lld", (long long)i, (long long)streams[i]);
	hec_generations_free(out);
	for (int i = 0; i < PROMPTS; i++)
		hec_generations_free(alone[i]);
}

static void a_prompt_draws_by_its_stream_whatever_it_runs_with(void **state)
{
	(void)state;
	kit k = kit_open(2);
	hec_generator *g = open_generator(&k, "decode_gpt2_0");
	check_alone_and_together(&k, g);
	hec_generator_destroy(g);
	g = open_generator(&k, "models/bart"); /* has an encoder */
	check_alone_and_together(&k, g);
	hec_generator_destroy(g);
	kit_close(&k);
}

/* Where a least length counts the prompt in, each is written by itself. */
static void prompts_that_are_written_apart_draw_by_their_streams_as_well(void **state)
{
	(void)state;
	kit k = kit_open(3);
	char from[512], to[SCRATCH_PATH];
	searches_path("decode_gpt2_0", from);
	scratch_copy(from, scratch_fresh(to));
	task_file(to, "generation_config.json", "{\"eos_token_id\": 0, \"min_length\": 5}");
	hec_generator *g;
	OK(&k, hec_generator_load(k.ctx, to, NULL, &g));
	check_alone_and_together(&k, g);
	hec_generator_destroy(g);
	kit_close(&k);
}

static void many_prompts_follow_the_model_and_no_draw_comes_again(void **state)
{
	(void)state;
	kit k = kit_open(4);
	hec_generator *g = open_generator(&k, "decode_gpt2_0");
	const hec_model *model = hec_generator_model(g);
	hec_decode_options decode = sampling(31, 1);
	decode.temperature = 2;
	int32_t drawn[DRAWS];
	double *chances = first_token_chances(&k, model, prompt_ids, 3, 2);
	const draws d = {drawn, DRAWS, chances, hec_model_config_of(model)->vocab};
	static const int64_t batches[] = {16, 64};
	for (int way = 0; way < 2; way++) {
		const int64_t call = way ? 2500 : DRAWS;
		for (int64_t first = 0; first < DRAWS; first += call) {
			hec_generations *out =
				write_prompts(&k, g, &decode, (uint64_t)first, call, batches[way]);
			for (int64_t i = 0; i < call; i++)
				drawn[first + i] = hec_generations_at(out, i, 0)->ids[0];
			hec_generations_free(out);
		}
		check_draws(&k, "first tokens of prompts", &d, lags);
	}
	free(chances);
	hec_generator_destroy(g);
	kit_close(&k);
}

/* ---- every token ---- */

/* Whatever the model says: ids 1 … VALUES are equally likely. */
static void make_equal(void *user, int64_t source, const int32_t *written, int64_t n, float *logits,
                       int64_t vocab)
{
	(void)user, (void)source, (void)written, (void)n;
	for (int64_t v = 0; v < vocab; v++)
		logits[v] = v >= 1 && v <= VALUES ? 0 : -INFINITY;
}

static void tokens_of_a_row_and_of_its_neighbours_have_no_link(void **state)
{
	(void)state;
	enum { LONG = 20 };
	/* Within a row, to the next ones, to that a batch or a chunk further on. */
	static const int64_t far[] = {1, 2, 5, LONG - 1, LONG, LONG + 1, 7 * LONG, 64 * LONG, 0};
	kit k = kit_open(5);
	make_even();
	hec_generator *g = open_generator(&k, "decode_gpt2_0");
	hec_decode_options decode = sampling(41, LONG);
	decode.process = make_equal;
	int32_t drawn[DRAWS];
	hec_generations *out = write_prompts(&k, g, &decode, 0, DRAWS / LONG, 64);
	for (int64_t i = 0; i < DRAWS / LONG; i++) {
		const hec_generation *written = hec_generations_at(out, i, 0);
		assert_int_equal(written->n, LONG);
		for (int64_t t = 0; t < LONG; t++)
			drawn[i * LONG + t] = written->ids[t] - 1;
	}
	hec_generations_free(out);
	check_draws(&k, "tokens", &(draws){drawn, DRAWS, even, VALUES}, far);
	hec_generator_destroy(g);
	kit_close(&k);
}

/* ---- what is live ---- */

#define LIVE 5

static void check_streams(const kit *k, const hec_decoded *a, const hec_decoded *b, bool same)
{
	int equal = 0;
	for (int i = 0; i < LIVE; i++) {
		const hec_hypothesis *x = hec_decoded_at(a, i, 0), *y = hec_decoded_at(b, i, 0);
		equal += x->n == y->n && memcmp(x->ids, y->ids, (size_t)x->n * sizeof *x->ids) == 0;
	}
	CHECK(k, same ? equal == LIVE : equal < LIVE, "%d of %d sources are written alike", equal,
	      LIVE);
}

static void what_is_live_draws_again_what_its_streams_say(void **state)
{
	(void)state;
	kit k = kit_open(6);
	char path[512];
	searches_path("decode_marian_0", path);
	hec_model *model;
	OK(&k, hec_model_load(k.ctx, path, NULL, &model));
	hec_session_options so = HEC_SESSION_OPTIONS_INIT;
	hec_session *live, *fresh;
	so.sources = LIVE;
	so.max_source = 3;
	so.max_target = 16;
	OK(&k, hec_session_create(k.ctx, model, &so, &live));
	OK(&k, hec_session_create(k.ctx, model, &so, &fresh));
	int32_t ids[LIVE][3];
	const int32_t *at[LIVE];
	int64_t length[LIVE];
	for (int i = 0; i < LIVE; i++) {
		memcpy(ids[i], prompt_ids, sizeof ids[i]);
		at[i] = ids[i];
		length[i] = 3;
	}
	hec_tensor sources = hec_tensor_2d(ids, HEC_I32, LIVE, 3);
	OK(&k, hec_session_start(live, LIVE, &sources, NULL));
	hec_decode_options o = sampling(51, 12);
	hec_decoded *first, *want, *got;
	OK(&k, hec_decode_live(live, &o, &first));
	static const uint64_t streams[LIVE] = {9, 1, 7, 1ull << 40, 3};
	for (int round = 0; round < 3; round++) {
		o.first_stream = round == 1 ? LIVE : 0;
		o.streams = round == 2 ? streams : NULL;
		OK(&k, hec_decode(fresh, LIVE, at, length, &o, &want));
		OK(&k, hec_decode_live(live, &o, &got));
		check_streams(&k, want, got, true);
		check_streams(&k, first, got, round == 0);
		hec_decoded_free(want);
		hec_decoded_free(got);
	}
	hec_decoded_free(first);
	hec_session_destroy(live);
	hec_session_destroy(fresh);
	hec_model_destroy(model);
	kit_close(&k);
}

/* ---- texts of a translator ---- */

static bool same_text(const hec_translation *a, const hec_translation *b)
{
	return a->n == b->n &&
	       (a->n == 0 || memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids) == 0);
}

static bool same_numbered(const hec_translations *all, int64_t i, int64_t j)
{
	return same_text(hec_translations_at(all, i, 0), hec_translations_at(all, j, 0));
}

/* Text i of a call, with the stream that it would have there. */
static hec_translations *alone(const kit *k, hec_translator *t, const hec_translate_options *given,
                               const char *text, uint64_t stream)
{
	hec_translate_options o = *given;
	hec_decode_options decode = *given->decode;
	hec_translations *out;
	o.decode = &decode;
	decode.first_stream = stream;
	decode.streams = NULL;
	OK(k, hec_translate(t, 1, &text, NULL, &o, &out));
	return out;
}

static void a_text_draws_by_its_number_whatever_comes_before_it(void **state)
{
	(void)state;
	enum { TEXTS = 8 };
	kit k = kit_open(7);
	char path[512], long_one[512] = "";
	hec_translator *t;
	searches_path("decode_text", path);
	OK(&k, hec_translator_load(k.ctx, path, NULL, &t));
	for (int i = 0; i < 60; i++)
		strcat(long_one, "the cat ");
	const char *texts[TEXTS] = {"the cat", "",        "the cat", " \t ",
	                            long_one,  "the cat", long_one,  "the cat"};
	uint64_t streams[TEXTS] = {5, 0, 77, 1, 2, 1ull << 41, 2, 5};
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	hec_translator_defaults(t, &decode, sizeof decode);
	decode.beams = 1;
	decode.sample = true;
	decode.seed = 61;
	decode.max_tokens = 8;
	decode.process = make_equal;
	decode.first_stream = 100;
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.decode = &decode;
	o.windows = true;
	for (int way = 0; way < 2; way++) {
		decode.streams = way ? streams : NULL;
		hec_translations *all;
		OK(&k, hec_translate(t, TEXTS, texts, NULL, &o, &all));
		for (int i = 0; i < TEXTS; i++) {
			hec_translations *one =
				alone(&k, t, &o, texts[i], way ? streams[i] : 100 + (uint64_t)i);
			CHECK(&k,
			      same_text(hec_translations_at(all, i, 0),
			                hec_translations_at(one, 0, 0)),
			      "text %d", i);
			hec_translations_free(one);
		}
		/* Streams that are one give one text, and others another. */
		CHECK(&k, same_numbered(all, 0, 7) == (way == 1), "way %d", way);
		CHECK(&k, same_numbered(all, 4, 6) == (way == 1), "way %d", way);
		hec_translations_free(all);
	}
	hec_translator_destroy(t);
	kit_close(&k);
}

/* The rules leave the same to draw from everywhere: what a piece becomes is its draws alone. */
static void the_pieces_of_a_text_draw_from_streams_of_their_own(void **state)
{
	(void)state;
	enum { PIECE = 7 };
	kit k = kit_open(8);
	char path[512], text[512] = "";
	hec_translator *t;
	searches_path("decode_text", path);
	OK(&k, hec_translator_load(k.ctx, path, NULL, &t));
	for (int i = 0; i < 60; i++)
		strcat(text, "the cat ");
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	hec_translator_defaults(t, &decode, sizeof decode);
	decode.beams = 1;
	decode.sample = true;
	decode.seed = 71;
	decode.max_tokens = PIECE;
	decode.forced_eos = -1;
	decode.process = make_equal;
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.decode = &decode;
	o.windows = true;
	hec_translations *whole = alone(&k, t, &o, text, 4);
	const hec_translation *joined = hec_translations_at(whole, 0, 0);
	const int64_t pieces = joined->n / PIECE;
	assert_true(pieces > 1 && joined->n == pieces * PIECE);
	for (int64_t i = 0; i < pieces; i++) {
		hec_translations *one = alone(&k, t, &o, "cat", 4 + ((uint64_t)i << 40));
		const hec_translation *piece = hec_translations_at(one, 0, 0);
		assert_int_equal(piece->n, PIECE);
		assert_memory_equal(piece->ids, joined->ids + i * PIECE, PIECE * sizeof(int32_t));
		hec_translations_free(one);
	}
	hec_translations_free(whole);
	hec_translator_destroy(t);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_that_lean_or_come_again_are_noticed),
		cmocka_unit_test(draws_of_any_two_seeds_streams_or_positions_have_no_link),
		cmocka_unit_test(a_prompt_draws_by_its_stream_whatever_it_runs_with),
		cmocka_unit_test(prompts_that_are_written_apart_draw_by_their_streams_as_well),
		cmocka_unit_test(many_prompts_follow_the_model_and_no_draw_comes_again),
		cmocka_unit_test(tokens_of_a_row_and_of_its_neighbours_have_no_link),
		cmocka_unit_test(what_is_live_draws_again_what_its_streams_say),
		cmocka_unit_test(a_text_draws_by_its_number_whatever_comes_before_it),
		cmocka_unit_test(the_pieces_of_a_text_draw_from_streams_of_their_own),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
