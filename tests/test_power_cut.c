/* test_power_cut.c — a run is killed before each of its changes to the disk, in turn, or loses its power there, and
 * with it what was not flushed. It goes on, and at the end there are the files of a run that was never stopped. */
#include "support/train_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "power/power.h"

/* ---- a file ---- */

/* In a process: the file is replaced, and then something else is changed. `done` is there once it was replaced. */
static int replace_cut(const char *dir, const char *stash, long n, int lost)
{
	char path[256], more[256], done[256];
	snprintf(path, sizeof path, "%s/file", dir);
	snprintf(more, sizeof more, "%s/more", dir);
	snprintf(done, sizeof done, "%s/done", stash);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		power_cut(dir, stash, n, lost);
		if (file_replace(path, "new and longer", 14) != HEC_OK || mkdir(done, 0777) != 0)
			_exit(3);
		_exit(mkdir(more, 0777) == 0 ? 0 : 3);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_file_is_the_old_one_or_the_new_one_and_once_replaced_the_new_one(void **state)
{
	(void)state;
	for (int lost = 0; lost <= (POWER_BYTES | POWER_NAMES); lost++) {
		int code = POWER_EXIT;
		for (long n = 1; code == POWER_EXIT; n++) {
			lab l = lab_open(7190);
			char dir[128], stash[128], *text;
			size_t size;
			snprintf(dir, sizeof dir, "%s", lab_path(&l, "dir"));
			snprintf(stash, sizeof stash, "%s", lab_path(&l, "stash"));
			assert_true(mkdir(dir, 0777) == 0 && mkdir(stash, 0777) == 0);
			lab_write(&l, "dir/file", "old", 3);
			code = replace_cut(dir, stash, n, lost);
			CHECK(&l.k, code == POWER_EXIT || (code == 0 && n > 5),
			      "change %ld, %d lost: it ended with %d", n, lost, code);
			bool done = access(lab_path(&l, "stash/done"), F_OK) == 0;
			OK(&l.k, file_read(lab_path(&l, "dir/file"), 100, &text, &size));
			CHECK(&l.k,
			      (!done && strcmp(text, "old") == 0) ||
			              strcmp(text, "new and longer") == 0,
			      "cut before change %ld, %d lost, %s: '%s'", n, lost,
			      done ? "replaced" : "not replaced yet", text);
			free(text);
			lab_close(&l);
		}
	}
}

/* ---- a run ---- */

/* Every how many changes one is tried, from where on. */
typedef struct series {
	const char *from; /* a folder as the run finds it; NULL: none */
	long first, every;
} series;

static int shell(const char *format, const char *dir)
{
	char line[1024];
	snprintf(line, sizeof line, format, dir, dir, dir);
	int status = system(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A run to its end in a process that ends before its n-th change; 0: it came to its end before that. */
static int run_cut(bench *b, long n, int lost)
{
	char run[128], stash[128];
	snprintf(run, sizeof run, "%s", lab_path(&b->l, "run"));
	snprintf(stash, sizeof stash, "%s", lab_path(&b->l, "stash"));
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		order o = {0};
		hec_train_options t = bench_options(b, "run", &o);
		t.resume = true;
		power_cut(run, stash, n, lost);
		_exit(bench_run(b, &t, NULL) == HEC_OK ? 0 : 3);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* One that was killed while it made its first save has no checkpoint: it begins again. */
static void go_on(bench *b, long n, int lost)
{
	order o = {0};
	hec_train_options t = bench_options(b, "run", &o);
	t.resume = true;
	hec_status status = bench_run(b, &t, NULL);
	CHECK(&b->l.k, status == HEC_OK && o.failed == 0,
	      "cut before change %ld, %d lost: it does not go on: %s %s", n, lost,
	      hec_error_message(), o.message);
	CHECK(&b->l.k,
	      shell("cd '%s' && (cd whole && find . | sort) >a.list && (cd run && find . | sort) "
	            ">b.list && diff a.list b.list",
	            b->l.dir) == 0,
	      "cut before change %ld, %d lost: other files", n, lost);
	bench_check_same(b, "whole", "run");
}

static void cut_everywhere(bench *b, const series *s, int lost)
{
	int code = POWER_EXIT;
	for (long n = s->first; code == POWER_EXIT; n += s->every) {
		assert_int_equal(shell("cd '%s' && rm -rf run stash && mkdir stash", b->l.dir), 0);
		assert_int_equal(
			shell(s->from ? "cd '%s' && cp -a half run" : "mkdir '%s/run'", b->l.dir),
			0);
		code = run_cut(b, n, lost);
		CHECK(&b->l.k, code == POWER_EXIT || code == 0,
		      "change %ld, %d lost: it ended with %d", n, lost, code);
		go_on(b, n, lost);
		CHECK(&b->l.k, code == POWER_EXIT || n > 60, "there were only %ld changes", n);
	}
}

static void check_run(const series *s, int lost)
{
	bench b = bench_open(7200);
	bench_unbroken(&b);
	order o = {.stop_at = 38};
	hec_train_options t = bench_options(&b, "half", &o);
	OK(&b.l.k, bench_run(&b, &t, NULL));
	cut_everywhere(&b, s, lost);
	bench_close(&b);
}

/* From step 38 on: a save that is due, a validation with a better model, the end and what it removes. */
static const series every_one = {"half", 1, 1}, some = {"half", 2, 3},
		    from_the_first = {NULL, 5, 31};

static void a_run_killed_before_any_change_ends_with_the_same_files(void **state)
{
	(void)state;
	check_run(&every_one, 0);
}

static void what_was_not_flushed_may_be_lost(void **state)
{
	(void)state;
	check_run(&every_one, POWER_BYTES | POWER_NAMES);
}

static void bytes_may_be_lost_and_names_kept_and_the_other_way_round(void **state)
{
	(void)state;
	check_run(&some, POWER_BYTES);
	check_run(&some, POWER_NAMES);
}

/* A name that stands for others, as DIR/checkpoint/latest does, is on the disk after them. */
static void names_reach_the_disk_in_any_order_between_two_flushes(void **state)
{
	(void)state;
	check_run(&every_one, POWER_OLDER_NAMES);
	check_run(&some, POWER_BYTES | POWER_OLDER_NAMES);
}

static void so_it_is_from_the_first_step_on(void **state)
{
	(void)state;
	check_run(&from_the_first, 0);
	check_run(&from_the_first, POWER_BYTES | POWER_NAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_file_is_the_old_one_or_the_new_one_and_once_replaced_the_new_one),
		cmocka_unit_test(a_run_killed_before_any_change_ends_with_the_same_files),
		cmocka_unit_test(what_was_not_flushed_may_be_lost),
		cmocka_unit_test(bytes_may_be_lost_and_names_kept_and_the_other_way_round),
		cmocka_unit_test(names_reach_the_disk_in_any_order_between_two_flushes),
		cmocka_unit_test(so_it_is_from_the_first_step_on),
	};
	setenv("HECATE_THREADS", "1", 1); /* processes are split off, without their threads */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
