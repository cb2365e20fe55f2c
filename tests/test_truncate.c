/* test_truncate.c — truncation, windows and padding against `tokenizers` (tests/golden/limits.json, by
 * tools/goldens/limits_make.py), and what tokenizer.json says about them. */
#include <hecate/tokenizer.h>

#include "alloc/refuse.h"
#include "format/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static json_t *golden;
static hec_tokenizer *tokenizer;

static int start(void **state)
{
	(void)state;
	return json_file_read(TESTS_DIR "/golden/limits.json", 1 << 24, &golden) != HEC_OK ||
	       hec_tokenizer_load(TESTS_DIR "/golden/vocab/bert", &tokenizer) != HEC_OK;
}

static int stop(void **state)
{
	(void)state;
	json_decref(golden);
	hec_tokenizer_destroy(tokenizer);
	return 0;
}

static int64_t at(const json_t *list, size_t i)
{
	return json_integer_value(json_array_get(list, i));
}

static void compare(size_t number, size_t window, const hec_encoding *e, const json_t *want)
{
	const json_t *ids = json_object_get(want, "ids"), *types = json_object_get(want, "types");
	const json_t *mask = json_object_get(want, "mask");
	const json_t *offsets = json_object_get(want, "offsets");
	if (e->n != json_array_size(ids))
		fail_msg("case %zu, window %zu: %zu tokens, not %zu", number, window, e->n,
		         json_array_size(ids));
	for (size_t i = 0; i < e->n; i++) {
		const json_t *span = json_array_get(offsets, i);
		if (e->ids[i] != at(ids, i) || e->type_ids[i] != at(types, i) ||
		    (e->sequence[i] != HEC_PADDING) != (at(mask, i) == 1) ||
		    (int64_t)e->offsets[i].begin != at(span, 0) ||
		    (int64_t)e->offsets[i].end != at(span, 1))
			fail_msg("case %zu, window %zu, token %zu: %d, type %d, %zu … %zu; not "
			         "%lld, type %lld, %lld … %lld",
			         number, window, i, e->ids[i], e->type_ids[i], e->offsets[i].begin,
			         e->offsets[i].end, (long long)at(ids, i), (long long)at(types, i),
			         (long long)at(span, 0), (long long)at(span, 1));
	}
}

static hec_encode_options options_of(const json_t *one)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	const char *strategy = json_string_value(json_object_get(one, "strategy"));
	o.pair = json_string_value(json_object_get(one, "pair"));
	o.pair_bytes = o.pair ? strlen(o.pair) : 0;
	o.max_length = json_integer_value(json_object_get(one, "max"));
	o.stride = json_integer_value(json_object_get(one, "stride"));
	o.truncate_left = json_is_true(json_object_get(one, "left"));
	o.no_special = !json_is_true(json_object_get(one, "special"));
	o.truncate = strcmp(strategy, "only_first") == 0    ? HEC_TRUNCATE_FIRST
	             : strcmp(strategy, "only_second") == 0 ? HEC_TRUNCATE_SECOND
	                                                    : HEC_TRUNCATE_LONGEST;
	return o;
}

/* Returns how many windows the text has. */
static size_t compare_windows(const hec_tokenizer *t, size_t number, const json_t *one)
{
	hec_encoding e = HEC_ENCODING_INIT;
	hec_encode_options o = options_of(one);
	const char *text = json_string_value(json_object_get(one, "text"));
	hec_status status = hec_tokenizer_encode(t, text, strlen(text), &o, &e);
	const json_t *list = json_object_get(one, "windows");
	bool more = true;
	size_t n = 0;
	if (json_object_get(one, "fails")) {
		if (status != HEC_ERR_ARGUMENT)
			fail_msg("case %zu does not fail", number);
		assert_int_equal(e.n, 0);
		hec_encoding_free(&e);
		return 0;
	}
	if (status != HEC_OK)
		fail_msg("case %zu: %s", number, hec_error_message());
	for (; more && n < json_array_size(list); n++) {
		compare(number, n, &e, json_array_get(list, n));
		assert_int_equal(hec_tokenizer_next_window(t, &e, &more), HEC_OK);
	}
	if (n != json_array_size(list) || (more && !o.pair))
		fail_msg("case %zu: %zu windows, not %zu", number, n, json_array_size(list));
	hec_encoding_free(&e);
	return n;
}

static void texts_are_cut_as_tokenizers_cuts_them(void **state)
{
	(void)state;
	const json_t *one;
	size_t i, windows = 0;
	json_array_foreach(json_object_get(golden, "cut"), i, one)
	{
		windows += compare_windows(tokenizer, i, one);
	}
	print_message("             %zu texts, %zu windows\n", i, windows);
	assert_true(i > 200 && windows > 300);
}

/* The space that was put before a text takes no place in it; what begins a window may have that space. */
static void each_window_is_trimmed_as_if_it_were_a_text(void **state)
{
	(void)state;
	const json_t *file, *one;
	size_t i, k, windows = 0;
	json_array_foreach(json_object_get(golden, "trimmed"), i, file)
	{
		const json_t *json = json_object_get(file, "tokenizer");
		hec_tokenizer *t = NULL;
		if (hec_tokenizer_parse(json_string_value(json), json_string_length(json), NULL, 0,
		                        &t) != HEC_OK)
			fail_msg("%s", hec_error_message());
		json_array_foreach(json_object_get(file, "cases"), k, one)
		{
			windows += compare_windows(t, 100 * i + k, one);
		}
		hec_tokenizer_destroy(t);
	}
	assert_true(i == 14 && windows > 400);
}

static void batches_are_filled_up_as_tokenizers_fills_them(void **state)
{
	(void)state;
	hec_encoding e[8] = {HEC_ENCODING_INIT};
	const json_t *one;
	size_t i;
	json_array_foreach(json_object_get(golden, "filled"), i, one)
	{
		const json_t *texts = json_object_get(one, "texts");
		hec_pad_options o = HEC_PAD_OPTIONS_INIT;
		o.length = json_integer_value(json_object_get(one, "length"));
		o.multiple = json_integer_value(json_object_get(one, "multiple"));
		o.left = json_is_true(json_object_get(one, "left"));
		o.id = (int32_t)json_integer_value(json_object_get(golden, "pad"));
		o.type_id = 1;
		size_t n = json_array_size(texts);
		assert_true(n <= 8);
		for (size_t k = 0; k < n; k++) {
			const char *text = json_string_value(json_array_get(texts, k));
			assert_int_equal(
				hec_tokenizer_encode(tokenizer, text, strlen(text), NULL, &e[k]),
				HEC_OK);
		}
		assert_int_equal(hec_encoding_pad(e, n, &o), HEC_OK);
		for (size_t k = 0; k < n; k++)
			compare(i, k, &e[k], json_array_get(json_object_get(one, "rows"), k));
	}
	assert_int_equal(i, 8);
	for (size_t k = 0; k < 8; k++)
		hec_encoding_free(&e[k]);
}

#define MODEL "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{\"a\":0,\"b\":1}}"

static hec_status parse(const char *parts, hec_tokenizer **t)
{
	char json[1024];
	snprintf(json, sizeof json, "{%s," MODEL "}", parts);
	*t = NULL;
	return hec_tokenizer_parse(json, strlen(json), NULL, 0, t);
}

static void what_tokenizer_json_says_can_be_asked_for(void **state)
{
	(void)state;
	hec_tokenizer *t;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	hec_pad_options p = HEC_PAD_OPTIONS_INIT;
	assert_false(hec_tokenizer_truncation(tokenizer, &o));
	assert_false(hec_tokenizer_padding(tokenizer, &p));
	assert_int_equal(parse("\"truncation\":{\"direction\":\"Left\",\"max_length\":7,"
	                       "\"strategy\":\"OnlySecond\",\"stride\":2},\"padding\":{"
	                       "\"strategy\":{\"Fixed\":9},\"direction\":\"Left\","
	                       "\"pad_to_multiple_of\":4,\"pad_id\":1,\"pad_type_id\":2,"
	                       "\"pad_token\":\"b\"}",
	                       &t),
	                 HEC_OK);
	assert_true(hec_tokenizer_truncation(t, &o));
	assert_true(o.max_length == 7 && o.stride == 2 && o.truncate == HEC_TRUNCATE_SECOND &&
	            o.truncate_left);
	assert_true(hec_tokenizer_padding(t, &p));
	assert_true(p.length == 9 && p.multiple == 4 && p.left && p.id == 1 && p.type_id == 2);
	assert_true(o.size == sizeof o && p.size == sizeof p);
	/* Of shorter structs nothing behind their end is touched. */
	memset(&o, 0x5a, sizeof o);
	memset(&p, 0x5a, sizeof p);
	o.size = offsetof(hec_encode_options, stride);
	p.size = offsetof(hec_pad_options, multiple);
	assert_true(hec_tokenizer_truncation(t, &o) && hec_tokenizer_padding(t, &p));
	assert_true(o.max_length == 7 && p.length == 9);
	assert_true(o.size == offsetof(hec_encode_options, stride) &&
	            p.size == offsetof(hec_pad_options, multiple));
	for (size_t i = o.size; i < sizeof o; i++)
		assert_int_equal(((unsigned char *)&o)[i], 0x5a);
	for (size_t i = p.size; i < sizeof p; i++)
		assert_int_equal(((unsigned char *)&p)[i], 0x5a);
	p = (hec_pad_options)HEC_PAD_OPTIONS_INIT;
	hec_tokenizer_destroy(t);
	assert_int_equal(parse("\"padding\":{\"strategy\":\"BatchLongest\",\"pad_id\":1}", &t),
	                 HEC_OK);
	assert_true(hec_tokenizer_padding(t, &p) && p.length == 0 && !p.left);
	hec_tokenizer_destroy(t);
	static const char *const wrong[] = {
		"\"truncation\":{\"max_length\":0}",
		"\"truncation\":{\"max_length\":-1}",
		"\"truncation\":{\"max_length\":4,\"strategy\":\"Never\"}",
		"\"truncation\":{\"max_length\":4,\"direction\":\"Up\"}",
		"\"truncation\":3",
		"\"padding\":{\"strategy\":{\"Fixed\":-1}}",
		"\"padding\":{\"pad_id\":-1}",
		"\"padding\":{\"strategy\":\"Most\"}"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_not_equal(parse(wrong[i], &t), HEC_OK);
}

static void wrong_options_are_wrong_for_any_text(void **state)
{
	(void)state;
	hec_encoding e = HEC_ENCODING_INIT;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.truncate = (hec_truncate)77;
	assert_int_equal(hec_tokenizer_encode(tokenizer, "the", 3, &o, &e), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "truncate is 77"));
	o = (hec_encode_options)HEC_ENCODE_OPTIONS_INIT;
	o.pair_bytes = 5;
	assert_int_equal(hec_tokenizer_encode(tokenizer, "the", 3, &o, &e), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "pair is NULL"));
	/* One that marks no language says so, whatever is asked for. */
	assert_int_equal(hec_tokenizer_encode(tokenizer, "the", 3, NULL, &e), HEC_OK);
	assert_int_equal(hec_encoding_set_language(tokenizer, "de_DE", &e, NULL),
	                 HEC_ERR_UNSUPPORTED);
	assert_non_null(strstr(hec_error_message(), "marks no text"));
	hec_encoding_free(&e);
}

static void what_cannot_be_kept_is_said(void **state)
{
	(void)state;
	hec_encoding e = HEC_ENCODING_INIT;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.max_length = 1;
	assert_int_equal(hec_tokenizer_encode(tokenizer, "the", 3, &o, &e), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "2 special tokens"));
	o.max_length = -1;
	assert_int_equal(hec_tokenizer_encode(tokenizer, "the", 3, &o, &e), HEC_ERR_ARGUMENT);
	hec_pad_options p = HEC_PAD_OPTIONS_INIT;
	p.length = -1;
	assert_int_equal(hec_encoding_pad(&e, 1, &p), HEC_ERR_ARGUMENT);
	p.length = INT64_MAX;
	p.multiple = INT64_MAX - 1;
	assert_int_not_equal(hec_encoding_pad(&e, 1, &p), HEC_OK);
	hec_encoding_free(&e);
}

/* One text with a pair, its windows, each filled up. */
static hec_status windows_of_a_text(hec_encoding *e)
{
	static const char text[] = "the cat sat on the mat and looked at the dog";
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	hec_pad_options p = HEC_PAD_OPTIONS_INIT;
	bool more = true;
	o.pair = text;
	o.pair_bytes = 7;
	o.truncate = HEC_TRUNCATE_FIRST;
	o.max_length = 16;
	o.stride = 2;
	p.length = 60;
	hec_status status = hec_tokenizer_encode(tokenizer, text, sizeof text - 1, &o, e);
	while (status == HEC_OK && more) {
		status = hec_tokenizer_next_window(tokenizer, e, &more);
		if (status == HEC_OK)
			status = hec_encoding_pad(e, 1, &p);
	}
	return status;
}

static void every_refused_allocation_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	hec_encoding e = HEC_ENCODING_INIT;
	if (windows_of_a_text(&e) != HEC_OK)
		fail_msg("%s", hec_error_message());
	hec_encoding_free(&e);
	long n = 1;
	for (bool fired = true; fired; n++) {
		long before = refuse_live();
		refuse_request(n, false);
		hec_status status = windows_of_a_text(&e);
		fired = refuse_fired();
		refuse_request(0, false);
		assert_int_equal(status, fired ? HEC_ERR_MEMORY : HEC_OK);
		hec_encoding_free(&e);
		assert_int_equal(refuse_live(), before);
	}
	assert_true(n > 3);
}

static void a_pair_may_have_less_around_it_than_one_text(void **state)
{
	(void)state;
	hec_tokenizer *t = NULL;
	hec_encoding e = HEC_ENCODING_INIT;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	assert_int_equal(
		parse("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
	              "{\"SpecialToken\":{\"id\":\"b\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\","
	              "\"type_id\":0}},{\"SpecialToken\":{\"id\":\"b\",\"type_id\":0}}],\"pair\":["
	              "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\","
	              "\"type_id\":1}}],\"special_tokens\":{\"b\":{\"id\":\"b\",\"ids\":[1],"
	              "\"tokens\":[\"b\"]}}}",
	              &t),
		HEC_OK);
	o.pair = "a";
	o.pair_bytes = 1;
	o.max_length = 1;
	o.stride = 5;
	assert_int_equal(hec_tokenizer_encode(t, "a", 1, &o, &e), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "room for 0 tokens"));
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_cut_as_tokenizers_cuts_them),
		cmocka_unit_test(each_window_is_trimmed_as_if_it_were_a_text),
		cmocka_unit_test(batches_are_filled_up_as_tokenizers_fills_them),
		cmocka_unit_test(what_tokenizer_json_says_can_be_asked_for),
		cmocka_unit_test(wrong_options_are_wrong_for_any_text),
		cmocka_unit_test(what_cannot_be_kept_is_said),
		cmocka_unit_test(a_pair_may_have_less_around_it_than_one_text),
		cmocka_unit_test(every_refused_allocation_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
