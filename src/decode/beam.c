/* beam.c — beam search, as Transformers 5 defines it (generation/utils.py, _beam_search).
 *
 * `beams` rows run side by side. A step takes the best continuations of all rows, more than twice
 * as many as could end: those that end and are among the first `beams` compete for the results by
 * score / length^penalty; the best `beams` of the others run on. The search is over when no row can
 * become a better result than the worst one there is — by the guess that `early` chooses — or when
 * there is no room. Scores are floats, and −1e9 is "no score", as there: equal numbers, equal choice. */
#include <math.h>
#include <string.h>

#include "decode/search.h"

/* Merges the rows' lists, each in order, into the best continuations of all. Of equal scores the
 * lower row comes first. */
static void merge_candidates(const plan *p, search *s, const scored *in)
{
	int64_t beams = p->o.beams, K = p->candidates;
	/* from is free until the choice is made: how much of each row's list is taken. */
	int32_t *taken = s->from;
	memset(taken, 0, (size_t)beams * sizeof *taken);
	for (int64_t k = 0; k < K; k++) {
		int64_t best = -1;
		float best_score = 0;
		for (int64_t b = 0; b < beams; b++) {
			const scored *head = &in[b * K + taken[b]];
			if (taken[b] == K || head->id < 0)
				continue;
			float score = head->score + s->running[b];
			if (best < 0 || score > best_score) {
				best = b;
				best_score = score;
			}
		}
		const scored *c = &in[best * K + taken[best]++];
		s->best[k] =
			(continuation){best_score, c->id, (int32_t)best,
		                       plan_is_end(p, c->id) || s->length + 1 >= s->max_length};
	}
}

static bool is_full(const plan *p, const search *s)
{
	for (int64_t b = 0; b < p->o.beams; b++) {
		if (s->results[b].n == 0)
			return false;
	}
	return true;
}

/* Puts a continuation that ended among the results, where it beats one of them. */
static void keep_result(const plan *p, search *s, const continuation *c)
{
	int64_t beams = p->o.beams, n = s->length + 1 - s->prompt, at = beams;
	float score = search_penalized(p, c->score, n);
	while (at > 0 && score > s->results[at - 1].score)
		at--;
	if (at == beams)
		return;
	result r = s->results[beams - 1]; /* its memory is used again */
	memmove(&s->results[at + 1], &s->results[at],
	        (size_t)(beams - 1 - at) * sizeof *s->results);
	r.score = score;
	r.log_p = c->score;
	r.n = n;
	memcpy(r.ids, search_ids(s, c->beam) + s->prompt, (size_t)(n - 1) * sizeof *r.ids);
	r.ids[n - 1] = c->id;
	s->results[at] = r;
}

static void keep_results(const plan *p, search *s)
{
	if (p->o.early == HEC_EARLY_TRUE && is_full(p, s))
		return;
	for (int64_t k = 0; k < p->o.beams; k++) {
		if (s->best[k].ends)
			keep_result(p, s, &s->best[k]);
	}
}

/* The best that do not end become the rows. best is in order, but one that ends falls behind. */
static void run_on(const plan *p, search *s)
{
	int64_t beams = p->o.beams;
	for (int64_t k = 0; k < p->candidates; k++) {
		if (s->best[k].ends)
			s->best[k].score += NO_SCORE;
	}
	for (int64_t b = 0; b < beams; b++) {
		continuation *best = NULL;
		for (int64_t k = 0; k < p->candidates; k++) {
			continuation *c = &s->best[k];
			if (c->id >= 0 && (!best || c->score > best->score))
				best = c;
		}
		s->running[b] = best->score;
		s->next[b] = best->id;
		s->from[b] = best->beam;
		int32_t *ids = s->moved + b * s->capacity;
		memcpy(ids, search_ids(s, best->beam), (size_t)s->length * sizeof *ids);
		ids[s->length] = best->id;
		best->id = -1; /* taken */
	}
	int32_t *rows = s->rows;
	s->rows = s->moved;
	s->moved = rows;
	s->length++;
}

/* Whether the best row, at the length that is guessed for it, would beat the worst result. */
static bool could_improve(const plan *p, const search *s)
{
	int64_t length = s->length - s->prompt;
	if (p->o.early == HEC_EARLY_NEVER && p->o.length_penalty > 0)
		length = s->max_length - s->prompt;
	float worst = is_full(p, s) ? s->results[p->o.beams - 1].score : NO_SCORE;
	return search_penalized(p, s->running[0], length) > worst;
}

void beam_advance(const plan *p, search *s, const scored *in)
{
	merge_candidates(p, s, in);
	bool all_end = true;
	for (int64_t k = 0; k < p->candidates; k++)
		all_end = all_end && s->best[k].ends;
	keep_results(p, s);
	run_on(p, s);
	s->done =
		!could_improve(p, s) || all_end || (p->o.early == HEC_EARLY_TRUE && is_full(p, s));
}
