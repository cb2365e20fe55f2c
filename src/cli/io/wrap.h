/* wrap.h — text for a terminal that comes in pieces, cut into lines at words. */
#ifndef CLI_IO_WRAP_H
#define CLI_IO_WRAP_H

#include <stddef.h>
#include <stdio.h>

#define WRAP_WORD 1024 /* bytes: a longer word is cut */

typedef struct wrap {
	FILE *out;
	int columns; /* of a line; 0: the text goes out as it is */
	/* its own: */
	int used, spaces; /* columns of the line so far, and spaces that wait for the next word */
	char word[WRAP_WORD];
	size_t length; /* bytes of the word so far, made clean */
	int width;     /* and its columns */
} wrap;

/* To be wrapped where `out` is a terminal. */
wrap wrap_open(FILE *out);
/* Whole characters. A word goes out once it is known where it ends: at a space, or beside a wide character, which is
 * a word of its own. What could steer the terminal is made clean. */
void wrap_text(wrap *w, const char *text, size_t bytes);
/* The last word. What comes then begins a line. */
void wrap_end(wrap *w);

#endif
