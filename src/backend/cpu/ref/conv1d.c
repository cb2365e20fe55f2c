/* conv1d.c — y[b, t, o] = bias[o] + Σ_i Σ_j x[b, t·stride + j − padding, i] · w[o, i, j], zeros
 * beyond the ends of x. Backward goes by what it writes: dx by input rows, dw and dbias by output
 * channels, so that each element is one sum in a fixed order. */
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

/* Σ_i x[b, t, i] · w[o, i, j]; nothing where t lies outside x. */
static real tap(const conv1d_args *a, int64_t b, int64_t t, int64_t o, int64_t j)
{
	if (t < 0 || t >= a->x->shape[1])
		return 0;
	return dot(a->x->shape[2], at_3d(a->x, b, t, 0), a->x->stride[2], at_3d(a->w, o, 0, j),
	           a->w->stride[1]);
}

static void fwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const conv1d_args *a = args;
	int64_t U = a->y->shape[1];
	for (int64_t row = begin; row < end; row++) {
		int64_t b = row / U, u = row % U;
		for (int64_t o = 0; o < a->y->shape[2]; o++) {
			real sum = a->bias ? *at_1d(a->bias, o) : 0;
			for (int64_t j = 0; j < a->w->shape[2]; j++)
				sum += tap(a, b, u * a->stride + j - a->padding, o, j);
			*at_3d(a->y, b, u, o) = sum;
		}
	}
}

/* x[b, t] met w[…, j] in output row (t + padding − j) / stride, where that is whole. */
static void dx_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const conv1d_args *a = args;
	int64_t T = a->x->shape[1], U = a->dy->shape[1];
	for (int64_t row = begin; row < end; row++) {
		int64_t b = row / T, t = row % T;
		for (int64_t i = 0; i < a->x->shape[2]; i++) {
			real sum = 0;
			for (int64_t j = 0; j < a->w->shape[2]; j++) {
				int64_t at = t + a->padding - j, u = at / a->stride;
				if (at < 0 || at % a->stride != 0 || u >= U)
					continue;
				sum += dot(a->w->shape[0], at_3d(a->dy, b, u, 0), a->dy->stride[2],
				           at_3d(a->w, 0, i, j), a->w->stride[0]);
			}
			*at_3d(a->dx, b, t, i) += sum;
		}
	}
}

static real dw_at(const conv1d_args *a, int64_t o, int64_t i, int64_t j)
{
	real sum = 0;
	for (int64_t b = 0; b < a->dy->shape[0]; b++) {
		for (int64_t u = 0; u < a->dy->shape[1]; u++) {
			int64_t t = u * a->stride + j - a->padding;
			if (t >= 0 && t < a->x->shape[1])
				sum += *at_3d(a->dy, b, u, o) * *at_3d(a->x, b, t, i);
		}
	}
	return sum;
}

static void dw_channels(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const conv1d_args *a = args;
	for (int64_t o = begin; o < end; o++) {
		for (int64_t i = 0; a->dw && i < a->x->shape[2]; i++) {
			for (int64_t j = 0; j < a->w->shape[2]; j++)
				*at_3d(a->dw, o, i, j) += dw_at(a, o, i, j);
		}
		real sum = 0;
		for (int64_t b = 0; b < a->dy->shape[0]; b++) {
			for (int64_t u = 0; u < a->dy->shape[1]; u++)
				sum += *at_3d(a->dy, b, u, o);
		}
		if (a->dbias)
			*at_1d(a->dbias, o) += sum;
	}
}

hec_status REF(conv1d_fwd)(hec_ctx *ctx, const conv1d_args *a)
{
	const int64_t *w = a->w->shape;
	return rows_run(ctx, a->y->shape[0] * a->y->shape[1], w[0] * w[1] * w[2], 0, fwd_rows, a);
}

hec_status REF(conv1d_bwd)(hec_ctx *ctx, const conv1d_args *a)
{
	const int64_t *w = a->w->shape;
	int64_t dy_rows = a->dy->shape[0] * a->dy->shape[1];
	if (a->dx)
		HEC_TRY(rows_run(ctx, a->x->shape[0] * a->x->shape[1], w[0] * w[1] * w[2], 0,
		                 dx_rows, a));
	if (!a->dw && !a->dbias)
		return HEC_OK;
	return rows_run(ctx, w[0], dy_rows * w[1] * w[2], 0, dw_channels, a);
}
