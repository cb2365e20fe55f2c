/* test_summarize_program.c — `hecate summarize` as a user runs it, with the model of
 * tests/golden/decode_text, whose config.json is told what T5's says for the task. */
#include <jansson.h>
#include <string.h>

#include "support/test.h"

#include "program_run.h"

static int make_model(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	char path[256];
	if (shell("cp -r %s/golden/decode_text %s/model && chmod -R u+w %s/model", TESTS_DIR,
	          folder, folder) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/model/config.json", folder);
	json_t *config = json_load_file(path, 0, NULL),
	       *task = json_pack("{s:{s:s, s:i, s:i}}", "summarization", "prefix", "Please ",
	                         "num_beams", 3, "max_length", 25);
	json_object_set_new(config, "task_specific_params", task);
	int failed = json_dump_file(config, path, 0);
	json_decref(config);
	return failed;
}

static result summarize(const char *arguments)
{
	char line[1024];
	snprintf(line, sizeof line, "summarize -m %s/model %s", folder, arguments);
	return run(line);
}

static void the_task_of_the_model_is_done(void **state)
{
	(void)state;
	result r = summarize("'try again later.' --json"),
	       plain = summarize(
		       "'Please try again later.' --prefix '' --beam 3 --max-tokens 24 --json");
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, plain.out);
	assert_non_null(strstr(r.out, "Die Datei konnte nicht"));
	done(&r);
	char line[512]; /* another command does it by its name */
	snprintf(line, sizeof line,
	         "translate -m %s/model --task summarization 'try again later.' --json", folder);
	r = run(line);
	assert_string_equal(r.out, plain.out);
	done(&r);
	done(&plain);
}

static void a_file_is_one_text(void **state)
{
	(void)state;
	write_file("a.txt", "try again\nlater.\n");
	write_file("b.txt", "try again later.");
	char line[512];
	snprintf(line, sizeof line, "--file %s/b.txt %s/a.txt", folder, folder);
	result r = summarize(line), one = summarize("'try again later.'");
	assert_int_equal(r.code, 0);
	const char *second = strchr(r.out, '\n') + 1;
	assert_int_equal(strncmp(r.out, one.out, (size_t)(second - r.out)), 0);
	assert_string_equal(strchr(second, '\n'), "\n"); /* and no third */
	done(&r);
	done(&one);
	snprintf(line, sizeof line, "--file %s/none.txt", folder);
	r = summarize(line);
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "none.txt"));
	done(&r);
}

static void what_is_too_long_is_an_error_or_cut_or_done_in_windows(void **state)
{
	(void)state;
	char text[4096] = "";
	for (int i = 0; i < 60; i++)
		strcat(text, "try again later. ");
	write_file("long.txt", text);
	char line[512];
	snprintf(line, sizeof line, "--file %s/long.txt", folder);
	result r = summarize(line);
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "tokens; the model takes 64"));
	done(&r);
	snprintf(line, sizeof line, "--file %s/long.txt --truncate", folder);
	result cut = summarize(line);
	snprintf(line, sizeof line, "--file %s/long.txt --windows", folder);
	result windows = summarize(line);
	assert_int_equal(cut.code, 0);
	assert_int_equal(windows.code, 0);
	assert_true(strlen(windows.out) > strlen(cut.out));
	done(&cut);
	done(&windows);
	snprintf(line, sizeof line, "--file %s/long.txt --windows --truncate", folder);
	r = summarize(line);
	assert_int_equal(r.code, 2);
	done(&r);
	r = summarize("--help");
	assert_non_null(strstr(r.out, "Example: "));
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_task_of_the_model_is_done),
		cmocka_unit_test(a_file_is_one_text),
		cmocka_unit_test(what_is_too_long_is_an_error_or_cut_or_done_in_windows),
	};
	return cmocka_run_group_tests(tests, make_model, remove_folder);
}
