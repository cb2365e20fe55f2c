/* say.h — lines on standard error. They may quote the command line, the environment, a file or a model: none of
 * these shall steer the terminal, or forge a line of its own. So each line is made clean as a whole, wherever
 * standard error goes. What else is written there, bars and prompts, is our own text and numbers. */
#ifndef CLI_IO_SAY_H
#define CLI_IO_SAY_H

#include <stdarg.h>

void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "WHO: …"; NULL: without. */
void say_as(const char *who, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* A text of several lines, each for itself. */
void say_lines(const char *text);

#endif
