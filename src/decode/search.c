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
	s->can_improve = true;
	s->done = s->given = false;
	for (int64_t b = 0; b < p->o.beams; b++) {
		memcpy(search_ids(s, b), ids, (size_t)prompt * sizeof *ids);
		/* All rows are the same at first: only one may be continued. */
		s->running[b] = b ? NO_SCORE : 0;
		s->results[b].score = NO_SCORE;
		s->results[b].n = 0;
	}
}

bool search_row(const plan *p, const search *s, int64_t beam, float *x, float lse, const bench *b,
                scored *out)
{
	if (p->o.beams == 1)
		return greedy_row(p, s, x, lse, b, out);
	prefix at = search_prefix(s, beam);
	process(p, &at, -lse, x, b->before);
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
