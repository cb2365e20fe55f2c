/* pattern.c — see pattern.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem, which is linear */
#endif
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern/pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "text/pattern/dialect.h"
#include "text/pattern/match.h"
#include "text/unicode/utf8.h"

#define EXPRESSION_MOST 65536 /* bytes */

/* ---- making ---- */

static hec_status compile_code(const char *expression, const char *ours, uint32_t options,
                               const dialect_facts *facts, void **out)
{
	int error = 0;
	PCRE2_SIZE at = 0;
	/* PCRE2 10.42 is sometimes wrong about what can stand behind a group that gives nothing back. */
	if (facts->keeps)
		options |= PCRE2_NO_AUTO_POSSESS | PCRE2_NO_START_OPTIMIZE;
	/* Ruby's ^ and $ are those of lines. */
	*out = pcre2_compile((PCRE2_SPTR)ours, PCRE2_ZERO_TERMINATED,
	                     PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
	                             PCRE2_USE_OFFSET_LIMIT | options,
	                     &error, &at, NULL);
	if (!*out) {
		PCRE2_UCHAR why[128] = "";
		char name[QUOTE_TEXT];
		pcre2_get_error_message(error, why, sizeof why);
		return fail(error == PCRE2_ERROR_HEAP_FAILED ? HEC_ERR_MEMORY : HEC_ERR_FORMAT,
		            "the expression \"%s\": %s", quote(expression, name),
		            (const char *)why);
	}
	/* Without it matching is slower, and as right. With it a group that calls itself and goes on by nothing,
	 * (b|\g<1>)x, does so for ever. */
	if (!facts->calls)
		(void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
	return HEC_OK;
}

static hec_status compile(const char *expression, pattern *p)
{
	size_t n = strlen(expression);
	if (n > EXPRESSION_MOST)
		return fail(HEC_ERR_FORMAT, "an expression of %zu bytes; at most %d are taken", n,
		            EXPRESSION_MOST);
	char *ours;
	dialect_facts facts;
	HEC_TRY(dialect_translate(expression, &ours, &facts));
	hec_status status = compile_code(expression, ours, 0, &facts, &p->code);
	/* Of the end of what it sees PCRE2 believes that no line begins there, and does not say that more text
	 * could decide otherwise. */
	if (status == HEC_OK && facts.lines)
		status = compile_code(expression, ours, PCRE2_ALT_CIRCUMFLEX, &facts, &p->open);
	mem_free(ours);
	return status == HEC_OK ? pattern_starts(expression, p) : status;
}

hec_status pattern_compile(const char *expression, bool known, pattern *p)
{
	memset(p, 0, sizeof *p);
	if (known)
		p->rule = word_rule_of(expression);
	hec_status status = p->rule ? HEC_OK : compile(expression, p);
	if (status != HEC_OK)
		pattern_free(p);
	return status;
}

hec_status pattern_load(const json_scope *s, const char *key, pattern *p)
{
	json_scope inner;
	const char *text = NULL;
	memset(p, 0, sizeof *p);
	if (json_is_string(json_object_get(s->object, key))) {
		HEC_TRY(json_need_string(s, key, &text));
	} else {
		HEC_TRY(json_need_object(s, key, &inner));
		HEC_TRY(json_want_string(&inner, "String", &text));
		if (!text) {
			const char *expression;
			HEC_TRY(json_need_string(&inner, "Regex", &expression));
			hec_status status = pattern_compile(expression, true, p);
			return status == HEC_OK
			               ? HEC_OK
			               : fail_in(status, "%s: '%s%s'", s->file, s->path, key);
		}
	}
	p->plain_bytes = strlen(text);
	p->plain = mem_alloc(p->plain_bytes + 1);
	if (!p->plain)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a pattern", s->file);
	memcpy(p->plain, text, p->plain_bytes + 1);
	return HEC_OK;
}

void pattern_free(pattern *p)
{
	mem_free(p->plain);
	if (p->code)
		pcre2_code_free(p->code);
	if (p->open)
		pcre2_code_free(p->open);
	if (p->lead)
		pcre2_code_free(p->lead);
	memset(p, 0, sizeof *p);
}

/* ---- finding ---- */

/* The first match at or after w->from. */
static hec_status find(const pattern *p, pattern_work **work, const char *text, size_t begin,
                       size_t end, pattern_walk *w)
{
	w->found = false;
	if (p->code)
		return pattern_match(p, work, text, begin, end, w);
	if (p->rule) {
		w->found = w->from < end;
		w->start = w->from;
		w->stop = w->found ? word_end(p->rule, text, w->from, end) : end;
		return HEC_OK;
	}
	const char *at = p->plain_bytes
	                         ? memmem(text + w->from, end - w->from, p->plain, p->plain_bytes)
	                         : text + w->from; /* nothing is everywhere */
	if (at) {
		w->found = true;
		w->start = (size_t)(at - text);
		w->stop = w->start + p->plain_bytes;
	}
	return HEC_OK;
}

hec_status pattern_next(const pattern *p, pattern_work **work, const char *text, size_t begin,
                        size_t end, pattern_walk *w)
{
	bool again = w->found;
	size_t last = w->stop;
	for (;;) {
		HEC_TRY(find(p, work, text, begin, end, w));
		if (!w->found)
			return HEC_OK;
		/* An empty match just behind the one before does not count: on by a character. */
		if (w->stop > w->start || !again || w->stop != last) {
			w->from = w->stop;
			return HEC_OK;
		}
		w->found = w->from < end;
		if (!w->found)
			return HEC_OK;
		w->from += utf8_length(text[w->from]);
	}
}
