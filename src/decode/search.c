/* search.c — what greedy, sampling and beams have in common. */
#include "decode/search.h"

#include <math.h>
#include <string.h>

float search_penalized(const plan *p, float score, int64_t length)
{
	return score / (float)pow((double)length, p->o.length_penalty);
}

void search_begin(const plan *p, search *s, int64_t source, const int32_t *ids, int64_t prompt,
                  int64_t max_length)
{
	s->source = source;
	s->prompt = s->length = prompt;
	s->max_length = max_length;
	s->done = s->delivered = false;
	for (int64_t b = 0; b < p->o.beams; b++) {
		memcpy(search_ids(s, b), ids, (size_t)prompt * sizeof *ids);
		/* All rows are the same at first: only one may be continued. */
		s->running[b] = b ? NO_SCORE : 0;
		s->results[b].score = NO_SCORE;
		s->results[b].n = 0;
	}
}

float search_sum_row(const float *x, int64_t vocab)
{
	float most = -INFINITY;
	for (int64_t v = 0; v < vocab; v++)
		most = x[v] > most ? x[v] : most;
	if (most == -INFINITY)
		return most;
	double sum = 0;
	for (int64_t v = 0; v < vocab; v++)
		sum += exp((double)x[v] - most);
	return most + (float)log(sum);
}

/* What a row sums up to once gone is missing from 1. Little that is left is summed up itself: the difference
 * would have no digits. */
static float renormalized(const plan *p, const float *x, float lse, double gone)
{
	if (gone <= 0.5)
		return lse + (float)log1p(-gone);
	float left = search_sum_row(x, p->vocab);
	return left == -INFINITY ? lse : left;
}

bool search_row(const plan *p, const search *s, int64_t beam, float *x, float lse,
                const row_scratch *b, scored *out)
{
	if (p->o.beams == 1)
		return greedy_row(p, s, x, lse, b, out);
	prefix at = search_prefix(s, beam);
	double gone = process(p, &at, -lse, x, b->before);
	if (p->o.renormalize)
		lse = renormalized(p, x, lse, gone);
	int64_t want = p->candidates < p->vocab ? p->candidates : p->vocab;
	int64_t n = topk(x, p->vocab, want, out);
	for (int64_t i = 0; i < n; i++)
		out[i].score -= lse;
	for (int64_t i = n; i < p->candidates; i++)
		out[i] = (scored){-INFINITY, -1};
	return n > 0;
}

void search_advance(const plan *p, search *s, const scored *in)
{
	if (p->o.beams == 1)
		greedy_advance(p, s, in);
	else
		beam_advance(p, s, in);
}
