/* test_tokenizer_files.c — tokenizer.json as others write it: patterns that match nothing, and files
 * that would take more time or memory than they are worth. */
#include <hecate/tokenizer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/clock.h"

/* Ids 0 … 9: whole words. */
#define MODEL                                                                                      \
	"\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"abc\":1,"      \
	"\"123\":2,\"a\":3,\"b\":4,\"c\":5,\"1\":6,\"12\":7,\"3\":8,\"ab\":9}}"

static hec_status parse(const char *parts, hec_tokenizer **t)
{
	size_t bytes = strlen(parts) + sizeof MODEL + 4;
	char *json = malloc(bytes);
	assert_non_null(json);
	int n = snprintf(json, bytes, "{%s%s" MODEL "}", parts, *parts ? "," : "");
	*t = NULL;
	hec_status status = hec_tokenizer_parse(json, (size_t)n, NULL, 0, t);
	free(json);
	return status;
}

static hec_tokenizer *made_of(const char *parts)
{
	hec_tokenizer *t;
	if (parse(parts, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	return t;
}

/* The tokens as "id:begin-end id:begin-end …". */
static void expect_tokens(const char *parts, const char *text, const char *wanted)
{
	hec_tokenizer *t = made_of(parts);
	hec_encoding e = HEC_ENCODING_INIT;
	char got[512] = "";
	if (hec_tokenizer_encode(t, text, strlen(text), NULL, &e) != HEC_OK)
		fail_msg("%s", hec_error_message());
	for (size_t i = 0; i < e.n; i++) {
		size_t n = strlen(got);
		snprintf(got + n, sizeof got - n, "%s%d:%zu-%zu", i ? " " : "", (int)e.ids[i],
		         e.offsets[i].begin, e.offsets[i].end);
	}
	if (strcmp(got, wanted) != 0)
		fail_msg("%s on \"%s\": %s, not %s", parts, text, got, wanted);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

/* ---- empty matches ---- */

#define SPLIT(pattern, behavior)                                                                   \
	"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior   \
	"\",\"invert\":false}"

static void an_empty_match_parts_the_text(void **state)
{
	(void)state;
	expect_tokens(SPLIT("{\"Regex\":\"(?=1)\"}", "Isolated"), "abc123", "1:0-3 2:3-6");
	expect_tokens(SPLIT("{\"Regex\":\"(?=1)\"}", "Removed"), "123abc", "0:0-6");
	expect_tokens(SPLIT("{\"Regex\":\"[0-9]*\"}", "Isolated"), "abc123",
	              "3:0-1 4:1-2 5:2-3 2:3-6");
	expect_tokens(SPLIT("{\"Regex\":\"[0-9]*\"}", "MergedWithPrevious"), "abc123",
	              "3:0-1 4:1-2 0:2-6");
	expect_tokens(SPLIT("{\"Regex\":\"[0-9]*\"}", "Removed"), "a1b12c", "3:0-1 4:2-3 5:5-6");
	expect_tokens(SPLIT("{\"String\":\"\"}", "Isolated"), "abc", "3:0-1 4:1-2 5:2-3");
}

static void an_empty_match_is_replaced(void **state)
{
	(void)state;
#define INSERT(pattern)                                                                            \
	"\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"" pattern                   \
	"\"},\"content\":\"b\"}," SPLIT("{\"Regex\":\".\"}", "Isolated")
	expect_tokens(INSERT("(?=b)"), "abc", "3:0-1 4:0-1 4:1-2 5:2-3");
	expect_tokens(INSERT("1?"), "ac1", "4:0-0 3:0-1 4:0-1 5:1-2 4:2-3");
	expect_tokens("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Strip\"},"
	              "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(?=a)\"},\"content\":"
	              "\"b\"}]}," SPLIT("{\"Regex\":\".\"}", "Isolated"),
	              "  ac", "4:0-0 3:2-3 5:3-4");
	hec_tokenizer *t = made_of("\"decoder\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":"
	                           "\"x*\"},\"content\":\"-\"}");
	char *text;
	static const int32_t ids[] = {1, 3};
	assert_int_equal(hec_tokenizer_decode(t, ids, 2, false, &text, NULL), HEC_OK);
	assert_string_equal(text, "-a-b-c--a-");
	hec_free(text);
	hec_tokenizer_destroy(t);
}

static void a_pattern_goes_through_a_long_word(void **state)
{
	(void)state;
	hec_tokenizer *t = made_of(SPLIT("{\"Regex\":\"(?:\\\\p{L}\\\\p{M}*)+\"}", "Isolated"));
	hec_encoding e = HEC_ENCODING_INIT;
	static char text[200000];
	memset(text, 'a', sizeof text);
	if (hec_tokenizer_encode(t, text, sizeof text, NULL, &e) != HEC_OK)
		fail_msg("%s", hec_error_message());
	assert_int_equal(e.n, 1);
	assert_int_equal(e.offsets[0].end, sizeof text);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

/* ---- the dialect ---- */

#define FINDS(pattern)                                                                             \
	"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" pattern                  \
	"\"},\"behavior\":\"Removed\",\"invert\":true}"

/* What `tokenizers` 0.23.3 finds. */
static void patterns_mean_what_they_mean_in_oniguruma(void **state)
{
	(void)state;
	expect_tokens(FINDS(".+"), "a.b\nc", "0:0-3 5:4-5");
	expect_tokens(FINDS("\\\\u0061"), "ba", "3:1-2");
	/* U+180E is no space. */
	expect_tokens(FINDS("\\\\s"), "a \u180e", "0:1-2");
	expect_tokens(FINDS("\\\\S+"), "a \u180e", "3:0-1 0:2-5");
	/* Superscripts are word characters outside of classes only. */
	expect_tokens(FINDS("\\\\w+"), "a²-", "0:0-3");
	expect_tokens(FINDS("[\\\\w-]+"), "a²-", "3:0-1 0:3-4");
}

/* Since Unicode 16 U+1C89 and U+10EC4 are letters, U+10D40 is a number. */
static void patterns_know_the_newest_letters(void **state)
{
	(void)state;
	expect_tokens(FINDS("\\\\p{L}+"), "a\u1c89a-\U00010ec4", "0:0-5 0:6-10");
	expect_tokens(FINDS("[^\\\\s\\\\p{L}\\\\p{N}]+"), "a\u1c89-\U00010d40", "0:4-5");
	expect_tokens(FINDS("\\\\P{Letter}+"), "a\u1c89-", "0:4-5");
}

/* ---- normal forms ---- */

/* U+1939 goes before U+0334; U+1AC5 is a mark since Unicode 14, which `tokenizers` does not order by. */
static void only_marks_that_were_known_change_places(void **state)
{
	(void)state;
#define AS_LETTERS                                                                                 \
	"\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},"               \
	"{\"type\":\"Replace\",\"pattern\":{\"String\":\"\u0334\"},\"content\":\"b\"},"            \
	"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[\u1939\u1ac5]\"},\"content\":\"c\"}]}"    \
	"," SPLIT("{\"Regex\":\".\"}", "Isolated")
	expect_tokens(AS_LETTERS, "a\u1939\u0334", "3:0-1 4:1-4 5:4-6");
	expect_tokens(AS_LETTERS, "a\u1ac5\u0334", "3:0-1 5:1-4 4:4-6");
#undef AS_LETTERS
}

/* ---- offsets ---- */

static void spaces_in_what_is_unknown_are_trimmed(void **state)
{
	(void)state;
	static const char json[] =
		"{\"post_processor\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
		"\"trim_offsets\":true},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":"
		"[[\"?\",0],[\"a\",-1]]}}";
	hec_tokenizer *t = NULL;
	hec_encoding e = HEC_ENCODING_INIT;
	if (hec_tokenizer_parse(json, sizeof json - 1, NULL, 0, &t) != HEC_OK ||
	    hec_tokenizer_encode(t, "a\t.", 3, NULL, &e) != HEC_OK)
		fail_msg("%s", hec_error_message());
	assert_int_equal(e.n, 2);
	assert_int_equal(e.ids[1], 0);
	assert_int_equal(e.offsets[1].begin, 2);
	assert_int_equal(e.offsets[1].end, 3);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

/* ---- small files that ask for much ---- */

static void expect_refused(const char *parts, const char *why)
{
	hec_tokenizer *t;
	assert_int_equal(parse(parts, &t), HEC_ERR_FORMAT);
	if (!strstr(hec_error_message(), why))
		fail_msg("\"%s\" does not say \"%s\"", hec_error_message(), why);
}

/* before, part, …, part (n times), after: for free(). */
static char *repeated(const char *before, const char *part, size_t n, const char *after)
{
	size_t each = strlen(part) + 1;
	char *text = malloc(strlen(before) + n * each + strlen(after) + 1), *to;
	assert_non_null(text);
	to = text + sprintf(text, "%s", before);
	for (size_t i = 0; i < n; i++)
		to += sprintf(to, "%s%s", i ? "," : "", part);
	strcpy(to, after);
	return text;
}

#define TWICE "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}"
#define ADDED "\"added_tokens\":[{\"id\":10,\"content\":\"xa\",\"normalized\":true}]"

static void a_text_does_not_grow_without_end(void **state)
{
	(void)state;
	hec_encoding e = HEC_ENCODING_INIT;
	char *text = NULL;
	static const int32_t ids[] = {3};
	char *parts = repeated("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[", TWICE, 40,
	                       "]}");
	hec_tokenizer *t = made_of(parts);
	assert_int_equal(hec_tokenizer_encode(t, "a", 1, NULL, &e), HEC_ERR_FORMAT);
	assert_int_equal(hec_tokenizer_encode(t, "1", 1, NULL, &e), HEC_OK);
	assert_int_equal(e.n, 1);
	hec_tokenizer_destroy(t);
	free(parts);
	parts = repeated("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[", TWICE, 40,
	                 "]}," ADDED);
	expect_refused(parts, "an added token of 2 bytes");
	free(parts);
	parts = repeated("\"decoder\":{\"type\":\"Sequence\",\"decoders\":[", TWICE, 40, "]}");
	t = made_of(parts);
	assert_int_equal(hec_tokenizer_decode(t, ids, 1, false, &text, NULL), HEC_ERR_FORMAT);
	assert_null(text);
	hec_tokenizer_destroy(t);
	free(parts);
	hec_encoding_free(&e);
}

static void many_parts_and_long_templates_are_refused(void **state)
{
	(void)state;
	char *parts = repeated("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[",
	                       "{\"type\":\"NFC\"}", 257, "]}");
	expect_refused(parts, "more than 256 parts");
	free(parts);
	char *ids = repeated("],\"pair\":[],\"special_tokens\":{\"s\":{\"id\":\"s\",\"ids\":[", "1",
	                     500, "],\"tokens\":[\"s\"]}}}");
	parts = repeated("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[",
	                 "{\"SpecialToken\":{\"id\":\"s\",\"type_id\":0}}", 500, ids);
	expect_refused(parts, "more than 4096 ids");
	free(parts);
	parts = repeated("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[",
	                 "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}", 17, ids);
	expect_refused(parts, "more than 16 times");
	free(parts);
	free(ids);
}

/* A token as long as words may be, of which only the last character is missing in the text. */
static void long_pieces_do_not_slow_words_down(void **state)
{
	(void)state;
	enum { CHARS = 4096 };
	static char piece[4 * CHARS], json[4 * CHARS + 512], text[4 * CHARS + 1];
	for (int i = 0; i < CHARS; i++)
		memcpy(text + 4 * i, "\xf0\x9f\x98\x80", 5);
	memcpy(piece, text, 4 * (CHARS - 2));
	int n = snprintf(json, sizeof json,
	                 "{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\","
	                 "\"max_input_chars_per_word\":%d,\"continuing_subword_prefix\":\"##\","
	                 "\"vocab\":{\"?\":0,\"%.4s\":1,\"##%.4s\":2,\"##%.8s\":3,\"##\":4,"
	                 "\"%sx\":5}}}",
	                 CHARS, text, text, text, piece);
	hec_tokenizer *t = NULL;
	hec_encoding e = HEC_ENCODING_INIT;
	if (hec_tokenizer_parse(json, (size_t)n, NULL, 0, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	const double began = seconds_of_processor();
	if (hec_tokenizer_encode(t, text, sizeof text - 1, NULL, &e) != HEC_OK)
		fail_msg("%s", hec_error_message());
	assert_true(seconds_of_processor() - began < 2);
	assert_int_equal(e.n, 1 + (CHARS - 1) / 2 + (CHARS - 1) % 2);
	assert_int_equal(e.ids[0], 1);
	assert_int_equal(e.ids[1], 3);
	assert_int_equal(e.ids[e.n - 1], 2);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

/* Each byte of a text is looked at once, however long the tokens are that nearly stand there. */
static void added_tokens_that_nearly_match_do_not_slow_a_text_down(void **state)
{
	(void)state;
	enum { LONG = 1000, TEXT = 1 << 20 };
	static char text[TEXT], token[LONG + 1], json[LONG + 256];
	for (int i = 0; i < 4; i++) {
		/* aaa…ab, baa…a; abab…aa, aaba…b */
		for (int k = 0; k < LONG; k++)
			token[k] = i < 2 || k % 2 == 0 ? 'a' : 'b';
		for (int k = 0; k < TEXT; k++)
			text[k] = i < 2 || k % 2 == 0 ? 'a' : 'b';
		token[i % 2 ? 0 : LONG - 1] = i < 2 ? 'b' : 'a';
		if (i == 3)
			token[1] = 'a';
		snprintf(json, sizeof json,
		         "\"added_tokens\":[{\"id\":20,\"content\":\"%s\",\"special\":true}]",
		         token);
		hec_tokenizer *t = made_of(json);
		hec_encoding e = HEC_ENCODING_INIT;
		const double began = seconds_of_processor();
		assert_int_equal(hec_tokenizer_encode(t, text, TEXT, NULL, &e), HEC_OK);
		assert_true(seconds_of_processor() - began < 0.5);
		assert_int_equal(e.n, 1);
		assert_int_equal(e.ids[0], 0);
		memcpy(text + TEXT / 2, token, LONG);
		assert_int_equal(hec_tokenizer_encode(t, text, TEXT, NULL, &e), HEC_OK);
		assert_int_equal(e.n, 3);
		assert_int_equal(e.ids[1], 10);
		assert_int_equal(e.offsets[1].end, TEXT / 2 + LONG);
		hec_encoding_free(&e);
		hec_tokenizer_destroy(t);
	}
}

/* White space that takes the white space behind it in does so from every place in it: not without end. */
static void white_space_is_not_taken_in_without_end(void **state)
{
	(void)state;
	static char text[1 << 14];
	memset(text, ' ', sizeof text);
	hec_tokenizer *t =
		made_of("\"added_tokens\":[{\"id\":20,\"content\":\" \",\"special\":true,"
	                "\"rstrip\":true}]");
	hec_encoding e = HEC_ENCODING_INIT;
	assert_int_equal(hec_tokenizer_encode(t, text, 500, NULL, &e), HEC_OK);
	assert_int_equal(e.n, 500);
	assert_int_equal(e.offsets[7].begin, 7);
	assert_int_equal(e.offsets[7].end, 500);
	assert_int_equal(hec_tokenizer_encode(t, text, sizeof text, NULL, &e), HEC_ERR_FORMAT);
	assert_non_null(strstr(hec_error_message(), "rstrip"));
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

static void the_file_that_is_too_large_is_named(void **state)
{
	(void)state;
	hec_tokenizer *t = NULL;
	assert_int_equal(hec_tokenizer_parse("{}", 2, "{}", (size_t)1 << 40, &t), HEC_ERR_FORMAT);
	assert_non_null(strstr(hec_error_message(), "tokenizer_config.json"));
	assert_int_equal(hec_tokenizer_parse("{}", (size_t)1 << 40, NULL, 0, &t), HEC_ERR_FORMAT);
	assert_non_null(strstr(hec_error_message(), "tokenizer.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_match_parts_the_text),
		cmocka_unit_test(an_empty_match_is_replaced),
		cmocka_unit_test(a_pattern_goes_through_a_long_word),
		cmocka_unit_test(patterns_mean_what_they_mean_in_oniguruma),
		cmocka_unit_test(patterns_know_the_newest_letters),
		cmocka_unit_test(only_marks_that_were_known_change_places),
		cmocka_unit_test(spaces_in_what_is_unknown_are_trimmed),
		cmocka_unit_test(a_text_does_not_grow_without_end),
		cmocka_unit_test(many_parts_and_long_templates_are_refused),
		cmocka_unit_test(the_file_that_is_too_large_is_named),
		cmocka_unit_test(long_pieces_do_not_slow_words_down),
		cmocka_unit_test(added_tokens_that_nearly_match_do_not_slow_a_text_down),
		cmocka_unit_test(white_space_is_not_taken_in_without_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
