/* invocations.h — what a user may type at a command with a model of tests/golden/answer_fill, and how it
 * ends. Needs program_run.h before it. */
#ifndef TESTS_INVOCATIONS_H
#define TESTS_INVOCATIONS_H

#include <stdbool.h>
#include <string.h>

typedef struct invocation {
	const char *model, *arguments;
	int code, lines;
	const char *err; /* part of it; NULL: nothing at all */
} invocation;

/* `COMMAND -m MODEL ARGUMENTS`, in which F is the folder and <FILE, at the end, its standard input. */
static inline result invoke(const char *command, const char *model, const char *arguments)
{
	char line[2048], input[512] = "";
	const char *from = strstr(arguments, "<F/");
	if (from)
		snprintf(input, sizeof input, "sh -c 'exec \"$0\" \"$@\" <%s/%s'", folder,
		         from + 3);
	snprintf(line, sizeof line, "%s -m '" TESTS_DIR "/golden/answer_fill/%s' ", command, model);
	for (const char *at = arguments; *at && at != from; at++) {
		size_t length = strlen(line);
		snprintf(line + length, sizeof line - length, *at == 'F' ? "%s" : "%.1s",
		         *at == 'F' ? folder : at);
	}
	return run_with(input, line);
}

static inline void check_invocations(const char *command, const invocation *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		result r = invoke(command, table[i].model, table[i].arguments);
		const int lines = lines_of(r.out);
		bool err = table[i].err ? strstr(r.err, table[i].err) != NULL : *r.err == '\0';
		if (r.code != table[i].code || lines != table[i].lines || !err)
			fail_msg("%s: exit %d (expected %d), %d lines\nout: %.300s\nerr: %.300s",
			         table[i].arguments, r.code, table[i].code, lines, r.out, r.err);
		done(&r);
	}
}

#endif
