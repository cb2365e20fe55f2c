/* pool.c — vectors of texts: many rows become one, and rows of length 1. Sums are in double: their order is
 * that of the rows, so a text has the same bits in any batch. */
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static real pooled_sum(const pool_args *a, int64_t c)
{
	double sum = 0;
	for (int64_t n = 0; n < a->x->shape[0]; n++) {
		double weight = a->kind == POOL_RISING_SUM ? (double)(n + 1) : 1;
		sum += weight * (double)*at_2d(a->x, n, c);
	}
	return (real)(sum * a->scale);
}

static real pooled_max(const hec_tensor *x, int64_t c)
{
	real max = *at_2d(x, 0, c);
	for (int64_t n = 1; n < x->shape[0]; n++)
		max = fmax(max, *at_2d(x, n, c));
	return max;
}

static void pool_columns(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const pool_args *a = args;
	for (int64_t c = begin; c < end; c++)
		*at_1d(a->y, c) = a->kind == POOL_MAX ? pooled_max(a->x, c) : pooled_sum(a, c);
}

static void normalize_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const normalize_args *a = args;
	for (int64_t n = begin; n < end; n++) {
		double sum = 0;
		for (int64_t c = 0; c < a->x->shape[1]; c++) {
			double value = (double)*at_2d(a->x, n, c);
			sum += value * value;
		}
		const double length = fmax(sqrt(sum), a->least);
		for (int64_t c = 0; c < a->x->shape[1]; c++)
			*at_2d(a->y, n, c) = (real)((double)*at_2d(a->x, n, c) / length);
	}
}

hec_status REF(pool)(hec_ctx *ctx, const pool_args *a)
{
	return rows_run(ctx, a->x->shape[1], a->x->shape[0], 0, pool_columns, a);
}

hec_status REF(normalize)(hec_ctx *ctx, const normalize_args *a)
{
	return rows_run(ctx, a->x->shape[0], 2 * a->x->shape[1], 0, normalize_rows, a);
}
