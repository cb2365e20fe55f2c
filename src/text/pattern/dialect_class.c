/* dialect_class.c — classes, also in classes. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "text/pattern/dialect_parts.h"
#include "text/unicode/utf8.h"

#define DEPTH_MOST 64 /* classes in classes */

static void forget(dialect_set *s)
{
	mem_free(s->in.bytes);
	mem_free(s->beside.bytes);
	*s = (dialect_set){0};
}

/* One character of the set. */
static hec_status add_set(dialect_text *t, const dialect_set *s)
{
	const char *in = s->in.n ? s->in.bytes : NULL;
	if (!s->beside.n)
		return in ? dialect_add_all(t, "[", in, "]", "") : dialect_add(t, "(?!)");
	HEC_TRY(in ? dialect_add_all(t, "(?:[", in, "]", "") : dialect_add(t, "(?:"));
	return dialect_add_all(t, s->beside.bytes + !in, ")", "", "");
}

/* The set s, of which the sets before must have the character too; or all others. */
static hec_status end_class(dialect_text *t, const dialect_set *s, const dialect_text *before,
                            bool others)
{
	if (!before->n && !s->beside.n && s->in.n)
		return dialect_add_all(t, others ? "[^" : "[", s->in.bytes, "]", "");
	HEC_TRY(dialect_add_all(t, "(?:", others ? "(?!" : "", before->n ? before->bytes : "", ""));
	HEC_TRY(add_set(t, s));
	return dialect_add(t, others ? ")\\p{Any})" : ")");
}

/* Of && what is before it. */
static hec_status put_and(dialect_writing *w, dialect_text *before)
{
	if (w->options.caseless) /* Oniguruma does it with what is written, and ignores case then */
		return dialect_refuse(w, "&& where case is ignored");
	HEC_TRY(dialect_add(before, "(?="));
	HEC_TRY(add_set(before, w->set));
	HEC_TRY(dialect_add(before, ")"));
	forget(w->set);
	w->at += 2;
	return HEC_OK;
}

/* Behind the :] of a [:…:], which has letters only; NULL: this is a class. To PCRE2 [[:<:]] is a border. */
static const char *end_of_brackets(const char *p)
{
	if (p[1] != ':')
		return NULL;
	const char *name = p + 2 + (p[2] == '^'), *end = name;
	while ((*end >= 'a' && *end <= 'z') || (*end >= 'A' && *end <= 'Z'))
		end++;
	return end > name && end[0] == ':' && end[1] == ']' ? end + 2 : NULL;
}

typedef enum range { NO, BEGUN, OPEN } range; /* of a-b: behind the a, behind the - */

static hec_status put_inner(dialect_writing *w, range range)
{
	const char *end = end_of_brackets(w->at);
	if (end)
		return dialect_brackets(w, end);
	if (range == OPEN) /* Oniguruma then forgets the a */
		return dialect_refuse(w, "a range up to a class");
	if (w->options.caseless && w->at[1] == '^')
		return dialect_refuse(w, "[^ in a class where case is ignored");
	return dialect_class(w);
}

/* Reads up to the ] of a class. */
static hec_status read_class(dialect_writing *w, dialect_text *before)
{
	const char *first = w->at;
	bool after_set = false; /* where a - means itself */
	range range = NO;
	while (*w->at && (*w->at != ']' || w->at == first)) {
		const char *p = w->at;
		bool is_set = false, is_and = p[0] == '&' && p[1] == '&';
		if (p[0] == '\\' && p[1]) {
			is_set = strchr("wWdDsShH", p[1]) || (strchr("pP", p[1]) && p[2] == '{');
			HEC_TRY(dialect_escape(w));
		} else if (is_and) {
			HEC_TRY(put_and(w, before));
		} else if (p[0] == '[') {
			is_set = true;
			HEC_TRY(put_inner(w, range));
		} else {
			if (strchr("^]:.=", *p) || (*p == '-' && after_set))
				HEC_TRY(dialect_put(w, "\\"));
			HEC_TRY(dialect_keep(w, utf8_length(*p)));
		}
		after_set = is_set;
		range = is_set || range == OPEN || is_and ? NO
		        : *p == '-' && range == BEGUN     ? OPEN
		                                          : BEGUN;
	}
	return HEC_OK;
}

/* What was read goes where the class stands: out of classes, or into the one around it. */
static hec_status write_class(dialect_writing *w, const dialect_set *s, const dialect_text *before,
                              bool others)
{
	if (!w->set)
		return end_class(&w->to, s, before, others);
	if (!before->n && !others) {
		HEC_TRY(dialect_add(&w->set->in, s->in.n ? s->in.bytes : ""));
		return dialect_add(&w->set->beside, s->beside.n ? s->beside.bytes : "");
	}
	HEC_TRY(dialect_add(&w->set->beside, "|"));
	return end_class(&w->set->beside, s, before, others);
}

hec_status dialect_class(dialect_writing *w)
{
	char name[QUOTE_TEXT];
	dialect_set mine = {0}, *around = w->set;
	dialect_text before = {0};
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
	mem_free(before.bytes);
	return status;
}
