/* test_generate.c — prompts in, tokens and text out. generate.jsonl is what Transformers writes with the
 * models of tests/golden/models. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/refuse.h"
#include "support/golden_lines.h"
#include "support/searches.h"
#include "support/tasks.h"
#include "task/written_text.h"

#define TOKENS_MOST 64

static int64_t take_ids(json_t *line, const char *key, int32_t *out)
{
	json_t *list = json_object_get(line, key);
	size_t n = json_array_size(list);
	assert_true(n <= TOKENS_MOST);
	for (size_t i = 0; i < n; i++)
		out[i] = (int32_t)json_integer_value(json_array_get(list, i));
	return (int64_t)n;
}

static void check_case(const kit *k, json_t *line)
{
	const char *name = golden_words(line, "model");
	char folder[64], path[512];
	snprintf(folder, sizeof folder, "models/%s", name);
	searches_path(folder, path);
	hec_generator *g;
	OK(k, hec_generator_load(k->ctx, path, NULL, &g));
	assert_null(hec_generator_tokenizer(g));
	int32_t prompt[TOKENS_MOST], want[TOKENS_MOST];
	hec_prompt p = {.ids = prompt, .n = take_ids(line, "prompt", prompt)};
	int64_t n = take_ids(line, "ids", want);
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	hec_generator_defaults(g, &decode, sizeof decode);
	decode.beams = golden_whole(line, "beams");
	decode.max_tokens = golden_whole(line, "tokens");
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	o.decode = &decode;
	hec_generations *out;
	OK(k, hec_generate(g, 1, &p, &o, &out));
	const hec_generation *best = hec_generations_at(out, 0, 0);
	CHECK(k, best->n == n && memcmp(best->ids, want, (size_t)n * 4) == 0,
	      "%s with %lld beams writes %lld tokens, or others than Transformers' %lld", name,
	      (long long)decode.beams, (long long)best->n, (long long)n);
	double score = golden_real(line, "score");
	CHECK(k, fabs(best->score - score) <= 1e-4, "%s: score %g, Transformers has %g", name,
	      best->score, score);
	assert_null(best->text);
	hec_generations_free(out);
	hec_generator_destroy(g);
}

static void every_family_writes_what_it_writes_with_transformers(void **state)
{
	(void)state;
	kit k = kit_open(1);
	char path[512];
	searches_path("generate.jsonl", path);
	json_t *goldens = golden_lines(&k, path, 40), *line;
	size_t at;
	json_array_foreach(goldens, at, line) check_case(&k, line);
	json_decref(goldens);
	kit_close(&k);
}

/* ---- a model with words ---- */

static const char *const lines[] = {"the cat sat on the mat", "小猫追蝴蝶，它饿坏了。",
                                    "die Katze saß auf der Matte 🦊🦊", "naïve café"};

static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	size_t *at = user;
	*line = *at < sizeof lines / sizeof *lines ? lines[*at] : NULL;
	*bytes = *line ? strlen(*line) : 0;
	++*at;
	return HEC_OK;
}

typedef struct words {
	hec_tokenizer *tokenizer;
	hec_model *model;
	hec_generator *generator;
} words;

#define POSITIONS 96

static words open_words(const kit *k, bool unicode)
{
	words w = {0};
	hec_bpe_train_options t = HEC_BPE_TRAIN_OPTIONS_INIT;
	size_t at = 0;
	t.vocab = 300;
	t.unicode = unicode;
	t.threads = 1;
	OK(k, hec_bpe_train(&t, next_line, &at, &w.tokenizer));
	/* Some ids more than the tokenizer has, as models do to fill up. */
	hec_model_config c = {.size = sizeof c,
	                      .vocab = hec_tokenizer_vocab(w.tokenizer) + 5,
	                      .width = 16,
	                      .head = HEC_HEAD_LM,
	                      .bos_id = -1,
	                      .pad_id = -1,
	                      .start_id = -1,
	                      .init_std = 0.5};
	c.eos_id = hec_tokenizer_role(w.tokenizer, "eos");
	hec_stack_config s = {.layers = 1,
	                      .position = {.kind = HEC_POSITION_ROTARY, .max = POSITIONS}};
	s.attention = (hec_multi_head_config){.size = sizeof s.attention, .heads = 2};
	s.feed_forward = (hec_feed_forward_config){.size = sizeof s.feed_forward, .hidden = 32};
	c.decoder = s;
	OK(k, hec_model_create(k->ctx, &c, HEC_F32, 5, &w.model));
	OK(k, hec_model_pack(k->ctx, w.model, false));
	OK(k, hec_generator_create(k->ctx, w.model, w.tokenizer, &w.generator));
	return w;
}

static void close_words(words *w)
{
	hec_generator_destroy(w->generator);
	hec_model_destroy(w->model);
	hec_tokenizer_destroy(w->tokenizer);
}

typedef struct heard {
	char text[4][4096];
	size_t bytes[4];
	int pieces;
	int64_t last;
} heard;

static bool is_utf8(const char *text, size_t bytes)
{
	json_t *value = json_stringn(text, bytes); /* refuses what is not */
	json_decref(value);
	return value != NULL;
}

static hec_status hear(void *user, int64_t prompt, const char *text, size_t bytes)
{
	heard *h = user;
	assert_true(is_utf8(text, bytes) && bytes > 0);
	memcpy(h->text[prompt] + h->bytes[prompt], text, bytes + 1);
	h->bytes[prompt] += bytes;
	h->pieces++;
	h->last = prompt;
	return HEC_OK;
}

static void pieces_are_whole_characters_and_make_up_the_text(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		kit k = kit_open(seed);
		words w = open_words(&k, seed % 2);
		hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
		decode.sample = true;
		decode.seed = seed;
		decode.temperature = 0.2 * (double)seed;
		decode.max_tokens = 60;
		hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
		heard h = {0};
		o.decode = &decode;
		o.text = hear;
		o.user = &h;
		hec_prompt p[2] = {{.text = "the cat", .bytes = 7}, {.text = "小猫", .bytes = 6}};
		hec_generations *out;
		OK(&k, hec_generate(w.generator, 2, p, &o, &out));
		for (int i = 0; i < 2; i++) {
			const hec_generation *whole = hec_generations_at(out, i, 0);
			/* Byte fallback takes a character back where a wrong byte follows it. */
			if (seed % 2 == 0 || !strstr(whole->text, "\xEF\xBF\xBD"))
				assert_true(h.bytes[i] == whole->text_bytes &&
				            memcmp(h.text[i], whole->text, h.bytes[i]) == 0);
		}
		assert_true(h.pieces > 10);
		hec_generations_free(out);
		close_words(&w);
		kit_close(&k);
	}
}

static void a_nul_byte_is_a_character_like_others(void **state)
{
	(void)state;
	kit k = kit_open(1);
	words w = open_words(&k, false);
	const char *written[] = {"a", "Ā", "Ā", "b"};
	text_stream s = {.tokenizer = w.tokenizer};
	char *text, whole[8];
	size_t length, n = 0;
	for (int i = 0; i < 4; i++) {
		int32_t id = hec_tokenizer_id(w.tokenizer, written[i]);
		assert_true(id >= 0);
		OK(&k, text_stream_add(&s, id, i == 3, &text, &length));
		assert_true(n + length <= sizeof whole);
		memcpy(whole + n, text, length);
		n += length;
		free(text);
	}
	assert_int_equal(n, 4);
	assert_memory_equal(whole, "a\0\0b", 4);
	text_stream_free(&s);
	close_words(&w);
	kit_close(&k);
}

/* 🦊 in bytes of its own: nothing until its last. */
static void a_character_in_pieces_is_held_back(void **state)
{
	(void)state;
	kit k = kit_open(1);
	words w = open_words(&k, false);
	const char *bytes[] = {"ð", "Ł", "¦", "Ĭ"};
	text_stream s = {.tokenizer = w.tokenizer};
	char *text;
	size_t length;
	for (int i = 0; i < 4; i++) {
		int32_t id = hec_tokenizer_id(w.tokenizer, bytes[i]);
		assert_true(id >= 0);
		OK(&k, text_stream_add(&s, id, false, &text, &length));
		assert_string_equal(text, i < 3 ? "" : "🦊");
		free(text);
	}
	OK(&k, text_stream_add(&s, hec_tokenizer_id(w.tokenizer, bytes[0]), false, &text, &length));
	assert_string_equal(text, "");
	free(text);
	OK(&k, text_stream_add(&s, -1, true, &text, &length));
	assert_string_equal(text, "\xEF\xBF\xBD");
	free(text);
	text_stream_free(&s);
	close_words(&w);
	kit_close(&k);
}

static void prompts_give_the_same_alone_and_among_others(void **state)
{
	(void)state;
	kit k = kit_open(2);
	words w = open_words(&k, false);
	hec_prompt p[4] = {{.text = "the cat sat", .bytes = 11},
	                   {.text = "die", .bytes = 3},
	                   {.text = "小猫追蝴蝶", .bytes = 15},
	                   {.text = "on", .bytes = 2}};
	for (int64_t beams = 1; beams <= 3; beams += 2) {
		hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
		decode.beams = beams;
		decode.max_tokens = 20;
		hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
		o.decode = &decode;
		o.batch = 3;
		hec_generations *all, *one;
		OK(&k, hec_generate(w.generator, 4, p, &o, &all));
		for (int i = 0; i < 4; i++) {
			OK(&k, hec_generate(w.generator, 1, &p[i], &o, &one));
			const hec_generation *a = hec_generations_at(all, i, 0),
					     *b = hec_generations_at(one, 0, 0);
			assert_string_equal(b->text, a->text);
			assert_true(b->score == a->score);
			hec_generations_free(one);
		}
		assert_null(hec_generations_at(all, 4, 0));
		assert_null(hec_generations_at(all, 0, 1)); /* nbest is 1 */
		hec_generations_free(all);
	}
	close_words(&w);
	kit_close(&k);
}

typedef struct planned {
	int32_t id[3]; /* of each prompt */
} planned;

static void write_planned(void *user, int64_t source, const int32_t *written, int64_t n,
                          float *logits, int64_t vocab)
{
	const planned *p = user;
	(void)written, (void)n;
	for (int64_t v = 0; v < vocab; v++)
		logits[v] = v == p->id[source] ? 0 : -INFINITY;
}

static void check_planned(const kit *k, hec_generator *g)
{
	planned plan = {{40, 41, 42}};
	const int32_t ids[] = {5, 6, 7};
	hec_prompt p[3] = {{.ids = ids, .n = 2}, {.ids = ids, .n = 3}, {.ids = ids, .n = 1}};
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	hec_generator_defaults(g, &decode, sizeof decode);
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	hec_generations *out;
	decode.max_tokens = 6;
	decode.process = write_planned;
	decode.user = &plan;
	o.decode = &decode;
	OK(k, hec_generate(g, 3, p, &o, &out));
	for (int i = 0; i < 3; i++) {
		const hec_generation *got = hec_generations_at(out, i, 0);
		for (int64_t t = 0; t < got->n; t++)
			assert_int_equal(got->ids[t], plan.id[i]);
	}
	hec_generations_free(out);
}

/* Also where a least length counts the prompt in, and each is written by itself. */
static void rules_of_the_caller_know_the_prompt_and_what_is_his(void **state)
{
	(void)state;
	kit k = kit_open(5);
	char from[512], to[SCRATCH_PATH];
	hec_generator *g;
	searches_path("decode_gpt2_0", from);
	scratch_copy(from, scratch_fresh(to));
	for (int apart = 0; apart < 2; apart++) {
		if (apart)
			task_file(to, "generation_config.json", "{\"min_length\": 5}");
		OK(&k, hec_generator_load(k.ctx, to, NULL, &g));
		check_planned(&k, g);
		hec_generator_destroy(g);
	}
	kit_close(&k);
}

static void what_is_too_long_or_wrong_is_said(void **state)
{
	(void)state;
	kit k = kit_open(3);
	words w = open_words(&k, false);
	assert_int_equal(hec_generator_max_tokens(w.generator), POSITIONS);
	char many[4 * POSITIONS];
	for (size_t i = 0; i < sizeof many; i++)
		many[i] = i % 2 ? 'q' : 'z';
	hec_prompt p[2] = {{.text = "the", .bytes = 3}, {.text = many, .bytes = sizeof many}};
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	hec_generations *out;
	o.decode = &decode;
	FAILS(&k, HEC_ERR_SHAPE, hec_generate(w.generator, 2, p, &o, &out), "386");
	assert_int_equal(hec_error_item(), 1);
	assert_null(out);
	o.truncate = true;
	OK(&k, hec_generate(w.generator, 2, p, &o, &out));
	hec_generations_free(out);
	/* As many as there is room for, and not one more. */
	int32_t ids[POSITIONS] = {1};
	hec_prompt long_one = {.ids = ids, .n = 90};
	decode.max_tokens = 6;
	decode.min_tokens = 6;
	OK(&k, hec_generate(w.generator, 1, &long_one, &o, &out));
	assert_int_equal(hec_generations_at(out, 0, 0)->n, 6);
	hec_generations_free(out);
	decode.max_tokens = 7;
	FAILS(&k, HEC_ERR_SHAPE, hec_generate(w.generator, 1, &long_one, &o, &out), "90");
	decode.max_tokens = -1; /* nobody says how many: what there is room for */
	decode.min_tokens = 1000;
	OK(&k, hec_generate(w.generator, 1, &long_one, &o, &out));
	assert_int_equal(hec_generations_at(out, 0, 0)->n, 6);
	hec_generations_free(out);
	ids[3] = 100000;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_generate(w.generator, 1, &long_one, &o, &out), "100000");
	p[1] = long_one;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_generate(w.generator, 2, p, &o, &out), "100000");
	assert_int_equal(hec_error_item(), 1);
	hec_prompt none = {.ids = ids, .n = 0};
	FAILS(&k, HEC_ERR_ARGUMENT, hec_generate(w.generator, 1, &none, &o, &out), "no tokens");
	assert_int_equal(hec_error_item(), 0);
	/* A 0 is no default. */
	decode.max_tokens = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_generate(w.generator, 1, p, &o, &out), "max_tokens is 0");
	assert_int_equal(hec_error_item(), -1);
	assert_null(out);
	o.decode = NULL;
	o.batch = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_generate(w.generator, 1, p, &o, &out), "batch is 0");
	close_words(&w);
	kit_close(&k);
}

/* Where a refused request is an error, nothing is left behind. */
static void refused_memory_is_an_error(void **state)
{
	(void)state;
	kit k = kit_open(4);
	words w = open_words(&k, false);
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	decode.max_tokens = 6;
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	heard h = {0};
	o.decode = &decode;
	o.text = hear;
	o.user = &h;
	hec_prompt p[2] = {{.text = "the cat", .bytes = 7}, {.text = "on", .bytes = 2}};
	hec_generations *out;
	OK(&k, hec_generate(w.generator, 2, p, &o, &out)); /* the session stays */
	hec_generations_free(out);
	long live = refuse_live();
	refuse_request(0, false);
	OK(&k, hec_generate(w.generator, 2, p, &o, &out));
	long requests = refuse_requests();
	hec_generations_free(out);
	assert_int_equal(refuse_live(), live);
	assert_true(requests > 20);
	for (long n = 1; n <= requests; n++) {
		memset(&h, 0, sizeof h);
		refuse_request(n, false);
		hec_status status = hec_generate(w.generator, 2, p, &o, &out);
		bool fired = refuse_fired();
		refuse_request(0, false);
		assert_true(fired);
		CHECK(&k, status == HEC_ERR_MEMORY || status == HEC_OK, "request %ld gave %s", n,
		      hec_status_name(status));
		assert_int_equal(!out, status != HEC_OK);
		hec_generations_free(out);
		assert_int_equal(refuse_live(), live);
	}
	close_words(&w);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_family_writes_what_it_writes_with_transformers),
		cmocka_unit_test(pieces_are_whole_characters_and_make_up_the_text),
		cmocka_unit_test(a_character_in_pieces_is_held_back),
		cmocka_unit_test(a_nul_byte_is_a_character_like_others),
		cmocka_unit_test(prompts_give_the_same_alone_and_among_others),
		cmocka_unit_test(rules_of_the_caller_know_the_prompt_and_what_is_his),
		cmocka_unit_test(what_is_too_long_or_wrong_is_said),
		cmocka_unit_test(refused_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
