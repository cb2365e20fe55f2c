/* random.c — numbers from Philox, the same in any order and, up to rounding, in any dtype.
 *
 * Uniform: element i takes the top 24 bits of word i mod 4 of counter (i / 4, stream).
 * Normal: element i takes the words u = 2·(i mod 2) and u + 1 of counter (i / 2, stream) and turns
 * them by Box and Muller's rule: √(−2 ln r) · cos(2π·angle) with r in (0, 1]. Both are computed in
 * double and rounded once. */
#include "backend/cpu/rank4.h"
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"
#include "base/random.h"

#define TWO_PI 6.28318530717958647692

typedef struct random_call {
	const random_args *a;
	hec_tensor x; /* rank 4 */
} random_call;

static void random_words(const random_args *a, uint64_t block, uint32_t words[4])
{
	const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)a->stream,
	                             (uint32_t)(a->stream >> 32)};
	const uint32_t key[2] = {(uint32_t)a->seed, (uint32_t)(a->seed >> 32)};
	philox(counter, key, words);
}

static real uniform_at(const random_args *a, uint64_t i, const uint32_t words[4])
{
	double u = (words[i % 4] >> 8) * (1.0 / 16777216);
	real x = (real)(a->a + (a->b - a->a) * u);
	/* Rounding to real must not reach the open end. */
	if (a->b > a->a && x >= (real)a->b)
		x = nextafter((real)a->b, (real)a->a);
	return x;
}

static real normal_at(const random_args *a, uint64_t i, const uint32_t words[4])
{
	uint64_t first = 2 * (i % 2);
	double r = ((double)words[first] + 1) * (1.0 / 4294967296.0);
	double angle = words[first + 1] * (1.0 / 4294967296.0);
	return (real)(a->a + a->b * sqrt(-2 * log(r)) * cos(TWO_PI * angle));
}

static void random_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const random_call *call = args;
	const random_args *a = call->a;
	int64_t C = call->x.shape[3];
	const uint64_t per_block = a->normal ? 2 : 4;
	uint32_t words[4];
	for (int64_t r = begin; r < end; r++) {
		real *x = (real *)call->x.data + rank4_row(&call->x, r);
		for (int64_t c = 0; c < C; c++) {
			uint64_t i = (uint64_t)(r * C + c);
			if (c == 0 || i % per_block == 0)
				random_words(a, i / per_block, words);
			x[c * call->x.stride[3]] =
				a->normal ? normal_at(a, i, words) : uniform_at(a, i, words);
		}
	}
}

hec_status REF(random)(hec_ctx *ctx, const random_args *a)
{
	random_call call = {a, to_rank4(a->x)};
	return rows_run(ctx, rank4_rows(&call.x), 32 * call.x.shape[3], 0, random_rows, &call);
}
