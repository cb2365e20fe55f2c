/* whisper_segments.c — two times side by side end a segment and begin the next.
 *
 * What stands behind the last such pair was cut off by the window's end: it is left out, and the next
 * window begins there. But where the last token is a single time, nothing is spoken behind it. */
#include <stdbool.h>

#include "task/whisper.h"

typedef struct cutter {
	const int32_t *tokens;
	int64_t n;
	int64_t first; /* id of the first time */
	bool plain;
	double offset;      /* seconds before the window */
	double frame, step; /* seconds of a frame, and from one time to the next */
	whisper_segment *out;
	int64_t count;
} cutter;

static bool is_time(const cutter *c, int64_t i)
{
	return c->tokens[i] >= c->first;
}

static double time_at(const cutter *c, int64_t i)
{
	return c->offset + (double)(c->tokens[i] - c->first) * c->step;
}

/* Tokens from … to, with its last time at `last`. */
static void put(cutter *c, int64_t from, int64_t to, int64_t last)
{
	c->out[c->count++] = (whisper_segment){
		.begin = time_at(c, from), .end = time_at(c, last), .from = from, .to = to};
}

/* At the pairs; the place behind the last one, 0 where there is none. Transformers keeps both times of the last
 * one, to show that it ended with a pair. */
static int64_t cut_at_pairs(cutter *c, bool single_end)
{
	int64_t from = 0, behind = 0;
	for (int64_t i = 0; i + 1 < c->n; i++)
		if (is_time(c, i) && is_time(c, i + 1))
			behind = i + 1;
	for (int64_t i = 0; i + 1 < c->n; i++)
		if (is_time(c, i) && is_time(c, i + 1)) {
			bool last = c->plain && i + 1 == behind && !single_end;
			put(c, from, i + 1 + last, i);
			from = i + 1;
		}
	if (behind > 0 && single_end)
		put(c, from, c->n, c->n - 1);
	return behind;
}

/* All of the window, up to its last time where it has one but zero. */
static void put_whole(cutter *c, int64_t frames)
{
	/* Rounded down after these very roundings, in float, as Transformers does. */
	float steps = (float)frames * (float)c->frame / (float)c->step;
	double end = c->offset +
	             (c->plain ? (double)(int64_t)steps * c->step : (double)frames * c->frame);
	for (int64_t i = c->n - 1; i >= 0; i--)
		if (is_time(c, i)) {
			if (c->tokens[i] != c->first)
				end = time_at(c, i);
			break;
		}
	c->out[c->count++] = (whisper_segment){.begin = c->offset, .end = end, .to = c->n};
}

whisper_cut whisper_segments(const whisper_config *config, bool plain, const int32_t *tokens,
                             int64_t n, int64_t before, int64_t frames, whisper_segment *out)
{
	double frame = (double)config->mel.hop / (double)config->mel.rate;
	cutter c = {.tokens = tokens,
	            .n = n,
	            .first = (int64_t)config->no_timestamps + 1,
	            .plain = plain,
	            .offset = (double)before * frame,
	            .frame = frame,
	            .step = 2 * frame,
	            .out = out};
	bool single_end = n >= 2 && is_time(&c, n - 1) && !is_time(&c, n - 2);
	int64_t behind = cut_at_pairs(&c, single_end), move = frames;
	if (behind == 0)
		put_whole(&c, frames);
	else if (!single_end)
		move = 2 * (tokens[behind - 1] - c.first);
	/* A file's tokens may say anything: time goes on all the same. */
	move = move > 0 && move < frames ? move : frames;
	return (whisper_cut){c.count, move, single_end};
}
