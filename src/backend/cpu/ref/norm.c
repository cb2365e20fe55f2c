/* norm.c — layer norm and RMS norm over the last axis.
 *   layer: y = (x − mean) · rstd · gamma + beta,  rstd = 1/√(var + eps)
 *   rms:   the same with mean = 0
 * The variance takes a second pass over the row: the shortcut E[x²] − mean² cancels. Backward, with
 * x̂ = (x − mean)·rstd and g = dy·gamma: dx (+)= rstd · (g − mean(g) − x̂ · mean(g·x̂)); rms has no
 * mean(g). */
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static real row_mean(const hec_tensor *x, int64_t n)
{
	int64_t C = x->shape[1];
	real sum = 0;
	for (int64_t c = 0; c < C; c++)
		sum += *at_2d(x, n, c);
	return sum / (real)C;
}

static real row_variance(const hec_tensor *x, int64_t n, real mean)
{
	int64_t C = x->shape[1];
	real sum = 0;
	for (int64_t c = 0; c < C; c++) {
		real d = *at_2d(x, n, c) - mean;
		sum += d * d;
	}
	return sum / (real)C;
}

static void fwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const norm_args *a = args;
	for (int64_t n = begin; n < end; n++) {
		real mean = a->kind == HEC_NORM_LAYER ? row_mean(a->x, n) : 0;
		real rstd = 1 / sqrt(row_variance(a->x, n, mean) + (real)a->eps);
		rstd = rstd > 0 ? rstd : (real)NAN; /* squares that overflow: 0 would look right */
		for (int64_t c = 0; c < a->x->shape[1]; c++) {
			real y = (*at_2d(a->x, n, c) - mean) * rstd * *at_1d(a->gamma, c);
			*at_2d(a->y, n, c) = a->beta ? y + *at_1d(a->beta, c) : y;
		}
		if (a->mean)
			*at_1d(a->mean, n) = mean;
		if (a->rstd)
			*at_1d(a->rstd, n) = rstd;
	}
}

static real kept_mean(const norm_args *a, int64_t n)
{
	return a->kind == HEC_NORM_LAYER ? *at_1d(a->mean, n) : 0;
}

static void dx_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const norm_args *a = args;
	int64_t C = a->x->shape[1];
	for (int64_t n = begin; n < end; n++) {
		real mean = kept_mean(a, n), rstd = *at_1d(a->rstd, n);
		real sum_g = 0, sum_gx = 0;
		for (int64_t c = 0; c < C; c++) {
			real g = *at_2d(a->dy, n, c) * *at_1d(a->gamma, c);
			sum_g += g;
			sum_gx += g * (*at_2d(a->x, n, c) - mean) * rstd;
		}
		real mean_g = a->kind == HEC_NORM_LAYER ? sum_g / (real)C : 0;
		real mean_gx = sum_gx / (real)C;
		for (int64_t c = 0; c < C; c++) {
			real g = *at_2d(a->dy, n, c) * *at_1d(a->gamma, c);
			real xhat = (*at_2d(a->x, n, c) - mean) * rstd;
			real *dx = at_2d(a->dx, n, c);
			*dx = (a->accumulate ? *dx : 0) + rstd * (g - mean_g - xhat * mean_gx);
		}
	}
}

static void dparam_columns(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const norm_args *a = args;
	for (int64_t c = begin; c < end; c++) {
		real dgamma = 0, dbeta = 0;
		for (int64_t n = 0; n < a->x->shape[0]; n++) {
			real dy = *at_2d(a->dy, n, c);
			real xhat = (*at_2d(a->x, n, c) - kept_mean(a, n)) * *at_1d(a->rstd, n);
			dgamma += dy * xhat;
			dbeta += dy;
		}
		if (a->dgamma)
			*at_1d(a->dgamma, c) += dgamma;
		if (a->dbeta)
			*at_1d(a->dbeta, c) += dbeta;
	}
}

hec_status REF(norm_fwd)(hec_ctx *ctx, const norm_args *a)
{
	return rows_run(ctx, a->x->shape[0], 3 * a->x->shape[1], 0, fwd_rows, a);
}

hec_status REF(norm_bwd)(hec_ctx *ctx, const norm_args *a)
{
	if (a->dx)
		HEC_TRY(rows_run(ctx, a->x->shape[0], 4 * a->x->shape[1], 0, dx_rows, a));
	if (!a->dgamma && !a->dbeta)
		return HEC_OK;
	return rows_run(ctx, a->x->shape[1], 4 * a->x->shape[0], 0, dparam_columns, a);
}
