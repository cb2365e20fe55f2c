/* test_translate_program.c — `hecate translate` as a user runs it, with the model of
 * tests/golden/decode_text. */
#include <jansson.h>
#include <string.h>

#include "support/test.h"

#include "program_run.h"

static result translate(const char *input, const char *arguments)
{
	char line[2048];
	write_file("in", input);
	snprintf(line, sizeof line, "translate -m %s/golden/decode_text %s <%s/in", TESTS_DIR,
	         arguments, folder);
	/* run() closes standard input by </dev/null, and the later redirection would win. */
	char whole[4096];
	snprintf(whole, sizeof whole, "'%s' %s >%s/out 2>%s/err", program(), line, folder, folder);
	int status = system(whole);
	assert_true(WIFEXITED(status));
	return (result){WEXITSTATUS(status), read_all("out"), read_all("err")};
}

static void lines_come_out_in_the_order_they_went_in(void **state)
{
	(void)state;
	const char *in = "The file could not be opened.\n\nPlease try again later.\r\n"
			 "Die Datei konnte nicht geöffnet werden.";
	const char *want = "Please try again later.\n\nDie Datei konnte nicht geöffnet werden.\n"
			   "Bitte versuchen Sie es später noch einmal.\n";
	const char *ways[] = {"", "--beam 1", "--beam 4 --batch 1", "--beam 4 --threads 2"};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		result r = translate(in, ways[i]);
		assert_int_equal(r.code, 0);
		assert_string_equal(r.out, want);
		assert_string_equal(r.err, "");
		done(&r);
	}
	result r = translate("", "");
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, "");
	done(&r);
}

static void json_lines_hold_text_score_tokens_and_nbest(void **state)
{
	(void)state;
	const char *in = "Please try again later.\n\n";
	result r = translate(in, "--json --nbest 3"),
	       again = translate(in, "--json --nbest 3 --batch 1");
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, again.out);
	json_t *line = json_loads(r.out, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(line);
	assert_int_equal(json_object_size(line), 5);
	assert_string_equal(json_string_value(json_object_get(line, "text")),
	                    "Die Datei konnte nicht geöffnet werden.");
	json_t *nbest = json_object_get(line, "nbest"), *tokens = json_object_get(line, "tokens");
	assert_int_equal(json_array_size(nbest), 3);
	double score = json_real_value(json_object_get(line, "score")), before = score;
	assert_true(score < 0);
	for (size_t i = 0; i < 3; i++) {
		double s = json_real_value(json_object_get(json_array_get(nbest, i), "score"));
		assert_true(s <= before && (i > 0 || s == score));
		before = s;
	}
	size_t n = json_array_size(tokens);
	assert_true(n > 5);
	assert_string_equal(json_string_value(json_array_get(tokens, n - 1)), "</s>");
	json_decref(line);
	const char *second = strchr(r.out, '\n') + 1;
	assert_non_null(strstr(second, "\"text\":\"\""));
	done(&r);
	done(&again);
}

static void a_bad_line_is_named_and_those_before_it_are_written(void **state)
{
	(void)state;
	const char *in = "The file could not be opened.\nbad \xff\nPlease try again later.\n";
	result r = translate(in, "");
	assert_int_equal(r.code, 1);
	assert_string_equal(r.out, "Please try again later.\n");
	assert_non_null(strstr(r.err, "line 2"));
	done(&r);
	r = translate(in, "--lossy");
	assert_int_equal(r.code, 0);
	done(&r);
	char many[4200] = "a\n";
	memset(many + 2, 'x', 4096);
	r = translate(many, "");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "line 2"));
	assert_non_null(strstr(r.err, "64"));
	done(&r);
	r = translate(many, "--truncate");
	assert_int_equal(r.code, 0);
	done(&r);
}

static void wrong_words_are_wrong_usage(void **state)
{
	(void)state;
	const char *wrong[] = {"--beam 0", "--beam 2 --nbest 3", "--length-penalty much", "--bats"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		result r = translate("a\n", wrong[i]);
		assert_int_equal(r.code, 2);
		done(&r);
	}
	result r = translate("a\n", "--threads 1025"); /* as many as the library takes */
	assert_int_equal(r.code, 2);
	assert_non_null(strstr(r.err, "from 1 to 1024"));
	done(&r);
	r = translate("a\n", "--task nonsense"); /* which would change nothing */
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "nothing about the task 'nonsense'"));
	done(&r);
	r = translate("Please try again later.\n", "--override encoder_layers=1");
	assert_int_equal(r.code, 0); /* what was done is told */
	assert_non_null(strstr(r.err, "loaded: "));
	done(&r);
	r = run("translate -m /nowhere hello");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "/nowhere"));
	done(&r);
	r = run("translate --help");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.out, "Example: "));
	done(&r);
}

/* The input stays open: the answer comes all the same, and ctrl-C ends the wait for more. */
static void an_answer_does_not_wait_for_the_next_line_and_a_signal_ends_cleanly(void **state)
{
	(void)state;
	int code = shell("cd '%s' && rm -f out && mkfifo pipe || exit 3; "
	                 "{ echo 'Please try again later.'; sleep 10; } >pipe 2>/dev/null & "
	                 "'%s' translate -m %s/golden/decode_text <pipe >out 2>err & p=$!; i=0; "
	                 "while [ ! -s out ] && [ $i -lt 90 ]; do sleep 0.1; i=$((i+1)); done; "
	                 "kill -INT $p; wait $p",
	                 folder, program(), TESTS_DIR);
	assert_int_equal(code, 128 + SIGINT);
	char *out = read_all("out"), *err = read_all("err");
	assert_string_equal(out, "Die Datei konnte nicht geöffnet werden.\n");
	assert_non_null(strstr(err, "interrupted after 1 line\n"));
	free(out);
	free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_out_in_the_order_they_went_in),
		cmocka_unit_test(json_lines_hold_text_score_tokens_and_nbest),
		cmocka_unit_test(a_bad_line_is_named_and_those_before_it_are_written),
		cmocka_unit_test(
			an_answer_does_not_wait_for_the_next_line_and_a_signal_ends_cleanly),
		cmocka_unit_test(wrong_words_are_wrong_usage),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
