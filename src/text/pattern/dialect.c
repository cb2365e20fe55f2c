/* dialect.c — see dialect.h. */
#include "text/pattern/dialect.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "text/pattern/dialect_parts.h"
#include "base/grow.h"
#include "text/unicode/utf8.h"

#define WRITTEN_MOST ((size_t)1 << 20) /* bytes of an expression in PCRE2's words */

/* ---- writing ---- */

static hec_status add_bytes(dialect_text *t, const char *bytes, size_t n)
{
	if (n > WRITTEN_MOST - t->n)
		return fail(HEC_ERR_FORMAT, "an expression of more than %zu bytes", WRITTEN_MOST);
	HEC_TRY(GROW(&t->bytes, &t->capacity, t->n + n + 1));
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
	t->bytes[t->n] = '\0';
	return HEC_OK;
}

hec_status dialect_add(dialect_text *t, const char *bytes)
{
	return add_bytes(t, bytes, strlen(bytes));
}

hec_status dialect_add_all(dialect_text *t, const char *a, const char *b, const char *c,
                           const char *d)
{
	HEC_TRY(dialect_add(t, a));
	HEC_TRY(dialect_add(t, b));
	HEC_TRY(dialect_add(t, c));
	return dialect_add(t, d);
}

hec_status dialect_put(dialect_writing *w, const char *bytes)
{
	return dialect_add(w->set ? &w->set->in : &w->to, bytes);
}

hec_status dialect_keep(dialect_writing *w, size_t n)
{
	size_t there = strnlen(w->at, n);
	HEC_TRY(add_bytes(w->set ? &w->set->in : &w->to, w->at, there));
	w->at += there;
	return HEC_OK;
}

hec_status dialect_refuse(const dialect_writing *w, const char *what)
{
	char name[QUOTE_TEXT], place[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED,
	            "the expression \"%s\": %s is not known here, at byte %zu: \"%s\"",
	            quote(w->all, name), what, (size_t)(w->at - w->all), quote(w->at, place));
}

/* ---- groups ---- */

/* Of n bytes until its inside begins. */
static hec_status open_group(dialect_writing *w, size_t n, bool captures)
{
	if (w->inside == DIALECT_GROUPS)
		return dialect_refuse(w, "a group in more than 250");
	const char *p = w->at;
	dialect_group *g = &w->groups[++w->inside];
	w->captures += captures;
	*g = (dialect_group){.around = w->options,
	                     .at = p,
	                     .begin = w->to.n,
	                     .number = captures ? w->captures : 0};
	g->plain = p[1] == '?' && p[2] == ':';
	g->looks = p[1] == '?' && (strchr("=!", p[2]) || (p[2] == '<' && strchr("=!", p[3])));
	HEC_TRY(dialect_keep(w, n));
	if (p[1] == '?' && p[2] == '=') /* PCRE2 10.42 takes the b of (?=b)a?b for two */
		HEC_TRY(dialect_put(w, "(?:)"));
	g->head = w->to.n;
	w->atom = DIALECT_NOTHING;
	return HEC_OK;
}

/* Of the groups that options began. */
static hec_status put_ends(dialect_writing *w, const dialect_group *g)
{
	for (size_t i = 0; i < g->more; i++)
		HEC_TRY(dialect_put(w, ")"));
	return HEC_OK;
}

static hec_status close_group(dialect_writing *w)
{
	char name[QUOTE_TEXT];
	const dialect_group *g = &w->groups[w->inside];
	if (w->inside == 0)
		return fail(HEC_ERR_FORMAT, "the expression \"%s\" has a ) without its (",
		            quote(w->all, name));
	HEC_TRY(put_ends(w, g));
	HEC_TRY(dialect_keep(w, 1));
	w->options = g->around;
	w->atom = g->looks ? DIALECT_NOTHING : g->begin;
	w->grouped = g->plain;
	w->repeated = w->once = false;
	w->inside--;
	return HEC_OK;
}

/* The letters of (?i-m:. PCRE2 calls Oniguruma's m s; its own m is always on. */
static hec_status put_letters(dialect_writing *w, const char *end)
{
	bool on = true;
	for (; w->at < end; w->at++) {
		if (*w->at == 'i')
			w->options.caseless = on;
		if (*w->at == 'x')
			w->options.extended = on;
		else if (*w->at != '-')
			HEC_TRY(dialect_put(w, *w->at == 'm' ? "s" : "i"));
		else if (on)
			HEC_TRY(dialect_put(w, "-"));
		on = on && *w->at != '-';
	}
	return HEC_OK;
}

/* (?i: or (?i). The latter holds up to the end of the group, other branches included, and these are
 * branches of what begins there: a(?i)b|c is a(?i:b|c). */
static hec_status put_options(dialect_writing *w, size_t letters)
{
	const char *end = w->at + 2 + letters;
	dialect_group *g = &w->groups[w->inside];
	bool alone = *end == ')', first = w->to.n == g->head;
	if (!alone) {
		HEC_TRY(open_group(w, 0, false));
		g = &w->groups[w->inside];
	}
	w->at += 2;
	HEC_TRY(dialect_put(w, "(?"));
	HEC_TRY(put_letters(w, end));
	HEC_TRY(dialect_put(w, alone && first ? ")" : ":"));
	w->at++;
	g->more += alone && !first;
	g->head = w->to.n;
	w->atom = DIALECT_NOTHING;
	return HEC_OK;
}

static hec_status skip_comment(dialect_writing *w)
{
	char name[QUOTE_TEXT];
	const char *p = w->at + 3;
	for (; *p && *p != ')'; p++)
		p += *p == '\\' && p[1];
	if (!*p)
		return fail(HEC_ERR_FORMAT, "the expression \"%s\" has a (?# without its )",
		            quote(w->all, name));
	w->at = p + 1;
	return HEC_OK;
}

static hec_status begin_group(dialect_writing *w)
{
	const char *p = w->at;
	if (p[1] == '*') /* PCRE2 takes orders there */
		return dialect_refuse(w, "(*");
	if (p[1] != '?')
		return open_group(w, 1, true);
	if (p[2] == '#')
		return skip_comment(w);
	size_t letters = strspn(p + 2, "imx-");
	if (letters > 0 && (p[2 + letters] == ':' || p[2 + letters] == ')'))
		return put_options(w, letters);
	w->facts.keeps = w->facts.keeps || p[2] == '>';
	if (p[2] && strchr(":=!>", p[2]))
		return open_group(w, 3, false);
	if (p[2] == '<' && (p[3] == '=' || p[3] == '!'))
		return open_group(w, 4, false);
	if (p[2] != '<' && p[2] != '\'')
		return dialect_refuse(w, "this group");
	return open_group(w, 4 + strcspn(p + 3, p[2] == '<' ? ">" : "'"), true);
}

/* ---- the rest ---- */

/* (?x): Oniguruma skips these only, and up to a \n behind a #. */
static bool skip_space(dialect_writing *w)
{
	if (!w->options.extended || !strchr(" \t\n\r\f#", *w->at))
		return false;
	if (*w->at == '#')
		w->at += strcspn(w->at, "\n");
	w->at += *w->at != '\0';
	return true;
}

static bool is_anchor(const char *p)
{
	return *p == '^' || *p == '$' || (*p == '\\' && p[1] && strchr("bBAzZK", p[1]));
}

/* What a quantifier could repeat, or a place. */
static hec_status put_atom(dialect_writing *w)
{
	w->atom = is_anchor(w->at) ? DIALECT_NOTHING : w->to.n;
	w->grouped = w->repeated = w->once = false;
	w->facts.lines = w->facts.lines || w->at[0] == '^';
	if (w->at[0] == '\\' && w->at[1])
		return dialect_escape(w);
	if (w->at[0] == '[')
		return dialect_class(w);
	if (w->at[0] == '{') /* no quantifier here, nor what PCRE2 could take for one */
		HEC_TRY(dialect_put(w, "\\"));
	return dialect_keep(w, utf8_length(w->at[0]));
}

static hec_status translate(dialect_writing *w)
{
	HEC_TRY(dialect_put(w, ""));
	while (*w->at) {
		bool found;
		if (skip_space(w))
			continue;
		HEC_TRY(dialect_repeat(w, &found));
		if (found)
			continue;
		if (*w->at == '(') {
			HEC_TRY(begin_group(w));
		} else if (*w->at == ')') {
			HEC_TRY(close_group(w));
		} else if (*w->at == '|') {
			w->atom = DIALECT_NOTHING;
			HEC_TRY(dialect_keep(w, 1));
		} else {
			HEC_TRY(put_atom(w));
		}
	}
	return put_ends(w, &w->groups[0]);
}

hec_status dialect_translate(const char *expression, char **out, dialect_facts *facts)
{
	dialect_writing w = {.all = expression, .at = expression, .atom = DIALECT_NOTHING};
	*out = NULL;
	hec_status status = translate(&w);
	if (status != HEC_OK)
		mem_free(w.to.bytes);
	else
		*out = w.to.bytes;
	*facts = w.facts;
	return status;
}
