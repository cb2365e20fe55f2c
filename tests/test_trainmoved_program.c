/* test_trainmoved_program.c — the folder of `hecate train` is renamed, replaced or removed while it is at work: it ends
 * and says so, writes into no other folder, and makes none anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program_run.h"
#include "train_texts.h"

#include <signal.h>
#include <time.h>

/* Long enough for everything here, and yet it ends where it does not notice. */
#define ENDLESS                                                                                    \
	PAIRS SMALL "--quiet --time 100 --valid-every 20 --report-every 5 --save-every 10 "        \
		    "--valid-sentences 2 "

static pid_t start(const char *format)
{
	return train_beside(format, "moved");
}

static bool is_there(const char *name)
{
	return shell("test -e '%s/%s'", folder, name) == 0;
}

/* Halted once FOLDER/NAME is there. */
static void halt_at(pid_t child, const char *name)
{
	const struct timespec moment = {0, 1000000};
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	for (int wait = 0; wait < 60000 && access(path, F_OK) != 0; wait++)
		nanosleep(&moment, NULL);
	int status;
	kill(child, SIGSTOP);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(access(path, F_OK), 0);
}

/* Set going again, it must end by itself; what it said is checked. */
static void expect_end(pid_t child)
{
	kill(child, SIGCONT);
	int code = finish(child);
	char *text = read_all("moved.out");
	if (code != 1 || !strstr(text, "is not the folder that was locked"))
		fail_msg("it ended with %d: %s", code, text);
	free(text);
}

/* Names, bytes and times of all in it, as FOLDER/LIST. */
static void take_down(const char *name, const char *list)
{
	assert_int_equal(shell("cd '%s/%s' && find . -type f -exec cksum {} + | sort >'%s/%s' && "
	                       "find . -printf '%%p %%T@\n' | sort >>'%s/%s'",
	                       folder, name, folder, list, folder, list),
	                 0);
}

static void a_run_whose_folder_is_renamed_ends(void **state)
{
	(void)state;
	pid_t child = start(ENDLESS "--out %1$s/run");
	halt_at(child, "run/checkpoint/latest");
	assert_int_equal(shell("mv '%1$s/run' '%1$s/away'", folder), 0);
	/* It is the same folder still, and locked. */
	expect("--resume --out %1$s/away --quiet", 1, "another run is at work");
	expect_end(child);
	assert_false(is_there("run"));
	/* What was saved is as good as it was. */
	expect("--resume --out %1$s/away --steps 40 --quiet", 0, "");
}

static void a_run_whose_folder_is_anothers_writes_nothing_there(void **state)
{
	(void)state;
	pid_t child = start(ENDLESS "--out %1$s/run");
	halt_at(child, "run/checkpoint/latest");
	assert_int_equal(shell("mv '%1$s/run' '%1$s/first'", folder), 0);
	expect(PAIRS SMALL "--quiet --steps 20 --save-every 10 --out %1$s/run", 0, "");
	take_down("run", "before");
	expect_end(child);
	take_down("run", "after");
	check_same("before", "after");
	expect("--resume --out %1$s/run --steps 25 --quiet", 0, "");
}

static void a_run_whose_folder_is_removed_makes_none_anew(void **state)
{
	(void)state;
	pid_t child = start(ENDLESS "--out %1$s/gone");
	halt_at(child, "gone/checkpoint/latest");
	assert_int_equal(shell("rm -r '%s/gone'", folder), 0);
	expect_end(child);
	assert_false(is_there("gone"));
}

/* Halted while it learns its tokenizer, for FOLDER/early: from more and more text, until it is. */
static pid_t halt_early(void)
{
	static int lines = 20000;
	for (;; lines *= 4) {
		assert_true(lines < 20000000);
		write_lines("a.en", 0, lines);
		write_lines("a.de", 1, lines);
		pid_t child = start(ENDLESS "--out %1$s/early");
		halt_at(child, "early/train.json");
		if (!is_there("early/tokenizer.json"))
			return child;
		kill(child, SIGKILL);
		(void)finish(child);
		assert_int_equal(shell("rm -r '%s/early'", folder), 0);
	}
}

/* Neither a tokenizer comes to another's folder, nor is it emptied, as one is whose run fails before its first step. */
static void a_folder_is_watched_before_the_first_step(void **state)
{
	(void)state;
	pid_t child = halt_early();
	assert_int_equal(shell("mv '%1$s/early' '%1$s/aside' && mkdir '%1$s/early' && "
	                       "echo theirs >'%1$s/early/notes'",
	                       folder),
	                 0);
	take_down("early", "before");
	expect_end(child);
	take_down("early", "after");
	check_same("before", "after");
	assert_int_equal(shell("rm -r '%s/early'", folder), 0);
}

static void a_folder_that_is_removed_before_the_first_step_stays_so(void **state)
{
	(void)state;
	pid_t child = halt_early();
	assert_int_equal(shell("rm -r '%s/early'", folder), 0);
	expect_end(child);
	assert_false(is_there("early"));
}

/* DIR itself is still there: its checkpoints come back. */
static void checkpoints_that_were_removed_are_made_again(void **state)
{
	(void)state;
	pid_t child =
		start(PAIRS SMALL "--quiet --save-every 10 --valid-every 20 --valid-sentences 2 "
	                          "--steps 60 --out %1$s/bare");
	halt_at(child, "bare/checkpoint/latest");
	assert_int_equal(shell("rm -r '%s/bare/checkpoint'", folder), 0);
	kill(child, SIGCONT);
	assert_int_equal(finish(child), 0);
	assert_true(is_there("bare/checkpoint/latest"));
	expect("--resume --out %1$s/bare --steps 70 --quiet", 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_whose_folder_is_renamed_ends),
		cmocka_unit_test(a_run_whose_folder_is_anothers_writes_nothing_there),
		cmocka_unit_test(a_run_whose_folder_is_removed_makes_none_anew),
		cmocka_unit_test(a_folder_is_watched_before_the_first_step),
		cmocka_unit_test(a_folder_that_is_removed_before_the_first_step_stays_so),
		cmocka_unit_test(checkpoints_that_were_removed_are_made_again),
	};
	return cmocka_run_group_tests(tests, make_texts, remove_folder);
}
