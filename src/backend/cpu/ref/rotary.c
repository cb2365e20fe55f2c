/* rotary.c — the first R numbers of each head turn in pairs by the angle of their position:
 *   y_i = x_i·cos − x_j·sin,  y_j = x_j·cos + x_i·sin
 * with j = i + R/2, or i and j neighbours where interleaved. The rest of the head is copied. */
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static void turn_head(const rotary_args *a, int64_t b, int64_t t, int64_t h)
{
	int64_t half = a->cosine->shape[1];
	int64_t position = t + (a->first ? a->first[b] : 0);
	for (int64_t p = 0; p < half; p++) {
		int64_t i = a->interleaved ? 2 * p : p;
		int64_t j = a->interleaved ? 2 * p + 1 : p + half;
		real cosine = *at_2d(a->cosine, position, p);
		real sine = *at_2d(a->sine, position, p);
		if (a->inverse)
			sine = -sine;
		real xi = *at_4d(a->x, b, t, h, i), xj = *at_4d(a->x, b, t, h, j);
		*at_4d(a->y, b, t, h, i) = xi * cosine - xj * sine;
		*at_4d(a->y, b, t, h, j) = xj * cosine + xi * sine;
	}
	for (int64_t i = 2 * half; i < a->x->shape[3]; i++)
		*at_4d(a->y, b, t, h, i) = *at_4d(a->x, b, t, h, i);
}

static void turn_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const rotary_args *a = args;
	int64_t T = a->x->shape[1], H = a->x->shape[2];
	for (int64_t row = begin; row < end; row++)
		turn_head(a, row / H / T, row / H % T, row % H);
}

hec_status REF(rotary)(hec_ctx *ctx, const rotary_args *a)
{
	const int64_t *n = a->x->shape;
	return rows_run(ctx, n[0] * n[1] * n[2], 2 * n[3], 0, turn_rows, a);
}
