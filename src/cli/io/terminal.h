/* terminal.h — where results are shown: colour or not, how wide; and texts set side by side. */
#ifndef CLI_IO_TERMINAL_H
#define CLI_IO_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <hecate/view.h>

typedef struct terminal {
	FILE *out;
	hec_view_colour
		colour; /* plain where out is no terminal, or NO_COLOR or TERM=dumb is set */
	int columns;    /* of the window; else $COLUMNS, else 80 */
} terminal;

/* least: columns that what is drawn needs, however narrow the window is. */
terminal terminal_open(FILE *out, int least);

/* A text that grows; where memory runs out the program says so and ends. */
typedef struct text {
	char *data; /* NULL while empty */
	size_t length, capacity;
} text;

void text_add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_trim(text *t); /* takes the spaces off its end */
void text_free(text *t);

/* Inks: what a piece of text is, not how it looks. */
typedef enum ink { INK_PLAIN = 0, INK_TITLE, INK_STEP, INK_FORMULA, INK_FAINT, INK_GOOD } ink;
void text_ink(text *t, const terminal *term, ink which);

/* One cell of a heat map, two columns wide: colour, or shades where there is none. value in 0 … 1. */
void text_heat(text *t, const terminal *term, double value);
/* One cell of a picture of values in −1 … 1, one column wide: blue, dark, gold; or shades. */
void text_wave(text *t, const terminal *term, double value);

/* Prints texts of several lines side by side, as many in a row as fit, and frees them. */
void terminal_flow(const terminal *term, text *blocks, size_t count);
/* Prints words wrapped to the width, each line with an indent. */
void terminal_words(const terminal *term, ink which, int indent, const char *words);

#endif
