/* test_train_program.c — `hecate train` is stopped and goes on: by signals, by another run; and killed at random
 * moments, resumed, it ends with the weights of a run that was not.
 *
 * $HECATE_KILLS (10) is how often it is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program_run.h"
#include "support/clock.h"
#include "train_texts.h"

#include <signal.h>
#include <sys/stat.h>

#define RUN                                                                                        \
	PAIRS SMALL "--quiet --steps 120 --valid-every 30 --report-every 7 --save-every 10 "       \
		    "--accumulate 2 --valid-sentences 4 "

static pid_t start(const char *dir)
{
	char arguments[2048];
	snprintf(arguments, sizeof arguments, "%s--resume --out %%1$s/%s", RUN, dir);
	return train_beside(arguments, dir);
}

/* Everything of two logs but the times. */
static void check_same_log(const char *one, const char *two)
{
	const char *cut = "sed 's/\"tokens_per_s\".*//'";
	assert_int_equal(shell("%s '%s/%s/log.jsonl' >'%s/log1'; %s '%s/%s/log.jsonl' >'%s/log2'; "
	                       "diff '%s/log1' '%s/log2'",
	                       cut, folder, one, folder, cut, folder, two, folder, folder, folder),
	                 0);
}

static void a_run_killed_again_and_again_ends_with_the_same_weights(void **state)
{
	(void)state;
	const char *wanted = getenv("HECATE_KILLS");
	int kills = wanted && *wanted ? atoi(wanted) : 10, done_kills = 0;
	double begin = seconds_now();
	assert_int_equal(finish(start("whole")), 0);
	double whole = seconds_now() - begin;
	for (int round = 0; done_kills < kills; round++) {
		/* Between a few moments after its start and half of a run: it always gets on. */
		pid_t child = start("killed");
		sleep_for(whole * (0.02 + 0.5 * draw() / 4294967296.0));
		kill(child, SIGKILL);
		int code = finish(child);
		if (code == -SIGKILL) {
			done_kills++;
			continue;
		}
		if (code != 0) {
			char *text = read_all("killed.out");
			print_message("after %d kills it ended with %d: %s\n", done_kills, code,
			              text);
			free(text);
			assert_true(false);
		}
		check_same("whole/model.safetensors", "killed/model.safetensors");
		assert_int_equal(shell("rm -r '%s/killed'", folder), 0);
	}
	assert_int_equal(finish(start("killed")), 0);
	check_same("whole/model.safetensors", "killed/model.safetensors");
	check_same("whole/checkpoint/step-00000120/model.safetensors",
	           "killed/checkpoint/step-00000120/model.safetensors");
	check_same("whole/checkpoint/step-00000120/optimizer.safetensors",
	           "killed/checkpoint/step-00000120/optimizer.safetensors");
	check_same_log("whole", "killed");
}

static long log_size(const char *dir)
{
	char path[256];
	struct stat info;
	snprintf(path, sizeof path, "%s/%s/log.jsonl", folder, dir);
	return stat(path, &info) == 0 ? (long)info.st_size : 0;
}

static void a_run_that_is_asked_to_stop_saves_and_says_so(void **state)
{
	(void)state;
	static const int signals[] = {SIGHUP, SIGTERM, SIGINT};
	for (int i = 0; i < 3; i++) {
		long before = log_size("asked");
		pid_t child = start("asked");
		/* Until it has written something, so that it is learning. */
		for (int wait = 0; wait < 2000 && log_size("asked") <= before; wait++)
			sleep_for(0.01);
		kill(child, signals[i]);
		int code = finish(child);
		char *text = read_all("asked.out");
		bool ended = strstr(text, "done at") != NULL; /* before it was asked */
		assert_int_equal(code, ended ? 0 : 128 + signals[i]);
		if (!ended) {
			assert_non_null(strstr(text, "stopped at step"));
			assert_non_null(strstr(text, "--resume"));
		}
		free(text);
		assert_int_equal(shell("test -s '%s/asked/checkpoint/latest'", folder), 0);
	}
	assert_int_equal(finish(start("asked")), 0);
	check_same("whole/model.safetensors", "asked/model.safetensors");
	check_same_log("whole", "asked");
}

/* Stands on the run "whole" of a test before. */
static void settings_that_are_refused_do_not_stay(void **state)
{
	(void)state;
	assert_int_equal(shell("cp -r '%s/whole' '%s/refused'", folder, folder), 0);
	static const struct {
		const char *arguments, *word;
	} rows[] = {{"--seed 5", "seed"}, {"--width 32", "width"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char arguments[256];
		snprintf(arguments, sizeof arguments, "--resume --out %%1$s/refused --quiet %s",
		         rows[i].arguments);
		result r = train(arguments);
		if (r.code != 1 || !strstr(r.err, rows[i].word)) {
			print_message("%s gave %d: %s\n", rows[i].arguments, r.code, r.err);
			assert_true(false);
		}
		done(&r);
		check_same("whole/train.json", "refused/train.json");
	}
	static const char *const kept[] = {"--vocab 300", "--max-length 6", "--task seq2seq"};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		char arguments[256], name[32];
		snprintf(arguments, sizeof arguments, "--resume --out %%1$s/refused --quiet %s",
		         kept[i]);
		snprintf(name, sizeof name, "%.*s", (int)strcspn(kept[i], " "), kept[i]);
		result r = train(arguments);
		assert_int_equal(r.code, 2);
		assert_non_null(strstr(r.err, name));
		assert_non_null(strstr(r.err, "can be changed"));
		done(&r);
	}
	result r = train("--resume --out %1$s/refused --quiet --tokenizer %1$s/whole");
	assert_int_equal(r.code, 2);
	assert_non_null(strstr(r.err, "--tokenizer"));
	done(&r);
	check_same("whole/train.json", "refused/train.json");
	r = train("--resume --out %1$s/refused --quiet --steps 121");
	assert_int_equal(r.code, 0);
	done(&r);
	json_t *root = read_json("refused/train.json");
	assert_int_equal(json_integer_value(json_object_get(root, "steps")), 121);
	json_decref(root);
}

static void two_runs_do_not_share_a_folder(void **state)
{
	(void)state;
	pid_t child = start("shared");
	for (int wait = 0; wait < 2000 && log_size("shared") == 0; wait++)
		sleep_for(0.01);
	kill(child, SIGSTOP);
	result r = train("--resume --out %1$s/shared --quiet");
	kill(child, SIGKILL);
	assert_int_equal(finish(child), -SIGKILL);
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "another run is at work"));
	done(&r);
	assert_int_equal(finish(start("shared")), 0);
	check_same("whole/model.safetensors", "shared/model.safetensors");
	check_same_log("whole", "shared");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_killed_again_and_again_ends_with_the_same_weights),
		cmocka_unit_test(a_run_that_is_asked_to_stop_saves_and_says_so),
		cmocka_unit_test(settings_that_are_refused_do_not_stay),
		cmocka_unit_test(two_runs_do_not_share_a_folder),
	};
	return cmocka_run_group_tests(tests, make_texts, remove_folder);
}
