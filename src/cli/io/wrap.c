/* wrap.c — words wait until they are whole. */
#include "cli/io/wrap.h"

#include <string.h>
#include <unistd.h>

#include <hecate/width.h>

#include "cli/io/put.h"
#include "cli/io/terminal.h"

#define LEAST 20 /* columns: what is narrower is the terminal's to cut */
#define CHARACTER 16

wrap wrap_open(FILE *out)
{
	return (wrap){.out = out,
	              .columns = isatty(fileno(out)) ? terminal_open(out, LEAST).columns : 0};
}

static void end_line(wrap *w)
{
	fputc('\n', w->out);
	w->used = w->spaces = 0;
}

static void put_word(wrap *w)
{
	if (w->length == 0)
		return;
	if (w->used > 0 && w->used + w->spaces + w->width > w->columns)
		end_line(w);
	fprintf(w->out, "%*s%.*s", w->spaces, "", (int)w->length, w->word);
	w->used += w->spaces + w->width;
	w->length = 0;
	w->spaces = w->width = 0;
}

/* A character, and as it is shown. */
static void add_character(wrap *w, const char *text, size_t bytes)
{
	char one[CHARACTER] = "", clean[3 * CHARACTER];
	for (size_t i = 0; i < bytes && i < sizeof one - 1; i++)
		one[i] = (char)(text[i] ? text[i]
		                        : '\1'); /* NUL is as good as any control character */
	const int width = hec_text_clean(one, CHARACTER, clean, sizeof clean);
	const size_t length = strlen(clean);
	if (width > 1 || w->width + width > w->columns || w->length + length > sizeof w->word)
		put_word(w);
	memcpy(w->word + w->length, clean, length);
	w->length += length;
	w->width += width;
	if (width > 1)
		put_word(w);
}

static size_t character_bytes(const char *text, size_t bytes)
{
	size_t n = 1;
	while (n < bytes && n < 4 && (text[n] & 0xC0) == 0x80)
		n++;
	return n;
}

void wrap_text(wrap *w, const char *text, size_t bytes)
{
	if (w->columns == 0) {
		put_words(text, bytes, w->out);
		return;
	}
	for (size_t i = 0, n; i < bytes; i += n) {
		n = character_bytes(text + i, bytes - i);
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\n') {
			add_character(w, text + i, n);
			continue;
		}
		put_word(w);
		if (text[i] == '\n')
			end_line(w);
		else
			w->spaces += text[i] == ' ' ? 1 : 8 - (w->used + w->spaces) % 8;
	}
}

void wrap_end(wrap *w)
{
	put_word(w);
	w->used = w->spaces = 0;
}
