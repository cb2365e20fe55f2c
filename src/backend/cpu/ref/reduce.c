/* reduce.c — sums: of each column in real, of everything in double, one term after another. */
#include "backend/cpu/rank4.h"
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static void sum_columns(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const reduce_args *a = args;
	for (int64_t c = begin; c < end; c++) {
		real sum = 0;
		for (int64_t n = 0; n < a->x->shape[0]; n++)
			sum += *at_2d(a->x, n, c);
		*at_1d(a->sum, c) += sum;
	}
}

hec_status REF(sum_rows)(hec_ctx *ctx, const reduce_args *a)
{
	return rows_run(ctx, a->x->shape[1], a->x->shape[0], 0, sum_columns, a);
}

static double total_of(const hec_tensor *tensor, bool squares)
{
	hec_tensor x = to_rank4(tensor);
	double sum = 0;
	for (int64_t r = 0; r < rank4_rows(&x); r++) {
		const real *row = (const real *)x.data + rank4_row(&x, r);
		for (int64_t c = 0; c < x.shape[3]; c++) {
			double value = (double)row[c * x.stride[3]];
			sum += squares ? value * value : value;
		}
	}
	return sum;
}

hec_status REF(sum_all)(hec_ctx *ctx, const reduce_args *a)
{
	(void)ctx;
	*(double *)a->sum->data += total_of(a->x, false);
	return HEC_OK;
}

hec_status REF(sum_squares)(hec_ctx *ctx, const reduce_args *a)
{
	(void)ctx;
	*(double *)a->sum->data += total_of(a->x, true);
	return HEC_OK;
}
