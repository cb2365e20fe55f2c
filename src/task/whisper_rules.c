/* whisper_rules.c — which tokens may come next, as Transformers' WhisperTimeStampLogitsProcessor has it. */
#include <math.h>

#include "task/whisper.h"

static void forbid(float *scores, int64_t from, int64_t to)
{
	for (int64_t i = from; i < to; i++)
		scores[i] = -INFINITY;
}

static int64_t within(int64_t id, int64_t vocab)
{
	return id < 0 ? 0 : id < vocab ? id : vocab;
}

/* The least time that may be written: none twice, but to end a segment and begin the next. */
static int64_t least_time(const int32_t *written, int64_t n, int64_t first, bool pair_open)
{
	for (int64_t i = n - 1; i >= 0; i--)
		if (written[i] >= first)
			return (int64_t)written[i] + (pair_open ? 0 : 1);
	return first;
}

/* Whether all times together are likelier than the likeliest word. */
static bool times_win(const float *scores, int64_t first, int64_t vocab)
{
	float word = -INFINITY, time = -INFINITY;
	for (int64_t i = 0; i < first; i++)
		word = fmaxf(word, scores[i]);
	for (int64_t i = first; i < vocab; i++)
		time = fmaxf(time, scores[i]);
	if (time == -INFINITY)
		return false;
	double sum = 0;
	for (int64_t i = first; i < vocab; i++)
		sum += exp((double)scores[i] - (double)time);
	return (double)time + log(sum) > (double)word;
}

static void time_rules(const whisper_config *c, const int32_t *written, int64_t n, float *scores,
                       int64_t vocab)
{
	const int64_t first = within((int64_t)c->no_timestamps + 1, vocab);
	const bool last = n >= 1 && written[n - 1] >= first;
	const bool before_last = n < 2 || written[n - 2] >= first;
	const bool pair_open = last && !before_last;
	scores[c->no_timestamps] = -INFINITY;
	if (last && before_last)
		forbid(scores, first, vocab);
	else if (last)
		forbid(scores, 0, within(c->end, vocab));
	forbid(scores, first, within(least_time(written, n, first, pair_open), vocab));
	if (n == 0) {
		forbid(scores, 0, first);
		if (c->max_initial >= 0)
			forbid(scores, within(first + c->max_initial + 1, vocab), vocab);
	}
	if (times_win(scores, first, vocab))
		forbid(scores, 0, first);
}

void whisper_rules(const whisper_config *c, bool times, const int32_t *written, int64_t n,
                   float *scores, int64_t vocab)
{
	if (n == 0)
		for (size_t i = 0; i < c->begin_suppressed; i++)
			scores[c->begin_suppress[i]] = -INFINITY;
	if (times)
		time_rules(c, written, n, scores, vocab);
}
