/* greedy.c — one row: the likeliest token, or a drawn one, until the end. */
#include <math.h>
#include <string.h>

#include "decode/search.h"

/* log p of id as the model has it, whatever the rules made of it: without score_what_is_left. */
static float log_p(const plan *p, const prefix *at, int32_t id, const float *x, float lse,
                   const float *before)
{
	if (process_forced(p, at) >= 0)
		return 0;
	if (p->o.repetition_penalty != 1) {
		for (int64_t i = 0; i < at->length; i++) {
			if (at->ids[i] == id)
				return before[i] - lse;
		}
	}
	return x[id] - lse;
}

static uint64_t stream_of(const plan *p, int64_t source)
{
	return p->o.streams ? p->o.streams[source] : p->o.first_stream + (uint64_t)source;
}

bool greedy_row(const plan *p, const search *s, float *x, float lse, const row_scratch *b,
                scored *out)
{
	prefix at = search_prefix(s, 0);
	process(p, &at, 0, x, b->before);
	const float left = p->o.score_what_is_left ? search_sum_row(x, p->vocab) : -INFINITY;
	if (p->o.sample) {
		int64_t n = warp(p, x, b->top, b->chances);
		if (n == 0)
			return false;
		out->id = warp_draw(p->o.seed, stream_of(p, s->source),
		                    (uint64_t)(s->length - s->prompt), b->chances, n);
	} else if (topk(x, p->vocab, 1, out) == 0 || out->score == -INFINITY) {
		return false;
	}
	out->score =
		left > -INFINITY ? x[out->id] - left : log_p(p, &at, out->id, x, lse, b->before);
	return true;
}

void greedy_advance(const plan *p, search *s, const scored *in)
{
	search_ids(s, 0)[s->length++] = in->id;
	s->running[0] += in->score;
	s->next[0] = in->id;
	s->from[0] = 0;
	s->done = plan_is_end(p, in->id) || s->length >= s->max_length;
	if (s->done) {
		result *r = s->results;
		r->n = s->length - s->prompt;
		r->log_p = s->running[0];
		r->score = search_penalized(p, s->running[0], r->n);
		memcpy(r->ids, search_ids(s, 0) + s->prompt, (size_t)r->n * sizeof *r->ids);
	}
}
