/* test_interrupt_program.c — the first SIGTERM ends any command within a second, also where it does not ask
 * whether it shall: the mechanism alone, and the program at work that takes many times as long. */
#define _DEFAULT_SOURCE

#include "support/clock.h"
#include "support/models.h"
#include "support/sanitized.h"

#include "look_models.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "cli/command/interrupt.h"
#include "cli/io/replace_file.h"

#define SOON 4.0  /* seconds, for 0.6 s and what a busy machine needs besides */
#define BUSY 10.0 /* for work that is to be cut short */
#define LONG 60.0 /* for what should have ended or begun long ago */

/* Works on without a look at anything. */
static void work_for(double seconds)
{
	for (double end = seconds_now() + seconds; seconds_now() < end;)
		;
}

/* Its status, once it has ended; killed, and a failure, where it has not after so long. */
static int status_within(pid_t child, double seconds)
{
	int status = 0;
	for (double end = seconds_now() + seconds; seconds_now() < end; sleep_for(0.01))
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
	kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	fail_msg("it still ran after %.0f s", seconds);
	return status;
}

/* ---- the mechanism ---- */

static int status_of(void work(void))
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		interrupt_catch();
		work();
		_exit(7);
	}
	return status_within(child, LONG);
}

static void does_not_ask(void)
{
	raise(SIGTERM);
	work_for(BUSY);
}

static void asks(void)
{
	if (interrupt_asked())
		_exit(1);
	raise(SIGTERM);
	const bool stops = interrupt_stops(NULL, "lines", 0, 0) == HEC_ERR_CANCELLED;
	_exit(interrupt_asked() && interrupt_signal() == SIGTERM && stops ? 7 : 1);
}

static void is_asked_twice(void)
{
	interrupt_wait(true);
	raise(SIGTERM);
	raise(SIGINT);
	work_for(1.5);
}

static void takes_its_time(void)
{
	interrupt_wait(true);
	raise(SIGTERM);
	work_for(1.5);
}

static void was_asked_before(void)
{
	raise(SIGTERM);
	interrupt_wait(true);
	work_for(1.5);
}

static void is_patient_no_more(void)
{
	takes_its_time();
	interrupt_wait(false);
	work_for(BUSY);
}

static void goes_on(void)
{
	interrupt_answer_begins();
	raise(SIGINT);
	work_for(1.5);
	const bool noticed = interrupt_asked();
	interrupt_answer_ends();
	work_for(1.5);
	_exit(noticed && !interrupt_asked() ? 7 : 1);
}

static void goes_not_on(void)
{
	interrupt_answer_begins();
	raise(SIGTERM);
	interrupt_answer_ends();
	_exit(interrupt_signal() == SIGTERM ? 7 : 1);
}

static void answers_on(void)
{
	interrupt_answer_begins();
	does_not_ask();
}

static void who_does_not_ask_is_ended_by_the_signal(void **state)
{
	(void)state;
	const double begin = seconds_now();
	int status = status_of(does_not_ask);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_true(seconds_now() - begin >= 0.5);
	assert_true(seconds_now() - begin < SOON);
	status = status_of(answers_on);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	status = status_of(is_patient_no_more);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	status = status_of(is_asked_twice);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

static void who_asks_or_may_take_long_ends_by_itself(void **state)
{
	(void)state;
	void (*const works[])(void) = {asks, takes_its_time, was_asked_before, goes_on,
	                               goes_not_on};
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		int status = status_of(works[i]);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
			fail_msg("case %zu: status %x", i, (unsigned)status);
	}
}

static bool write_half(const void *user, FILE *out)
{
	(void)user;
	fputs("half", out);
	fflush(out);
	raise(SIGTERM);
	work_for(BUSY);
	return true;
}

static void replaces(void)
{
	(void)replace_file(folder, "settings", write_half, NULL);
}

static bool write_whole(const void *user, FILE *out)
{
	return fputs(user, out) >= 0;
}

static void replaces_and_goes_on(void)
{
	if (!replace_file(folder, "settings", write_whole, "new"))
		_exit(1);
	write_file(".settings.new", "another's"); /* by now it is not ours */
	does_not_ask();
}

static void what_is_half_written_goes_and_what_was_there_stays(void **state)
{
	(void)state;
	write_file("settings", "old");
	int status = status_of(replaces);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	char *text = read_all("settings");
	assert_string_equal(text, "old");
	free(text);
	assert_int_not_equal(shell("test -e '%s/.settings.new'", folder), 0);
	status = status_of(replaces_and_goes_on);
	assert_true(WIFSIGNALED(status));
	text = read_all("settings");
	assert_string_equal(text, "new");
	free(text);
	assert_int_equal(shell("rm '%s/.settings.new'", folder), 0);
}

/* ---- the program ---- */

/* Whether it catches SIGTERM by now. */
static bool catches(pid_t child)
{
	char path[64], line[256];
	unsigned long long caught = 0;
	snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		(void)sscanf(line, "SigCgt: %llx", &caught);
	if (f)
		fclose(f);
	return caught >> (SIGTERM - 1) & 1;
}

/* Whether it has read its input to the end, or has come as far as to make a file. */
static bool has_begun(pid_t child, const char *input, const char *makes)
{
	char path[256], line[256];
	long long at = -1;
	struct stat info;
	if (makes) {
		snprintf(path, sizeof path, "%s/%s", folder, makes);
		return stat(path, &info) == 0 && info.st_size > 0;
	}
	snprintf(path, sizeof path, "/proc/%ld/fdinfo/0", (long)child);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		(void)sscanf(line, "pos: %lld", &at);
	if (f)
		fclose(f);
	snprintf(path, sizeof path, "%s/%s", folder, input);
	return stat(path, &info) == 0 && at >= (long long)info.st_size;
}

/* `hecate ARGUMENTS <INPUT`; SIGTERM once it is at work. Its status. */
static int stopped(const char *arguments, const char *input, const char *makes, double within)
{
	char line[1024];
	snprintf(line, sizeof line, "exec '%s' %s <'%s/%s' >'%s/out' 2>'%s/err'", program(),
	         arguments, folder, input, folder, folder);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	int status;
	for (double end = seconds_now() + LONG; !catches(child) || !has_begun(child, input, makes);
	     sleep_for(0.005)) {
		assert_true(seconds_now() < end);
		if (waitpid(child, &status, WNOHANG) == child) {
			char *text = read_all("err");
			fail_msg("%s: ended before it was asked: %s", arguments, text);
		}
	}
	sleep_for(0.05);
	const double begin = seconds_now();
	kill(child, SIGTERM);
	status = status_within(child, within);
	print_message("             %.1f s: %s\n", seconds_now() - begin, arguments);
	return status;
}

static void check_ended(const char *arguments, const char *input, const char *makes)
{
	int status = stopped(arguments, input, makes, SOON);
	if (WIFEXITED(status) && WEXITSTATUS(status) != 143)
		fail_msg("%s: exit %d", arguments, WEXITSTATUS(status));
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM)
		fail_msg("%s: signal %d", arguments, WTERMSIG(status));
	if (shell("test -z \"$(find '%s' -name '.*' -type f -o -name '*.new*')\"", folder) != 0)
		fail_msg("%s: left a half-written file", arguments);
}

/* Words that no vocabulary has, n bytes in lines. */
static void write_words(const char *name, size_t n, size_t line)
{
	char path[256];
	unsigned drawn = 1;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	for (size_t i = 0; i < n; i++) {
		drawn = drawn * 1664525u + 1013904223u;
		fputc(i % line == line - 1 ? '\n'
		      : i % 9 == 8         ? ' '
		                           : (int)('a' + (drawn >> 16) % 26),
		      f);
	}
	fputc('\n', f);
	assert_int_equal(fclose(f), 0);
}

static void a_long_line_does_not_keep_a_command(void **state)
{
	(void)state;
	write_words("long", (size_t)60 << 20, SIZE_MAX);
	static const char *const commands[] = {"tokenize", "generate --max-tokens 4", "embed",
	                                       "translate"};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		char line[512];
		snprintf(line, sizeof line, "%s -m %s/%s", commands[i], folder,
		         forms[i == 3 ? FORM_BOTH : FORM_DECODER]);
		check_ended(line, "long", NULL);
	}
}

/* A file of objects of JSON, one to a line: how many; fails where one is not whole. */
static int whole_lines(const char *name)
{
	char *text = read_all(name);
	int n = 0;
	for (char *line = text, *end; *line; line = end + 1, n++)
		if (!(end = strchr(line, '\n')) || *line != '{' || end[-1] != '}' || end[-2] != ']')
			fail_msg("line %d of what was written is not whole", n + 1);
	free(text);
	return n;
}

static void what_was_finished_before_a_long_line_is_written(void **state)
{
	(void)state;
	char line[512];
	write_words("short", 2000, 20);
	assert_int_equal(shell("cat '%1$s/short' '%1$s/long' >'%1$s/mixed'", folder), 0);
	snprintf(line, sizeof line, "tokenize --json -m %s/decoder", folder);
	check_ended(line, "mixed", NULL);
	assert_int_equal(whole_lines("out"), 101);
}

/* Its reader is slow: it is writing when it is asked. */
static void nothing_is_lost_on_its_way_out(void **state)
{
	(void)state;
	char line[512], byte[1 << 12];
	int fd[2], there = 0, before = -1, status;
	write_words("lines", 256 * 1024, 1024);
	snprintf(line, sizeof line,
	         "exec '%s' tokenize --json -m '%s/decoder' <'%s/lines' 2>'%s/err'", program(),
	         folder, folder, folder);
	assert_int_equal(pipe(fd), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	for (double end = seconds_now() + LONG; there == 0 || there != before; sleep_for(0.3)) {
		assert_true(seconds_now() < end);
		before = there;
		assert_int_equal(ioctl(fd[0], FIONREAD, &there), 0);
	}
	kill(child, SIGTERM);
	sleep_for(0.1);
	snprintf(line, sizeof line, "%s/out", folder);
	FILE *out = fopen(line, "wb");
	assert_non_null(out);
	for (ssize_t n; (n = read(fd[0], byte, sizeof byte)) > 0;)
		assert_int_equal(fwrite(byte, 1, (size_t)n, out), n);
	assert_int_equal(fclose(out), 0);
	close(fd[0]);
	status = status_within(child, LONG);
	if (WIFSIGNALED(status)) { /* the machine is busy: it was not read in time */
		print_message("             ended by signal %d\n", WTERMSIG(status));
		return;
	}
	assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
	char *error = read_all("err");
	int said = 0;
	assert_int_equal(sscanf(error, "hecate tokenize: interrupted after %d line", &said), 1);
	assert_null(strstr(error, "could not be written"));
	assert_int_equal(whole_lines("out"), said);
	free(error);
}

/* Each line takes nearly all that a template may take. */
static void templates_do_not_keep_a_command(void **state)
{
	(void)state;
	write_file(
		"decoder/chat_template.jinja",
		"{% set r = range(60000) %}{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}"
		"{% for i in range(8) %}{% if ns.x in r %}{% endif %}{% for k in r %}{% endfor %}"
		"{% endfor %}{{ messages[0].content }}");
	char path[256], line[512];
	snprintf(path, sizeof path, "%s/talk", folder);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (int i = 0; i < 250; i++)
		fputs("the cat\n", f);
	assert_int_equal(fclose(f), 0);
	snprintf(line, sizeof line, "generate -m %s/decoder --chat --max-tokens 4 --batch 250",
	         folder);
	check_ended(line, "talk", NULL);
}

static void a_corpus_in_the_making_does_not_keep_train(void **state)
{
	(void)state;
	char line[1024];
	write_words("long", (size_t)120 << 20, 500000);
	write_file("nothing", "");
	snprintf(line, sizeof line,
	         "train --task lm --train %1$s/long --out %1$s/run --width 16 --heads 2 "
	         "--tokenizer %1$s/decoder --threads 1",
	         folder);
	check_ended(line, "nothing", "run/cache/train.tokens.new");
}

/* Steps of some seconds each: the second, which is under way, is not lost. */
static void train_ends_its_step_and_saves(void **state)
{
	(void)state;
	char line[1024];
	write_words("texts", 200000, 60);
	snprintf(line, sizeof line,
	         "train --task lm --train %1$s/texts --out %1$s/steps --width 256 --heads 4 "
	         "--decoder-layers 4 --tokenizer %1$s/decoder --threads 1 --steps 9 --accumulate 3 "
	         "--report-every 1 --batch-tokens %2$d --max-length 256",
	         folder, SANITIZED ? 1024 : 4096);
	int status = stopped(line, "nothing", "steps/log.jsonl", 5 * LONG);
	char *out = read_all("out");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 143 || !strstr(out, "stopped at step 2"))
		fail_msg("status %x: %s", (unsigned)status, out);
	assert_int_equal(shell("test -e '%s/steps/checkpoint/latest'", folder), 0);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_does_not_ask_is_ended_by_the_signal),
		cmocka_unit_test(who_asks_or_may_take_long_ends_by_itself),
		cmocka_unit_test(what_is_half_written_goes_and_what_was_there_stays),
		cmocka_unit_test(a_long_line_does_not_keep_a_command),
		cmocka_unit_test(what_was_finished_before_a_long_line_is_written),
		cmocka_unit_test(nothing_is_lost_on_its_way_out),
		cmocka_unit_test(templates_do_not_keep_a_command),
		cmocka_unit_test(a_corpus_in_the_making_does_not_keep_train),
		cmocka_unit_test(train_ends_its_step_and_saves),
	};
	return cmocka_run_group_tests(tests, make_models, remove_folder);
}
