/* test_json.c — JSON in: strict, typed, with messages that say where; out: the same bits again. */
#include "support/scratch.h"
#include "support/test.h"

#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/refuse.h"
#include "base/file.h"
#include "base/status.h"
#include "format/json.h"

static kit bare; /* for messages where no context is needed */

static hec_status parse(const char *text, json_t **out)
{
	*out = NULL;
	/* Exactly as long as the text, so that a sanitizer sees a read beyond it. */
	size_t size = strlen(text);
	char *copy = malloc(size + !size);
	memcpy(copy, text, size);
	hec_status status = json_text_read("a.json", copy, size, JSON_CONFIG_MOST, out);
	free(copy);
	return status;
}

static void what_is_not_strict_json_is_refused_with_its_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *where, *what;
	} cases[] = {
		{"", "line 1, column 1", "end of file"},
		{"{\n  \"a\": 1,\n  \"a\": 2\n}", "line 3, column 5", "duplicate object key"},
		{"{\"a\": 1} {}", "line 1, column", "end of file expected"},
		{"{\"a\": 1e400}", "line 1, column", "overflow"},
		{"[NaN]", "line 1, column", "invalid token"},
		{"[Infinity]", "line 1, column", "invalid token"},
		{"[01]", "line 1, column", "invalid token"},
		{"[1,]", "line 1, column 4", "unexpected token"},
		{"{'a': 1}", "line 1, column 2", "expected"},
		{"[\"\xff\"]", "line 1, column", "unable to decode byte"},
		{"[\"\xc0\x80\"]", "line 1, column", "unable to decode byte"},
		{"[\"\xed\xa0\x80\"]", "line 1, column", "unable to decode byte"},
		{"[\"\\ud800\"]", "line 1, column", "invalid Unicode"},
		{"[\"\\u0000\"]", "line 1, column", "\\u0000"},
		{"[\"a\x01\"]", "line 1, column", "control character"},
		{"\xef\xbb\xbf{}", "line 1, column", "invalid token"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *root;
		FAILS(&bare, HEC_ERR_FORMAT, parse(cases[i].text, &root),
		      "a.json: ", cases[i].where, cases[i].what);
		assert_null(root);
	}
	json_t *root;
	FAILS(&bare, HEC_ERR_FORMAT,
	      json_text_read("a.json", "[\"a\0b\"]", 7, JSON_CONFIG_MOST, &root),
	      "line 1, column 4", "a zero byte");
	FAILS(&bare, HEC_ERR_FORMAT,
	      json_text_read("a.json", "[true\0]", 7, JSON_CONFIG_MOST, &root), "line 1, column 6",
	      "a zero byte");
}

static void nesting_has_a_limit(void **state)
{
	(void)state;
	size_t depth = 100000;
	char *text = malloc(depth + 1);
	memset(text, '[', depth);
	text[depth] = '\0';
	json_t *root;
	FAILS(&bare, HEC_ERR_FORMAT, parse(text, &root), "maximum parsing depth");
	free(text);
}

/* begin unit,unit,… end, of at least so many bytes. A %d in the unit is its number. */
static char *repeat(const char *begin, const char *unit, const char *end, size_t bytes)
{
	char *text = malloc(bytes + 256);
	size_t n = (size_t)sprintf(text, "%s", begin);
	for (int i = 0; n < bytes; i++) {
		if (i > 0)
			text[n++] = ',';
		n += (size_t)snprintf(text + n, 128, unit, i);
	}
	sprintf(text + n, "%s", end);
	return text;
}

static size_t memory_in_use(void)
{
	struct mallinfo2 now = mallinfo2(); /* zeros where a sanitizer allocates */
	return now.uordblks + now.hblkhd;
}

static void a_tree_takes_a_bounded_multiple_of_its_file(void **state)
{
	(void)state;
	static const struct {
		const char *begin, *unit, *end;
		bool taken;
	} cases[] = {
		{"[", "{}", "]", false},
		{"[", "[]", "]", false},
		{"[", "[[]]", "]", false},
		{"[", "{\"\":0}", "]", false},
		{"{", "\"%d\":{}", "}", false},
		{"[", "0", "]", true},
		/* As they come in real files: a vocabulary, merges of both kinds, pieces. */
		{"{", "\"token%d\":7", "}", true},
		{"[", "\"a%d b\"", "]", true},
		{"[", "[\"a%d\",\"b\"]", "]", true},
		{"[", "[\"a%d\",-1.25]", "]", true},
		{"[", "\"{{{{{{{[[[[[[,,,,,,\\\"::::::\"", "]", true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = repeat(cases[i].begin, cases[i].unit, cases[i].end, (size_t)2 << 20);
		size_t size = strlen(text), before = memory_in_use();
		json_t *root = NULL;
		hec_status status =
			json_text_read("a.json", text, size, JSON_TOKENIZER_MOST, &root);
		size_t taken = memory_in_use() - before;
		CHECK(&bare, (status == HEC_OK) == cases[i].taken, "%s: %s", cases[i].unit,
		      hec_error_message());
		CHECK(&bare, taken <= ((size_t)16 << 20) + 24 * size, "%s: %zu bytes of memory",
		      cases[i].unit, taken);
		if (status != HEC_OK)
			FAILS(&bare, HEC_ERR_FORMAT,
			      json_text_read("a.json", text, size, JSON_TOKENIZER_MOST, &root),
			      "a.json: its 20971", "values", "bytes of memory; at most 6710");
		json_decref(root);
		free(text);
	}
	/* However large: four times what a file of its kind may have. */
	char *text = repeat("[", "0", "]", (size_t)4 << 20);
	json_t *root;
	FAILS(&bare, HEC_ERR_FORMAT,
	      json_text_read("a.json", text, strlen(text), JSON_CONFIG_MOST, &root),
	      "at most 67108864 are taken");
	free(text);
}

static void messages_cannot_steer_a_terminal(void **state)
{
	(void)state;
	json_t *root;
	FAILS(&bare, HEC_ERR_FORMAT, parse("[\"\\u001b[31m\", x\x1b[31m]", &root), "a.json");
	assert_null(strchr(hec_error_message(), '\x1b'));
}

static void whole_numbers_keep_all_their_bits(void **state)
{
	(void)state;
	json_t *root;
	json_scope s;
	int64_t n = 0;
	assert_int_equal(parse("{\"a\": 9223372036854775807, \"b\": 3.0, \"c\": 3.5, "
	                       "\"d\": -9223372036854775808, \"e\": 1e300}",
	                       &root),
	                 HEC_OK);
	assert_int_equal(json_scope_root("a.json", root, &s), HEC_OK);
	assert_int_equal(json_need_int(&s, "a", 0, INT64_MAX, &n), HEC_OK);
	assert_true(n == INT64_MAX);
	assert_int_equal(json_need_int(&s, "b", 0, 3, &n), HEC_OK);
	assert_true(n == 3);
	FAILS(&bare, HEC_ERR_FORMAT, json_need_int(&s, "c", 0, 9, &n),
	      "a.json: 'c' is 3.5, a whole number from 0 to 9 is needed");
	assert_int_equal(json_need_int(&s, "d", INT64_MIN, 0, &n), HEC_OK);
	assert_true(n == INT64_MIN);
	FAILS(&bare, HEC_ERR_FORMAT, json_need_int(&s, "e", INT64_MIN, INT64_MAX, &n), "'e' is");
	json_decref(root);
	/* As Hugging Face writes "no limit". */
	assert_int_equal(
		parse("{\"model_max_length\": 1000000000000000019884624838656, \"n\": 7}", &root),
		HEC_OK);
	assert_int_equal(json_scope_root("a.json", root, &s), HEC_OK);
	double most = 0;
	assert_int_equal(json_need_double(&s, "model_max_length", 0, INFINITY, &most), HEC_OK);
	assert_true(most == 1e30);
	assert_int_equal(json_need_int(&s, "n", 0, 9, &n), HEC_OK);
	assert_true(n == 7);
	json_decref(root);
}

static void typed_members_say_what_is_needed(void **state)
{
	(void)state;
	json_t *root, *list = NULL;
	json_scope s, inner;
	int64_t n = 5;
	double x = 0.5;
	bool yes = true, found;
	const char *text = "default";
	assert_int_equal(parse("{\"d_model\": \"512\", \"zero\": 0, \"none\": null, \"p\": 2, "
	                       "\"list\": [1], \"in\": {\"er\": {\"x\": []}}, \"t\": false}",
	                       &root),
	                 HEC_OK);
	FAILS(&bare, HEC_ERR_FORMAT, json_scope_root("a.json", json_object_get(root, "list"), &s),
	      "a.json: holds a list, an object {…} is needed");
	assert_int_equal(json_scope_root("config.json", root, &s), HEC_OK);
	FAILS(&bare, HEC_ERR_FORMAT, json_need_int(&s, "d_model", 1, INT64_MAX, &n),
	      "config.json: 'd_model' is a text, a whole number ≥ 1 is needed");
	FAILS(&bare, HEC_ERR_FORMAT, json_want_int(&s, "d_model", 1, INT64_MAX, &n), "'d_model'");
	FAILS(&bare, HEC_ERR_FORMAT, json_need_int(&s, "zero", 1, 10, &n),
	      "'zero' is 0, a whole number from 1 to 10 is needed");
	FAILS(&bare, HEC_ERR_FORMAT, json_need_int(&s, "gone", 1, 10, &n), "'gone' is missing");
	FAILS(&bare, HEC_ERR_FORMAT, json_need_int(&s, "none", 1, 10, &n), "'none' is null");
	assert_int_equal(json_want_int(&s, "gone", 1, 10, &n), HEC_OK);
	assert_int_equal(json_want_int(&s, "none", 1, 10, &n), HEC_OK);
	assert_int_equal(n, 5);
	FAILS(&bare, HEC_ERR_FORMAT, json_want_double(&s, "p", 0, 1, &x),
	      "'p' is 2, a number from 0 to 1 is needed");
	FAILS(&bare, HEC_ERR_FORMAT, json_want_double(&s, "list", -INFINITY, INFINITY, &x),
	      "'list' is a list, a number is needed");
	assert_int_equal(json_want_double(&s, "zero", 0, 1, &x), HEC_OK);
	assert_true(x == 0);
	FAILS(&bare, HEC_ERR_FORMAT, json_want_bool(&s, "zero", &yes), "true or false");
	assert_int_equal(json_want_bool(&s, "none", &yes), HEC_OK);
	assert_true(yes);
	assert_int_equal(json_need_bool(&s, "t", &yes), HEC_OK);
	assert_false(yes);
	FAILS(&bare, HEC_ERR_FORMAT, json_need_string(&s, "t", &text),
	      "'t' is false, a text is needed");
	assert_int_equal(json_want_string(&s, "gone", &text), HEC_OK);
	assert_string_equal(text, "default");
	assert_int_equal(json_need_string(&s, "d_model", &text), HEC_OK);
	assert_string_equal(text, "512");
	FAILS(&bare, HEC_ERR_FORMAT, json_need_array(&s, "in", &list), "'in' is an object, a list");
	assert_int_equal(json_want_array(&s, "none", &list), HEC_OK);
	assert_null(list);
	assert_int_equal(json_need_array(&s, "list", &list), HEC_OK);
	assert_non_null(list);
	assert_int_equal(json_want_object(&s, "none", &inner, &found), HEC_OK);
	assert_false(found);
	assert_int_equal(json_need_object(&s, "in", &inner), HEC_OK);
	assert_int_equal(json_want_object(&inner, "er", &inner, &found), HEC_OK);
	assert_true(found);
	FAILS(&bare, HEC_ERR_FORMAT, json_need_int(&inner, "x", 0, 1, &n),
	      "config.json: 'in.er.x' is a list");
	FAILS(&bare, HEC_ERR_FORMAT, json_need_object(&s, "list", &inner), "an object {…}");
	json_decref(root);
}

static void doubles_come_back_with_the_same_bits_in_few_digits(void **state)
{
	(void)state;
	kit k = kit_open(11);
	static const struct {
		double value;
		const char *text;
	} known[] = {{0.1, "0.1"},       {1, "1.0"},
	             {-0.0, "-0.0"},     {1e-12, "1e-12"},
	             {1e22, "1e+22"},    {0.02, "0.02"},
	             {5e-324, "5e-324"}, {1 / 3., "0.3333333333333333"}};
	char *text;
	size_t size;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		json_t *real = json_real(known[i].value);
		assert_int_equal(json_text_make(real, false, &text, &size), HEC_OK);
		assert_string_equal(text, known[i].text);
		free(text);
		json_decref(real);
	}
	for (int i = 0; i < 2000; i++) {
		union {
			uint64_t bits;
			double value;
		} in = {.bits = (uint64_t)draw(&k) << 32 | draw(&k)}, out;
		if (!isfinite(in.value))
			continue;
		json_t *real = json_real(in.value), *back;
		assert_int_equal(json_text_make(real, false, &text, &size), HEC_OK);
		assert_int_equal(parse(text, &back), HEC_OK);
		out.value = json_number_value(back);
		CHECK(&k, in.bits == out.bits, "%a came back as %a by %s", in.value, out.value,
		      text);
		free(text);
		json_decref(real);
		json_decref(back);
	}
	kit_close(&k);
}

static void what_is_written_is_laid_out_for_people(void **state)
{
	(void)state;
	char path[SCRATCH_PATH];
	json_t *root;
	assert_int_equal(parse("{\"z\": [1, \"two\", null], \"a\": {\"deep\": [[0.5]], \"e\": {}}, "
	                       "\"s\": \"\\\"\\\\\\n\\u0007é\\ud83d\\ude00\", \"l\": []}",
	                       &root),
	                 HEC_OK);
	assert_int_equal(json_put(root, "last", json_true()), HEC_OK);
	FAILS(&bare, HEC_ERR_MEMORY, json_put(root, "x", NULL), "'x'");
	assert_int_equal(json_file_write(scratch_fresh(path), root), HEC_OK);
	char *text;
	size_t size;
	assert_int_equal(file_read(path, 1000, &text, &size), HEC_OK);
	assert_string_equal(text, "{\n"
	                          "  \"z\": [1, \"two\", null],\n"
	                          "  \"a\": {\n"
	                          "    \"deep\": [\n"
	                          "      [0.5]\n"
	                          "    ],\n"
	                          "    \"e\": {}\n"
	                          "  },\n"
	                          "  \"s\": \"\\\"\\\\\\n\\u0007é😀\",\n"
	                          "  \"l\": [],\n"
	                          "  \"last\": true\n"
	                          "}\n");
	free(text);
	json_t *back;
	assert_int_equal(json_file_read(path, 1000, &back), HEC_OK);
	assert_true(json_equal(root, back));
	FAILS(&bare, HEC_ERR_FORMAT, json_file_read(path, 10, &back), path, "at most 10");
	json_decref(back);
	json_decref(root);
	unlink(path);
	FAILS(&bare, HEC_ERR_IO, json_file_read(path, 10, &back), path, "could not be opened");
}

/* Walks text by members and collects them again. */
static hec_status collect(const char *text, size_t size, size_t most, json_t **out)
{
	json_members m;
	bool more = true;
	json_t *root = json_object();
	if (!root)
		return fail(HEC_ERR_MEMORY, "no memory for the collection");
	json_members_begin(&m, "a.json", text, size);
	hec_status status = HEC_OK;
	while (status == HEC_OK && more) {
		status = json_members_next(&m, &more);
		if (status == HEC_OK && more)
			status = json_members_value(&m, most);
		if (status == HEC_OK && more)
			status = json_put(root, m.key, json_incref(m.value));
	}
	json_members_end(&m);
	if (status != HEC_OK) {
		json_decref(root);
		return status;
	}
	*out = root;
	return HEC_OK;
}

static void what_is_nested_too_deep_is_not_written(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		char *text = NULL;
		size_t size;
		json_t *root = json_integer(1);
		for (int depth = 1; depth <= 65; depth++) {
			root = kind ? json_pack("{s:o}", "k", root) : json_pack("[o]", root);
			assert_non_null(root);
			if (depth == 64) {
				assert_int_equal(json_text_make(root, false, &text, &size), HEC_OK);
				free(text);
			}
		}
		FAILS(&bare, HEC_ERR_ARGUMENT, json_text_make(root, false, &text, &size),
		      "more than 64 deep");
		json_decref(root);
	}
}

static void members_one_by_one_are_those_of_the_whole(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{}",
		" { } ",
		"{\"a\":1}",
		"{ \"a\" : [1,2,{\"b\":null}] ,\n\"\\u00e9\":-1.5e3 }\n",
		"{\"a\":true,\"b\":\"}\",\"c\":{}}",
		"{\"a\": 12345678901234567890123}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		json_t *whole, *parts;
		assert_int_equal(parse(texts[i], &whole), HEC_OK);
		assert_int_equal(collect(texts[i], strlen(texts[i]), 100, &parts), HEC_OK);
		assert_true(json_equal(whole, parts));
		json_decref(whole);
		json_decref(parts);
	}
	/* Cut anywhere, or with a byte changed: refused as the whole is. */
	const char *full = texts[3];
	for (size_t n = 0; n + 1 < strlen(full); n++) {
		json_t *parts;
		FAILS(&bare, HEC_ERR_FORMAT, collect(full, n, 100, &parts), "a.json: line");
	}
	static const char *const wrong[] = {"[]",         "{\"a\":1,}", "{,}",
	                                    "{\"a\" 1}",  "{\"a\":1}x", "{\"a\":1 \"b\":2}",
	                                    "{a:1}",      "{\"a\":}",   "{\"a\":12\"b\":1}",
	                                    "{\"a\":1}\0"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		json_t *parts;
		size_t n = strlen(wrong[i]) + (i == 9);
		FAILS(&bare, HEC_ERR_FORMAT, collect(wrong[i], n, 100, &parts), "a.json: line 1");
	}
	json_t *parts;
	FAILS(&bare, HEC_ERR_FORMAT, collect("{\"a\": [1,2,3,4,5,6,7]}", 22, 8, &parts), "column 7",
	      "first 8 bytes");
}

/* ---- memory ---- */

static hec_status read_and_write(char **text, size_t *size)
{
	static const char source[] = "{\"a\": [1, 2.5, \"three\"], \"b\": {\"c\": null}, \"d\": 1}";
	json_t *whole, *parts;
	HEC_TRY(json_text_read("a.json", source, sizeof source - 1, JSON_CONFIG_MOST, &whole));
	hec_status status = collect(source, sizeof source - 1, 100, &parts);
	if (status == HEC_OK) {
		status = json_text_make(parts, true, text, size);
		json_decref(parts);
	}
	json_decref(whole);
	return status;
}

static void every_refused_allocation_is_an_error(void **state)
{
	(void)state;
	json_set_alloc_funcs(malloc, free); /* through refuse.c, like ours */
	char *text;
	size_t size;
	json_object_seed(1);
	for (long n = 1;; n++) {
		long before = refuse_live();
		refuse_request(n, false);
		hec_status status = read_and_write(&text, &size);
		bool fired = refuse_fired();
		refuse_request(0, false);
		if (status == HEC_OK)
			free(text);
		assert_int_equal(refuse_live(), before);
		if (!fired) {
			assert_int_equal(status, HEC_OK);
			assert_true(n > 20);
			break;
		}
		/* Jansson calls a text for which it had no memory an invalid token. */
		assert_true(status == HEC_ERR_MEMORY || status == HEC_ERR_FORMAT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_strict_json_is_refused_with_its_place),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(a_tree_takes_a_bounded_multiple_of_its_file),
		cmocka_unit_test(messages_cannot_steer_a_terminal),
		cmocka_unit_test(whole_numbers_keep_all_their_bits),
		cmocka_unit_test(typed_members_say_what_is_needed),
		cmocka_unit_test(doubles_come_back_with_the_same_bits_in_few_digits),
		cmocka_unit_test(what_is_written_is_laid_out_for_people),
		cmocka_unit_test(what_is_nested_too_deep_is_not_written),
		cmocka_unit_test(members_one_by_one_are_those_of_the_whole),
		cmocka_unit_test(every_refused_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
