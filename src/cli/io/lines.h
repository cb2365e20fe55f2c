/* lines.h — lines from a file descriptor, as many at a time as are there. */
#ifndef CLI_IO_LINES_H
#define CLI_IO_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_LONGEST ((size_t)64 << 20) /* bytes */

typedef struct lines {
	int fd;
	const char *name; /* of what is read, for errors; NULL: standard input */
	char *data;       /* what was read and not yet given */
	size_t begin, end, capacity;
	size_t searched; /* bytes of these in which line ends were looked for, */
	int64_t whole;   /* and how many were found */
	bool ended;
	int64_t given; /* lines so far */
	bool too_long; /* why it failed: the next call passes over the rest of that line */
	char error[320];
} lines;

typedef enum lines_result {
	LINES_SOME = 0,
	LINES_END,
	LINES_STOPPED, /* a signal came */
	LINES_FAILED   /* the reason stands in error */
} lines_result;

/* Waits for one line, then takes with it those that are there already, up to `most`: whoever types
 * lines gets an answer to each, whoever pipes a file is read in large pieces. The texts lie in data
 * until the next call, without their line ends ("\n" or "\r\n"). */
lines_result lines_take(lines *l, int64_t most, const char **text /* [most] */,
                        size_t *bytes /* [most] */, int64_t *count);
void lines_close(lines *l);

#endif
