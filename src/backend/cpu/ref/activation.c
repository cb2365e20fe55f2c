/* activation.c — y = act(x), or y = act(x) · up where gated. Backward reads only forward's input. */
#include "backend/cpu/ref/activation.h"

#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static void fwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const activation_args *a = args;
	for (int64_t n = begin; n < end; n++) {
		for (int64_t c = 0; c < a->x->shape[1]; c++) {
			real y = activation_at(a->act, *at_2d(a->x, n, c));
			*at_2d(a->y, n, c) = a->up ? y * *at_2d(a->up, n, c) : y;
		}
	}
}

static void bwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const activation_args *a = args;
	for (int64_t n = begin; n < end; n++) {
		for (int64_t c = 0; c < a->x->shape[1]; c++) {
			real dy = *at_2d(a->dy, n, c), x = *at_2d(a->x, n, c);
			real slope = activation_slope(a->act, x);
			if (a->up) {
				real up = *at_2d(a->up, n, c);
				*at_2d(a->dup, n, c) = dy * activation_at(a->act, x);
				dy *= up;
			}
			*at_2d(a->dx, n, c) = dy * slope;
		}
	}
}

hec_status REF(activation_fwd)(hec_ctx *ctx, const activation_args *a)
{
	return rows_run(ctx, a->x->shape[0], 8 * a->x->shape[1], 0, fwd_rows, a);
}

hec_status REF(activation_bwd)(hec_ctx *ctx, const activation_args *a)
{
	return rows_run(ctx, a->x->shape[0], 16 * a->x->shape[1], 0, bwd_rows, a);
}
