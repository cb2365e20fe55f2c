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

#define MAX_EXPRESSION 65536 /* bytes */

/* ---- compiling ---- */

static hec_status compile_code(const char *expression, const char *ours, uint32_t options,
                               void **out)
{
	int error = 0;
	PCRE2_SIZE at = 0;
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
	/* Not needed, only faster. */
	(void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
	return HEC_OK;
}

static hec_status compile_expression(const char *expression, pattern *p)
{
	size_t n = strlen(expression);
	if (n > MAX_EXPRESSION)
		return fail(HEC_ERR_FORMAT, "an expression of %zu bytes; at most %d are taken", n,
		            MAX_EXPRESSION);
	char *ours;
	bool line_starts;
	HEC_TRY(dialect_translate(expression, &ours, &line_starts));
	hec_status status = compile_code(expression, ours, 0, &p->code);
	/* At the end of a window PCRE2 takes for granted that no line begins there, although more text follows. */
	if (status == HEC_OK && line_starts)
		status = compile_code(expression, ours, PCRE2_ALT_CIRCUMFLEX, &p->open);
	mem_free(ours);
	return status == HEC_OK ? pattern_compile_starts(expression, p) : status;
}

hec_status pattern_compile(const char *expression, bool known, pattern *p)
{
	memset(p, 0, sizeof *p);
	if (known)
		p->rule = word_rule_of(expression);
	hec_status status = p->rule ? HEC_OK : compile_expression(expression, p);
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
static hec_status find_first(const pattern *p, pattern_work **work, const char *text, size_t begin,
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
	                         : text + w->from; /* an empty text is found everywhere */
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
		HEC_TRY(find_first(p, work, text, begin, end, w));
		if (!w->found)
			return HEC_OK;
		/* An empty match directly behind the match before does not count: go on by a character. */
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
