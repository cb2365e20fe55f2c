/* whisper_align.c — where heads looked, and the way of most looking through it. */
#include <math.h>

#include "task/whisper_words.h"

#define WIDTH 7 /* of the median */
#define HALF (WIDTH / 2)

/* Each row sums up to 1 over the frames that count. */
static void normalise_rows(float *x, int64_t T, int64_t S, int64_t frames)
{
	for (int64_t t = 0; t < T; t++) {
		float *row = x + t * S;
		double sum = 0;
		for (int64_t f = 0; f < frames; f++)
			sum += (double)row[f];
		for (int64_t f = 0; f < frames; f++)
			row[f] = sum > 0 ? (float)((double)row[f] / sum) : 0;
	}
}

/* Mean and deviation of each frame over the tokens. */
static void measure_columns(const float *x, int64_t T, int64_t S, int64_t frames, float *mean,
                            float *deviation)
{
	for (int64_t f = 0; f < frames; f++) {
		double sum = 0, squares = 0;
		for (int64_t t = 0; t < T; t++)
			sum += (double)x[t * S + f];
		const double middle = sum / (double)T;
		for (int64_t t = 0; t < T; t++)
			squares +=
				((double)x[t * S + f] - middle) * ((double)x[t * S + f] - middle);
		mean[f] = (float)middle;
		deviation[f] = (float)sqrt(squares / (double)T);
	}
}

/* Of the frames around f; at the ends they are mirrored. */
static float median_at(const float *row, int64_t f, int64_t frames)
{
	float sorted[WIDTH];
	for (int64_t k = 0; k < WIDTH; k++) {
		int64_t at = f + k - HALF, i = k;
		at = at < 0 ? -at : at >= frames ? 2 * (frames - 1) - at : at;
		for (; i > 0 && sorted[i - 1] > row[at]; i--)
			sorted[i] = sorted[i - 1];
		sorted[i] = row[at];
	}
	return sorted[HALF];
}

void whisper_align_add(float *weights, int64_t T, int64_t S, int64_t frames, float *matrix,
                       float *work)
{
	float *mean = work, *deviation = work + frames;
	normalise_rows(weights, T, S, frames);
	measure_columns(weights, T, S, frames, mean, deviation);
	for (int64_t t = 0; t < T; t++) {
		float *row = weights + t * S;
		/* Where all tokens look alike, none begins. */
		for (int64_t f = 0; f < frames; f++)
			row[f] = deviation[f] > 0 ? (row[f] - mean[f]) / deviation[f] : 0;
		for (int64_t f = 0; f < frames; f++)
			matrix[t * frames + f] +=
				frames > HALF ? median_at(row, f, frames) : row[f];
	}
}

enum { BOTH = 0, NEXT_ROW, NEXT_FRAME }; /* how the way came to a place */

/* Costs of the way to each place, a column of them for each frame. */
static void fill_trace(const float *matrix, int64_t rows, int64_t frames, int8_t *trace,
                       float *cost)
{
	const int64_t pitch = frames + 1;
	float *before = cost, *now = cost + rows + 1;
	for (int64_t r = 0; r <= rows; r++)
		before[r] = r ? INFINITY : 0;
	for (int64_t f = 1; f <= frames; f++) {
		now[0] = INFINITY;
		for (int64_t r = 1; r <= rows; r++) {
			const float both = before[r - 1], row = now[r - 1], frame = before[r];
			const int8_t way = both < row && both < frame  ? BOTH
			                   : row < both && row < frame ? NEXT_ROW
			                                               : NEXT_FRAME;
			const float least = way == BOTH ? both : way == NEXT_ROW ? row : frame;
			trace[r * pitch + f] = way;
			now[r] = (float)((double)least - (double)matrix[(r - 1) * frames + f - 1]);
		}
		float *swap = before;
		before = now;
		now = swap;
	}
}

void whisper_align_path(const float *matrix, int64_t rows, int64_t frames, int8_t *trace,
                        float *cost, int32_t *begins)
{
	fill_trace(matrix, rows, frames, trace, cost);
	for (int64_t r = rows, f = frames; r > 0;) {
		begins[r - 1] = (int32_t)(f > 0 ? f - 1 : 0);
		const int8_t way = f > 1 ? trace[r * (frames + 1) + f] : NEXT_ROW;
		r -= way != NEXT_FRAME;
		f -= way != NEXT_ROW && f > 1;
	}
}
