/* peak.h — the memory that a run of the program takes, as the system counts it, and what it told before.
 * Needs _DEFAULT_SOURCE (wait4), and program_run.h before it. */
#ifndef TESTS_PEAK_H
#define TESTS_PEAK_H

#include <string.h>
#include <sys/resource.h>

#define MEGABYTE 1e6

/* Runs `hecate ARGUMENTS`, its outputs into files of the folder; the bytes that it had at its peak. */
static inline double peak_of(char *const argv[])
{
	char out[256], err[256];
	snprintf(out, sizeof out, "%s/out", folder);
	snprintf(err, sizeof err, "%s/err", folder);
	pid_t child = fork(); /* what this process holds now counts as the child's, too */
	assert_true(child >= 0);
	if (child == 0) {
		if (!freopen("/dev/null", "r", stdin) || !freopen(out, "w", stdout) ||
		    !freopen(err, "w", stderr))
			_exit(126);
		execv(program(), argv);
		_exit(127);
	}
	int status;
	struct rusage used;
	assert_int_equal(wait4(child, &status, 0, &used), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		char *text = read_all("err");
		print_message("%s\n", text);
		free(text);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return (double)used.ru_maxrss * 1024;
}

/* The number behind a word of what the program told: "memory: 123 MB", "beside it 9". */
static inline double told(const char *word)
{
	char *text = read_all("err"), *at = strstr(text, word);
	assert_non_null(at);
	double bytes = atof(at + strlen(word)) * MEGABYTE;
	free(text);
	return bytes;
}

#endif
