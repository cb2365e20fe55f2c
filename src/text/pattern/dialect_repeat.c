/* dialect_repeat.c — quantifiers.
 *
 * To Oniguruma {2,3}+ repeats {2,3}, {2}? is greedy and may be left out, {3,2} is {2,3} that gives nothing
 * back, and what follows a quantifier repeats the two together: a{2}+ is (?:a{2})+. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/pattern/dialect_parts.h"

#define DIGITS "0123456789"

/* {2}, {2,}, {2,3} or {,3} in PCRE2's words, and its bytes; 0: this is another text. */
static size_t read_range(const char *p, char out[64], bool *once)
{
	size_t low = strspn(p + 1, DIGITS), n = 1 + low, high = 0;
	bool fixed = p[n] != ',';
	if (!fixed) {
		high = strspn(p + n + 1, DIGITS);
		n += 1 + high;
	}
	if (p[n] != '}' || low + high == 0)
		return 0;
	unsigned long from = strtoul(p + 1, NULL, 10),
		      to = high ? strtoul(p + n - high, NULL, 10) : from;
	bool swapped = high && from > to, lazy = !fixed && !swapped && p[n + 1] == '?';
	if (fixed)
		snprintf(out, 64, "{%lu}", from);
	else if (high)
		snprintf(out, 64, "{%lu,%lu}%s", swapped ? to : from, swapped ? from : to,
		         swapped ? "+" : "");
	else
		snprintf(out, 64, "{%lu,}", from);
	if (lazy)
		strcat(out, "?");
	*once = from == 1 && to == 1 && (fixed || high);
	return n + 1 + lazy;
}

/* What is written of the atom becomes a group. */
static hec_status enclose(dialect_writing *w)
{
	static const char begin[] = {'(', '?', ':'};
	size_t n = w->to.n - w->atom;
	HEC_TRY(dialect_add(&w->to, "(?:)"));
	char *atom = w->to.bytes + w->atom;
	memmove(atom + sizeof begin, atom, n);
	memcpy(atom, begin, sizeof begin);
	return HEC_OK;
}

hec_status dialect_repeat(dialect_writing *w, bool *found)
{
	char words[64] = "";
	const char *p = w->at;
	bool once = false;
	size_t n = 0;
	if (strchr("?*+", *p)) {
		n = 1 + (p[1] == '?' || p[1] == '+');
		memcpy(words, p, n);
	} else if (*p == '{') {
		n = read_range(p, words, &once);
	}
	*found = n > 0;
	if (!*found)
		return HEC_OK;
	if (w->atom == DIALECT_NOTHING)
		return dialect_refuse(w, "a quantifier of nothing");
	/* Oniguruma then forgets where the group began: (?:ab){1}+ is ab+. */
	if (w->once && w->grouped)
		return dialect_refuse(w, "a quantifier behind (?:…){1}");
	if (w->repeated)
		HEC_TRY(enclose(w));
	w->facts.keeps = w->facts.keeps ||
	                 (w->to.bytes[w->to.n - 1] == ')' && words[1] && strchr(words + 1, '+'));
	w->at += n;
	w->repeated = true;
	w->once = once;
	return dialect_put(w, words);
}
