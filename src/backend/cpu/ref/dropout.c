/* dropout.c — y = dropout(x) + residual; the mask is made anew from its counter at every call. */
#include "backend/cpu/dropout_mask.h"
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static void dropout_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const dropout_args *a = args;
	const real scale = (real)dropout_scale(&a->dropout);
	for (int64_t n = begin; n < end; n++) {
		for (int64_t c = 0; c < a->x->shape[1]; c++) {
			real y = 0;
			if (dropout_keeps(&a->dropout, n, c))
				y = *at_2d(a->x, n, c) * scale;
			*at_2d(a->y, n, c) = a->residual ? y + *at_2d(a->residual, n, c) : y;
		}
	}
}

hec_status REF(dropout)(hec_ctx *ctx, const dropout_args *a)
{
	return rows_run(ctx, a->x->shape[0], 16 * a->x->shape[1], 0, dropout_rows, a);
}
