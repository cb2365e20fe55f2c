/* dialect.c — groups, quantifiers and classes of a pattern; see dialect.h. */
#include "text/pattern/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"
#include "base/quote.h"
#include "text/pattern/dialect_parts.h"
#include "text/unicode/utf8.h"

#define MAX_WRITTEN_BYTES ((size_t)1 << 20) /* of the pattern written for PCRE2 */
#define DIGITS "0123456789"

/* ---- writing ---- */

static hec_status add_bytes(dialect_text *t, const char *bytes, size_t n)
{
	if (n > MAX_WRITTEN_BYTES - t->n)
		return fail(HEC_ERR_FORMAT, "a pattern of more than %zu bytes", MAX_WRITTEN_BYTES);
	HEC_TRY(GROW(&t->bytes, &t->capacity, t->n + n + 1));
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
	t->bytes[t->n] = '\0';
	return HEC_OK;
}

hec_status dialect_put(dialect_writing *w, const char *bytes)
{
	return add_bytes(&w->to, bytes, strlen(bytes));
}

hec_status dialect_copy(dialect_writing *w, size_t n)
{
	size_t left = strnlen(w->at, n);
	HEC_TRY(add_bytes(&w->to, w->at, left));
	w->at += left;
	return HEC_OK;
}

hec_status dialect_refuse(const dialect_writing *w, const char *construct)
{
	char name[QUOTE_TEXT], place[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED,
	            "the pattern \"%s\": %s is not supported, at byte %zu: \"%s\"",
	            quote(w->pattern, name), construct, (size_t)(w->at - w->pattern),
	            quote(w->at, place));
}

static hec_status fail_unclosed(const dialect_writing *w, const char *what)
{
	char name[QUOTE_TEXT];
	return fail(HEC_ERR_FORMAT, "the pattern \"%s\" has a %s", quote(w->pattern, name), what);
}

/* ---- groups ---- */

/* The first n bytes open a group. */
static hec_status open_group(dialect_writing *w, size_t n)
{
	if (w->open_groups == DIALECT_MAX_GROUPS)
		return dialect_refuse(w, "a group inside more than 250");
	const bool ahead = w->at[1] == '?' && (w->at[2] == '=' || w->at[2] == '!');
	const bool behind = w->at[1] == '?' && w->at[2] == '<';
	w->groups[w->open_groups++] = (dialect_group){
		.caseless_outside = w->caseless, .begin = w->to.n, .looks = ahead || behind};
	w->atom = DIALECT_NO_ATOM;
	HEC_TRY(dialect_copy(w, n));
	if (ahead && w->to.bytes[w->to.n - 1] == '=') /* PCRE2 10.42 matches two b with (?=b)a?b */
		HEC_TRY(dialect_put(w, "(?:)"));
	return HEC_OK;
}

static hec_status close_group(dialect_writing *w)
{
	if (w->open_groups == 0)
		return fail_unclosed(w, ") without its (");
	const dialect_group *g = &w->groups[--w->open_groups];
	HEC_TRY(dialect_copy(w, 1));
	w->caseless = g->caseless_outside;
	w->atom = g->looks ? DIALECT_NO_ATOM : g->begin;
	w->repeated = false;
	return HEC_OK;
}

static hec_status begin_group(dialect_writing *w)
{
	const char *p = w->at;
	if (p[1] == '*')
		return dialect_refuse(w, "(*");
	if (p[1] != '?')
		return open_group(w, 1);
	if (p[2] && strchr(":=!", p[2]))
		return open_group(w, 3);
	if (p[2] == '<' && (p[3] == '=' || p[3] == '!'))
		return open_group(w, 4);
	if (strncmp(p, "(?i:", 4) == 0) {
		HEC_TRY(open_group(w, 4));
		w->caseless = true;
		return HEC_OK;
	}
	/* Elsewhere it would also hold for the other branches of its group. */
	if (p == w->pattern && strncmp(p, "(?i)", 4) == 0) {
		w->caseless = true;
		return dialect_copy(w, 4);
	}
	return dialect_refuse(w, "this group");
}

/* ---- quantifiers ---- */

/* The length of {2}, {2,} or {2,3} at p; 0: there is none. */
static size_t range_length(const char *p)
{
	size_t low = strspn(p + 1, DIGITS), n = 1 + low;
	if (low == 0)
		return 0;
	if (p[n] == ',')
		n += 1 + strspn(p + n + 1, DIGITS);
	return p[n] == '}' ? n + 1 : 0;
}

static bool is_decreasing(const char *range)
{
	const char *comma = strchr(range, ',');
	size_t n = range_length(range);
	return comma && comma < range + n && comma[1] != '}' &&
	       strtoul(range + 1, NULL, 10) > strtoul(comma + 1, NULL, 10);
}

/* {1,3}+ repeats {1,3} in Oniguruma; in PCRE2 it gives nothing back. */
static hec_status put_repeated_range(dialect_writing *w, size_t n)
{
	static const char begin[] = {'(', '?', ':'}, end[] = {')', '+'};
	HEC_TRY(dialect_copy(w, n));
	size_t bytes = w->to.n - w->atom;
	HEC_TRY(dialect_put(w, "(?:)+"));
	char *atom = w->to.bytes + w->atom;
	memmove(atom + sizeof begin, atom, bytes);
	memcpy(atom, begin, sizeof begin);
	memcpy(atom + sizeof begin + bytes, end, sizeof end);
	w->at++;
	return HEC_OK;
}

static hec_status put_range(dialect_writing *w)
{
	const char *p = w->at;
	size_t n = range_length(p);
	if (n == 0)
		return dialect_refuse(w, "a { that is not a quantifier like {2}, {2,} or {2,3}");
	if (is_decreasing(p))
		return dialect_refuse(w, "a quantifier from more to less");
	if (p[n] == '+' && (strncmp(p, "{1}", 3) == 0 || strncmp(p, "{1,1}", 5) == 0))
		return dialect_refuse(w, "a + behind {1}"); /* Oniguruma reads (?:ab){1}+ as ab+ */
	if (p[n] == '+')
		return put_repeated_range(w, n);
	if (p[n] == '?' && !memchr(p, ',', n))
		return dialect_refuse(w, "a ? behind a fixed number");
	return dialect_copy(w, n + (p[n] == '?'));
}

static hec_status put_quantifier(dialect_writing *w)
{
	const bool possessive = *w->at != '{' && w->at[1] == '+';
	if (w->atom == DIALECT_NO_ATOM)
		return dialect_refuse(w, "a quantifier of nothing");
	if (w->repeated)
		return dialect_refuse(w, "a quantifier behind a quantifier");
	/* PCRE2 10.42 is sometimes wrong about what can follow such a group. */
	if (possessive && w->to.bytes[w->to.n - 1] == ')')
		return dialect_refuse(w, "a possessive quantifier of a group");
	w->repeated = true;
	return *w->at == '{' ? put_range(w) : dialect_copy(w, 1 + (possessive || w->at[1] == '?'));
}

/* ---- classes ---- */

/* One item of a class; *is_set: it is a set of characters such as \s. */
static hec_status put_class_item(dialect_writing *w, bool *is_set)
{
	const char *p = w->at;
	if (p[0] == '\\' && p[1])
		return dialect_escape(w, is_set);
	if (p[0] == '&' && p[1] == '&')
		return dialect_refuse(w, "&& in a class");
	if (strchr("^]:.=", *p) || *p == '[')
		HEC_TRY(dialect_put(w, "\\"));
	return dialect_copy(w, utf8_length(*p));
}

/* [ inside a class: [a[bc]] has the same characters as [abc]. */
static hec_status open_inner_class(dialect_writing *w, int *depth)
{
	if (w->at[1] == '^')
		return dialect_refuse(w, "[^ in a class");
	if (w->at[1] == ':')
		return dialect_refuse(w, "[: in a class");
	if (w->at[1] == ']' || w->at[1] == '-')
		return dialect_refuse(w, "a ] or - at the beginning of a class in a class");
	(*depth)++;
	w->at++;
	return HEC_OK;
}

/* A - that stands for itself, or the middle of a range, which a set cannot end. */
static hec_status put_hyphen(dialect_writing *w, bool is_literal)
{
	const char *next = w->at + 1;
	if (!is_literal &&
	    (*next == '[' || (*next == '\\' && next[1] && strchr("wWdDsSpP", next[1]))))
		return dialect_refuse(w, "a range up to a set of characters");
	if (is_literal)
		HEC_TRY(dialect_put(w, "\\"));
	return dialect_copy(w, 1);
}

static hec_status put_class(dialect_writing *w)
{
	int depth = 1;
	bool after_set = false;
	HEC_TRY(dialect_copy(w, w->at[1] == '^' ? 2 : 1));
	w->in_class = true;
	for (const char *first = w->at; *w->at;) {
		bool is_set = false;
		if (*w->at == ']' && w->at != first) {
			if (--depth == 0)
				break;
			w->at++;
			is_set = true;
		} else if (*w->at == '[') {
			HEC_TRY(open_inner_class(w, &depth));
			is_set = true;
		} else if (*w->at == '-') {
			HEC_TRY(put_hyphen(w, after_set || w->at == first));
		} else {
			HEC_TRY(put_class_item(w, &is_set));
		}
		after_set = is_set;
	}
	w->in_class = false;
	return *w->at ? dialect_copy(w, 1) : fail_unclosed(w, "[ without its ]");
}

/* ---- the whole pattern ---- */

static bool is_anchor(const char *p)
{
	return *p == '^' || *p == '$' || (*p == '\\' && p[1] && strchr("bAzZ", p[1]));
}

/* What a quantifier can repeat, or an anchor. */
static hec_status put_atom(dialect_writing *w)
{
	bool is_set;
	w->atom = is_anchor(w->at) ? DIALECT_NO_ATOM : w->to.n;
	w->repeated = false;
	w->line_starts = w->line_starts || w->at[0] == '^';
	if (w->at[0] == '\\' && w->at[1])
		return dialect_escape(w, &is_set);
	if (w->at[0] == '[')
		return put_class(w);
	return dialect_copy(w, utf8_length(w->at[0]));
}

static hec_status translate_pattern(dialect_writing *w)
{
	HEC_TRY(dialect_put(w, ""));
	while (*w->at) {
		if (strchr("?*+{", *w->at)) {
			HEC_TRY(put_quantifier(w));
		} else if (*w->at == '(') {
			HEC_TRY(begin_group(w));
		} else if (*w->at == ')') {
			HEC_TRY(close_group(w));
		} else if (*w->at == '|') {
			w->atom = DIALECT_NO_ATOM;
			HEC_TRY(dialect_copy(w, 1));
		} else {
			HEC_TRY(put_atom(w));
		}
	}
	return HEC_OK;
}

hec_status dialect_translate(const char *pattern, char **out, bool *line_starts)
{
	dialect_writing w = {.pattern = pattern, .at = pattern, .atom = DIALECT_NO_ATOM};
	*out = NULL;
	hec_status status = translate_pattern(&w);
	if (status != HEC_OK)
		mem_free(w.to.bytes);
	else
		*out = w.to.bytes;
	*line_starts = w.line_starts;
	return status;
}
