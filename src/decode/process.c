/* process.c — the rules of hec_decode_options in the order in which Transformers applies them.
 *
 * Each rule touches a few ids, never the whole row, but for a forced token: −inf everywhere else. */
#include "decode/process.h"

#include <math.h>
#include <string.h>

/* A row that is changed: the rules tell how much of its sum they took. */
typedef struct row {
	float *x, shift;
	int64_t vocab;
	bool weigh; /* gone is asked for */
	double gone;
} row;

static void set_score(row *r, int32_t id, float value)
{
	if (id >= r->vocab)
		return;
	if (r->weigh)
		r->gone += exp((double)r->x[id] + r->shift) - exp((double)value + r->shift);
	r->x[id] = value;
}

static void forbid(row *r, int32_t id)
{
	set_score(r, id, -INFINITY);
}

/* An id that appears twice is penalized once: from the value that it had. */
static void penalize_repetition(const plan *p, const prefix *at, row *r, float *before)
{
	const float penalty = (float)p->o.repetition_penalty;
	for (int64_t i = 0; i < at->length; i++) {
		if (at->ids[i] < p->vocab)
			before[i] = r->x[at->ids[i]];
	}
	for (int64_t i = 0; i < at->length; i++) {
		if (at->ids[i] >= p->vocab)
			continue;
		float score = before[i] + r->shift;
		set_score(r, at->ids[i],
		          (score < 0 ? score * penalty : score / penalty) - r->shift);
	}
}

/* Where the last n − 1 tokens stood before, what followed them may not follow again. */
static void ban_ngrams(const plan *p, const prefix *at, row *r)
{
	int64_t n = p->o.no_repeat_ngram;
	if (at->length < n)
		return;
	const int32_t *tail = at->ids + at->length + 1 - n;
	for (int64_t i = 0; i + n <= at->length; i++) {
		if (memcmp(at->ids + i, tail, (size_t)(n - 1) * sizeof *tail) == 0)
			forbid(r, at->ids[i + n - 1]);
	}
}

/* The first that is chosen. */
static bool is_first(const plan *p, const prefix *at)
{
	const int64_t forced = p->o.forced_bos >= 0 && at->prompt == 1;
	return at->length == at->prompt + forced;
}

int32_t process_forced(const plan *p, const prefix *at)
{
	if (p->o.forced_eos >= 0 && at->length == at->max_length - 1)
		return p->o.forced_eos;
	if (p->o.forced_bos >= 0 && at->length == 1)
		return p->o.forced_bos;
	return -1;
}

double process(const plan *p, const prefix *at, float shift, float *x, float *before)
{
	row r = {x, shift, p->vocab, p->o.renormalize && p->o.beams > 1, 0};
	int32_t forced = process_forced(p, at);
	if (forced >= 0) { /* whatever else forbids it */
		for (int64_t v = 0; v < p->vocab; v++)
			x[v] = -INFINITY;
		x[forced] = -shift;
		r.gone = NAN;
	} else {
		if (p->o.repetition_penalty != 1)
			penalize_repetition(p, at, &r, before);
		if (p->o.no_repeat_ngram > 0)
			ban_ngrams(p, at, &r);
		if (at->length - at->prompt < p->o.min_tokens) {
			for (int64_t i = 0; i < p->end_count; i++)
				forbid(&r, p->ends[i]);
		}
		for (size_t i = 0; i < p->o.suppressed; i++)
			forbid(&r, p->o.suppress[i]);
		if (is_first(p, at))
			for (size_t i = 0; i < p->o.begin_suppressed; i++)
				forbid(&r, p->o.begin_suppress[i]);
	}
	if (p->o.process) {
		p->o.process(p->o.user, at->source, at->ids + at->prompt, at->length - at->prompt,
		             x, p->vocab);
		for (int64_t v = 0; v < p->vocab; v++) /* what is no number is no choice */
			x[v] = isnan(x[v]) ? -INFINITY : x[v];
		r.gone = NAN;
	}
	return r.gone;
}
