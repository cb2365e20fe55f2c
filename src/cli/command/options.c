/* options.c — reading the command line by a table. */
#include "cli/command/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/width.h>

#include "cli/command/nearest.h"

#define OPTIONS_MOST 96 /* of a command */

/* Of an option that is a letter; NULL: it has none. */
static const char *long_name(const char *name)
{
	return strcmp(name, "-m") == 0 ? "--model" : NULL;
}

static bool is_called(const char *name, const char *word, size_t length)
{
	return name && strlen(name) == length && memcmp(name, word, length) == 0;
}

static const option *find_option(const option *table, const char *word, size_t length)
{
	for (; table->kind != OPTION_END; table++)
		if (is_called(table->name, word, length) ||
		    is_called(long_name(table->name), word, length))
			return table;
	return NULL;
}

/* The option of "-mDIR"; NULL: it is none. */
static const option *find_letter(const option *table, const char *word)
{
	const option *o = word[1] != '-' && word[2] ? find_option(table, word, 2) : NULL;
	return o && o->kind != OPTION_FLAG && o->kind != OPTION_PICTURE ? o : NULL;
}

static void say_unknown(const option *table, const char *word, size_t length,
                        char error[OPTION_ERROR])
{
	const char *names[2 * OPTIONS_MOST + 1] = {"--help"}, *near;
	char asked[64];
	size_t n = 1;
	for (; table->kind != OPTION_END && n + 2 < sizeof names / sizeof *names; table++) {
		names[n++] = table->name;
		if (long_name(table->name))
			names[n++] = long_name(table->name);
	}
	snprintf(asked, sizeof asked, "%.*s", length < sizeof asked ? (int)length : 0, word);
	near = nearest_name(asked, names, n);
	snprintf(error, OPTION_ERROR, "there is no option %.60s%s%s%s", word,
	         near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* strtoull takes " +5" and "-5" as well: only digits are a number here. */
static bool digits_only(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static bool set_whole(const option *o, const char *text, char error[OPTION_ERROR])
{
	bool negative = *text == '-';
	errno = 0;
	long long value = strtoll(text, NULL, 10);
	if (!digits_only(text + negative) || errno || value < o->low || value > o->high) {
		snprintf(error, OPTION_ERROR,
		         "%s wants a whole number from %" PRId64 " to %" PRId64 ", not '%.40s'",
		         o->name, o->low, o->high, text);
		return false;
	}
	*(int64_t *)o->value = value;
	return true;
}

static bool set_real(const option *o, const char *text, char error[OPTION_ERROR])
{
	char *end;
	double value = strtod(text, &end);
	/* Only digits, not "inf", "nan" or a hexadecimal number. */
	bool plain = *text && strspn(text, "0123456789.eE+-") == strlen(text) && *end == '\0';
	if (!plain || value < (double)o->low || value > (double)o->high) {
		snprintf(error, OPTION_ERROR,
		         "%s wants a number from %" PRId64 " to %" PRId64 ", not '%.40s'", o->name,
		         o->low, o->high, text);
		return false;
	}
	*(double *)o->value = value;
	return true;
}

static bool set_seed(const option *o, const char *text, char error[OPTION_ERROR])
{
	errno = 0;
	unsigned long long value = strtoull(text, NULL, 10);
	if (!digits_only(text) || errno) {
		snprintf(error, OPTION_ERROR,
		         "%s wants a whole number from 0 to %" PRIu64 ", not '%.40s'", o->name,
		         UINT64_MAX, text);
		return false;
	}
	*(option_seed *)o->value = (option_seed){value, true};
	return true;
}

static bool add_to_list(const option *o, const char *text, char error[OPTION_ERROR])
{
	option_list *list = o->value;
	if (list->count == OPTION_LIST_MOST) {
		snprintf(error, OPTION_ERROR, "%s takes at most %d words", o->name,
		         OPTION_LIST_MOST);
		return false;
	}
	list->items[list->count++] = text;
	return true;
}

static bool set_option(const option *o, const char *text, char error[OPTION_ERROR])
{
	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)o->value = true;
		return true;
	case OPTION_TEXT:
		*(const char **)o->value = text;
		return true;
	case OPTION_WHOLE:
		return set_whole(o, text, error);
	case OPTION_REAL:
		return set_real(o, text, error);
	case OPTION_SEED:
		return set_seed(o, text, error);
	case OPTION_LIST:
	case OPTION_EACH:
		return add_to_list(o, text, error);
	case OPTION_PICTURE:
		*(option_picture *)o->value = (option_picture){text, true};
		return true;
	case OPTION_END:
		break;
	}
	return false;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

static bool is_picture(const char *word)
{
	const char *dot = strrchr(word, '.');
	return strcmp(word, "-") == 0 ||
	       (dot && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".html") == 0));
}

/* One word with a '/' or with a short suffix: "plot.png", not "a cat." or "3.14". */
static bool is_file_name(const char *word)
{
	const char *dot = strrchr(word, '.');
	size_t letters = 0, n = dot ? strlen(dot + 1) : 0;
	if (strpbrk(word, " \t\r\n"))
		return false;
	if (strchr(word, '/'))
		return true;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)dot[1 + i]))
			return false;
		letters += isalpha((unsigned char)dot[1 + i]) != 0;
	}
	return letters > 0 && n <= 5;
}

/* What follows an option that may stand alone. */
static bool check_next(const option *o, const char *word, char error[OPTION_ERROR])
{
	if (o->low != 0 || is_picture(word) || is_option(word) || !is_file_name(word))
		return true;
	snprintf(error, OPTION_ERROR,
	         "%s draws to - or a name that ends in .svg or .html, not to '%.40s'; a text goes "
	         "before %s or after --",
	         o->name, word, o->name);
	return false;
}

bool options_parse(const option *table, int argc, char **argv, int *operands,
                   char error[OPTION_ERROR])
{
	*operands = 0;
	bool options_ended = false;
	for (int i = 0; i < argc; i++) {
		char *word = argv[i];
		if (options_ended || !is_option(word)) {
			argv[(*operands)++] = word;
			continue;
		}
		if (strcmp(word, "--") == 0) {
			options_ended = true;
			continue;
		}
		size_t length = strcspn(word, "=");
		const char *text = word[length] == '=' ? word + length + 1 : NULL;
		const option *o = find_option(table, word, length);
		if (!o && (o = find_letter(table, word)))
			text = word + 2;
		if (!o) {
			say_unknown(table, word, length, error);
			return false;
		}
		if (o->kind == OPTION_FLAG && text) {
			snprintf(error, OPTION_ERROR, "%s takes no value", o->name);
			return false;
		}
		if (o->kind == OPTION_PICTURE && text && !is_picture(text)) {
			snprintf(error, OPTION_ERROR,
			         "%s wants - or a name that ends in .svg or .html, not '%.40s'",
			         o->name, text);
			return false;
		}
		if (o->kind == OPTION_PICTURE && !text && i + 1 < argc &&
		    !check_next(o, argv[i + 1], error))
			return false;
		const bool bare =
			o->kind == OPTION_FLAG ||
			(o->kind == OPTION_PICTURE && (i + 1 == argc || !is_picture(argv[i + 1])));
		if (!bare && !text && ++i < argc)
			text = argv[i];
		if (!bare && !text) {
			snprintf(error, OPTION_ERROR, "%s wants a value", o->name);
			return false;
		}
		if (!set_option(o, text, error))
			return false;
		while (o->kind == OPTION_LIST && i + 1 < argc && !is_option(argv[i + 1]))
			if (!set_option(o, argv[++i], error))
				return false;
	}
	return true;
}

void options_help(const option *table, FILE *out)
{
	for (const option *o = table; o->kind != OPTION_END; o++) {
		char left[64];
		snprintf(left, sizeof left, "%s%s%s%s%s", o->name, long_name(o->name) ? ", " : "",
		         long_name(o->name) ? long_name(o->name) : "", o->word ? " " : "",
		         o->word ? o->word : "");
		int width = hec_display_width(left, strlen(left));
		fprintf(out, "  %s%*s  %s\n", left, width < 16 ? 16 - width : 0, "", o->help);
	}
}
