/* test_trainplan_program.c — `hecate train` with nothing but files: what it chooses, that it says how long it will take
 * before the first step, that a model is left whenever it is stopped, and that its two losses can be compared. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "program_run.h"
#include "support/clock.h"
#include "train_texts.h"

static json_int_t setting(const char *json, const char *key)
{
	json_t *root = json_loads(json, 0, NULL);
	assert_non_null(root);
	const json_int_t value = json_integer_value(json_object_get(root, key));
	json_decref(root);
	return value;
}

/* Seconds of "9 min 30 s", "12 s", "1 h 02 min" behind the word. */
static long seconds_behind(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	long sum = 0;
	assert_non_null(at);
	at += strlen(word);
	for (char *end; strtol(at, &end, 10), end != at;) {
		const long n = strtol(at, &end, 10);
		sum += strncmp(end, " h", 2) == 0     ? 3600 * n
		       : strncmp(end, " min", 4) == 0 ? 60 * n
		                                      : n;
		at = end + strcspn(end + 1, " ") + 1;
	}
	return sum;
}

static void a_short_text_needs_a_short_time_and_the_plan_says_so(void **state)
{
	(void)state;
	result r = train_well(PAIRS "--out %1$s/plan --time 1 --valid-sentences 0");
	/* Above the first report. */
	const char *time = strstr(r.err, "time: about "), *report = strstr(r.err, "step ");
	assert_non_null(time);
	assert_true(!report || time < strstr(r.err, "\nstep "));
	assert_non_null(strstr(time, "--effort large"));
	assert_non_null(strstr(time, "validations find no better model"));
	assert_non_null(strstr(time, "--time stops it after 1 s"));
	done(&r);
	/* Nobody waits hours for 400 lines. */
	result dump = train_well(PAIRS "--dump-config");
	assert_in_range(setting(dump.out, "steps"), 100, 5000);
	assert_in_range(setting(dump.out, "warmup"), 1, 500);
	assert_in_range(setting(dump.out, "width"), 32, 128);
	assert_in_range(setting(dump.out, "vocab"), 260, 400);
	done(&dump);
}

static void what_is_said_is_about_what_it_takes(void **state)
{
	(void)state;
	result r = train_well(PAIRS SMALL "--out %1$s/timed --steps 1500 --valid-sentences 0");
	const long said = seconds_behind(r.err, "time: about ");
	const char *at = strstr(r.out, "), ");
	assert_non_null(at);
	const long took = strtol(at + 3, NULL, 10);
	/* The machine may be busy with something else at one of both times. */
	if (said > 5 * (took + 2) || took > 5 * (said + 2)) {
		print_message("said %ld s, took %ld s\n%s", said, took, r.err);
		assert_true(false);
	}
	done(&r);
}

static void effort_is_a_smaller_or_a_larger_model(void **state)
{
	(void)state;
	static const char *const efforts[] = {"small", "normal", "large"};
	json_int_t width[3], steps[3];
	assert_int_equal(shell("for i in 1 2 3 4 5 6 7 8; do cat '%1$s/a.en'; done >'%1$s/m.en' && "
	                       "for i in 1 2 3 4 5 6 7 8; do cat '%1$s/m.en'; done >'%1$s/l.en' && "
	                       "for i in 1 2 3 4 5 6 7 8; do cat '%1$s/l.en'; done >'%1$s/x.en'",
	                       folder),
	                 0);
	for (int i = 0; i < 3; i++) {
		char arguments[256];
		snprintf(arguments, sizeof arguments,
		         "--task lm --train %%1$s/x.en --effort %s --dump-config", efforts[i]);
		result r = train_well(arguments);
		width[i] = setting(r.out, "width");
		steps[i] = setting(r.out, "steps");
		done(&r);
	}
	assert_true(width[0] <= width[1] && width[1] < width[2]);
	assert_true(steps[0] < steps[1] && steps[1] < steps[2]);
	/* The text decides what the effort means: more of it, more to do. */
	result few = train_well("--task lm --train %1$s/a.en --dump-config");
	assert_true(setting(few.out, "vocab") < 400 && setting(few.out, "steps") < steps[1]);
	done(&few);
}

static void epochs_are_counted_as_steps(void **state)
{
	(void)state;
	result r = train_well(PAIRS SMALL "--out %1$s/epochs --epochs 2 --valid-sentences 0");
	char *text = read_all("epochs/train.json");
	const json_int_t steps = setting(text, "steps");
	assert_in_range(steps, 10, 200);
	assert_int_equal(setting(text, "epochs"), 2);
	assert_non_null(strstr(text, "\"schedule\": \"linear\""));
	free(text);
	assert_non_null(strstr(r.out, "done at step"));
	done(&r);
	r = train("--resume --out %1$s/epochs --effort large");
	assert_int_equal(r.code, 2);
	assert_non_null(strstr(r.err, "--effort cannot be changed"));
	done(&r);
	r = train_well("--resume --out %1$s/epochs --epochs 4 --quiet");
	text = read_all("epochs/train.json");
	assert_true(setting(text, "steps") > steps + steps / 2);
	free(text);
	done(&r);
}

/* ---- stopped ---- */

#define LONG                                                                                       \
	PAIRS SMALL "--out %1$s/stopped --steps 400 --report-every 2 --valid-every 400 "           \
		    "--valid-sentences 0 --quiet"

static long log_lines(const char *name)
{
	char path[256];
	long n = 0;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "r");
	for (int c; f && (c = fgetc(f)) != EOF;)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/* Long before its first validation. */
static void a_run_that_is_stopped_leaves_a_model(void **state)
{
	(void)state;
	static const int signals[] = {SIGINT, SIGTERM};
	for (int i = 0; i < 2; i++) {
		const long before = log_lines("stopped/log.jsonl");
		pid_t child =
			train_beside(i ? "--resume --out %1$s/stopped --quiet" : LONG, "stopped");
		for (int wait = 0; wait < 2000 && log_lines("stopped/log.jsonl") <= before; wait++)
			sleep_for(0.005);
		kill(child, signals[i]);
		assert_int_equal(finish(child), 128 + signals[i]);
		assert_int_equal(
			shell("echo 1 2 3 | '%1$s' translate -m '%2$s/stopped' >'%2$s/out' "
		              "2>'%2$s/err' && test ! -s '%2$s/err'",
		              program(), folder),
			0);
	}
	/* What was left in between changes nothing: the validation at the end finds the first best. */
	result r = train_well("--resume --out %1$s/stopped --quiet");
	done(&r);
	r = train_well(PAIRS SMALL "--out %1$s/unstopped --steps 400 --report-every 2 "
	                           "--valid-every 400 --valid-sentences 0 --quiet");
	done(&r);
	check_same("stopped/model.safetensors", "unstopped/model.safetensors");
}

/* ---- losses ---- */

static double number(const json_t *line, const char *key)
{
	const json_t *value = json_object_get(line, key);
	return json_is_number(value) ? json_number_value(value) : -1;
}

/* Nothing is learned at a rate of 0, so both see the same model: without dropout, on the same text, and whatever
 * the smoothing, both are the same number. */
static void learning_and_validation_tell_the_same_loss(void **state)
{
	(void)state;
	result r = train_well("--task translate --train %1$s/a.en %1$s/a.de --valid %1$s/a.en "
	                      "%1$s/a.de " SMALL "--out %1$s/losses --epochs 1 --lr 0 --dropout 0 "
	                      "--label-smoothing 0.3 --report-every 1000000 --valid-sentences 0");
	done(&r);
	char *text = read_all("losses/log.jsonl"), *svg = read_all("losses/curve.svg");
	json_t *line = json_loads(text, 0, NULL);
	const double loss = number(line, "loss"), valid = number(line, "valid_loss");
	if (loss < 1 || loss > 1.00001 * valid || loss < 0.99999 * valid) {
		print_message("loss %.9g, valid loss %.9g\n", loss, valid);
		assert_true(false);
	}
	assert_non_null(strstr(svg, ">learning</tspan>"));
	json_decref(line);
	free(text);
	free(svg);
	r = train_well(PAIRS SMALL "--out %1$s/dropout --steps 2 --valid-sentences 0");
	done(&r);
	free(read_all("unstopped/curve.svg"));
	svg = read_all("dropout/curve.svg");
	assert_non_null(strstr(svg, ">learning (with dropout)</tspan>"));
	free(svg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_text_needs_a_short_time_and_the_plan_says_so),
		cmocka_unit_test(what_is_said_is_about_what_it_takes),
		cmocka_unit_test(effort_is_a_smaller_or_a_larger_model),
		cmocka_unit_test(epochs_are_counted_as_steps),
		cmocka_unit_test(a_run_that_is_stopped_leaves_a_model),
		cmocka_unit_test(learning_and_validation_tell_the_same_loss),
	};
	return cmocka_run_group_tests(tests, make_texts, remove_folder);
}
