/* test_resumememory_program.c — a run that is resumed, or ends with a mean of checkpoints, takes no more
 * memory than it says: nothing is loaded beside what learning has. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* wait4 */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program_run.h"
#include "peak.h"
#include "support/sanitized.h"
#include "train_texts.h"

/* Most of the memory is of parameters: a second model would be a third more. */
#define WIDE                                                                                       \
	"--width", "256", "--heads", "4", "--hidden", "4096", "--encoder-layers", "1",             \
		"--decoder-layers", "1", "--vocab", "280", "--batch-tokens", "64", "--accumulate", \
		"1", "--max-length", "40", "--valid-sentences", "0", "--save-every", "1"

static void check_peak(const char *what, char *const argv[])
{
	double peak = peak_of(argv), said = told("memory: "), beside = told("beside it ");
	assert_true(said > 100 * MEGABYTE); /* else the test could not fail */
	if (peak > 1.1 * (said + beside) && !SANITIZED)
		fail_msg("%s: %.1f MB at the peak, %.1f and %.1f were said", what, peak / MEGABYTE,
		         said / MEGABYTE, beside / MEGABYTE);
}

static void resuming_and_averaging_take_what_was_said_before(void **state)
{
	(void)state;
	char names[5][256];
	static const char *const files[5] = {"a.en", "a.de", "v.en", "v.de", "run"};
	for (int i = 0; i < 5; i++)
		snprintf(names[i], sizeof names[i], "%s/%s", folder, files[i]);
	char *const first[] = {"hecate",    "train",   "--task",  "translate", "--train", names[0],
	                       names[1],    "--valid", names[2],  names[3],    "--out",   names[4],
	                       "--threads", "1",       "--steps", "2",         WIDE,      NULL};
	char *const again[] = {"hecate",    "train", "--resume", "--out", names[4],
	                       "--threads", "1",     "--steps",  "3",     NULL};
	char *const mean[] = {"hecate", "train",   "--resume", "--out",     names[4], "--threads",
	                      "1",      "--steps", "4",        "--average", "3",      NULL};
	check_peak("begun", first);
	check_peak("resumed", again);
	check_peak("with a mean at its end", mean);
	char *text = read_all("err");
	assert_non_null(strstr(text, "the mean of the last checkpoints"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resuming_and_averaging_take_what_was_said_before),
	};
	return cmocka_run_group_tests(tests, make_texts, remove_folder);
}
