/* test_keepgoing_program.c — --keep-going: one bad input among many stands as an error in its place, the rest have the
 * results that they have without it, and the command ends with 1. Without it, the first one ends the command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "program_run.h"

/* Commands with a small model of tests/golden; their results are a line for each input. */
static const struct {
	const char *command, *good, *bad;
	bool parted; /* an empty line parts its results anyway */
} rows[] = {
	{"translate -m @/decode_text", "Please try again later.", "not \\377 UTF-8", false},
	{"summarize -m @/decode_text", "Please try again later.", "not \\377 UTF-8", false},
	{"generate -m @/decode_text --max-tokens 3", "Please try", "not \\377 UTF-8", false},
	{"embed -m @/decode_text", "Please try", "not \\377 UTF-8", false},
	{"tokenize -m @/decode_text", "Please try", "not \\377 UTF-8", true},
	{"fill -m @/answer_fill/bert_fill --top 1", "the [MASK] runs", "not \\377 UTF-8", false},
	{"answer -m @/answer_fill/bert_answer", "who\\tthe cat", "no context", false},
};

/* Standard input through the command, `-O` with more options. */
static result through(size_t row, const char *input, const char *more)
{
	char command[1024], *to = command;
	to += sprintf(to, "cd '%s' && printf '%s' >in && '%s' ", folder, input, program());
	for (const char *c = rows[row].command; *c; c++)
		to += *c == '@' ? sprintf(to, "'%s/golden'", TESTS_DIR) : sprintf(to, "%c", *c);
	sprintf(to, " %s <in >out 2>err", more);
	int status = system(command);
	return (result){WEXITSTATUS(status), read_all("out"), read_all("err")};
}

static char *line_at(char *text, int n)
{
	for (; n > 0; n--) {
		text = strchr(text, '\n');
		assert_non_null(text);
		text++;
	}
	return text;
}

static bool same_line(const char *a, const char *b)
{
	return strcspn(a, "\n") == strcspn(b, "\n") && strncmp(a, b, strcspn(a, "\n")) == 0;
}

/* The same but for the number of their inputs, which comes first. */
static bool same_result(const char *a, const char *b)
{
	return same_line(strchr(a, ','), strchr(b, ','));
}

static void the_rest_is_as_if_the_bad_ones_were_not_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char good[512], mixed[1024];
		snprintf(good, sizeof good, "%s\\n%s\\n", rows[i].good, rows[i].good);
		snprintf(mixed, sizeof mixed, "%s\\n%s\\n%s\\n%s\\n%s\\n", rows[i].bad,
		         rows[i].good, rows[i].bad, rows[i].bad, rows[i].good);
		result plain = through(i, good, ""), all = through(i, mixed, "--keep-going"),
		       json = through(i, good, "--json"),
		       all_json = through(i, mixed, "--json --keep-going"),
		       stopped = through(i, mixed, "");
		if (plain.code != 0 || all.code != 1 || stopped.code != 1 || all_json.code != 1)
			fail_msg("%s: %d, %d, %d, %d: %s", rows[i].command, plain.code, all.code,
			         stopped.code, all_json.code, all.err);
		/* An empty line for each bad one; a good one may have many. */
		const char *first = plain.out, *at = all.out;
		const size_t half = strlen(first) / 2;
		if (!rows[i].parted) {
			assert_true(at[0] == '\n');
			assert_memory_equal(at + 1, first, half);
			assert_true(at[1 + half] == '\n' && at[2 + half] == '\n');
			assert_memory_equal(at + 3 + half, first + half, half);
			assert_int_equal(strlen(at), 3 + 2 * half);
		}
		assert_non_null(strstr(all.err, "line 1: "));
		assert_non_null(strstr(all.err, "line 3: "));
		assert_non_null(strstr(all.err, "line 4: "));
		assert_non_null(strstr(all.err, "3 of 5 texts failed"));
		/* In JSON each line is an object. */
		static const int bad[] = {0, 2, 3};
		for (int k = 0; k < 3; k++) {
			json_t *one = json_loads(line_at(all_json.out, bad[k]),
			                         JSON_DISABLE_EOF_CHECK, NULL);
			assert_non_null(json_string_value(json_object_get(one, "error")));
			assert_int_equal(json_integer_value(json_object_get(one, "input")),
			                 bad[k] + 1);
			json_decref(one);
		}
		assert_true(same_result(line_at(all_json.out, 1), json.out));
		assert_true(same_result(line_at(all_json.out, 4), line_at(json.out, 1)));
		assert_string_equal(stopped.out, "");
		done(&plain), done(&all), done(&json), done(&all_json), done(&stopped);
	}
}

/* Ranks name lines by their numbers, those that failed counted in, and have no place for them. */
static void ranks_are_of_the_good_ones(void **state)
{
	(void)state;
	enum { EMBED = 3 };
	result r =
		through(EMBED, "\\377\\nPlease\\nlater\\n", "--similar Please --json --keep-going");
	assert_int_equal(r.code, 1);
	json_t *best = json_loads(r.out, JSON_DISABLE_EOF_CHECK, NULL);
	assert_int_equal(json_integer_value(json_object_get(best, "input")), 2);
	json_decref(best);
	assert_null(strstr(r.out, "error"));
	assert_non_null(strstr(r.err, "1 of 3 texts failed"));
	done(&r);
}

/* A row for each line: that of one that failed is not numbers, so that the rows keep their places. */
static void all_vectors_fit_into_one_file(void **state)
{
	(void)state;
	enum { EMBED = 3, BEGIN = 128, ROWS = 4 };
	result plain = through(EMBED, "Please\\nlater\\n", ""),
	       r = through(EMBED, "\\377\\nPlease\\nlater\\n\\376\\n",
	                   "--out all.npy --keep-going");
	assert_int_equal(r.code, 1);
	assert_string_equal(r.out, "");
	char *file = read_all("all.npy"), *at = plain.out;
	assert_memory_equal(file, "\x93NUMPY", 6);
	assert_int_equal(shell("test $(stat -c %%s '%s/all.npy') -gt %d", folder, BEGIN), 0);
	const char *shape = strstr(file + 10, "'shape': (4, ");
	assert_non_null(shape);
	const long width = strtol(shape + strlen("'shape': (4, "), NULL, 10);
	const size_t begin = 10 + (unsigned char)file[8] + 256 * (size_t)(unsigned char)file[9];
	for (long i = 0; i < ROWS * width; i++) {
		float x;
		memcpy(&x, file + begin + (size_t)i * sizeof x, sizeof x);
		if (i < width || i >= 3 * width)
			assert_true(x != x);
		else
			assert_true(x == strtof(at, &at));
	}
	free(file);
	done(&plain);
	done(&r);
	r = through(EMBED, "Please\\n", "--out one.safetensors");
	assert_int_equal(r.code, 0);
	file = read_all("one.safetensors");
	assert_non_null(strstr(file + 8, "\"embeddings\":{\"dtype\":\"F32\",\"shape\":[1,"));
	free(file);
	done(&r);
	r = through(EMBED, "Please\\n", "--npy one.bin");
	assert_int_equal(r.code, 0);
	file = read_all("one.bin");
	assert_memory_equal(file, "\x93NUMPY", 6);
	free(file);
	done(&r);
	static const char *const wrong[] = {"--out x.npy --npy y", "--out x.txt",
	                                    "--out x.npy --json", "--out .npy",
	                                    "--out x.npy --similar y"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		r = through(EMBED, "Please\\n", wrong[i]);
		assert_int_equal(r.code, 2);
		done(&r);
	}
	r = through(EMBED, "", "--out x.npy");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "there is no vector"));
	done(&r);
}

static void each_file_is_by_itself(void **state)
{
	(void)state;
	assert_int_equal(
		shell("cd '%s' && printf 'Please try again later.' >a.txt && printf '\\377' "
	              ">b.txt && '%s' summarize -m '%s/golden/decode_text' --file a.txt "
	              "b.txt none.txt a.txt --json --keep-going >out 2>err",
	              folder, program(), TESTS_DIR),
		1);
	char *out = read_all("out"), *err = read_all("err");
	static const char *const begins[] = {"{\"input\":1,\"file\":\"a.txt\",\"text\":",
	                                     "{\"input\":2,\"file\":\"b.txt\",\"error\":",
	                                     "{\"input\":3,\"file\":\"none.txt\",\"error\":",
	                                     "{\"input\":4,\"file\":\"a.txt\",\"text\":"};
	for (int i = 0; i < 4; i++)
		assert_int_equal(strncmp(line_at(out, i), begins[i], strlen(begins[i])), 0);
	assert_true(same_line(strstr(out, "\"text\":"), strstr(line_at(out, 3), "\"text\":")));
	assert_non_null(strstr(err, "none.txt: could not be opened"));
	free(out);
	free(err);
}

/* Its place has as many lines as a result has. A line that is too long is passed over. */
static void an_error_takes_the_room_of_a_result(void **state)
{
	(void)state;
	result r = through(0, "Please\\n\\377\\nPlease\\n", "--beam 2 --nbest 2 --keep-going");
	assert_int_equal(r.code, 1);
	assert_int_equal(lines_of(r.out), 6);
	assert_non_null(strstr(r.out, "\n\n\n"));
	done(&r);
	assert_int_equal(shell("cd '%s' && { head -c 67108865 /dev/zero | tr '\\0' x; echo; echo "
	                       "Please; } | "
	                       "'%s' translate -m '" TESTS_DIR
	                       "/golden/decode_text' --keep-going --json >out 2>err",
	                       folder, program()),
	                 1);
	char *out = read_all("out");
	assert_ptr_equal(
		strstr(out,
	               "{\"input\":1,\"error\":\"has more than 67108864 bytes\"}\n{\"input\":2,"),
		out);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rest_is_as_if_the_bad_ones_were_not_there),
		cmocka_unit_test(ranks_are_of_the_good_ones),
		cmocka_unit_test(all_vectors_fit_into_one_file),
		cmocka_unit_test(an_error_takes_the_room_of_a_result),
		cmocka_unit_test(each_file_is_by_itself),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
