/* dialect.c — see dialect.h. */
#include "text/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "text/grow.h"
#include "text/properties.h"
#include "text/utf8.h"

#define WRITTEN_MOST ((size_t)1 << 20) /* bytes of an expression in PCRE2's words */
#define DEPTH_MOST 64                  /* classes in classes */

typedef struct text {
	char *bytes; /* '\0' at the end; NULL: empty */
	size_t n, capacity;
} text;

/* What is between [ and ], or between one of them and &&. Not all of it can be said in a class of PCRE2:
 * the rest stands beside it, |…|…, each part matching one character. */
typedef struct set {
	text in, beside;
} set;

typedef struct writing {
	const char *all, *at; /* at: not read yet */
	text to;
	set *set; /* of the class that is being read; NULL: outside */
	int depth;
} writing;

static hec_status add_bytes(text *t, const char *bytes, size_t n)
{
	if (n > WRITTEN_MOST - t->n)
		return fail(HEC_ERR_FORMAT, "an expression of more than %zu bytes", WRITTEN_MOST);
	HEC_TRY(GROW(&t->bytes, &t->capacity, t->n + n + 1));
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
	t->bytes[t->n] = '\0';
	return HEC_OK;
}

static hec_status add(text *t, const char *bytes)
{
	return add_bytes(t, bytes, strlen(bytes));
}

static hec_status add_all(text *t, const char *a, const char *b, const char *c, const char *d)
{
	HEC_TRY(add(t, a));
	HEC_TRY(add(t, b));
	HEC_TRY(add(t, c));
	return add(t, d);
}

static hec_status put(writing *w, const char *bytes)
{
	return add(w->set ? &w->set->in : &w->to, bytes);
}

static hec_status keep(writing *w, size_t n)
{
	HEC_TRY(add_bytes(w->set ? &w->set->in : &w->to, w->at, n));
	w->at += n;
	return HEC_OK;
}

static void forget(set *s)
{
	free(s->in.bytes);
	free(s->beside.bytes);
	*s = (set){0};
}

/* ---- sets of characters by name ---- */

/* One character of the set, or of all others. */
static hec_status add_property(text *t, const property *p, bool others)
{
	if (!p->less[0])
		return add_all(t, others ? "[^" : "[", p->known, p->more, "]");
	HEC_TRY(add_all(t, others ? "(?:[" : "(?:(?![", p->less, others ? "]|[^" : "])[",
	                p->known));
	return add_all(t, p->more, "])", "", "");
}

static hec_status put_property(writing *w, const property *p, bool others)
{
	others = others != p->others;
	if (!w->set)
		return add_property(&w->to, p, others);
	if (!others && !p->less[0])
		return add_all(&w->set->in, p->known, p->more, "", "");
	HEC_TRY(add(&w->set->beside, "|"));
	return add_property(&w->set->beside, p, others);
}

/* \w and its like; in the class [\w], too. */
static hec_status find_own(const writing *w, const char *name, property *p)
{
	bool found;
	return property_find(name, strlen(name), w->set ? PROPERTY_IN_CLASS : PROPERTY_ALONE, p,
	                     &found);
}

/* \p{L}, \P{L}, \p{^L}. */
static hec_status put_named(writing *w)
{
	const char *name = w->at + 3, *end = strchr(name, '}');
	bool others = w->at[1] == 'P', found;
	property p;
	if (!end)
		return keep(w, 2);
	if (*name == '^') {
		others = !others;
		name++;
	}
	HEC_TRY(property_find(name, (size_t)(end - name),
	                      w->set ? PROPERTY_IN_CLASS : PROPERTY_ALONE, &p, &found));
	if (!found)
		return keep(w, (size_t)(end + 1 - w->at));
	w->at = end + 1;
	return put_property(w, &p, others);
}

/* [:alpha:] or [:^alpha:] in a class, up to end. */
static hec_status put_brackets(writing *w, const char *end)
{
	bool others = w->at[2] == '^', found;
	const char *name = w->at + 2 + others;
	property p;
	HEC_TRY(property_find(name, (size_t)(end - 2 - name), PROPERTY_BRACKETS, &p, &found));
	if (!found)
		return keep(w, (size_t)(end - w->at));
	w->at = end;
	return put_property(w, &p, others);
}

/* Where words begin and end, and all other places. */
static hec_status put_border(writing *w, bool others)
{
	property p;
	HEC_TRY(find_own(w, "word", &p));
	HEC_TRY(put(w, "(?:(?<="));
	HEC_TRY(put_property(w, &p, false));
	HEC_TRY(put(w, others ? ")(?=" : ")(?!"));
	HEC_TRY(put_property(w, &p, false));
	HEC_TRY(put(w, ")|(?<!"));
	HEC_TRY(put_property(w, &p, false));
	HEC_TRY(put(w, others ? ")(?!" : ")(?="));
	HEC_TRY(put_property(w, &p, false));
	return put(w, "))");
}

/* ---- escapes ---- */

static bool is_hex(const char *p, int n)
{
	for (int i = 0; i < n; i++)
		if (!p[i] || !strchr("0123456789abcdefABCDEF", p[i]))
			return false;
	return true;
}

/* Escaped letters that mean nothing to Oniguruma, and so themselves; to PCRE2 some of them do. */
static bool is_plain_letter(const char *p)
{
	return strchr("ijlmqEFIJLQTUV", p[1]) || (strchr("opP", p[1]) && p[2] != '{') ||
	       (p[1] == 'x' && !p[2]);
}

static hec_status refuse(const writing *w, const char *what)
{
	char name[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED, "the expression \"%s\": %s is not known here",
	            quote(w->all, name), what);
}

static hec_status put_escape(writing *w)
{
	static const struct {
		char one, others;
		const char *name;
	} own[] = {
		{'w', 'W', "word"}, {'d', 'D', "digit"}, {'s', 'S', "space"}, {'h', 'H', "xdigit"}};
	char c = w->at[1], code[16];
	if (c == 'G' && !w->set) /* a search is made of many */
		return refuse(w, "\\G");
	if (c == 'c' && !(w->at[2] >= 'A' && w->at[2] <= 'Z') &&
	    !(w->at[2] >= 'a' && w->at[2] <= 'z')) /* other signs make other codes in PCRE2 */
		return refuse(w, "\\c without a letter");
	if (is_plain_letter(w->at)) {
		w->at++;
		return keep(w, 1);
	}
	if (c == 'p' || c == 'P')
		return put_named(w);
	if (!w->set && (c == 'N' || c == 'O')) { /* one character; O: line ends, too */
		w->at += 2;
		return put(w, c == 'N' ? "[^\\n]" : "\\p{Any}");
	}
	if (c == 'u' && is_hex(w->at + 2, 4)) {
		snprintf(code, sizeof code, "\\x{%.4s}", w->at + 2);
		w->at += 6;
		return put(w, code);
	}
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		if (c == own[i].one || c == own[i].others) {
			property p;
			w->at += 2;
			HEC_TRY(find_own(w, own[i].name, &p));
			return put_property(w, &p, c == own[i].others);
		}
	if (c != 'v' && (w->set || (c != 'b' && c != 'B')))
		return keep(w, 2);
	w->at += 2;
	return c == 'v' ? put(w, "\\x{0b}") : put_border(w, c == 'B');
}

/* ---- classes ---- */

/* One character of the set. */
static hec_status add_set(text *t, const set *s)
{
	const char *in = s->in.n ? s->in.bytes : NULL;
	if (!s->beside.n)
		return in ? add_all(t, "[", in, "]", "") : add(t, "(?!)");
	HEC_TRY(in ? add_all(t, "(?:[", in, "]", "") : add(t, "(?:"));
	return add_all(t, s->beside.bytes + !in, ")", "", "");
}

/* The set s, of which the sets before must have the character too; or all others. */
static hec_status end_class(text *t, const set *s, const text *before, bool others)
{
	if (!before->n && !s->beside.n && s->in.n)
		return add_all(t, others ? "[^" : "[", s->in.bytes, "]", "");
	HEC_TRY(add_all(t, "(?:", others ? "(?!" : "", before->n ? before->bytes : "", ""));
	HEC_TRY(add_set(t, s));
	return add(t, others ? ")\\p{Any})" : ")");
}

static hec_status put_class(writing *w);

/* Reads up to the ] of a class. */
static hec_status read_class(writing *w, text *before)
{
	const char *first = w->at;
	bool after_set = false;              /* where a - means itself */
	enum { NO, BEGUN, OPEN } range = NO; /* of a-b: behind the a, behind the - */
	while (*w->at && (*w->at != ']' || w->at == first)) {
		const char *p = w->at;
		bool is_set = false;
		if (p[0] == '\\' && p[1]) {
			is_set = strchr("pPwWdDsShH", p[1]) != NULL;
			HEC_TRY(put_escape(w));
		} else if (p[0] == '&' && p[1] == '&') {
			HEC_TRY(add(before, "(?="));
			HEC_TRY(add_set(before, w->set));
			HEC_TRY(add(before, ")"));
			forget(w->set);
			w->at += 2;
		} else if (p[0] == '[') {
			const char *end = p[1] == ':' ? strstr(p + 2, ":]") : NULL;
			is_set = true;
			if (!end && range == OPEN) /* Oniguruma then forgets the a */
				return refuse(w, "a range up to a class");
			HEC_TRY(end ? put_brackets(w, end + 2) : put_class(w));
		} else {
			if (*p == '^' || *p == ']' || (*p == '-' && after_set))
				HEC_TRY(put(w, "\\"));
			HEC_TRY(keep(w, utf8_length(*p)));
		}
		after_set = is_set;
		range = is_set || range == OPEN || (p[0] == '&' && p[1] == '&') ? NO
		        : *p == '-' && range == BEGUN                           ? OPEN
		                                                                : BEGUN;
	}
	return HEC_OK;
}

/* What was read goes where the class stands: out of classes, or into the one around it. */
static hec_status write_class(writing *w, const set *s, const text *before, bool others)
{
	if (!w->set)
		return end_class(&w->to, s, before, others);
	if (!before->n && !others) {
		HEC_TRY(add(&w->set->in, s->in.n ? s->in.bytes : ""));
		return add(&w->set->beside, s->beside.n ? s->beside.bytes : "");
	}
	HEC_TRY(add(&w->set->beside, "|"));
	return end_class(&w->set->beside, s, before, others);
}

static hec_status put_class(writing *w)
{
	char name[QUOTE_TEXT];
	set mine = {0}, *around = w->set;
	text before = {0};
	bool others = w->at[1] == '^';
	if (w->depth == DEPTH_MOST)
		return fail(HEC_ERR_UNSUPPORTED,
		            "the expression \"%s\" has classes in classes, more than %d",
		            quote(w->all, name), DEPTH_MOST);
	w->at += 1 + others;
	w->set = &mine;
	w->depth++;
	hec_status status = read_class(w, &before);
	w->depth--;
	w->set = around;
	if (status == HEC_OK && *w->at != ']')
		status = fail(HEC_ERR_FORMAT, "the expression \"%s\" has a [ without its ]",
		              quote(w->all, name));
	if (status == HEC_OK) {
		w->at++;
		status = write_class(w, &mine, &before, others);
	}
	forget(&mine);
	free(before.bytes);
	return status;
}

/* ---- the rest ---- */

/* (?m:…) lets . match line ends too, which PCRE2 calls s; its m is always on. */
static hec_status begin_group(writing *w)
{
	size_t n = 2 + strspn(w->at + 2, "imx-");
	if (n == 2 || (w->at[n] != ':' && w->at[n] != ')'))
		return keep(w, 1);
	for (const char *end = w->at + n; w->at < end; w->at++)
		HEC_TRY(*w->at == 'm' ? put(w, "s") : add_bytes(&w->to, w->at, 1));
	return HEC_OK;
}

/* {,3} is {0,3}. */
static bool is_open_range(const char *p)
{
	size_t digits = p[0] == '{' && p[1] == ',' ? strspn(p + 2, "0123456789") : 0;
	return digits > 0 && p[2 + digits] == '}';
}

static hec_status translate(writing *w)
{
	HEC_TRY(put(w, ""));
	while (*w->at) {
		if (w->at[0] == '\\' && w->at[1]) {
			HEC_TRY(put_escape(w));
		} else if (w->at[0] == '[') {
			HEC_TRY(put_class(w));
		} else if (w->at[0] == '(' && w->at[1] == '?') {
			HEC_TRY(begin_group(w));
		} else if (w->at[0] == '(' && w->at[1] == '*') { /* PCRE2 takes orders there */
			return refuse(w, "(*");
		} else if (is_open_range(w->at)) {
			HEC_TRY(put(w, "{0"));
			w->at++;
		} else {
			HEC_TRY(keep(w, 1));
		}
	}
	return HEC_OK;
}

hec_status dialect_translate(const char *expression, char **out)
{
	writing w = {.all = expression, .at = expression};
	*out = NULL;
	hec_status status = translate(&w);
	if (status != HEC_OK)
		free(w.to.bytes);
	else
		*out = w.to.bytes;
	return status;
}
