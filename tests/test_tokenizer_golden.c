/* test_tokenizer_golden.c — every kind of part of tokenizer.json against what the pinned `tokenizers`
 * made of it (tests/golden/tokenizers.json, by tools/goldens/tokenizers_make.py). */
#include <hecate/tokenizer.h>

#include "format/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define GOLDEN TESTS_DIR "/golden/tokenizers.json"

static int64_t at(const json_t *list, size_t i)
{
	return json_integer_value(json_array_get(list, i));
}

static void compare(const char *name, const hec_tokenizer *t, const hec_encoding *e,
                    const json_t *want)
{
	const json_t *ids = json_object_get(want, "ids"), *types = json_object_get(want, "types");
	const json_t *offsets = json_object_get(want, "offsets");
	const char *text = json_string_value(json_object_get(want, "text"));
	if (e->n != json_array_size(ids))
		fail_msg("%s: \"%s\": %zu tokens, not %zu", name, text, e->n, json_array_size(ids));
	for (size_t i = 0; i < e->n; i++) {
		const json_t *span = json_array_get(offsets, i);
		if (e->ids[i] != at(ids, i) || e->type_ids[i] != at(types, i) ||
		    (int64_t)e->offsets[i].begin != at(span, 0) ||
		    (int64_t)e->offsets[i].end != at(span, 1))
			fail_msg("%s: \"%s\": token %zu is %d, type %d, %zu … %zu; not %lld, "
			         "type %lld, %lld … %lld",
			         name, text, i, e->ids[i], e->type_ids[i], e->offsets[i].begin,
			         e->offsets[i].end, (long long)at(ids, i), (long long)at(types, i),
			         (long long)at(span, 0), (long long)at(span, 1));
		const char *token =
			json_string_value(json_array_get(json_object_get(want, "tokens"), i));
		if (strcmp(hec_tokenizer_token(t, e->ids[i]), token) != 0)
			fail_msg("%s: token %d is called \"%s\", not \"%s\"", name, e->ids[i],
			         hec_tokenizer_token(t, e->ids[i]), token);
	}
}

static void decode(const char *name, const hec_tokenizer *t, const hec_encoding *e,
                   const json_t *want, bool skip)
{
	const char *text = json_string_value(json_object_get(want, skip ? "plain" : "decoded"));
	char *back;
	assert_int_equal(hec_tokenizer_decode(t, e->ids, e->n, skip, &back, NULL), HEC_OK);
	if (strcmp(back, text) != 0)
		fail_msg("%s: decoded to \"%s\", not \"%s\"", name, back, text);
	hec_free(back);
}

static size_t compare_all(const json_t *golden)
{
	const char *name = json_string_value(json_object_get(golden, "name"));
	char *json;
	size_t bytes, i;
	hec_tokenizer *t = NULL;
	hec_encoding e = HEC_ENCODING_INIT;
	assert_int_equal(json_text_make(json_object_get(golden, "tokenizer"), false, &json, &bytes),
	                 HEC_OK);
	if (hec_tokenizer_parse(json, bytes, NULL, 0, &t) != HEC_OK)
		fail_msg("%s: %s", name, hec_error_message());
	json_t *cases = json_object_get(golden, "cases"), *one;
	json_array_foreach(cases, i, one)
	{
		const char *text = json_string_value(json_object_get(one, "text"));
		hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
		o.pair = json_string_value(json_object_get(one, "pair"));
		o.pair_bytes = o.pair ? strlen(o.pair) : 0;
		if (hec_tokenizer_encode(t, text, strlen(text), &o, &e) != HEC_OK)
			fail_msg("%s: \"%s\": %s", name, text, hec_error_message());
		compare(name, t, &e, one);
		decode(name, t, &e, one, false);
		decode(name, t, &e, one, true);
	}
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
	free(json);
	return json_array_size(cases);
}

static void every_part_does_what_tokenizers_does(void **state)
{
	(void)state;
	json_t *root, *golden;
	size_t i, cases = 0;
	assert_int_equal(json_file_read(GOLDEN, 1 << 22, &root), HEC_OK);
	json_array_foreach(json_object_get(root, "tokenizers"), i, golden) cases +=
		compare_all(golden);
	print_message("             %zu tokenizers, %zu texts\n", i, cases);
	assert_true(i >= 51 && cases >= 699);
	json_decref(root);
}

/* ---- files that are wrong ---- */

#define MODEL                                                                                      \
	"\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": "  \
	"[\"a b\"]}"

static void what_is_wrong_or_unknown_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *json, *says;
		hec_status status;
	} cases[] = {
		{"", "line 1", HEC_ERR_FORMAT},
		{"{}", "'model'", HEC_ERR_FORMAT},
		{"{\"model\": {\"type\": \"Magic\"}}", "Magic", HEC_ERR_UNSUPPORTED},
		{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": -1}, \"merges\": []}}",
	         "'model.vocab.a'", HEC_ERR_FORMAT},
		{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 2147483647}, \"merges\": []}}",
	         "2147483647", HEC_ERR_FORMAT},
		{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 1e300}, \"merges\": []}}",
	         "'model.vocab.a'", HEC_ERR_FORMAT},
		{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}}",
	         "merges[0]", HEC_ERR_FORMAT},
		{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"ab\"]}}",
	         "merges[0]", HEC_ERR_FORMAT},
		{"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [7]}}",
	         "merges[0]", HEC_ERR_FORMAT},
		{"{\"model\": {\"type\": \"BPE\", \"dropout\": 0.5, \"vocab\": {}, \"merges\": "
	         "[]}}",
	         "dropout", HEC_ERR_UNSUPPORTED},
		{"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]], \"unk_id\": 9}}",
	         "unk_id", HEC_ERR_FORMAT},
		{"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\"]]}}", "vocab[0]",
	         HEC_ERR_FORMAT},
		{"{" MODEL ", \"normalizer\": {\"type\": \"Shout\"}}", "Shout",
	         HEC_ERR_UNSUPPORTED},
		{"{" MODEL
	         ", \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": "
	         "\"Halve\"}]}}",
	         "pretokenizers[0]", HEC_ERR_UNSUPPORTED},
		{"{" MODEL ", \"decoder\": {\"type\": \"Guess\"}}", "Guess", HEC_ERR_UNSUPPORTED},
		{"{" MODEL ", \"post_processor\": {\"type\": \"Wish\"}}", "Wish",
	         HEC_ERR_UNSUPPORTED},
		{"{" MODEL ", \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Isolated\", "
	         "\"pattern\": {\"Regex\": \"(a\"}}}",
	         "(a", HEC_ERR_FORMAT},
		{"{" MODEL
	         ", \"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"x\", 99], "
	         "\"sep\": [\"y\", 0]}}",
	         "99", HEC_ERR_FORMAT},
		{"{" MODEL ", \"added_tokens\": [{\"id\": 5}]}", "added_tokens[0]", HEC_ERR_FORMAT},
		{"{" MODEL ", \"version\": \"2.0\"}", "2.0", HEC_ERR_UNSUPPORTED},
		{"{" MODEL ", \"pre_tokenizer\": {\"type\": \"Digits\"}}", "individual_digits",
	         HEC_ERR_FORMAT},
		{"{" MODEL ", \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Isolated\", "
	         "\"pattern\": {\"String\": \"a\"}}}",
	         "invert", HEC_ERR_FORMAT},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		hec_tokenizer *t = NULL;
		hec_status status =
			hec_tokenizer_parse(cases[i].json, strlen(cases[i].json), NULL, 0, &t);
		if (status != cases[i].status || !strstr(hec_error_message(), cases[i].says))
			fail_msg("%s: %s: %s", cases[i].json, hec_status_name(status),
			         status == HEC_OK ? "" : hec_error_message());
		assert_null(t);
	}
}

/* A pattern that would need ages ends in a message. */
static void a_pattern_runs_under_limits(void **state)
{
	(void)state;
	static const char json[] =
		"{" MODEL ", \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": "
		"\"Isolated\", \"invert\": false, \"pattern\": {\"Regex\": \"(a+)+$x|(a|a)*b\"}}}";
	hec_tokenizer *t = NULL;
	hec_encoding e = HEC_ENCODING_INIT;
	char text[200];
	memset(text, 'a', sizeof text);
	assert_int_equal(hec_tokenizer_parse(json, strlen(json), NULL, 0, &t), HEC_OK);
	assert_int_equal(hec_tokenizer_encode(t, text, sizeof text, NULL, &e), HEC_ERR_FORMAT);
	assert_non_null(strstr(hec_error_message(), "limit"));
	assert_int_equal(e.n, 0);
	assert_int_equal(hec_tokenizer_encode(t, "ab", 2, NULL, &e), HEC_OK);
	assert_int_equal(e.n, 1);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

#define TEMPLATE                                                                                   \
	"{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"a\"}}, "    \
	"{\"Sequence\": {\"id\": \"A\"}}, {\"SpecialToken\": {\"id\": \"a\"}}], \"pair\": "        \
	"[{\"Sequence\": "                                                                         \
	"{\"id\": \"A\"}}], \"special_tokens\": {\"a\": {\"id\": \"a\", \"ids\": [0]}}}"

/* A template is for one part or for two. What leaves more before another one has no meaning, but does no harm
 * where nothing is put around. */
static void a_template_takes_one_part_or_two(void **state)
{
	(void)state;
	static const char json[] = "{" MODEL ", \"post_processor\": {\"type\": \"Sequence\", "
				   "\"processors\": [" TEMPLATE ", " TEMPLATE "]}}";
	hec_tokenizer *t = NULL;
	hec_encoding e = HEC_ENCODING_INIT;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	assert_int_equal(hec_tokenizer_parse(json, strlen(json), NULL, 0, &t), HEC_OK);
	assert_int_equal(hec_tokenizer_encode(t, "ab", 2, &o, &e), HEC_ERR_UNSUPPORTED);
	assert_non_null(strstr(hec_error_message(), "TemplateProcessing"));
	assert_int_equal(e.n, 0);
	o.no_special = true;
	assert_int_equal(hec_tokenizer_encode(t, "ab", 2, &o, &e), HEC_OK);
	assert_int_equal(e.n, 1);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_does_what_tokenizers_does),
		cmocka_unit_test(what_is_wrong_or_unknown_is_named),
		cmocka_unit_test(a_pattern_runs_under_limits),
		cmocka_unit_test(a_template_takes_one_part_or_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
