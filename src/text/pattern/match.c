/* match.c — see match.h.
 *
 * PCRE2 does not say how many bytes it reads: a*b passes a long run of a in one step, and a search without a
 * match does so from every start. So a match is searched for in a small window of the text, and where none
 * begins in it, in the next window. A start from which the end of the window is reached is tried alone, in
 * larger and larger windows; the limit on steps grows with the window. Bytes read beyond the first window (a step counts as
 * a byte) are a debt. Each byte by which the search advances pays off DEBT_TIMES bytes. A pattern that reads
 * much and advances little, such as a*b|a in a run of a, fails at MAX_DEBT instead of taking quadratic time. */
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
#define DEBT_TIMES 64
#define MAX_DEBT ((size_t)64 << 20) /* bytes */
#define DEPTH_LIMIT 100000
#define HEAP_LIMIT (64 * 1024) /* KiB */
/* Bytes of the stack on which compiled code remembers each repetition of a group. PCRE2's own stack of 32 KiB
 * is enough for one or two thousand. */
#define STACK_FIRST ((size_t)32 << 10)
#define MAX_STACK ((size_t)64 << 20)

struct pattern_work {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack; /* NULL: PCRE2 has no compiler for this machine */
	uint32_t steps;         /* the context's limits, to set them only when they change */
	size_t last_start;
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

static hec_status create_work(pattern_work **out)
{
	if (*out)
		return HEC_OK;
	uint32_t compiler = 0;
	pattern_work *w = mem_zeros(1, sizeof *w);
	if (w) {
		w->data = pcre2_match_data_create(1, NULL);
		w->context = pcre2_match_context_create(NULL);
		(void)pcre2_config(PCRE2_CONFIG_JIT, &compiler);
		w->stack = compiler ? pcre2_jit_stack_create(STACK_FIRST, MAX_STACK, NULL) : NULL;
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

/* ---- starts that need not be tried ---- */

/* The bytes of the character or set at the beginning of a pattern; 0: it begins with something else. */
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

/* Whether a pattern may have alternatives. */
static bool has_bar(const char *s)
{
	for (; *s && *s != '|'; s++)
		s += *s == '\\' && s[1];
	return *s;
}

/* For a pattern that begins with x+ or x*: where no match begins at the first of a run of x, none begins at
 * the others, since the rest of the pattern would be tried at the same places. */
static hec_status compile_lead(const char *expression, pattern *p)
{
	size_t n = atom_bytes(expression);
	if (!n || !strchr("+*", expression[n]) || !expression[n] || has_bar(expression))
		return HEC_OK;
	char *run = mem_alloc(n + 3), *ours = NULL;
	bool line_starts;
	if (!run)
		return fail(HEC_ERR_MEMORY, "no memory for a pattern");
	memcpy(run, expression, n);
	memcpy(run + n, "*+", 3);
	hec_status status = dialect_translate(run, &ours, &line_starts);
	mem_free(run);
	HEC_TRY(status);
	int error;
	PCRE2_SIZE at;
	p->lead = pcre2_compile((PCRE2_SPTR)ours, PCRE2_ZERO_TERMINATED,
	                        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_ANCHORED |
	                                PCRE2_USE_OFFSET_LIMIT,
	                        &error, &at, NULL);
	mem_free(ours);
	if (p->lead) /* not needed, only faster */
		(void)pcre2_jit_compile(p->lead, PCRE2_JIT_COMPLETE);
	return HEC_OK;
}

hec_status pattern_compile_starts(const char *expression, pattern *p)
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
	size_t at;         /* the next start; no match begins before it */
	size_t window;     /* bytes */
	size_t bytes_read; /* since pay() was called last */
	size_t paid_up_to;
	size_t slow_up_to; /* starts before it are tried one by one, as they need many steps */
	bool one;          /* `at` is the only start that is tried */
} search;

static size_t window_end(const search *s)
{
	size_t stop = s->end - s->at > s->window ? s->at + s->window : s->end;
	while (stop < s->end && utf8_continues(s->text[stop]))
		stop++;
	return stop;
}

/* Adds the bytes read to the debt, and pays for the advance to a place. */
static hec_status pay_for_advance(search *s, size_t to)
{
	size_t from = s->paid_up_to, bytes = s->bytes_read, paid = DEBT_TIMES * (to - from);
	s->paid_up_to = to;
	s->bytes_read = 0;
	if (bytes <= 2 * WINDOW_FIRST && from >= s->slow_up_to)
		return HEC_OK;
	s->work->debt += bytes;
	s->work->debt = s->work->debt > paid ? s->work->debt - paid : 0;
	if (s->work->debt <= MAX_DEBT)
		return HEC_OK;
	return fail(HEC_ERR_FORMAT,
	            "a pattern of tokenizer.json would take quadratic time: at byte %zu of a text "
	            "it has read %zu bytes more than %d for each byte of progress",
	            from, s->work->debt, DEBT_TIMES);
}

/* The end of the run in which no start can match (compile_lead). */
static size_t end_of_lead(const search *s, size_t stop)
{
	int n = pcre2_match(s->p->lead, (PCRE2_SPTR)(s->text + s->begin), stop - s->begin,
	                    s->at - s->begin, PCRE2_NO_UTF_CHECK, s->work->data, s->work->context);
	return n < 0 ? s->at : s->begin + pcre2_get_ovector_pointer(s->work->data)[1];
}

/* Goes on to the next start after a window, or a single start, without a match; *more false: there is none. */
static hec_status advance_start(search *s, size_t stop, bool *more)
{
	size_t from = s->at, next = stop;
	*more = !s->p->once && (s->one ? from < s->end : stop < s->end);
	if (*more && s->one) {
		next = s->p->lead && s->window > WINDOW_FIRST ? end_of_lead(s, stop) : from;
		next = next > from ? next : from + utf8_length(s->text[from]);
	}
	if (*more && s->p->lines && s->text[next - 1] != '\n') {
		const char *line = memchr(s->text + next, '\n', s->end - next);
		next = line ? (size_t)(line + 1 - s->text) : s->end;
	}
	s->at = next;
	s->one = next < s->slow_up_to;
	s->window = WINDOW_FIRST;
	return pay_for_advance(s, *more ? next : s->end);
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

/* The largest windows get the largest limit on steps. */
static bool has_all_steps(const search *s)
{
	return s->window > MATCH_LIMIT / WINDOW_STEPS;
}

/* Runs PCRE2 on the window that ends at `stop`. PCRE2_ERROR_PARTIAL: the end of the window was reached before
 * the match was decided. */
static int match_window(search *s, size_t stop)
{
	set_limits(s->work, has_all_steps(s) ? MATCH_LIMIT : (uint32_t)(WINDOW_STEPS * s->window),
	           s->one ? s->at - s->begin : PCRE2_UNSET);
	const bool more_text = stop < s->end;
	const uint32_t options = PCRE2_NO_UTF_CHECK | (more_text ? PCRE2_PARTIAL_HARD : 0);
	const void *code = more_text && s->p->open ? s->p->open : s->p->code;
	return pcre2_match(code, (PCRE2_SPTR)(s->text + s->begin), stop - s->begin,
	                   s->at - s->begin, options, s->work->data, s->work->context);
}

/* Prepares the next try where the window was too small, or the steps were too few. */
static void enlarge_window(search *s, size_t stop, bool out_of_steps)
{
	if (out_of_steps && !s->one) { /* first, the same window from this start only */
		s->slow_up_to = stop;
	} else {
		if (!out_of_steps)
			s->at = s->begin + pcre2_get_ovector_pointer(s->work->data)[0];
		s->window *= WINDOW_TIMES;
	}
	s->one = true;
}

/* *result: what PCRE2 says about the next window; *again: it decides nothing yet. */
static hec_status search_window(search *s, int *result, bool *again)
{
	size_t stop = window_end(s);
	*result = match_window(s, stop);
	const bool out_of_steps = *result == PCRE2_ERROR_MATCHLIMIT;
	s->bytes_read += out_of_steps ? WINDOW_STEPS * s->window : stop - s->at;
	if (*result == PCRE2_ERROR_NOMATCH)
		return advance_start(s, stop, again);
	*again = *result == PCRE2_ERROR_PARTIAL || (out_of_steps && !(s->one && has_all_steps(s)));
	if (*again)
		enlarge_window(s, stop, out_of_steps);
	return HEC_OK;
}

hec_status pattern_match(const pattern *p, pattern_work **work, const char *text, size_t begin,
                         size_t end, pattern_walk *w)
{
	HEC_TRY(create_work(work));
	search s = {.p = p,
	            .work = *work,
	            .text = text,
	            .begin = begin,
	            .end = end,
	            .at = w->from,
	            .window = WINDOW_FIRST,
	            .paid_up_to = w->from};
	int n = 0;
	for (bool again = true; again;)
		HEC_TRY(search_window(&s, &n, &again));
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
	w->found = true;
	w->start = begin + at[0];
	w->stop = begin + at[1];
	return pay_for_advance(&s, w->stop > s.paid_up_to ? w->stop : s.paid_up_to);
}
