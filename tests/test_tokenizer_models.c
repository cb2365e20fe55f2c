/* test_tokenizer_models.c — BPE, Unigram, WordPiece and WordLevel at their edges: ties, limits, the unknown.
 *
 * The ids were worked out by hand; the package `tokenizers` 0.23 gives the same. */
#include <hecate/tokenizer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define IDS_MOST 8

typedef struct row {
	const char *text;
	int n;
	int32_t ids[IDS_MOST];
} row;

static hec_tokenizer *open_model(const char *model)
{
	char json[1024];
	hec_tokenizer *t = NULL;
	int n = snprintf(json, sizeof json, "{\"model\": %s}", model);
	assert_true(n > 0 && (size_t)n < sizeof json);
	if (hec_tokenizer_parse(json, (size_t)n, NULL, 0, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	return t;
}

static void encode(const hec_tokenizer *t, const char *text, hec_encoding *e)
{
	if (hec_tokenizer_encode(t, text, strlen(text), NULL, e) != HEC_OK)
		fail_msg("%s: %s", text, hec_error_message());
}

static void check_rows(const char *model, const row *rows, size_t n)
{
	hec_tokenizer *t = open_model(model);
	hec_encoding e = HEC_ENCODING_INIT;
	for (size_t i = 0; i < n; i++) {
		encode(t, rows[i].text, &e);
		if ((int)e.n != rows[i].n)
			fail_msg("%s has %zu tokens, not %d", rows[i].text, e.n, rows[i].n);
		assert_memory_equal(e.ids, rows[i].ids, e.n * sizeof *e.ids);
	}
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

#define CHECK_ROWS(model, ...)                                                                     \
	do {                                                                                       \
		const row rows[] = {__VA_ARGS__};                                                  \
		check_rows(model, rows, sizeof rows / sizeof *rows);                               \
	} while (0)

#define BPE_MERGES                                                                                 \
	"{\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"aa\": 2, \"ab\": 3, \"aab\": 4}, "  \
	"\"merges\": [\"a a\", \"a b\", \"aa b\"]}"

static void bpe_joins_the_leftmost_of_equal_pairs(void **state)
{
	(void)state;
	CHECK_ROWS(BPE_MERGES, {"aaa", 2, {2, 0}}, {"aaaa", 2, {2, 2}}, {"aaaab", 2, {2, 4}},
	           {"abab", 2, {3, 3}}, {"aab", 1, {4}});
}

/* Long words are joined by another algorithm. */
static void bpe_joins_long_words_alike(void **state)
{
	(void)state;
	hec_tokenizer *t = open_model(BPE_MERGES);
	hec_encoding e = HEC_ENCODING_INIT;
	char text[302];
	for (size_t n = 1; n < sizeof text; n++) {
		memset(text, 'a', n);
		text[n] = '\0';
		encode(t, text, &e);
		assert_int_equal(e.n, (n + 1) / 2);
		for (size_t i = 0; i < e.n; i++)
			assert_int_equal(e.ids[i], i == n / 2 ? 0 : 2);
	}
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

/* An encoding keeps the words that it has seen: those of one tokenizer. */
static void an_encoding_serves_many_tokenizers(void **state)
{
	(void)state;
	hec_tokenizer *t[2] = {
		open_model(BPE_MERGES),
		open_model("{\"type\": \"BPE\", \"vocab\": {\"a\": 5, \"b\": 6}, \"merges\": []}")};
	hec_encoding e = HEC_ENCODING_INIT;
	for (int i = 0; i < 6; i++) {
		encode(t[i % 2], "ab", &e);
		assert_int_equal(e.n, i % 2 ? 2 : 1);
		assert_int_equal(e.ids[0], i % 2 ? 5 : 3);
	}
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t[0]);
	hec_tokenizer_destroy(t[1]);
}

#define BPE_UNKNOWN(fuse)                                                                          \
	"{\"type\": \"BPE\", \"unk_token\": \"u\", \"fuse_unk\": " fuse                            \
	", \"vocab\": {\"a\": 0, \"u\": 1, \"aa\": 2}, \"merges\": [\"a a\"]}"

static void bpe_fuses_unknown_neighbours_where_it_is_told_to(void **state)
{
	(void)state;
	CHECK_ROWS(BPE_UNKNOWN("false"), {"axxa", 4, {0, 1, 1, 0}}, {"xx", 2, {1, 1}},
	           {"aaxy", 3, {2, 1, 1}});
	CHECK_ROWS(BPE_UNKNOWN("true"), {"axxa", 3, {0, 1, 0}}, {"xx", 1, {1}},
	           {"aaxy", 2, {2, 1}});
}

static void bpe_falls_back_to_bytes_only_where_all_are_known(void **state)
{
	(void)state;
	CHECK_ROWS("{\"type\": \"BPE\", \"unk_token\": \"u\", \"byte_fallback\": true, \"vocab\": "
	           "{\"u\": 0, \"a\": 1, \"<0xC3>\": 2, \"<0xA9>\": 3, \"<0xE2>\": 4, \"aa\": 5}, "
	           "\"merges\": [\"a a\"]}",
	           {"é", 2, {2, 3}}, {"aéa", 4, {1, 2, 3, 1}}, {"€", 1, {0}}, {"a€", 2, {1, 0}});
}

/* An unknown character costs 10 more than the worst piece; unknown neighbours are one token. */
static void unigram_takes_the_best_way(void **state)
{
	(void)state;
	CHECK_ROWS("{\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0.0], "
	           "[\"a\", 5.0], [\"ab\", -20.0], [\"x\", 2.0], [\"y\", 2.0], [\"xy\", 4.0]]}",
	           {"ab", 1, {2}}, {"xy", 1, {5}}, {"aqab", 3, {1, 0, 2}}, {"qq", 1, {0}},
	           {"aqqa", 3, {1, 0, 1}});
	CHECK_ROWS("{\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0.0], "
	           "[\"a\", -2.0], [\"b\", -2.0], [\"ab\", -5.0]]}",
	           {"ab", 2, {1, 2}});
}

static void wordpiece_counts_characters_up_to_its_limit(void **state)
{
	(void)state;
	CHECK_ROWS("{\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
	           "\"max_input_chars_per_word\": 4, "
	           "\"vocab\": {\"[UNK]\": 0, \"a\": 1, \"##a\": 2, \"é\": 3, \"##é\": 4}}",
	           {"aaaa", 4, {1, 2, 2, 2}}, {"aaaaa", 1, {0}}, {"éééé", 4, {3, 4, 4, 4}},
	           {"ééééé", 1, {0}}, {"aab", 1, {0}});
}

static void word_level_knows_whole_words(void **state)
{
	(void)state;
	CHECK_ROWS("{\"type\": \"WordLevel\", \"unk_token\": \"<unk>\", "
	           "\"vocab\": {\"<unk>\": 0, \"a\": 1, \"ab\": 2}}",
	           {"ab", 1, {2}}, {"a", 1, {1}}, {"b", 1, {0}}, {"abc", 1, {0}});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bpe_joins_the_leftmost_of_equal_pairs),
		cmocka_unit_test(bpe_joins_long_words_alike),
		cmocka_unit_test(an_encoding_serves_many_tokenizers),
		cmocka_unit_test(bpe_fuses_unknown_neighbours_where_it_is_told_to),
		cmocka_unit_test(bpe_falls_back_to_bytes_only_where_all_are_known),
		cmocka_unit_test(unigram_takes_the_best_way),
		cmocka_unit_test(wordpiece_counts_characters_up_to_its_limit),
		cmocka_unit_test(word_level_knows_whole_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
