/* process.c — the rules of hec_decode_options in the order in which Transformers applies them.
 *
 * Each rule touches a few ids, never the whole row, but for a forced token: −inf everywhere else. */
#include "decode/process.h"

#include <math.h>
#include <string.h>

static void ban(float *x, int64_t vocab, int32_t id)
{
	if (id < vocab)
		x[id] = -INFINITY;
}

/* An id that appears twice is penalized once: from the value that it had. */
static void penalize_repetition(const plan *p, const prefix *at, float shift, float *x,
                                float *before)
{
	const float penalty = (float)p->o.repetition_penalty;
	for (int64_t i = 0; i < at->length; i++) {
		if (at->ids[i] < p->vocab)
			before[i] = x[at->ids[i]];
	}
	for (int64_t i = 0; i < at->length; i++) {
		if (at->ids[i] >= p->vocab)
			continue;
		float score = before[i] + shift;
		x[at->ids[i]] = (score < 0 ? score * penalty : score / penalty) - shift;
	}
}

/* Where the last n − 1 tokens stood before, what followed them may not follow again. */
static void ban_ngrams(const plan *p, const prefix *at, float *x)
{
	int64_t n = p->o.no_repeat_ngram;
	if (at->length < n)
		return;
	const int32_t *tail = at->ids + at->length + 1 - n;
	for (int64_t i = 0; i + n <= at->length; i++) {
		if (memcmp(at->ids + i, tail, (size_t)(n - 1) * sizeof *tail) == 0)
			ban(x, p->vocab, at->ids[i + n - 1]);
	}
}

int32_t process_forced(const plan *p, const prefix *at)
{
	if (p->o.forced_eos >= 0 && at->length == at->max_length - 1)
		return p->o.forced_eos;
	if (p->o.forced_bos >= 0 && at->length == 1)
		return p->o.forced_bos;
	return -1;
}

void process(const plan *p, const prefix *at, float shift, float *x, float *before)
{
	int32_t forced = process_forced(p, at);
	if (forced >= 0) {
		for (int64_t v = 0; v < p->vocab; v++)
			x[v] = -INFINITY;
		x[forced] = -shift;
	} else {
		if (p->o.repetition_penalty != 1)
			penalize_repetition(p, at, shift, x, before);
		if (p->o.no_repeat_ngram > 0)
			ban_ngrams(p, at, x);
		if (at->length - at->prompt < p->o.min_tokens) {
			for (int64_t i = 0; i < p->end_count; i++)
				ban(x, p->vocab, p->ends[i]);
		}
	}
	for (size_t i = 0; i < p->o.suppressed; i++)
		ban(x, p->vocab, p->o.suppress[i]);
	if (p->o.process)
		p->o.process(p->o.user, at->source, at->ids + at->prompt, at->length - at->prompt,
		             x, p->vocab);
}
