/* test_translate.c — text in, text out. The model is tests/golden/decode_text; translate.jsonl is what
 * Transformers writes with it. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "support/searches.h"

#define MOST 16

typedef struct golden_text {
	json_t *line;
	const char *source, *greedy;
} golden_text;

static int read_goldens(const kit *k, golden_text *out)
{
	FILE *f = searches_open(k, "translate.jsonl");
	char text[16384];
	int n = 0;
	while (n < MOST && fgets(text, sizeof text, f)) {
		json_error_t error;
		golden_text *g = &out[n++];
		g->line = json_loads(text, 0, &error);
		CHECK(k, g->line, "translate.jsonl: %s", error.text);
		g->source = json_string_value(json_object_get(g->line, "source"));
		g->greedy = json_string_value(json_object_get(g->line, "greedy"));
	}
	assert_true(n >= 3); /* those that rounding may decide are left out */
	fclose(f);
	return n;
}

static hec_translator *load(const kit *k)
{
	char path[512];
	searches_path("decode_text", path);
	hec_translator *t;
	OK(k, hec_translator_load(k->ctx, path, &t));
	return t;
}

static void texts_become_what_transformers_makes_of_them(void **state)
{
	(void)state;
	kit k = kit_open(1);
	golden_text g[MOST];
	int n = read_goldens(&k, g);
	hec_translator *t = load(&k);
	assert_int_equal(hec_translator_defaults(t)->beams, 2);
	const char *texts[MOST];
	for (int i = 0; i < n; i++)
		texts[i] = g[i].source;
	hec_decode_options decode = *hec_translator_defaults(t);
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.decode = &decode;
	o.batch = 3;
	hec_translations out;
	decode.beams = 1;
	OK(&k, hec_translate(t, n, texts, NULL, &o, &out));
	for (int i = 0; i < n; i++)
		assert_string_equal(out.items[i].text, g[i].greedy);
	hec_translations_free(&out);
	decode.beams = decode.nbest = 4;
	OK(&k, hec_translate(t, n, texts, NULL, &o, &out));
	for (int i = 0; i < 4 * n; i++) {
		json_t *want =
			json_array_get(json_object_get(g[i / 4].line, "beam"), (size_t)i % 4);
		double score = json_real_value(json_object_get(want, "score"));
		assert_string_equal(out.items[i].text,
		                    json_string_value(json_object_get(want, "text")));
		CHECK(&k, fabs(out.items[i].score - score) <= 1e-4, "score %g, Transformers has %g",
		      out.items[i].score, score);
	}
	hec_translations_free(&out);
	for (int i = 0; i < n; i++)
		json_decref(g[i].line);
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
		hec_translations out;
		OK(&k, hec_translate(t, n, texts, NULL, &o, &out));
		for (int64_t i = 0; i < n; i++) {
			hec_encoding e = HEC_ENCODING_INIT;
			hec_encode_options plain = HEC_ENCODE_OPTIONS_INIT;
			OK(&k, hec_tokenizer_encode(hec_translator_tokenizer(t), texts[i],
			                            strlen(texts[i]), &plain, &e));
			int64_t most = 3 * (int64_t)e.n + 50;
			assert_int_equal(out.items[i].n, most < room ? most : room);
			longest = longest < out.items[i].n ? out.items[i].n : longest;
			hec_encoding_free(&e);
		}
		assert_true(out.items[0].n < room);
		hec_translations_free(&out);
	}
	assert_int_equal(longest, room);
	/* What the model says holds as it does in Transformers: max_length 30 counts the start. */
	decode = *hec_translator_defaults(t);
	decode.beams = 1;
	decode.min_tokens = 1 << 20;
	hec_translations out;
	OK(&k, hec_translate(t, 1, texts, NULL, &o, &out));
	assert_int_equal(out.items[0].n, 29);
	hec_translations_free(&out);
	hec_translator_destroy(t);
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
	hec_translations out;
	FAILS(&k, HEC_ERR_SHAPE, hec_translate(t, 3, texts, NULL, NULL, &out), "64");
	assert_int_equal(out.failed, 2);
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.truncate = true;
	OK(&k, hec_translate(t, 3, texts, NULL, &o, &out));
	assert_int_equal(out.failed, -1);
	hec_translations_free(&out);
	texts[1] = "bad \xff byte";
	FAILS(&k, HEC_ERR_FORMAT, hec_translate(t, 2, texts, NULL, NULL, &out), "4");
	assert_int_equal(out.failed, 1);
	o.lossy = true;
	OK(&k, hec_translate(t, 2, texts, NULL, &o, &out));
	hec_translations_free(&out);
	texts[1] = "";
	OK(&k, hec_translate(t, 2, texts, NULL, NULL, &out));
	assert_string_equal(out.items[1].text, "");
	assert_int_equal(out.items[1].n, 0);
	hec_translations_free(&out);
	o.batch = -1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_translate(t, 2, texts, NULL, &o, &out), "batch is -1");
	FAILS(&k, HEC_ERR_IO, hec_translator_load(k.ctx, "/nowhere", &t), "/nowhere");
	hec_translator_destroy(t);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_become_what_transformers_makes_of_them),
		cmocka_unit_test(where_nobody_bounds_a_translation_its_source_does),
		cmocka_unit_test(what_is_wrong_with_a_text_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
