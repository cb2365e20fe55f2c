/* pattern.c — see pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "text/dialect.h"
#include "text/utf8.h"

#define MATCH_LIMIT 10000000 /* steps of one match */
/* A match is first sought in a small window of the text, then in larger ones, each with steps to match:
 * so it is known about how much was looked at, which PCRE2 does not say (a*b goes over a long run of a
 * in one step). What is looked at beyond the first window is a debt, paid off by going on in the text;
 * a pattern that looks at much and goes on by little, as a*b|a does in a run of a, ends at its limit
 * and not after quadratic time. */
#define WINDOW_FIRST ((size_t)128) /* bytes */
#define WINDOW_TIMES 4
#define WINDOW_STEPS 16 /* for each byte of it */
#define DEBT_TIMES 64   /* bytes looked at for each byte gone on */
#define DEBT_MOST ((size_t)64 << 20)
#define DEPTH_LIMIT 100000
#define HEAP_LIMIT (64 * 1024) /* KiB */
/* Compiled code goes back through a group of a long run on a stack of its own, bytes; PCRE2's own of
 * 32 KiB is enough for a thousand characters or two. */
#define STACK_FIRST ((size_t)32 << 10)
#define STACK_MOST ((size_t)64 << 20)
#define EXPRESSION_MOST 65536 /* bytes */

struct pattern_work {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack; /* NULL: there is no compiler for this machine */
	size_t debt;
};

void pattern_work_free(pattern_work *w)
{
	if (!w)
		return;
	pcre2_match_data_free(w->data);
	pcre2_match_context_free(w->context);
	pcre2_jit_stack_free(w->stack);
	free(w);
}

void pattern_work_reset(pattern_work *w)
{
	if (w)
		w->debt = 0;
}

static hec_status work_make(pattern_work **out)
{
	if (*out)
		return HEC_OK;
	uint32_t compiler = 0;
	pattern_work *w = calloc(1, sizeof *w);
	if (w) {
		w->data = pcre2_match_data_create(1, NULL);
		w->context = pcre2_match_context_create(NULL);
		(void)pcre2_config(PCRE2_CONFIG_JIT, &compiler);
		w->stack = compiler ? pcre2_jit_stack_create(STACK_FIRST, STACK_MOST, NULL) : NULL;
	}
	if (!w || !w->data || !w->context || (compiler && !w->stack)) {
		pattern_work_free(w);
		return fail(HEC_ERR_MEMORY, "no memory to match patterns with");
	}
	pcre2_set_depth_limit(w->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(w->context, HEAP_LIMIT);
	pcre2_jit_stack_assign(w->context, NULL, w->stack);
	*out = w;
	return HEC_OK;
}

/* ---- making ---- */

static hec_status compile(const char *expression, pattern *p)
{
	size_t n = strlen(expression);
	char name[QUOTE_TEXT];
	if (n > EXPRESSION_MOST)
		return fail(HEC_ERR_FORMAT, "an expression of %zu bytes; at most %d are taken", n,
		            EXPRESSION_MOST);
	char *ours;
	int error = 0;
	PCRE2_SIZE at = 0;
	HEC_TRY(dialect_translate(expression, &ours));
	/* Ruby's ^ and $ are those of lines. */
	p->code = pcre2_compile((PCRE2_SPTR)ours, PCRE2_ZERO_TERMINATED,
	                        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
	                        &error, &at, NULL);
	free(ours);
	if (!p->code) {
		PCRE2_UCHAR why[128] = "";
		pcre2_get_error_message(error, why, sizeof why);
		return fail(error == PCRE2_ERROR_HEAP_FAILED ? HEC_ERR_MEMORY : HEC_ERR_FORMAT,
		            "the expression \"%s\": %s", quote(expression, name),
		            (const char *)why);
	}
	/* Without it matching is slower, and as right. */
	(void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
	return HEC_OK;
}

hec_status pattern_compile(const char *expression, bool known, pattern *p)
{
	memset(p, 0, sizeof *p);
	if (known)
		p->rule = word_rule_of(expression);
	return p->rule ? HEC_OK : compile(expression, p);
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
	p->plain = malloc(p->plain_bytes + 1);
	if (!p->plain)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a pattern", s->file);
	memcpy(p->plain, text, p->plain_bytes + 1);
	return HEC_OK;
}

void pattern_free(pattern *p)
{
	free(p->plain);
	if (p->code)
		pcre2_code_free(p->code);
	memset(p, 0, sizeof *p);
}

/* ---- finding ---- */

static const char *find_plain(const char *text, size_t n, const char *what, size_t bytes)
{
	while (n >= bytes) {
		const char *at = memchr(text, what[0], n - bytes + 1);
		if (!at)
			return NULL;
		if (memcmp(at, what, bytes) == 0)
			return at;
		n -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	return NULL;
}

/* PCRE2's answer from windows that grow until the rest of the text makes no difference to it, and what
 * was looked at for it. */
static int match(const pattern *p, pattern_work *work, const char *text, size_t begin, size_t end,
                 size_t from, size_t *looked)
{
	*looked = 0;
	for (size_t window = WINDOW_FIRST;; window *= WINDOW_TIMES) {
		size_t stop = end - from > window ? from + window : end;
		while (stop < end && utf8_continues(text[stop]))
			stop++;
		bool all = window > MATCH_LIMIT / WINDOW_STEPS;
		pcre2_set_match_limit(work->context,
		                      all ? MATCH_LIMIT : (uint32_t)(WINDOW_STEPS * window));
		/* Partial: the window's end was reached before it was decided. */
		uint32_t options = PCRE2_NO_UTF_CHECK | (stop < end ? PCRE2_PARTIAL_HARD : 0);
		int n = pcre2_match(p->code, (PCRE2_SPTR)(text + begin), stop - begin, from - begin,
		                    options, work->data, work->context);
		bool steps = n == PCRE2_ERROR_MATCHLIMIT;
		*looked += steps ? window : stop - from;
		bool undecided =
			stop < end && (n == PCRE2_ERROR_PARTIAL || n == PCRE2_ERROR_NOMATCH);
		if (!undecided && (!steps || all))
			return n;
	}
}

static hec_status pay(pattern_work *work, size_t looked, size_t from, size_t to)
{
	if (looked <= 2 * WINDOW_FIRST)
		return HEC_OK;
	size_t gone = DEBT_TIMES * (to - from);
	work->debt += looked;
	work->debt = work->debt > gone ? work->debt - gone : 0;
	if (work->debt <= DEBT_MOST)
		return HEC_OK;
	return fail(HEC_ERR_FORMAT,
	            "a pattern of tokenizer.json at byte %zu of a text: %zu bytes were looked at "
	            "beyond %d for each byte gone on; it would take quadratic time",
	            from, work->debt, DEBT_TIMES);
}

static hec_status find_code(const pattern *p, pattern_work **work, const char *text, size_t begin,
                            size_t end, pattern_walk *w)
{
	size_t looked;
	HEC_TRY(work_make(work));
	int n = match(p, *work, text, begin, end, w->from, &looked);
	if (n == PCRE2_ERROR_NOMATCH)
		return pay(*work, looked, w->from, end);
	if (n < 0) {
		PCRE2_UCHAR why[128] = "";
		pcre2_get_error_message(n, why, sizeof why);
		return fail(n == PCRE2_ERROR_NOMEMORY ? HEC_ERR_MEMORY : HEC_ERR_FORMAT,
		            "a pattern of tokenizer.json at byte %zu of a text: %s", w->from,
		            (const char *)why);
	}
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer((*work)->data);
	/* \K could move the start behind the end. */
	if (at[0] <= at[1] && at[0] + begin >= w->from) {
		w->found = true;
		w->start = begin + at[0];
		w->stop = begin + at[1];
	}
	return pay(*work, looked, w->from, w->found ? w->stop : w->from);
}

/* The first match at or after w->from. */
static hec_status find(const pattern *p, pattern_work **work, const char *text, size_t begin,
                       size_t end, pattern_walk *w)
{
	w->found = false;
	if (p->code)
		return find_code(p, work, text, begin, end, w);
	if (p->rule) {
		w->found = w->from < end;
		w->start = w->from;
		w->stop = w->found ? word_end(p->rule, text, w->from, end) : end;
		return HEC_OK;
	}
	const char *at =
		p->plain_bytes ? find_plain(text + w->from, end - w->from, p->plain, p->plain_bytes)
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
