/* train_killed.h — a run that goes on from a model and is killed again and again, in the folder of program_run.h, which
 * it needs before it. */
#ifndef TESTS_TRAIN_KILLED_H
#define TESTS_TRAIN_KILLED_H

#include <string.h>
#include <unistd.h>

/* `hecate train` with the folder put in for %1$s, resuming, until it ends by itself. As soon as FOLDER/killed holds the
 * start of the run, FOLDER/gone, the model that it goes on from, is not needed any more: it is removed. */
static inline void kill_until_done(const char *format)
{
	bool begun = false;
	for (int i = 1; i < 200; i++) {
		char line[2048] = "train --resume --out ", path[256];
		const size_t n = strlen(line);
		snprintf(line + n, sizeof line - n, format, folder);
		snprintf(path, sizeof path, "timeout -s KILL 0.%03d", 40 + 20 * (i % 40));
		result r = run_with(path, line);
		int code = r.code;
		/* timeout kills itself as well, and the run may live a moment longer. */
		if (code == 1 && strstr(r.err, "another run is at work"))
			code = 137;
		if (code != 0 && code != 137)
			print_message("%s\n", r.err);
		done(&r);
		snprintf(path, sizeof path, "%s/killed/start/config.json", folder);
		if (!begun && access(path, F_OK) == 0) {
			begun = true;
			assert_int_equal(shell("rm -r '%s/gone'", folder), 0);
		}
		if (code == 0)
			break;
		assert_int_equal(code, 137);
	}
	assert_true(begun);
}

#endif
