/* cross_entropy.c — softmax cross-entropy with label smoothing, a row at a time, and logsumexp alone.
 *   loss = (1 − ε)·(lse − x_target) + ε/V · Σ_v (lse − x_v),  lse = max + log Σ exp(x_v − max)
 *   dx_v = scale · (exp(x_v − lse) − (1 − ε)·[v = target] − ε/V)
 * The smoothing sum is left out where ε = 0, so that a logit of −inf costs nothing there. */
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static real row_lse(const hec_tensor *x, int64_t n)
{
	real max = -(real)INFINITY, sum = 0;
	for (int64_t v = 0; v < x->shape[1]; v++) {
		if (*at_2d(x, n, v) > max)
			max = *at_2d(x, n, v);
	}
	for (int64_t v = 0; v < x->shape[1]; v++)
		sum += exp(*at_2d(x, n, v) - max);
	return max + log(sum);
}

static void fwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const cross_entropy_args *a = args;
	int64_t V = a->logits->shape[1];
	const real smoothing = (real)a->smoothing;
	for (int64_t n = begin; n < end; n++) {
		real lse = row_lse(a->logits, n), loss = 0;
		int32_t target = id_at(a->targets, n);
		if (target != a->ignore) {
			loss = (1 - smoothing) * (lse - *at_2d(a->logits, n, target));
			real sum = 0;
			for (int64_t v = 0; smoothing > 0 && v < V; v++)
				sum += lse - *at_2d(a->logits, n, v);
			loss += smoothing / (real)V * sum;
		}
		*at_1d(a->losses, n) = loss;
		*at_1d(a->lse, n) = lse;
	}
}

static void bwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const cross_entropy_args *a = args;
	int64_t V = a->logits->shape[1];
	const real smoothing = (real)a->smoothing, scale = (real)a->scale;
	for (int64_t n = begin; n < end; n++) {
		int32_t target = id_at(a->targets, n);
		real lse = *at_1d(a->lse, n);
		for (int64_t v = 0; v < V; v++) {
			real dx = 0;
			if (target != a->ignore) {
				dx = exp(*at_2d(a->logits, n, v) - lse) - smoothing / (real)V;
				if (v == target)
					dx -= 1 - smoothing;
			}
			*at_2d(a->dlogits, n, v) = scale * dx;
		}
	}
}

static void logsumexp_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const logsumexp_args *a = args;
	for (int64_t n = begin; n < end; n++)
		*at_1d(a->lse, n) = row_lse(a->x, n);
}

hec_status REF(logsumexp)(hec_ctx *ctx, const logsumexp_args *a)
{
	return rows_run(ctx, a->x->shape[0], 8 * a->x->shape[1], 0, logsumexp_rows, a);
}

hec_status REF(cross_entropy_fwd)(hec_ctx *ctx, const cross_entropy_args *a)
{
	return rows_run(ctx, a->logits->shape[0], 8 * a->logits->shape[1], 0, fwd_rows, a);
}

hec_status REF(cross_entropy_bwd)(hec_ctx *ctx, const cross_entropy_args *a)
{
	return rows_run(ctx, a->logits->shape[0], 8 * a->logits->shape[1], 0, bwd_rows, a);
}
