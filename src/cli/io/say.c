/* say.c — one place through which lines reach standard error. */
#include "cli/io/say.h"

#include <stdio.h>
#include <string.h>

#include <hecate/width.h>

#define MESSAGE_MOST 9216 /* bytes: the longest message of the library, and what stands before it */

void say_as(const char *who, const char *format, va_list args)
{
	char raw[MESSAGE_MOST], clean[3 * MESSAGE_MOST];
	int n = who ? snprintf(raw, sizeof raw, "%.64s: ", who) : 0;
	vsnprintf(raw + n, sizeof raw - (size_t)n, format, args);
	hec_text_clean(raw, MESSAGE_MOST, clean, sizeof clean);
	fprintf(stderr, "%s\n", clean);
}

void say_line(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say_as(NULL, format, args);
	va_end(args);
}

void say_lines(const char *text)
{
	while (*text) {
		const size_t length = strcspn(text, "\n");
		say_line("%.*s", (int)length, text);
		text += length + (text[length] == '\n');
	}
}
