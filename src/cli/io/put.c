/* put.c — texts, lines of fields and JSON, as they go to a file or to a terminal. */
#include "cli/io/put.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hecate/width.h>

#include "cli/command/command.h"

bool put_is_terminal(FILE *out)
{
	static int output = -1; /* asked once: some results are a call for each token */
	if (out != stdout)
		return isatty(fileno(out));
	if (output < 0)
		output = isatty(STDOUT_FILENO);
	return output;
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r';
}

static bool ends_field(char c)
{
	return ends_line(c) || c == '\t' || c == '\0';
}

/* For free(); NULL: no memory. */
static char *clean_copy(const char *text, size_t length)
{
	size_t room = 3 * length + 4;
	char *clean = malloc(room);
	if (clean)
		hec_text_clean(text, length < INT_MAX / 2 ? 2 * (int)length : INT_MAX, clean, room);
	return clean;
}

/* A NUL is as good as any control character. */
static void put_clean(const char *text, size_t length, FILE *out)
{
	char *part = malloc(length + 1), *clean = NULL;
	if (part) {
		for (size_t i = 0; i < length; i++)
			part[i] = (char)(ends_line(text[i]) ? ' ' : text[i] ? text[i] : '\1');
		part[length] = '\0';
		clean = clean_copy(part, length);
	}
	if (clean)
		fputs(clean, out);
	free(part);
	free(clean);
}

void put_text_line(const char *text, size_t bytes, FILE *out)
{
	if (put_is_terminal(out))
		put_clean(text, bytes, out);
	else
		for (size_t i = 0; i < bytes; i++)
			fputc(ends_line(text[i]) ? ' ' : text[i], out);
	fputc('\n', out);
}

void put_line(const char *text, FILE *out)
{
	put_text_line(text, strlen(text), out);
}

void put_field(const char *text, size_t bytes, FILE *out)
{
	for (size_t i = 0, length; i < bytes; i += length) {
		for (length = 0; i + length < bytes && !ends_field(text[i + length]);)
			length++;
		if (put_is_terminal(out))
			put_clean(text + i, length, out);
		else
			fwrite(text + i, 1, length, out);
		for (; i + length < bytes && ends_field(text[i + length]); length++)
			fputc(' ', out);
	}
}

void put_words(const char *text, size_t bytes, FILE *out)
{
	if (!put_is_terminal(out)) {
		fwrite(text, 1, bytes, out);
		return;
	}
	for (size_t i = 0, length; i < bytes; i += length) {
		for (length = 0;
		     i + length < bytes && text[i + length] != '\n' && text[i + length] != '\t';)
			length++;
		put_clean(text + i, length, out);
		if (i + length < bytes)
			fputc(text[i + length++], out);
	}
}

/* Whether its lines are the same when made clean: then a terminal shows it as it is. */
static bool is_clean(const char *text)
{
	char *line = strdup(text), *clean = NULL;
	for (char *c = line; c && (c = strchr(c, '\n'));)
		*c = ' ';
	if (line)
		clean = clean_copy(line, strlen(line));
	bool same = clean && strcmp(clean, line) == 0;
	free(line);
	free(clean);
	return same;
}

/* Jansson writes DEL as it is, whatever it is asked for. */
static void put_ascii(const char *json, FILE *out)
{
	for (size_t n; *json; json += n) {
		n = strcspn(json, "\x7f");
		fwrite(json, 1, n, out);
		if (json[n] == '\0')
			break;
		fputs("\\u007f", out);
		n++;
	}
}

bool put_json_value(const json_t *value, size_t flags, FILE *out)
{
	char *text = value ? json_dumps(value, flags) : NULL;
	const bool steers = text && put_is_terminal(out) && !is_clean(text);
	if (steers) {
		free(text);
		text = json_dumps(value, flags | JSON_ENSURE_ASCII);
	}
	if (text && steers)
		put_ascii(text, out);
	else if (text)
		fputs(text, out);
	bool written = text != NULL;
	free(text);
	return written;
}

bool put_json_line(json_t *object, FILE *out)
{
	bool written = put_json_value(object, JSON_COMPACT | JSON_REAL_PRECISION(9), out);
	fputc('\n', out);
	json_decref(object);
	return written;
}

int put_done(void)
{
	errno = 0; /* what was written before may have failed, too, but for the same reason */
	fflush(stdout);
	return ferror(stdout) ? command_output_failed() : EXIT_DONE;
}
