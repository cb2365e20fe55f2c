/* test_vocab_files.c — vocabularies without tokenizer.json: those of tests/golden/vocab (made by
 * tools/goldens/vocab_make.py) against what `sentencepiece` and Transformers make of texts with them;
 * files that are cut off or wrong. */
#include <hecate/tokenizer.h>

#include "alloc/refuse.h"
#include "base/file.h"
#include "format/json.h"
#include "format/sentencepiece.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"

#define GOLDEN TESTS_DIR "/golden/vocab"

static int64_t at(const json_t *list, size_t i)
{
	return json_integer_value(json_array_get(list, i));
}

static hec_tokenizer *load(const char *name)
{
	char path[512];
	hec_tokenizer *t = NULL;
	snprintf(path, sizeof path, "%s/%s", GOLDEN, name);
	if (hec_tokenizer_load(path, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	return t;
}

/* Where SentencePiece says the token lies: a part of a character ends where the next part begins, ours
 * spans the character. */
static bool agrees(const json_t *spans, size_t i, hec_span ours)
{
	const json_t *span = json_array_get(spans, i), *next = json_array_get(spans, i + 1);
	int64_t begin = at(span, 0), end = at(span, 1);
	if ((int64_t)ours.begin != begin)
		return false;
	bool part = begin == end || (next && at(next, 0) == end);
	return (int64_t)ours.end == end || (part && (int64_t)ours.end > end);
}

static void compare(const char *name, const hec_tokenizer *t, const hec_encoding *e,
                    const json_t *want)
{
	const json_t *ids = json_object_get(want, "ids");
	const json_t *offsets = json_object_get(want, "offsets");
	const json_t *spans = json_object_get(want, "spans");
	const char *text = json_string_value(json_object_get(want, "text"));
	if (e->n != json_array_size(ids))
		fail_msg("%s: \"%s\": %zu tokens, not %zu", name, text, e->n, json_array_size(ids));
	for (size_t i = 0; i < e->n; i++) {
		if (e->ids[i] != at(ids, i))
			fail_msg("%s: \"%s\": token %zu is %d, not %lld", name, text, i, e->ids[i],
			         (long long)at(ids, i));
		const json_t *span = json_array_get(offsets ? offsets : spans, i);
		bool good = offsets ? (int64_t)e->offsets[i].begin == at(span, 0) &&
		                              (int64_t)e->offsets[i].end == at(span, 1)
		                    : !spans || agrees(spans, i, e->offsets[i]);
		if (!good)
			fail_msg("%s: \"%s\": token %zu is at %zu … %zu, not %lld … %lld", name,
			         text, i, e->offsets[i].begin, e->offsets[i].end,
			         (long long)at(span, 0), (long long)at(span, 1));
	}
	const char *plain = json_string_value(json_object_get(want, "plain"));
	char *back;
	assert_int_equal(hec_tokenizer_decode(t, e->ids, e->n, true, &back, NULL), HEC_OK);
	if (plain && strncmp(name, "marian", 6) != 0 && strcmp(back, plain) != 0)
		fail_msg("%s: \"%s\" decodes to \"%s\", not \"%s\"", name, text, back, plain);
	hec_free(back);
	/* What SentencePiece makes of the ids, the unknown among them. */
	const char *decoded = json_string_value(json_object_get(want, "decoded"));
	assert_int_equal(hec_tokenizer_decode(t, e->ids, e->n, false, &back, NULL), HEC_OK);
	if (decoded && strcmp(back, decoded) != 0)
		fail_msg("%s: \"%s\" decodes to \"%s\", not \"%s\"", name, text, back, decoded);
	hec_free(back);
}

static size_t compare_all(const char *name, const hec_tokenizer *t, const json_t *cases)
{
	hec_encoding e = HEC_ENCODING_INIT;
	const json_t *one;
	size_t i;
	json_array_foreach(cases, i, one)
	{
		const char *text = json_string_value(json_object_get(one, "text"));
		if (hec_tokenizer_encode(t, text, strlen(text), NULL, &e) != HEC_OK)
			fail_msg("%s: \"%s\": %s", name, text, hec_error_message());
		compare(name, t, &e, one);
	}
	hec_encoding_free(&e);
	return i;
}

static char made[64];

static int make_scratch(void **state)
{
	(void)state;
	return scratch_folder(made, sizeof made);
}

static int remove_scratch(void **state)
{
	(void)state;
	return scratch_folder_remove(made);
}

/* What is saved reads back as the same tokenizer. */
static void vocabularies_give_the_tokens_of_those_who_made_them(void **state)
{
	(void)state;
	json_t *root, *golden;
	size_t i, cases = 0;
	assert_int_equal(json_file_read(GOLDEN "/vocab.json", 1 << 22, &root), HEC_OK);
	json_array_foreach(json_object_get(root, "vocabularies"), i, golden)
	{
		const char *name = json_string_value(json_object_get(golden, "path"));
		hec_tokenizer *t = load(name), *again = NULL;
		cases += compare_all(name, t, json_object_get(golden, "cases"));
		char copy[512];
		snprintf(copy, sizeof copy, "%s/%s", made, name);
		assert_int_equal(hec_tokenizer_save(t, copy), HEC_OK);
		if (strstr(name, ".model")) { /* a name that no folder of a model has */
			size_t n = strlen(copy);
			snprintf(copy + n, sizeof copy - n, "/%s", name);
		}
		if (hec_tokenizer_load(copy, &again) != HEC_OK)
			fail_msg("%s", hec_error_message());
		compare_all(name, again, json_object_get(golden, "cases"));
		hec_tokenizer_destroy(again);
		hec_tokenizer_destroy(t);
	}
	print_message("             %zu vocabularies, %zu texts\n", i, cases);
	assert_true(i >= 20 && cases >= 300);
	json_decref(root);
}

static void roles_and_special_tokens_are_the_familys(void **state)
{
	(void)state;
	hec_tokenizer *t = load("bert");
	assert_int_equal(hec_tokenizer_role(t, "cls"), hec_tokenizer_id(t, "[CLS]"));
	assert_true(hec_tokenizer_role(t, "mask") >= 0);
	assert_true(hec_tokenizer_is_special(t, hec_tokenizer_id(t, "[SEP]")));
	assert_int_equal(hec_tokenizer_role(t, "eos"), -1);
	hec_tokenizer_destroy(t);
	t = load("marian");
	assert_string_equal(hec_tokenizer_token(t, hec_tokenizer_role(t, "pad")), "<pad>");
	assert_int_equal(hec_tokenizer_role(t, "pad"), hec_tokenizer_vocab(t) - 1);
	assert_int_equal(hec_tokenizer_role(t, "eos"), 0);
	hec_tokenizer_destroy(t);
	t = load("t5");
	assert_int_equal(hec_tokenizer_id(t, "<extra_id_0>"), hec_tokenizer_vocab(t) - 1);
	hec_tokenizer_destroy(t);
}

/* ---- files that are made ---- */

static void put(const char *name, const char *data, size_t bytes)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", made, name);
	FILE *f = fopen(path, "wb"); /* without flushing it to the disk each time */
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

static hec_status load_scratch(const char *name)
{
	char path[256];
	hec_tokenizer *t = NULL;
	snprintf(path, sizeof path, "%s%s%s", made, *name ? "/" : "", name);
	hec_status status = hec_tokenizer_load(path, &t);
	if (status != HEC_OK) {
		assert_null(t);
		assert_true(strlen(hec_error_message()) > strlen(path));
	}
	hec_encoding e = HEC_ENCODING_INIT;
	if (t && hec_tokenizer_encode(t, "The größte 猫 ist  x", strlen("The größte 猫 ist  x"),
	                              NULL, &e) == HEC_OK)
		for (size_t i = 0; i < e.n; i++)
			assert_true(e.ids[i] >= 0 && e.ids[i] < hec_tokenizer_vocab(t));
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
	return status;
}

static void more_special_tokens_may_have_names(void **state)
{
	(void)state;
	static const char *const ways[] = {
		"{\"tokenizer_class\": \"BertTokenizer\", \"extra_special_tokens\": "
		"{\"image_token\": \"<image>\", \"end_token\": {\"content\": \"<end>\"}}}",
		"{\"tokenizer_class\": \"BertTokenizer\", \"extra_special_tokens\": "
		"[\"<image>\", \"<end>\"]}"};
	static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n",
			  text[] = "a <image> b<end>";
	static const int32_t want[] = {2, 5, 7, 6, 8, 3};
	for (int i = 0; i < 2; i++) {
		hec_tokenizer *t;
		hec_encoding e = HEC_ENCODING_INIT;
		put("vocab.txt", words, sizeof words - 1);
		put("tokenizer_config.json", ways[i], strlen(ways[i]));
		assert_int_equal(hec_tokenizer_load(made, &t), HEC_OK);
		assert_int_equal(hec_tokenizer_encode(t, text, sizeof text - 1, NULL, &e), HEC_OK);
		assert_int_equal(e.n, 6);
		assert_memory_equal(e.ids, want, sizeof want);
		assert_true(hec_tokenizer_is_special(t, 7) && hec_tokenizer_is_special(t, 8));
		hec_encoding_free(&e);
		hec_tokenizer_destroy(t);
	}
	char path[256];
	snprintf(path, sizeof path, "%s/vocab.txt", made);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof path, "%s/tokenizer_config.json", made);
	assert_int_equal(unlink(path), 0);
}

/* ---- files that are wrong ---- */

static void a_sentencepiece_model_cut_anywhere_is_no_crash(void **state)
{
	(void)state;
	static const char *const names[] = {"unigram-symbols.model", "bpe.model"};
	for (size_t k = 0; k < 2; k++) {
		char path[512], *data;
		size_t bytes, loaded = 0;
		snprintf(path, sizeof path, "%s/%s", GOLDEN, names[k]);
		assert_int_equal(file_read(path, 1 << 20, &data, &bytes), HEC_OK);
		for (size_t n = 0; n < bytes; n++) {
			char *part = malloc(n + (n == 0)); /* so that a sanitizer sees its end */
			assert_non_null(part);
			memcpy(part, data, n);
			sp_model m;
			hec_status status = sentencepiece_read("cut", part, n, &m);
			if (status == HEC_OK) {
				loaded++;
				sentencepiece_free(&m);
			} else {
				assert_true(status == HEC_ERR_FORMAT ||
				            status == HEC_ERR_UNSUPPORTED);
			}
			free(part);
		}
		/* It is a list of pieces: cut between two, a shorter list. */
		assert_true(loaded < 400);
		free(data);
	}
}

static void a_sentencepiece_model_with_a_changed_byte_is_no_crash(void **state)
{
	(void)state;
	char path[512], *data;
	size_t bytes;
	snprintf(path, sizeof path, "%s/%s", GOLDEN, "bpe-symbols.model");
	assert_int_equal(file_read(path, 1 << 20, &data, &bytes), HEC_OK);
	static const unsigned char values[] = {0x00, 0x7f, 0xff};
	for (size_t i = 0; i < bytes; i += i < 400 ? 1 : 37)
		for (size_t k = 0; k < sizeof values; k++) {
			char was = data[i];
			data[i] = (char)values[k];
			put("x.model", data, bytes);
			(void)load_scratch("x.model");
			data[i] = was;
		}
	free(data);
}

static void what_is_wrong_in_a_sentencepiece_model_is_said(void **state)
{
	(void)state;
	static const struct {
		const char *data, *says;
		size_t bytes;
	} cases[] = {
		{"", "0 pieces", 0},
		{"\x0a\x05", "longer than what holds it", 2},
		{"\x0b\x00", "wire type", 2},
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "64 bits", 12},
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "longer than what holds it", 10},
		{"\x0a\x03\x0a\x01"
	         "a",
	         "stands for the unknown", 5},
		{"\x0a\x00", "has 0 bytes", 2},
		{"\x0a\x05\x0a\x01"
	         "a\x18\x09",
	         "unknown type", 7},
		{"\x0a\x08\x0a\x01"
	         "a\x15\x00\x00\xc0\x7f",
	         "no number", 10},
		{"\x0a\x05\x0a\x01"
	         "a\x18\x02\x0a\x05\x0a\x01"
	         "b\x18\x02",
	         "both unknown", 14},
		{"\x0a\x05\x0a\x01"
	         "a\x18\x02\x12\x02\x18\x03",
	         "whole words", 11},
		{"\x0a\x05\x0a\x01"
	         "a\x18\x02\x0a\x03\x0a\x01"
	         "a",
	         "twice", 12},
		{"\x0a\x05\x0a\x01"
	         "\xff\x18\x02",
	         "not UTF-8", 7},
		{"\x0a\x05\x0a\x01"
	         "a\x18\x02\x1a\x06\x12\x04"
	         "\xff\xff\xff\xff",
	         "table of replacements", 15},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put("x.model", cases[i].data, cases[i].bytes);
		assert_int_not_equal(load_scratch("x.model"), HEC_OK);
		if (!strstr(hec_error_message(), cases[i].says))
			fail_msg("case %zu: \"%s\" does not say \"%s\"", i, hec_error_message(),
			         cases[i].says);
	}
}

static void what_is_wrong_in_a_folder_is_said(void **state)
{
	(void)state;
	char path[256];
	put("vocab.json", "{\"a\": 0, \"b\": 1, \"ab\": 2, \"<|endoftext|>\": 3}",
	    sizeof "{\"a\": 0, \"b\": 1, \"ab\": 2, \"<|endoftext|>\": 3}" - 1);
	assert_int_not_equal(load_scratch(""), HEC_OK);
	assert_non_null(strstr(hec_error_message(), "merges.txt"));
	put("merges.txt", "#version: 0.2\na b\n", sizeof "#version: 0.2\na b\n" - 1);
	assert_int_equal(load_scratch(""), HEC_OK);
	put("merges.txt", "a c\n", sizeof "a c\n" - 1);
	assert_int_not_equal(load_scratch(""), HEC_OK);
	assert_non_null(strstr(hec_error_message(), "\"c\""));
	put("merges.txt", "a b\xff\n", sizeof "a b\xff\n" - 1);
	assert_int_not_equal(load_scratch(""), HEC_OK);
	assert_non_null(strstr(hec_error_message(), "byte 3 is not UTF-8"));
	put("tokenizer_config.json", "{\"tokenizer_class\": \"MagicTokenizer\"}",
	    sizeof "{\"tokenizer_class\": \"MagicTokenizer\"}" - 1);
	assert_int_equal(load_scratch(""), HEC_ERR_UNSUPPORTED);
	assert_non_null(strstr(hec_error_message(), "MagicTokenizer"));
	assert_non_null(strstr(hec_error_message(), "RobertaTokenizer"));
	static const char wrong[] =
		"{\"tokenizer_class\": \"GPT2Tokenizer\", \"add_prefix_space\": 3}";
	put("tokenizer_config.json", wrong, sizeof wrong - 1);
	assert_int_not_equal(load_scratch(""), HEC_OK);
	assert_non_null(strstr(hec_error_message(), "add_prefix_space"));
	static const char few[] = "{\"tokenizer_class\": \"T5Tokenizer\", \"extra_ids\": 0}";
	put("tokenizer_config.json", few, sizeof few - 1);
	put("spiece.model", "\x0a\x05\x0a\x01\x61\x18\x02", 7);
	assert_int_equal(load_scratch(""), HEC_ERR_FORMAT);
	assert_non_null(strstr(hec_error_message(), "number 2"));
	put("tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizerFast\"}",
	    sizeof "{\"tokenizer_class\": \"BertTokenizerFast\"}" - 1);
	put("vocab.txt", "[UNK]\n[CLS]\nthe\n", sizeof "[UNK]\n[CLS]\nthe\n" - 1);
	assert_int_equal(load_scratch(""), HEC_OK); /* [SEP] is added */
	static const char *const names[] = {"vocab.json", "merges.txt", "vocab.txt", "spiece.model",
	                                    "tokenizer_config.json"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", made, names[i]);
		unlink(path);
	}
}

/* Loads the path again and again, each time without another piece of memory. */
static void load_without(const char *path)
{
	hec_tokenizer *first = NULL; /* what is made once is made */
	if (hec_tokenizer_load(path, &first) != HEC_OK)
		fail_msg("%s", hec_error_message());
	hec_tokenizer_destroy(first);
	long step = 1;
	bool fired = true;
	for (long n = 1; fired; n += step) {
		hec_tokenizer *t = NULL;
		long before = refuse_live();
		refuse_request(n, false);
		hec_status status = hec_tokenizer_load(path, &t);
		fired = refuse_fired();
		refuse_request(0, false);
		if (status == HEC_OK)
			hec_tokenizer_destroy(t);
		else
			assert_null(t);
		if (refuse_live() != before)
			fail_msg("%s: request %ld: %ld blocks are left", path, n,
			         refuse_live() - before);
		step = n < 300 ? 1 : 1 + n / 40;
	}
}

static void every_refused_allocation_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	static const char *const names[] = {"unigram.model", "bpe.model",  "marian", "bert", "t5",
	                                    "llama",         "xlm-roberta"};
	char path[512];
	json_set_alloc_funcs(malloc, free); /* through refuse.c, like ours */
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		snprintf(path, sizeof path, "%s/%s", GOLDEN, names[k]);
		load_without(path);
	}
	/* Not the golden folders: without memory, Jansson 2.14 stops the program at an escape. */
	static const char words[] = "{\"a\": 0, \"b\": 1, \"ab\": 2, \"<|endoftext|>\": 3}";
	static const char *const configs[] = {"{\"tokenizer_class\": \"RobertaTokenizer\"}",
	                                      "{\"tokenizer_class\": \"Qwen2Tokenizer\"}"};
	put("vocab.json", words, sizeof words - 1);
	put("merges.txt", "a b\n", 4);
	for (size_t k = 0; k < 2; k++) {
		put("tokenizer_config.json", configs[k], strlen(configs[k]));
		load_without(made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vocabularies_give_the_tokens_of_those_who_made_them),
		cmocka_unit_test(roles_and_special_tokens_are_the_familys),
		cmocka_unit_test(more_special_tokens_may_have_names),
		cmocka_unit_test(a_sentencepiece_model_cut_anywhere_is_no_crash),
		cmocka_unit_test(a_sentencepiece_model_with_a_changed_byte_is_no_crash),
		cmocka_unit_test(what_is_wrong_in_a_sentencepiece_model_is_said),
		cmocka_unit_test(what_is_wrong_in_a_folder_is_said),
		cmocka_unit_test(every_refused_allocation_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
