/* put.h — results on a stream, made clean where it is a terminal: what a model writes, and what stands in its
 * files, shall not steer it. */
#ifndef CLI_IO_PUT_H
#define CLI_IO_PUT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

bool put_is_terminal(FILE *out);
/* One line for a text: a line end within it is a space. */
void put_line(const char *text, FILE *out);
void put_text_line(const char *text, size_t bytes, FILE *out); /* may hold NUL bytes */
/* A part of a line whose parts have tabs between them: tabs and NUL bytes are spaces as well. */
void put_field(const char *text, size_t bytes, FILE *out);
/* The text as it is, of any number of lines, with no line end behind it. */
void put_words(const char *text, size_t bytes, FILE *out);
/* On a terminal, what could steer it is written as \u…. False: no memory; a write that fails is told by
 * put_done. */
bool put_json_value(const json_t *value, size_t flags, FILE *out);
/* One line; takes the object; numbers with the nine digits that bring a float back exactly. */
bool put_json_line(json_t *object, FILE *out);
/* After the results of a call: whoever waits for an answer gets it. EXIT_DONE or EXIT_FAILED; main.c says
 * what is wrong with standard output. */
int put_done(void);

#endif
