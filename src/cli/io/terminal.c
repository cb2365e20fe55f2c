/* terminal.c — colour by what the terminal says it can, and layout in columns. */
#include "cli/io/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <hecate/width.h>

#define COLUMNS_DEFAULT 80
#define COLUMNS_MOST 1000

static bool is_set(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

static hec_view_colour choose_colour(FILE *out)
{
	const char *term = getenv("TERM"), *colour = getenv("COLORTERM");
	if (!isatty(fileno(out)) || is_set("NO_COLOR") || !term || !*term ||
	    strcmp(term, "dumb") == 0)
		return HEC_VIEW_PLAIN;
	if (colour && (strcmp(colour, "truecolor") == 0 || strcmp(colour, "24bit") == 0))
		return HEC_VIEW_24BIT;
	return HEC_VIEW_256;
}

static int choose_columns(FILE *out, int least)
{
	struct winsize size;
	long columns = 0;
	if (isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (columns == 0 && is_set("COLUMNS"))
		columns = strtol(getenv("COLUMNS"), NULL, 10);
	if (columns <= 0)
		return COLUMNS_DEFAULT;
	return columns < least ? least : columns > COLUMNS_MOST ? COLUMNS_MOST : (int)columns;
}

terminal terminal_open(FILE *out, int least)
{
	return (terminal){out, choose_colour(out), choose_columns(out, least)};
}

static void reserve_text(text *t, size_t more)
{
	if (t->length + more <= t->capacity)
		return;
	size_t capacity = t->capacity ? t->capacity * 2 : 256;
	while (capacity < t->length + more)
		capacity *= 2;
	char *data = realloc(t->data, capacity);
	if (!data) {
		fputs("hecate: out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	t->data = data;
	t->capacity = capacity;
}

void text_add(text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0)
		return;
	reserve_text(t, (size_t)n + 1);
	va_start(args, format);
	vsnprintf(t->data + t->length, (size_t)n + 1, format, args);
	va_end(args);
	t->length += (size_t)n;
}

void text_trim(text *t)
{
	while (t->length > 0 && t->data[t->length - 1] == ' ')
		t->data[--t->length] = '\0';
}

void text_free(text *t)
{
	free(t->data);
	*t = (text){0};
}

/* Colours between black and white: at least 4.5:1 on either. */
void text_ink(text *t, const terminal *term, ink which)
{
	static const char *const inks[] = {
		[INK_PLAIN] = "\x1b[0m",         [INK_TITLE] = "\x1b[1m",
		[INK_STEP] = "\x1b[1;38;5;131m", [INK_FORMULA] = "\x1b[38;5;63m",
		[INK_FAINT] = "\x1b[38;5;243m",  [INK_GOOD] = "\x1b[38;5;29m",
	};
	if (term->colour != HEC_VIEW_PLAIN)
		text_add(t, "%s", inks[which]);
}

static double clamp(double x, double low, double high)
{
	return x >= low ? (x <= high ? x : high) : low; /* NaN becomes low */
}

static void add_background(text *t, const terminal *term, hec_view_scale scale, double at)
{
	char background[HEC_VIEW_BACKGROUND];
	hec_view_background(scale, at, term->colour, background);
	text_add(t, "%s", background);
}

void text_heat(text *t, const terminal *term, double value)
{
	static const char *const shades[] = {"· ", "░░", "▒▒", "▓▓", "██"};
	value = clamp(value, 0, 1);
	if (term->colour == HEC_VIEW_PLAIN) {
		/* Exactly nothing, and four equal parts of the rest. */
		int shade = value == 0 ? 0 : 1 + (int)clamp(value * 4, 0, 3);
		text_add(t, "%s", shades[shade]);
		return;
	}
	add_background(t, term, HEC_VIEW_HEAT, value);
	text_add(t, "  \x1b[0m");
}

void text_wave(text *t, const terminal *term, double value)
{
	static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
	double at = (clamp(value, -1, 1) + 1) / 2;
	if (term->colour == HEC_VIEW_PLAIN) {
		text_add(t, "%s", shades[(int)clamp(at * 5, 0, 4)]);
		return;
	}
	add_background(t, term, HEC_VIEW_WAVE, at);
	text_add(t, " \x1b[0m");
}

#define INDENT 2
#define GAP 3
#define BLOCKS_IN_A_ROW 16

static int block_width(const text *block)
{
	int widest = 0;
	for (size_t i = 0; i < block->length;) {
		size_t n = strcspn(block->data + i, "\n");
		int width = hec_display_width(block->data + i, n);
		widest = width > widest ? width : widest;
		i += n + 1;
	}
	return widest;
}

static void print_row(const terminal *term, const text *blocks, const int *widths, size_t count)
{
	size_t at[BLOCKS_IN_A_ROW] = {0};
	bool more = true;
	for (bool first = true; more; first = false) {
		int pending = INDENT; /* spaces are held back so that no line ends with any */
		more = false;
		for (size_t b = 0; b < count; b++)
			more = more || at[b] < blocks[b].length;
		if (!more && !first)
			break;
		for (size_t b = 0; b < count; b++) {
			size_t n = 0;
			if (at[b] < blocks[b].length) {
				const char *line = blocks[b].data + at[b];
				n = strcspn(line, "\n");
				if (n > 0)
					fprintf(term->out, "%*s%.*s", pending, "", (int)n, line);
				int width = hec_display_width(line, n);
				pending = (n > 0 ? 0 : pending) + widths[b] - width + GAP;
				at[b] += n + 1;
			} else {
				pending += widths[b] + GAP;
			}
		}
		fputc('\n', term->out);
	}
}

void terminal_flow(const terminal *term, text *blocks, size_t count)
{
	int widths[BLOCKS_IN_A_ROW];
	for (size_t begin = 0, n; begin < count; begin += n) {
		int used = INDENT;
		for (n = 0; begin + n < count && n < BLOCKS_IN_A_ROW; n++) {
			int width = block_width(&blocks[begin + n]);
			if (n > 0 && used + width > term->columns)
				break;
			widths[n] = width;
			used += width + GAP;
		}
		if (begin > 0)
			fputc('\n', term->out);
		print_row(term, blocks + begin, widths, n);
	}
	for (size_t i = 0; i < count; i++)
		text_free(&blocks[i]);
}

void terminal_words(const terminal *term, ink which, int indent, const char *words)
{
	int room = term->columns - indent, used = 0;
	text line = {0};
	text_add(&line, "%*s", indent, "");
	text_ink(&line, term, which);
	for (const char *word = words; *word;) {
		size_t n = strcspn(word, " \n");
		int width = hec_display_width(word, n);
		if (used > 0 && used + 1 + width > room) {
			text_add(&line, "\n%*s", indent, "");
			used = 0;
		}
		text_add(&line, "%s%.*s", used > 0 ? " " : "", (int)n, word);
		used += (used > 0) + width;
		word += n;
		if (*word == '\n') {
			text_add(&line, "\n%*s", indent, "");
			used = 0;
		}
		word += *word != '\0';
	}
	text_ink(&line, term, INK_PLAIN);
	fprintf(term->out, "%s\n", line.data);
	text_free(&line);
}
