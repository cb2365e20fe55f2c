/* match.c — see match.h.
 *
 * PCRE2 does not say how much it looks at: a*b goes over a long run of a in one step, and a search that
 * finds nothing does so from every start. So a match is sought in a small window of the text; where
 * none begins in it, in the next one. A start from which the window's end is reached is tried alone in
 * larger windows, each with steps to match. What is looked at, a step being a byte, beyond the first window is a debt, paid off
 * by going on in the text; a pattern that looks at much and goes on by little, as a*b|a and a(?=.*b) do
 * in a run of a, ends at its limit and not after quadratic time. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern/match.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/pattern/dialect.h"
#include "text/unicode/utf8.h"

#define MATCH_LIMIT 10000000       /* steps of one match */
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

struct pattern_work {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack; /* NULL: there is no compiler for this machine */
	uint32_t steps;         /* what the context has as its limits: */
	size_t last_start;      /* they are mostly the same */
	size_t debt;
};

void pattern_work_free(pattern_work *w)
{
	if (!w)
		return;
	pcre2_match_data_free(w->data);
	pcre2_match_context_free(w->context);
	pcre2_jit_stack_free(w->stack);
	mem_free(w);
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
	pattern_work *w = mem_zeros(1, sizeof *w);
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
	w->last_start = PCRE2_UNSET;
	pcre2_set_depth_limit(w->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(w->context, HEAP_LIMIT);
	pcre2_jit_stack_assign(w->context, NULL, w->stack);
	*out = w;
	return HEC_OK;
}

/* ---- where a search need not begin ---- */

/* The bytes of one character or set that stands at the beginning; 0: something else does. */
static size_t atom_bytes(const char *s)
{
	if (s[0] == '\\') {
		size_t name = s[1] && strchr("pP", s[1]) && s[2] == '{' ? strcspn(s, "}") : 0;
		return name ? name + (s[name] == '}') : s[1] && strchr("wWdDsS", s[1]) ? 2 : 0;
	}
	if (s[0] == '[') {
		size_t n = 1;
		int deep = 1;
		for (; s[n] && deep > 0; n++) {
			if (s[n] == '\\' && s[n + 1])
				n++;
			else
				deep += (s[n] == '[') - (s[n] == ']');
		}
		return deep == 0 && n > 2 && s[1] != ']' && strncmp(s, "[^]", 3) != 0 ? n : 0;
	}
	return s[0] && !strchr("()|^$*+?{}]", s[0]) ? utf8_length(s[0]) : 0;
}

/* Whether one of several may match, or a part is the same text as another: then nothing is known. */
static bool is_several(const char *s)
{
	for (; *s; s++)
		if (*s == '|' ||
		    (*s == '\\' && s[1] && (strchr("kg", s[1]) || (s[1] > '0' && s[1] <= '9'))))
			return true;
		else if (*s == '\\' && s[1])
			s++;
	return false;
}

/* Another quantifier behind the x+ could make nothing of it: {0}. */
static bool may_be_left_out(const char *behind)
{
	behind += *behind && strchr("?+", *behind);
	return *behind == '{' || strncmp(behind, "(?#", 3) == 0;
}

/* An expression of x+ or x* and more: where there is no match from the first of a run of x, there is none
 * from the others, since what follows would begin at the same places. */
static hec_status compile_lead(const char *expression, pattern *p)
{
	size_t n = atom_bytes(expression);
	if (!n || !strchr("+*", expression[n]) || !expression[n] || is_several(expression) ||
	    may_be_left_out(expression + n + 1))
		return HEC_OK;
	char *run = mem_alloc(n + 3), *ours = NULL;
	dialect_facts facts;
	if (!run)
		return fail(HEC_ERR_MEMORY, "no memory for a pattern");
	memcpy(run, expression, n);
	memcpy(run + n, "*+", 3);
	hec_status status = dialect_translate(run, &ours, &facts);
	mem_free(run);
	HEC_TRY(status);
	int error;
	PCRE2_SIZE at;
	p->lead = pcre2_compile((PCRE2_SPTR)ours, PCRE2_ZERO_TERMINATED,
	                        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_ANCHORED |
	                                PCRE2_USE_OFFSET_LIMIT,
	                        &error, &at, NULL);
	mem_free(ours);
	if (p->lead) /* without it there is only more to pay for */
		(void)pcre2_jit_compile(p->lead, PCRE2_JIT_COMPLETE);
	return HEC_OK;
}

hec_status pattern_starts(const char *expression, pattern *p)
{
	uint32_t options = 0, first = 0, line_end = 0;
	(void)pcre2_pattern_info(p->code, PCRE2_INFO_ALLOPTIONS, &options);
	(void)pcre2_pattern_info(p->code, PCRE2_INFO_FIRSTCODETYPE, &first);
	(void)pcre2_pattern_info(p->code, PCRE2_INFO_NEWLINE, &line_end);
	p->once = (options & PCRE2_ANCHORED) != 0;
	p->lines = first == 2 && line_end == PCRE2_NEWLINE_LF;
	return compile_lead(expression, p);
}

/* ---- searching ---- */

typedef struct search {
	const pattern *p;
	pattern_work *work;
	const char *text;
	size_t begin, end;
	size_t at;     /* no match begins before */
	size_t window; /* bytes */
	size_t looked; /* bytes, since it was paid for */
	size_t paid;   /* up to there */
	size_t slow;   /* up to there starts are tried one by one: many steps are needed */
	bool one;      /* only at is tried */
} search;

static size_t window_end(const search *s)
{
	size_t stop = s->end - s->at > s->window ? s->at + s->window : s->end;
	while (stop < s->end && utf8_continues(s->text[stop]))
		stop++;
	return stop;
}

/* For what was looked at, having gone on to a place. */
static hec_status pay(search *s, size_t to)
{
	size_t from = s->paid, looked = s->looked, gone = DEBT_TIMES * (to - from);
	s->paid = to;
	s->looked = 0;
	if (looked <= 2 * WINDOW_FIRST && from >= s->slow)
		return HEC_OK;
	s->work->debt += looked;
	s->work->debt = s->work->debt > gone ? s->work->debt - gone : 0;
	if (s->work->debt <= DEBT_MOST)
		return HEC_OK;
	return fail(HEC_ERR_FORMAT,
	            "a pattern of tokenizer.json at byte %zu of a text: %zu bytes were looked at "
	            "beyond %d for each byte gone on; it would take quadratic time",
	            from, s->work->debt, DEBT_TIMES);
}

/* Behind the run of what the expression begins with, of which no start matches. */
static size_t behind_run(const search *s, size_t stop)
{
	int n = pcre2_match(s->p->lead, (PCRE2_SPTR)(s->text + s->begin), stop - s->begin,
	                    s->at - s->begin, PCRE2_NO_UTF_CHECK, s->work->data, s->work->context);
	return n < 0 ? s->at : s->begin + pcre2_get_ovector_pointer(s->work->data)[1];
}

/* On to the next start after a window, or a start, without a match; false: there is none. */
static hec_status go_on(search *s, size_t stop, bool *more)
{
	size_t from = s->at, next = stop;
	*more = !s->p->once && (s->one ? from < s->end : stop < s->end);
	if (*more && s->one) {
		next = s->p->lead && s->window > WINDOW_FIRST ? behind_run(s, stop) : from;
		next = next > from ? next : from + utf8_length(s->text[from]);
	}
	if (*more && s->p->lines && s->text[next - 1] != '\n') {
		const char *line = memchr(s->text + next, '\n', s->end - next);
		next = line ? (size_t)(line + 1 - s->text) : s->end;
	}
	s->at = next;
	s->one = next < s->slow;
	s->window = WINDOW_FIRST;
	return pay(s, *more ? next : s->end);
}

static void set_limits(pattern_work *work, uint32_t steps, size_t last_start)
{
	if (work->steps != steps)
		pcre2_set_match_limit(work->context, steps);
	if (work->last_start != last_start)
		pcre2_set_offset_limit(work->context, last_start);
	work->steps = steps;
	work->last_start = last_start;
}

/* One try; whether another one has to follow. */
static hec_status try(search *s, int *answer, bool *again)
{
	pattern_work *work = s->work;
	size_t stop = window_end(s);
	bool all = s->window > MATCH_LIMIT / WINDOW_STEPS;
	set_limits(work, all ? MATCH_LIMIT : (uint32_t)(WINDOW_STEPS * s->window),
	           s->one ? s->at - s->begin : PCRE2_UNSET);
	/* Partial: the window's end was reached before it was decided. */
	const bool open = stop < s->end;
	const uint32_t options = PCRE2_NO_UTF_CHECK | (open ? PCRE2_PARTIAL_HARD : 0);
	const void *code = open && s->p->open ? s->p->open : s->p->code;
	int n = pcre2_match(code, (PCRE2_SPTR)(s->text + s->begin), stop - s->begin,
	                    s->at - s->begin, options, work->data, work->context);
	bool steps = n == PCRE2_ERROR_MATCHLIMIT;
	*answer = n;
	*again = true;
	s->looked += steps ? WINDOW_STEPS * s->window : stop - s->at;
	if (n == PCRE2_ERROR_NOMATCH)
		return go_on(s, stop, again);
	*again = n == PCRE2_ERROR_PARTIAL || (steps && !(s->one && all));
	if (!*again)
		return HEC_OK;
	if (steps && !s->one) {
		s->slow = stop;
	} else {
		if (!steps)
			s->at = s->begin + pcre2_get_ovector_pointer(work->data)[0];
		s->window *= WINDOW_TIMES;
	}
	s->one = true;
	return HEC_OK;
}

hec_status pattern_match(const pattern *p, pattern_work **work, const char *text, size_t begin,
                         size_t end, pattern_walk *w)
{
	HEC_TRY(work_make(work));
	search s = {.p = p,
	            .work = *work,
	            .text = text,
	            .begin = begin,
	            .end = end,
	            .at = w->from,
	            .window = WINDOW_FIRST,
	            .paid = w->from};
	int n = 0;
	for (bool again = true; again;)
		HEC_TRY(try(&s, &n, &again));
	if (n == PCRE2_ERROR_NOMATCH)
		return HEC_OK;
	if (n < 0) {
		PCRE2_UCHAR why[128] = "";
		pcre2_get_error_message(n, why, sizeof why);
		return fail(n == PCRE2_ERROR_NOMEMORY ? HEC_ERR_MEMORY : HEC_ERR_FORMAT,
		            "a pattern of tokenizer.json at byte %zu of a text: %s", s.at,
		            (const char *)why);
	}
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer((*work)->data);
	/* \K could move the start behind the end. */
	if (at[0] <= at[1] && at[0] + begin >= w->from) {
		w->found = true;
		w->start = begin + at[0];
		w->stop = begin + at[1];
	}
	return pay(&s, w->found && w->stop > s.paid ? w->stop : s.paid);
}
