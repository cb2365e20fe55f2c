/* test_translate.c — text in, text out. The model is tests/golden/decode_text; translate.jsonl is what
 * Transformers writes with it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/refuse.h"
#include "support/golden_lines.h"
#include "support/searches.h"
#include "support/tasks.h"

#define MOST 16

static hec_translator *load(const kit *k)
{
	char path[512];
	searches_path("decode_text", path);
	hec_translator *t;
	OK(k, hec_translator_load(k->ctx, path, NULL, &t));
	return t;
}

static void texts_become_what_transformers_makes_of_them(void **state)
{
	(void)state;
	kit k = kit_open(1);
	char path[512];
	searches_path("translate.jsonl", path);
	/* Those that rounding may decide are left out. */
	json_t *goldens = golden_lines(&k, path, 3), *golden;
	const int n = (int)json_array_size(goldens);
	size_t at;
	hec_translator *t = load(&k);
	hec_decode_options decode;
	hec_translator_defaults(t, &decode, sizeof decode);
	assert_int_equal(decode.beams, 2);
	const char *texts[MOST];
	assert_in_range(n, 3, MOST);
	json_array_foreach(goldens, at, golden) texts[at] = golden_words(golden, "source");
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.decode = &decode;
	o.batch = 3;
	hec_translations *out;
	decode.beams = 1;
	OK(&k, hec_translate(t, n, texts, NULL, &o, &out));
	json_array_foreach(goldens, at, golden)
	{
		const hec_translation *got = hec_translations_at(out, (int64_t)at, 0);
		assert_string_equal(got->text, golden_words(golden, "greedy"));
	}
	hec_translations_free(out);
	decode.beams = decode.nbest = 4;
	OK(&k, hec_translate(t, n, texts, NULL, &o, &out));
	for (int i = 0; i < 4 * n; i++) {
		golden = json_array_get(goldens, (size_t)i / 4);
		json_t *want = json_array_get(json_object_get(golden, "beam"), (size_t)i % 4);
		double score = golden_real(want, "score");
		const hec_translation *got = hec_translations_at(out, i / 4, i % 4);
		assert_string_equal(got->text, golden_words(want, "text"));
		CHECK(&k, fabs(got->score - score) <= 1e-4, "score %g, Transformers has %g",
		      got->score, score);
	}
	assert_null(hec_translations_at(out, 0, 4));
	assert_null(hec_translations_at(out, n, 0));
	assert_null(hec_translations_at(out, -1, 0));
	hec_translations_free(out);
	json_decref(goldens);
	hec_translator_destroy(t);
	kit_close(&k);
}

/* Each text for itself: also beside one that may become longer, and never beyond the positions. */
static void where_nobody_bounds_a_translation_its_source_does(void **state)
{
	(void)state;
	kit k = kit_open(3);
	hec_translator *t = load(&k);
	const char *texts[] = {"a", "Please try again later."};
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	decode.min_tokens = 1 << 20; /* as long as may be */
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.decode = &decode;
	const int64_t room = hec_model_config_of(hec_translator_model(t))->decoder.position.max - 1;
	int64_t longest = 0;
	for (int64_t n = 1; n <= 2; n++) {
		hec_translations *out;
		OK(&k, hec_translate(t, n, texts, NULL, &o, &out));
		for (int64_t i = 0; i < n; i++) {
			const int64_t got = hec_translations_at(out, i, 0)->n;
			hec_encoding e = HEC_ENCODING_INIT;
			hec_encode_options plain = HEC_ENCODE_OPTIONS_INIT;
			OK(&k, hec_tokenizer_encode(hec_translator_tokenizer(t), texts[i],
			                            strlen(texts[i]), &plain, &e));
			int64_t most = 3 * (int64_t)e.n + 50;
			assert_int_equal(got, most < room ? most : room);
			longest = longest < got ? got : longest;
			hec_encoding_free(&e);
		}
		assert_true(hec_translations_at(out, 0, 0)->n < room);
		hec_translations_free(out);
	}
	assert_int_equal(longest, room);
	/* What the model says holds as it does in Transformers: max_length 30 counts the start. */
	hec_translator_defaults(t, &decode, sizeof decode);
	decode.beams = 1;
	decode.min_tokens = 1 << 20;
	hec_translations *out;
	OK(&k, hec_translate(t, 1, texts, NULL, &o, &out));
	assert_int_equal(hec_translations_at(out, 0, 0)->n, 29);
	hec_translations_free(out);
	hec_translator_destroy(t);
	kit_close(&k);
}

/* As with Transformers, what generation_config.json says of the start goes before config.json. */
static void the_start_is_that_of_writing(void **state)
{
	(void)state;
	kit k = kit_open(12);
	const char *text = "abc";
	hec_translations *out[3];
	const hec_translation *first[3];
	for (int i = 0; i < 3; i++) {
		char path[SCRATCH_PATH], from[512], writing[128];
		searches_path("decode_text", from);
		scratch_copy(from, scratch_fresh(path));
		task_config(path, "decoder_start_token_id", json_integer(i == 1 ? 7 : 5));
		/* Nothing but the start differs. */
		snprintf(writing, sizeof writing, "{\"max_new_tokens\": 8%s, \"num_beams\": 1}",
		         i == 0 ? ", \"decoder_start_token_id\": 7" : "");
		task_file(path, "generation_config.json", writing);
		hec_translator *t;
		OK(&k, hec_translator_load(k.ctx, path, NULL, &t));
		OK(&k, hec_translate(t, 1, &text, NULL, NULL, &out[i]));
		first[i] = hec_translations_at(out[i], 0, 0);
		assert_int_equal(first[i]->start, i < 2 ? 7 : 5);
		hec_translator_destroy(t);
	}
	assert_int_equal(first[0]->n, first[1]->n);
	assert_memory_equal(first[0]->ids, first[1]->ids, (size_t)first[0]->n * sizeof(int32_t));
	assert_true(first[0]->score == first[1]->score);
	assert_true(first[0]->score != first[2]->score);
	for (int i = 0; i < 3; i++)
		hec_translations_free(out[i]);
	kit_close(&k);
}

static void what_is_wrong_with_a_text_is_said(void **state)
{
	(void)state;
	kit k = kit_open(2);
	hec_translator *t = load(&k);
	char many[4096];
	memset(many, 'x', sizeof many - 1);
	many[sizeof many - 1] = '\0';
	const char *texts[] = {"a", "b", many};
	hec_translations *out;
	FAILS(&k, HEC_ERR_SHAPE, hec_translate(t, 3, texts, NULL, NULL, &out), "64");
	assert_int_equal(hec_error_item(), 2);
	assert_null(out);
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.truncate = true;
	OK(&k, hec_translate(t, 3, texts, NULL, &o, &out));
	assert_non_null(out);
	hec_translations_free(out);
	texts[1] = "bad \xff byte";
	FAILS(&k, HEC_ERR_FORMAT, hec_translate(t, 2, texts, NULL, NULL, &out), "4");
	assert_int_equal(hec_error_item(), 1);
	assert_null(out);
	o.lossy = true;
	OK(&k, hec_translate(t, 2, texts, NULL, &o, &out));
	hec_translations_free(out);
	texts[1] = "";
	OK(&k, hec_translate(t, 2, texts, NULL, NULL, &out));
	assert_string_equal(hec_translations_at(out, 1, 0)->text, "");
	assert_int_equal(hec_translations_at(out, 1, 0)->n, 0);
	hec_translations_free(out);
	for (o.batch = -1; o.batch < 1; o.batch++) {
		FAILS(&k, HEC_ERR_ARGUMENT, hec_translate(t, 2, texts, NULL, &o, &out),
		      o.batch ? "batch is -1" : "batch is 0");
		assert_int_equal(hec_error_item(), -1);
		assert_null(out);
	}
	hec_translator *none;
	FAILS(&k, HEC_ERR_IO, hec_translator_load(k.ctx, "/nowhere", NULL, &none), "/nowhere");
	hec_translator_destroy(t);
	kit_close(&k);
}

/* ---- many languages ---- */

static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	size_t *at = user;
	*line = *at < 40 ? "the cat sat on the mat die katze" : NULL;
	*bytes = *line ? strlen(*line) : 0;
	++*at;
	return HEC_OK;
}

static hec_tokenizer *many_languages(const kit *k, const char *language)
{
	static const hec_special special[] = {
		{"</s>", "eos", false}, {"en_XX", NULL, false}, {"de_DE", NULL, false}};
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	hec_tokenizer *t;
	size_t at = 0;
	o.vocab = 290;
	o.special = special;
	o.specials = 3;
	o.begin = language;
	o.end = "</s>";
	o.threads = 1;
	OK(k, hec_bpe_train(&o, next_line, &at, &t));
	return t;
}

static hec_model *small_model(const kit *k, int64_t vocab, int32_t start)
{
	hec_stack_config s = {.layers = 1,
	                      .position = {.kind = HEC_POSITION_SINUSOIDAL, .max = 48}};
	s.attention = (hec_multi_head_config){.size = sizeof s.attention, .heads = 2};
	s.feed_forward = (hec_feed_forward_config){.size = sizeof s.feed_forward, .hidden = 32};
	hec_model_config c = {.size = sizeof c,
	                      .vocab = vocab,
	                      .width = 16,
	                      .head = HEC_HEAD_LM,
	                      .encoder = s,
	                      .decoder = s,
	                      .bos_id = -1,
	                      .pad_id = -1,
	                      .eos_id = 0,
	                      .start_id = start,
	                      .init_std = 0.5};
	hec_model *m;
	OK(k, hec_model_create(k->ctx, &c, HEC_F32, 3, &m));
	OK(k, hec_model_pack(k->ctx, m, false));
	return m;
}

static void translated(const kit *k, hec_translator *t, const char *text,
                       const hec_translate_options *o, char *buffer, size_t size)
{
	hec_translations *out;
	OK(k, hec_translate(t, 1, &text, NULL, o, &out));
	const hec_translation *first = hec_translations_at(out, 0, 0);
	snprintf(buffer, size, "%d %.9g %s", (int)first->ids[0], first->score, first->text);
	hec_translations_free(out);
}

static void languages_are_those_that_are_asked_for(void **state)
{
	(void)state;
	kit k = kit_open(5);
	hec_tokenizer *english = many_languages(&k, "en_XX"), *german = many_languages(&k, "de_DE");
	const int32_t de = hec_tokenizer_id(english, "de_DE"),
		      en = hec_tokenizer_id(english, "en_XX");
	hec_model *m = small_model(&k, hec_tokenizer_vocab(english), 0),
		  *by_start = small_model(&k, hec_tokenizer_vocab(english), en),
		  *german_start = small_model(&k, hec_tokenizer_vocab(english), de);
	hec_translator *t, *g, *s, *gs;
	OK(&k, hec_translator_create(k.ctx, m, english, &t));
	OK(&k, hec_translator_create(k.ctx, m, german, &g));
	OK(&k, hec_translator_create(k.ctx, by_start, english, &s));
	OK(&k, hec_translator_create(k.ctx, german_start, english, &gs));
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	decode.max_tokens = decode.min_tokens = 8;
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.decode = &decode;
	char plain[512], other[512], asked[512], forced[512];
	translated(&k, t, "the cat", &o, plain, sizeof plain);
	translated(&k, g, "the cat", &o, other, sizeof other);
	o.from_language = "de_DE";
	translated(&k, t, "the cat", &o, asked, sizeof asked);
	assert_string_equal(asked, other);
	assert_string_not_equal(asked, plain);
	/* A start that is no language: the language is written first. */
	o.from_language = NULL;
	o.to_language = "de_DE";
	translated(&k, t, "the cat", &o, forced, sizeof forced);
	assert_int_equal(atoi(forced), de);
	/* A start that is one: it is the start. */
	translated(&k, s, "the cat", &o, asked, sizeof asked);
	o.to_language = NULL;
	translated(&k, gs, "the cat", &o, other, sizeof other);
	assert_string_equal(asked, other);
	hec_translations *out;
	const char *text = "the cat";
	o.to_language = "xx_XX";
	FAILS(&k, HEC_ERR_ARGUMENT, hec_translate(t, 1, &text, NULL, &o, &out), "xx_XX");
	hec_translator_destroy(t);
	hec_translator_destroy(g);
	hec_translator_destroy(s);
	hec_translator_destroy(gs);
	hec_model_destroy(m);
	hec_model_destroy(by_start);
	hec_model_destroy(german_start);
	hec_tokenizer_destroy(english);
	hec_tokenizer_destroy(german);
	kit_close(&k);
}

static void a_prefix_is_part_of_the_text(void **state)
{
	(void)state;
	kit k = kit_open(6);
	hec_translator *t = load(&k);
	assert_string_equal(hec_translator_prefix(t), "");
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	const char *part = "try again later.", *bad = "ab\xff", *blank = " ";
	hec_translations *out;
	o.prefix = "Please ";
	OK(&k, hec_translate(t, 1, &part, NULL, &o, &out));
	assert_string_equal(hec_translations_at(out, 0, 0)->text,
	                    "Die Datei konnte nicht geöffnet werden.");
	hec_translations_free(out);
	FAILS(&k, HEC_ERR_FORMAT, hec_translate(t, 1, &bad, NULL, &o, &out), "2");
	OK(&k, hec_translate(t, 1, &blank, NULL, &o, &out));
	assert_string_equal(hec_translations_at(out, 0, 0)->text, "");
	hec_translations_free(out);
	hec_translator_destroy(t);
	kit_close(&k);
}

static void windows_do_what_is_too_long_in_pieces(void **state)
{
	(void)state;
	kit k = kit_open(7);
	hec_translator *t = load(&k);
	char text[4096] = "";
	for (int i = 0; i < 40; i++)
		strcat(text, "Please try again later. ");
	const char *texts[] = {text, "Please try again later."};
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	hec_translations *out, *alone;
	FAILS(&k, HEC_ERR_SHAPE, hec_translate(t, 1, texts, NULL, &o, &out), "tokens");
	OK(&k, hec_translate(t, 1, texts + 1, NULL, &o, &alone));
	o.windows = true;
	OK(&k, hec_translate(t, 2, texts, NULL, &o, &out));
	assert_string_equal(hec_translations_at(out, 1, 0)->text,
	                    hec_translations_at(alone, 0, 0)->text);
	const hec_translation *pieces = hec_translations_at(out, 0, 0);
	assert_true(pieces->n > 60);
	int ends = 0;
	for (int64_t i = 0; i < pieces->n; i++)
		ends += pieces->ids[i] == hec_tokenizer_role(hec_translator_tokenizer(t), "eos");
	assert_true(ends >= 3); /* one for each piece */
	hec_translations_free(out);
	hec_translations_free(alone);
	hec_translator_destroy(t);
	kit_close(&k);
}

/* What a text becomes, one token over and over, and how many of them were told of. */
typedef struct planned {
	int32_t id[4];
	int64_t told[4];
} planned;

static void write_planned(void *user, int64_t text, const int32_t *written, int64_t n,
                          float *logits, int64_t vocab)
{
	const planned *p = user;
	(void)written, (void)n;
	for (int64_t v = 0; v < vocab; v++)
		logits[v] = v == p->id[text] ? 0 : -INFINITY;
}

static hec_status count_planned(void *user, int64_t text, int32_t id)
{
	planned *p = user;
	p->told[text]++;
	return id == p->id[text] ? HEC_OK : HEC_ERR_CANCELLED;
}

/* A blank text and one in several pieces stand before the last. */
static void callbacks_of_the_caller_know_texts_by_their_own_numbers(void **state)
{
	(void)state;
	kit k = kit_open(13);
	hec_translator *t = load(&k);
	char text[4096] = "";
	for (int i = 0; i < 40; i++)
		strcat(text, "Please try again later. ");
	const char *texts[] = {"abc", " ", text, "abc"};
	const int32_t starts[] = {10, 11, 12, 13};
	const int32_t *prompts[] = {starts, starts + 1, starts + 2, starts + 3};
	const int64_t lengths[] = {1, 1, 1, 1};
	planned plan = {.id = {40, 41, 42, 43}};
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	decode.max_tokens = 5;
	decode.process = write_planned;
	decode.token = count_planned;
	decode.user = &plan;
	decode.prompts = prompts;
	decode.prompt_lengths = lengths;
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.decode = &decode;
	o.windows = true;
	hec_translations *out;
	OK(&k, hec_translate(t, 4, texts, NULL, &o, &out));
	assert_true(hec_translations_at(out, 2, 0)->n > 5);
	for (int i = 0; i < 4; i++) {
		const hec_translation *got = hec_translations_at(out, i, 0);
		assert_int_equal(plan.told[i], got->n);
		for (int64_t j = 0; j < got->n; j++)
			assert_int_equal(got->ids[j], plan.id[i]);
	}
	hec_translations_free(out);
	decode.prompt_lengths = NULL;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_translate(t, 4, texts, NULL, &o, &out), "prompt_lengths");
	hec_translator_destroy(t);
	kit_close(&k);
}

static void refused_memory_is_an_error(void **state)
{
	(void)state;
	kit k = kit_open(8);
	hec_translator *t = load(&k);
	char text[2048] = "";
	for (int i = 0; i < 12; i++)
		strcat(text, "try again later. ");
	const char *texts[] = {text, "try again later."};
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	decode.max_tokens = 3;
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.decode = &decode;
	o.prefix = "Please ";
	o.windows = true;
	hec_translations *out;
	OK(&k, hec_translate(t, 2, texts, NULL, &o, &out)); /* the session stays */
	hec_translations_free(out);
	long live = refuse_live();
	refuse_request(0, false);
	OK(&k, hec_translate(t, 2, texts, NULL, &o, &out));
	long requests = refuse_requests();
	hec_translations_free(out);
	assert_int_equal(refuse_live(), live);
	for (long n = 1; n <= requests; n++) {
		refuse_request(n, false);
		hec_status status = hec_translate(t, 2, texts, NULL, &o, &out);
		bool fired = refuse_fired();
		refuse_request(0, false);
		assert_true(fired);
		CHECK(&k, status == HEC_ERR_MEMORY || status == HEC_OK, "request %ld gave %s", n,
		      hec_status_name(status));
		assert_true(!out == (status != HEC_OK));
		hec_translations_free(out);
		assert_int_equal(refuse_live(), live);
	}
	hec_translator_destroy(t);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_become_what_transformers_makes_of_them),
		cmocka_unit_test(where_nobody_bounds_a_translation_its_source_does),
		cmocka_unit_test(the_start_is_that_of_writing),
		cmocka_unit_test(what_is_wrong_with_a_text_is_said),
		cmocka_unit_test(languages_are_those_that_are_asked_for),
		cmocka_unit_test(a_prefix_is_part_of_the_text),
		cmocka_unit_test(windows_do_what_is_too_long_in_pieces),
		cmocka_unit_test(callbacks_of_the_caller_know_texts_by_their_own_numbers),
		cmocka_unit_test(refused_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
