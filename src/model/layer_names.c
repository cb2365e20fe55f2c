/* layer_names.c — the number of a layer in the name of a tensor. */
#include "model/layer_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first part that is a number: its place, digits and value. */
static bool number_in(const char *name, size_t *at, size_t *digits, uint64_t *value)
{
	for (const char *part = name;; part++) {
		const size_t n = strspn(part, "0123456789");
		if (n > 0 && n < 10 && part[n] == '.') {
			*at = (size_t)(part - name);
			*digits = n;
			*value = strtoull(part, NULL, 10);
			return true;
		}
		part = strchr(part, '.');
		if (!part)
			return false;
	}
}

/* The next letter of a name at *i, its number being one letter before all others. */
static int next_letter(const char *name, size_t at, size_t digits, size_t *i)
{
	if (digits > 0 && *i == at) {
		*i += digits;
		return 1;
	}
	return name[*i] ? (unsigned char)name[(*i)++] + 1 : 0;
}

/* Names that differ in that number alone come together, by it. */
int layer_names_compare(const char *a, const char *b)
{
	size_t at_a = 0, at_b = 0, digits_a = 0, digits_b = 0, i = 0, j = 0;
	uint64_t x = 0, y = 0;
	(void)number_in(a, &at_a, &digits_a, &x);
	(void)number_in(b, &at_b, &digits_b, &y);
	for (;;) {
		const int c = next_letter(a, at_a, digits_a, &i),
			  d = next_letter(b, at_b, digits_b, &j);
		if (c != d)
			return c < d ? -1 : 1;
		if (c == 0)
			return x < y ? -1 : x > y;
	}
}

bool layer_name_has_number(const char *name)
{
	size_t at, digits;
	uint64_t number;
	const char *rest = strchr(name, '.');
	return rest && number_in(rest + 1, &at, &digits, &number);
}

bool layer_name_follows(const char *a, const char *b)
{
	size_t at_a = 0, at_b = 0, digits_a = 0, digits_b = 0;
	uint64_t x = 0, y = 0;
	return number_in(a, &at_a, &digits_a, &x) && number_in(b, &at_b, &digits_b, &y) &&
	       at_a == at_b && strncmp(a, b, at_a) == 0 && y == x + 1 &&
	       strcmp(a + at_a + digits_a, b + at_b + digits_b) == 0;
}

void layer_names_text(const char *first, const char *last, char pattern[LAYER_NAMES_TEXT],
                      char range[LAYER_RANGE_TEXT])
{
	char before[QUOTE_TEXT], after[QUOTE_TEXT];
	size_t at = 0, digits = 0;
	uint64_t from = 0, up_to = 0;
	*range = '\0';
	if (strcmp(first, last) == 0 || !number_in(last, &at, &digits, &up_to) ||
	    !number_in(first, &at, &digits, &from)) {
		snprintf(pattern, LAYER_NAMES_TEXT, "%s", quote(first, before));
		return;
	}
	snprintf(pattern, LAYER_NAMES_TEXT, "%s*%s", quote_bytes(first, at, before),
	         quote(first + at + digits, after));
	snprintf(range, LAYER_RANGE_TEXT, " (%" PRIu64 " … %" PRIu64 ")", from, up_to);
}
