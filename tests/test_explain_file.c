/* test_explain_file.c — a file of `hecate explain --file` is a problem that fits, or one clear line
 * of message: a table of what people and attackers send. */
#include "cli/explain/file.h"

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

#include <hecate/width.h>

#include "support/scratch.h"

#define W "\"W_Q\": [[1, 0], [0, 1]], \"W_K\": [[1, 1], [0, 1]], \"W_V\": [[1, 2], [3, 4]]"
#define X "\"X\": [[1, 2], [3, 4]]"

static const char good[] =
	"{\"X\": [[1, 2], [3, 4]], \"memory\": [[1, 0.5], [-3, 4e-2], [5, 6]], \"heads\": 2,"
	" \"d_k\": 1, \"d_v\": 2, " /* W_V is wider than W_Q */
	"\"W_Q\": [[1, 0], [0, 1]], \"W_K\": [[1, 1], [0, 1]],"
	" \"W_V\": [[1, 2, 3, 4], [5, 6, 7, 8]], \"W_O\": [[1], [2], [3], [4]],"
	" \"b_Q\": [1, 2], \"b_K\": [3, 4], \"b_V\": [5, 6, 7, 8], \"b_O\": [9],"
	" \"mask\": [[1, 0, 1], [true, 1.0, false]], \"causal\": true,"
	" \"tokens\": [\"思考\", \"a\"]}";

static void everything_in_a_file_arrives(void **state)
{
	(void)state;
	explain_problem p;
	char error[256] = "";
	if (!explain_file_parse(good, strlen(good), &p, error, sizeof error))
		fail_msg("%s", error);
	assert_int_equal(p.heads, 2);
	assert_int_equal(p.d_k, 1);
	assert_int_equal(p.d_v, 2);
	assert_true(p.causal);
	assert_int_equal(p.given[GIVEN_MEMORY].shape[0], 3);
	assert_true(((float *)p.given[GIVEN_MEMORY].data)[3] == 4e-2f);
	assert_int_equal(p.given[GIVEN_W_O].shape[0], 4);
	assert_int_equal(p.given[GIVEN_B_V].rank, 1);
	assert_true(((float *)p.given[GIVEN_B_V].data)[3] == 8);
	assert_memory_equal(p.mask.data, ((const int8_t[]){1, 0, 1, 1, 1, 0}), 6);
	assert_string_equal(p.tokens[0], "思考");
	explain_problem_free(&p);
	assert_null(p.tokens);
}

static void sizes_of_heads_follow_from_the_matrices(void **state)
{
	(void)state;
	explain_problem p;
	char error[256] = "";
	const char *text = "{" X ", \"heads\": 2.0, " W "}"; /* whole, as some programs write it */
	assert_true(explain_file_parse(text, strlen(text), &p, error, sizeof error));
	assert_int_equal(p.d_k, 1);
	assert_int_equal(p.d_v, 1);
	explain_problem_free(&p);
}

typedef struct bad_file {
	const char *text;
	const char *says; /* part of the message */
} bad_file;

static const bad_file bad_files[] = {
	/* not JSON, or not this JSON */
	{"", "line 1"},
	{"hello", "line 1"},
	{"{" X, "line 1"},
	{"{" X ", \"heads\": 1, " W "} {}", "end of file"},
	{"{'X': 1}", "line 1"},
	{"[1, 2]", "the file holds a list"},
	{"{\"X\": [[1, 2], [3, 4]], \"X\": [[1, 2]]}", "duplicate"},
	{"{\"X\": [[NaN]]}", "line 1"},
	{"{\"X\": [[1e999]]}", "overflow"},
	{"{\"X\": [[\"\xff\"]]}", "unable to decode byte 0xff"},
	{"{" X ", \"heads\": 1, " W ", \"colour\": 3}", "no key \"colour\""},
	{"{\"a\\u001b[31mb\": 3}", "no key \"a\xEF\xBF\xBD[31mb\""},
	/* something missing */
	{"{}", "heads is missing"},
	{"{\"heads\": 1, " W "}", "X is missing"},
	{"{" X ", " W "}", "heads is missing"},
	{"{" X ", \"heads\": 1, \"W_Q\": [[1], [1]], \"W_V\": [[1], [1]]}", "W_K is missing"},
	/* wrong types */
	{"{\"X\": 5}", "X is a number, it must be a list of rows"},
	{"{\"X\": null}", "X is null"},
	{"{\"X\": [1, 2]}", "X[0] is a number, it must be a list of numbers"},
	{"{\"X\": [[1, \"2\"]]}", "X[0][1] is a text, not a number"},
	{"{\"X\": [[[1]]]}", "X[0][0] is a list, not a number"},
	{"{\"b_Q\": [[1]]}", "b_Q[0] is a list, not a number"},
	{"{\"b_Q\": 1}", "b_Q is a number, it must be a list of numbers"},
	{"{\"causal\": 1}", "causal is a number, it must be true or false"},
	{"{\"tokens\": \"ab\"}", "tokens is a text, it must be a list of texts"},
	{"{\"tokens\": [\"a\", 5]}", "tokens[1] is a number, it must be a text"},
	/* shapes of one matrix */
	{"{\"X\": []}", "X has no rows"},
	{"{\"X\": [[]]}", "X[0] is empty"},
	{"{\"X\": [[1, 2], [3]]}", "X[1] has 1 number, X[0] has 2"},
	{"{\"b_Q\": []}", "b_Q is empty"},
	{"{\"memory\": []}", "memory has no rows"},
	/* numbers */
	{"{\"X\": [[1e39]]}", "X[0][0] is 1e+39, which does not fit a 32-bit float"},
	{"{\"X\": [[99999999999999999999]]}", "too big"},
	{"{\"heads\": 0}", "heads is 0"},
	{"{\"heads\": -2}", "heads is -2"},
	{"{\"heads\": 2.5}", "heads is 2.5, it must be a whole number"},
	{"{\"heads\": 1e18}", "heads is 1e+18, it must be a whole number"},
	{"{" X ", \"heads\": 1000000000000000000, " W "}", "heads is 1000000000000000000"},
	{"{\"heads\": \"two\"}", "heads is a text"},
	{"{\"d_k\": 0}", "d_k is 0"},
	{"{\"d_v\": 1.5}", "d_v is 1.5"},
	{"{" X ", \"heads\": 1, \"d_k\": 9223372036854775807, " W "}",
         "d_k is 9223372036854775807"},
	/* shapes that do not fit each other */
	{"{\"X\": [[1, 2, 3]], \"heads\": 1, " W "}",
         "X has shape [1, 3] and W_Q has shape [2, 2]"},
	{"{" X ", \"memory\": [[1, 2, 3]], \"heads\": 1, " W "}",
         "memory has shape [1, 3] and W_K has shape [2, 2]"},
	{"{" X ", \"heads\": 3, " W "}", "2 does not divide by 3 heads"},
	{"{\"X\": [[1,2,3,4,5]], \"heads\": 2, \"W_Q\": [[1,2,3,4,5],[1,2,3,4,5],[1,2,3,4,5],"
         "[1,2,3,4,5],[1,2,3,4,5]], \"W_K\": [[1],[1],[1],[1],[1]], \"W_V\": "
         "[[1],[1],[1],[1],[1]]}",
         "5 does not divide by 2 heads"},
	{"{" X ", \"heads\": 1, \"d_k\": 3, " W "}", "1 head of d_k = 3 needs [2, 3]"},
	{"{" X
         ", \"heads\": 1, \"W_Q\": [[1], [1]], \"W_K\": [[1, 2], [1, 2]], \"W_V\": [[1], [1]]}",
         "W_K has shape [2, 2], 1 head of d_k = 1 needs [2, 1]"},
	{"{" X ", \"heads\": 1, \"d_v\": 3, " W "}", "W_V has shape [2, 2]"},
	{"{" X ", \"heads\": 1, " W ", \"W_O\": [[1, 2, 3]]}", "W_O needs 2 rows"},
	{"{" X ", \"heads\": 1, " W ", \"b_Q\": [1]}", "b_Q has 1 number,"},
	{"{" X ", \"heads\": 1, " W ", \"b_O\": [1, 2]}", "b_O is given without W_O"},
	{"{" X ", \"heads\": 1, " W ", \"tokens\": [\"a\"]}", "tokens has 1 entry, X has 2 rows"},
	{"{" X ", \"heads\": 1, " W ", \"d_output\": [[1, 2]]}",
         "d_output has shape [1, 2], the output has [2, 2]"},
	{"{" X ", \"heads\": 1, " W ", \"W_O\": [[1], [2]], \"d_output\": [[1, 2], [3, 4]]}",
         "d_output has shape [2, 2], the output has [2, 1]"},
	{"{" X ", \"heads\": 1, " W ", \"d_output\": [1, 2]}", "d_output[0] is a number"},
	/* masks */
	{"{" X ", \"heads\": 1, " W ", \"mask\": [[1, 1]]}", "2 queries and 2 keys need [2, 2]"},
	{"{" X ", \"heads\": 1, " W ", \"mask\": [[1, 1, 1], [1, 1, 1]]}", "mask has shape [2, 3]"},
	{"{" X ", \"heads\": 1, " W ", \"mask\": [[1, 2], [1, 1]]}", "mask[0][1] is 2"},
	{"{" X ", \"heads\": 1, " W ", \"mask\": [[1, 0.5], [1, 1]]}", "mask[0][1] is 0.5"},
	{"{" X ", \"heads\": 1, " W ", \"mask\": [[1, -1e9], [1, 1]]}", "mask[0][1] is -1e+09"},
	{"{" X ", \"heads\": 1, " W ", \"mask\": [[1, null], [1, 1]]}", "mask[0][1] is null"},
	{"{" X ", \"heads\": 1, " W ", \"mask\": [[1], [1, 1]]}", "mask[1] has 2 numbers"},
};

static void expect_refused(const char *text, size_t length, const char *says)
{
	explain_problem p;
	char error[256] = "";
	if (explain_file_parse(text, length, &p, error, sizeof error))
		fail_msg("accepted: %.80s", text);
	if (!strstr(error, says))
		fail_msg("%.80s\n says: %s\n not:  %s", text, error, says);
	for (const char *c = error; *c; c++)
		assert_true((unsigned char)*c >= 0x20 && *c != 0x7F);
	const explain_problem zeros = {0};
	assert_memory_equal(p.given, zeros.given, sizeof p.given);
	assert_null(p.mask.data);
	assert_null(p.tokens);
}

static void a_bad_file_is_refused_with_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++)
		expect_refused(bad_files[i].text, strlen(bad_files[i].text), bad_files[i].says);
}

/* A copy of exactly that length, so that a sanitizer sees a read beyond it. */
static void every_beginning_of_a_file_is_refused(void **state)
{
	(void)state;
	for (size_t length = 0; length < strlen(good); length++) {
		char *copy = malloc(length + (length == 0));
		assert_non_null(copy);
		memcpy(copy, good, length);
		expect_refused(copy, length, "line");
		free(copy);
	}
}

static void deep_nesting_is_refused(void **state)
{
	(void)state;
	size_t depth = 1 << 20;
	char *text = malloc(depth);
	assert_non_null(text);
	memset(text, '[', depth);
	expect_refused(text, depth, "depth");
	free(text);
}

static void a_large_file_is_refused(void **state)
{
	(void)state;
	size_t length = (size_t)EXPLAIN_FILE_MOST + 1;
	char *text = malloc(length);
	assert_non_null(text);
	memset(text, ' ', length);
	expect_refused(text, length, "larger than 16 MiB");
	free(text);
}

/* 30,000 rows of one number are a small file, but 30,000 × 30,000 scores are not. */
static void more_scores_than_anyone_reads_are_refused(void **state)
{
	(void)state;
	size_t rows = 30000, used = 0, size = rows * 5 + 200;
	char *text = malloc(size);
	assert_non_null(text);
	used += (size_t)snprintf(text + used, size - used, "{\"X\": [[1]");
	for (size_t i = 1; i < rows; i++)
		used += (size_t)snprintf(text + used, size - used, ",[1]");
	used += (size_t)snprintf(
		text + used, size - used,
		"], \"heads\": 1, \"W_Q\": [[1]], \"W_K\": [[1]], \"W_V\": [[1]]}");
	expect_refused(text, used, "30000 queries");
	free(text);
}

/* One head of 500,000 numbers for each of 65 words: few scores, but long sums. */
static void more_work_than_anyone_waits_for_is_refused(void **state)
{
	(void)state;
	size_t rows = 65, columns = 500000, size = rows * 5 + columns * 6 + 400, used = 0;
	char *text = malloc(size);
	assert_non_null(text);
	used += (size_t)snprintf(text + used, size - used, "{\"X\": [[1]");
	for (size_t i = 1; i < rows; i++)
		used += (size_t)snprintf(text + used, size - used, ",[1]");
	used += (size_t)snprintf(text + used, size - used, "], \"heads\": 1, \"W_V\": [[1]]");
	for (int w = 0; w < 2; w++) {
		used += (size_t)snprintf(text + used, size - used, ", \"W_%c\": [[1", "QK"[w]);
		for (size_t i = 1; i < columns; i++)
			used += (size_t)snprintf(text + used, size - used, ",1");
		used += (size_t)snprintf(text + used, size - used, "]]");
	}
	used += (size_t)snprintf(text + used, size - used, "}");
	assert_true(used < size);
	expect_refused(text, used, "products");
	free(text);
}

static void a_file_that_cannot_be_read_says_why(void **state)
{
	(void)state;
	explain_problem p;
	char error[256] = "";
	assert_false(explain_file_read("/nowhere/at/all.json", &p, error, sizeof error));
	assert_string_equal(error, "No such file or directory");
	assert_false(explain_file_read("/", &p, error, sizeof error));
	assert_string_equal(error, "Is a directory");
	assert_false(explain_file_read("/dev/zero", &p, error, sizeof error));
	assert_non_null(strstr(error, "no regular file"));
}

/* A pipe that nobody writes to: opening it would wait for ever. */
static void a_pipe_without_a_writer_is_refused_at_once(void **state)
{
	(void)state;
	char folder[64], path[96], error[256] = "";
	assert_int_equal(scratch_folder(folder, sizeof folder), 0);
	snprintf(path, sizeof path, "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	explain_problem p;
	assert_false(explain_file_read(path, &p, error, sizeof error));
	assert_non_null(strstr(error, "no regular file"));
	assert_int_equal(scratch_folder_remove(folder), 0);
}

static void width_is_that_of_a_terminal(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int width;
	} table[] = {{"", 0},
	             {"abc", 3},
	             {"思考", 4},
	             {"很", 2},
	             {"e\u0301", 1},
	             {"ｶﾞ", 2},
	             {"한글", 4},
	             {"\u1112\u1161\u11ab", 2},
	             {"😀", 2},
	             {"a\u200db", 2},
	             {"⎡ 1 ⎤", 5},
	             {"Ａ", 2},
	             {"\x1b[31mred\x1b[0m", 3},
	             {"\xff", 1},
	             {"\xe6\x80", 2},
	             {"\u20001", 2},
	             {"Ĉ", 1},
	             {"กำ", 2}};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (hec_display_width(table[i].text, strlen(table[i].text)) != table[i].width)
			fail_msg("'%s' is %d wide, not %d", table[i].text,
			         hec_display_width(table[i].text, strlen(table[i].text)),
			         table[i].width);
}

static void a_clean_text_cannot_steer_a_terminal(void **state)
{
	(void)state;
	static const struct {
		const char *text, *clean;
		int columns;
	} table[] = {{"abc", "abc", 3},
	             {"abcd", "ab…", 3},
	             {"\x1b[2J", "\xEF\xBF\xBD[2J", 10},
	             {"a\nb\x7f",
	              "a\xEF\xBF\xBD"
	              "b\xEF\xBF\xBD",
	              10},
	             {"\u202eevil",
	              "\xEF\xBF\xBD"
	              "evil",
	              10},
	             {"\xC2\x9B"
	              "31m",
	              "\xEF\xBF\xBD"
	              "31m",
	              10},
	             {"\xff", "\xEF\xBF\xBD", 10},
	             {"思考编程", "思考…", 6},
	             {"思考编程", "思…", 4}};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		char out[64];
		int width = hec_text_clean(table[i].text, table[i].columns, out, sizeof out);
		assert_string_equal(out, table[i].clean);
		assert_int_equal(width, hec_display_width(out, strlen(out)));
		assert_true(width <= table[i].columns);
	}
	for (size_t size = 4; size < 16; size++) { /* whatever the room, it ends with NUL inside */
		char out[16];
		memset(out, 'x', sizeof out);
		hec_text_clean("思考编程很有趣", 100, out, size);
		assert_true(strnlen(out, size) < size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_in_a_file_arrives),
		cmocka_unit_test(sizes_of_heads_follow_from_the_matrices),
		cmocka_unit_test(a_bad_file_is_refused_with_its_reason),
		cmocka_unit_test(every_beginning_of_a_file_is_refused),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(a_large_file_is_refused),
		cmocka_unit_test(more_scores_than_anyone_reads_are_refused),
		cmocka_unit_test(more_work_than_anyone_waits_for_is_refused),
		cmocka_unit_test(a_file_that_cannot_be_read_says_why),
		cmocka_unit_test(a_pipe_without_a_writer_is_refused_at_once),
		cmocka_unit_test(width_is_that_of_a_terminal),
		cmocka_unit_test(a_clean_text_cannot_steer_a_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
