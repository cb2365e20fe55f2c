/* dialect_escape.c — what begins with a \ in a pattern of Rust or Oniguruma, rewritten for PCRE2: sets of
 * characters, codes, anchors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/pattern/dialect_parts.h"
#include "text/unicode/properties.h"
#include "text/unicode/utf8.h"

#define HEX_DIGITS "0123456789abcdefABCDEF"

/* ---- sets of characters ---- */

/* One character of the set, or with `negated` one that is not in it. */
static hec_status put_set_outside_class(dialect_writing *w, const property *p, bool negated)
{
	if (!p->less[0]) {
		HEC_TRY(dialect_put(w, negated ? "[^" : "["));
		HEC_TRY(dialect_put(w, p->known));
		HEC_TRY(dialect_put(w, p->more));
		return dialect_put(w, "]");
	}
	HEC_TRY(dialect_put(w, negated ? "(?:[" : "(?:(?!["));
	HEC_TRY(dialect_put(w, p->less));
	HEC_TRY(dialect_put(w, negated ? "]|[^" : "])["));
	HEC_TRY(dialect_put(w, p->known));
	HEC_TRY(dialect_put(w, p->more));
	return dialect_put(w, "])");
}

static hec_status put_set(dialect_writing *w, const property *p, bool negated)
{
	if (w->in_class) {
		if (negated || p->less[0])
			return dialect_refuse(w, "this set in a class");
		if (w->caseless)
			return dialect_refuse(w, "a set in a class where case is ignored");
		HEC_TRY(dialect_put(w, p->known));
		return dialect_put(w, p->more);
	}
	/* A set by itself means the same in any case; to PCRE2, \p{Lu} would be all letters. */
	if (w->caseless)
		HEC_TRY(dialect_put(w, "(?-i:"));
	HEC_TRY(put_set_outside_class(w, p, negated));
	return w->caseless ? dialect_put(w, ")") : HEC_OK;
}

/* \p{L} or \P{L}. */
static hec_status put_named_set(dialect_writing *w)
{
	const char *name = w->at + 3, *end = w->at[2] == '{' ? strchr(name, '}') : NULL;
	bool found = false;
	property p;
	if (end)
		HEC_TRY(property_find(name, (size_t)(end - name), w->in_class, &p, &found));
	if (!found)
		return dialect_refuse(w, "this set");
	HEC_TRY(put_set(w, &p, w->at[1] == 'P'));
	w->at = end + 1;
	return HEC_OK;
}

/* \w, \d, \s and their capitals. */
static hec_status put_letter_set(dialect_writing *w)
{
	char c = w->at[1];
	const char *name = strchr("wW", c) ? "word" : strchr("dD", c) ? "digit" : "space";
	bool found;
	property p;
	HEC_TRY(property_find(name, strlen(name), w->in_class, &p, &found));
	HEC_TRY(put_set(w, &p, c < 'a'));
	w->at += 2;
	return HEC_OK;
}

/* \b: a word character on one side, none on the other. */
static hec_status put_word_border(dialect_writing *w)
{
	bool found;
	property word;
	HEC_TRY(property_find("word", 4, false, &word, &found));
	HEC_TRY(dialect_put(w, "(?:(?<="));
	HEC_TRY(put_set(w, &word, false));
	HEC_TRY(dialect_put(w, ")(?!"));
	HEC_TRY(put_set(w, &word, false));
	HEC_TRY(dialect_put(w, ")|(?<!"));
	HEC_TRY(put_set(w, &word, false));
	HEC_TRY(dialect_put(w, ")(?="));
	HEC_TRY(put_set(w, &word, false));
	w->at += 2;
	return dialect_put(w, "))");
}

/* ---- codes ---- */

/* \x41, \x{20ac} or \u20ac. */
static hec_status put_code(dialect_writing *w)
{
	const bool braces = w->at[2] == '{';
	const char *digits = w->at + 2 + braces;
	size_t n = strspn(digits, HEX_DIGITS), wanted = w->at[1] == 'u' ? 4 : 2;
	unsigned long code = 0;
	char number[8] = "", written[16];
	if (!braces && n > wanted)
		n = wanted;
	if (n > 0 && n < sizeof number) {
		memcpy(number, digits, n);
		code = strtoul(number, NULL, 16);
	}
	bool valid = braces ? w->at[1] == 'x' && code > 0 && digits[n] == '}' : n == wanted;
	if (!valid ||
	    (!braces && wanted == 2 && code > 0x7f)) /* \xHH: a byte of a UTF-8 character */
		return dialect_refuse(w, "this code");
	snprintf(written, sizeof written, "\\x{%lx}", code);
	w->at = digits + n + braces;
	return dialect_put(w, written);
}

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

hec_status dialect_escape(dialect_writing *w, bool *is_set)
{
	char c = w->at[1], name[] = "\\?";
	*is_set = strchr("pPwWdDsS", c) != NULL;
	if (c == 'p' || c == 'P')
		return put_named_set(w);
	if (*is_set)
		return put_letter_set(w);
	if (c == 'x' || c == 'u')
		return put_code(w);
	if (c == 'b' && !w->in_class)
		return put_word_border(w);
	if (!is_letter_or_digit(c) || strchr("tnrf", c) || (strchr("AzZ", c) && !w->in_class))
		return dialect_copy(w, 1 + utf8_length(c));
	name[1] = c;
	return dialect_refuse(w, name);
}
