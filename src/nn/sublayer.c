/* sublayer.c — residual and norm around a part of a layer, forward and backward. */
#include "nn/sublayer.h"

#include <hecate/ops.h>

#include "base/status.h"
#include "nn/feed_forward.h"
#include "nn/multi_head.h"
#include "nn/norm.h"
#include "tensor/check.h"
#include "tensor/view.h"

static hec_status take_like(hec_arena *arena, const hec_tensor *x, hec_tensor *out)
{
	return hec_arena_tensor(arena, x->dtype, x->rank, x->shape, out);
}

static hec_status rows_norm_fwd(hec_ctx *ctx, const sublayer *s, const hec_tensor *x,
                                const hec_tensor *y, hec_norm_kept *kept)
{
	hec_tensor xr, yr;
	HEC_TRY(view_rows("layer: x", x, &xr));
	HEC_TRY(view_rows("layer: y", y, &yr));
	return hec_norm_fwd(ctx, s->norm, &xr, &yr, kept);
}

static hec_status rows_norm_bwd(hec_ctx *ctx, const sublayer *s, const hec_norm_kept *kept,
                                const hec_tensor *dy, const hec_tensor *x, bool add,
                                const hec_tensor *dx, hec_norm *grad)
{
	hec_tensor dyr, xr, dxr;
	HEC_TRY(view_rows("layer: dy", dy, &dyr));
	HEC_TRY(view_rows("layer: x", x, &xr));
	HEC_TRY(view_rows("layer: dx", dx, &dxr));
	return norm_bwd(ctx, s->norm, &dyr, &xr, kept, add, &dxr, grad);
}

/* R(x): x itself, or a linear of it in the arena. */
static hec_status residual_fwd(hec_ctx *ctx, hec_arena *arena, const sublayer *s,
                               const hec_tensor *x, hec_tensor *r)
{
	*r = *x;
	if (!s->residual)
		return HEC_OK;
	hec_tensor xr, rr;
	HEC_TRY(take_like(arena, x, r));
	HEC_TRY(view_rows("layer: x", x, &xr));
	HEC_TRY(view_rows("layer: residual", r, &rr));
	return hec_linear_fwd(ctx, s->residual, HEC_ACT_NONE, &xr, NULL, &rr, NULL);
}

static hec_status residual_bwd(hec_ctx *ctx, const sublayer *s, const hec_tensor *dsum,
                               const hec_tensor *x, hec_tensor *dx, hec_linear *grad)
{
	if (!s->residual)
		return hec_tensor_add(ctx, 1, dx, 1, dsum, dx);
	hec_tensor xr, dr, dxr;
	HEC_TRY(view_rows("layer: x", x, &xr));
	HEC_TRY(view_rows("layer: dsum", dsum, &dr));
	HEC_TRY(view_rows("layer: dx", dx, &dxr));
	return hec_linear_bwd(ctx, s->residual, &dr, &xr, &dxr, grad);
}

/* sum = r + f(in). */
static hec_status part_fwd(hec_ctx *ctx, hec_arena *arena, const sublayer *s, const hec_tensor *in,
                           const hec_tensor *r, const hec_dropout_key *key, hec_tensor *sum,
                           sublayer_kept *kept)
{
	if (s->attention && s->cache)
		return multi_head_step(ctx, arena, s->attention, in, s->cache, r, sum);
	if (s->attention)
		return multi_head_fwd(ctx, arena, s->attention, in, s->memory, s->mask, key, r, sum,
		                      s->weights, kept ? &kept->attention : NULL);
	hec_tensor in_rows, r_rows, sum_rows;
	HEC_TRY(view_rows("layer: x", in, &in_rows));
	HEC_TRY(view_rows("layer: residual", r, &r_rows));
	HEC_TRY(view_rows("layer: y", sum, &sum_rows));
	return hec_feed_forward_fwd(ctx, arena, s->feed_forward, &in_rows, key, &r_rows, &sum_rows,
	                            kept ? &kept->feed_forward : NULL);
}

static hec_status part_bwd(hec_ctx *ctx, hec_arena *arena, const sublayer *s,
                           const hec_tensor *dsum, const hec_dropout_key *key,
                           const sublayer_kept *kept, bool add, hec_tensor *din,
                           const sublayer_grad *g)
{
	if (s->attention)
		return multi_head_bwd(ctx, arena, s->attention, dsum, &kept->in, s->memory, s->mask,
		                      key, kept->attention, add, din, g->dmemory, g->dbias,
		                      g->attention);
	hec_tensor dsum_rows, in_rows, din_rows;
	HEC_TRY(view_rows("layer: dsum", dsum, &dsum_rows));
	HEC_TRY(view_rows("layer: x", &kept->in, &in_rows));
	HEC_TRY(view_rows("layer: dx", din, &din_rows));
	return feed_forward_bwd(ctx, arena, s->feed_forward, &dsum_rows, &in_rows, key,
	                        kept->feed_forward, add, &din_rows, g->feed_forward);
}

static hec_status run_sublayer(hec_ctx *ctx, hec_arena *arena, const sublayer *s,
                               const hec_tensor *x, const hec_dropout_key *key, hec_tensor *y,
                               sublayer_kept *kept)
{
	hec_tensor in = *x, sum = *y, r;
	hec_norm_kept *norm = NULL;
	if (kept) {
		int64_t rows = x->shape[0] * x->shape[1];
		norm = &kept->norm;
		HEC_TRY(hec_arena_tensor(arena, x->dtype, 1, &rows, &norm->mean));
		HEC_TRY(hec_arena_tensor(arena, x->dtype, 1, &rows, &norm->rstd));
	}
	if (s->norm_first) {
		HEC_TRY(take_like(arena, x, &in));
		HEC_TRY(rows_norm_fwd(ctx, s, x, &in, norm));
	} else if (kept) {
		HEC_TRY(take_like(arena, x, &sum)); /* backward needs what the norm was given */
	}
	HEC_TRY(residual_fwd(ctx, arena, s, x, &r));
	HEC_TRY(part_fwd(ctx, arena, s, &in, &r, key, &sum, kept));
	if (!s->norm_first)
		HEC_TRY(rows_norm_fwd(ctx, s, &sum, y, norm));
	if (kept) {
		kept->x = *x;
		kept->in = in;
		kept->sum = sum;
	}
	return HEC_OK;
}

static hec_status run_sublayer_back(hec_ctx *ctx, hec_arena *arena, const sublayer *s,
                                    const hec_tensor *dy, const hec_dropout_key *key,
                                    const sublayer_kept *kept, bool add, hec_tensor *dx,
                                    const sublayer_grad *g)
{
	hec_tensor dsum = *dy, din;
	if (s->norm_first) {
		HEC_TRY(take_like(arena, dy, &din));
		HEC_TRY(part_bwd(ctx, arena, s, &dsum, key, kept, false, &din, g));
		HEC_TRY(rows_norm_bwd(ctx, s, &kept->norm, &din, &kept->x, add, dx, g->norm));
	} else {
		HEC_TRY(take_like(arena, dy, &dsum));
		HEC_TRY(rows_norm_bwd(ctx, s, &kept->norm, dy, &kept->sum, false, &dsum, g->norm));
		HEC_TRY(part_bwd(ctx, arena, s, &dsum, key, kept, add, dx, g));
	}
	return residual_bwd(ctx, s, &dsum, &kept->x, dx, g->residual);
}

hec_status sublayers_check_config(const char *name, const hec_feed_forward_config *feed_forward,
                                  hec_norm_kind norm, double norm_eps, unsigned site,
                                  unsigned sites)
{
	HEC_TRY(feed_forward_check_config(feed_forward));
	if (norm != HEC_NORM_LAYER && norm != HEC_NORM_RMS)
		return fail(HEC_ERR_ARGUMENT, "%s: norm %d is not known", name, (int)norm);
	if (!(norm_eps >= 0))
		return fail(HEC_ERR_ARGUMENT, "%s: norm_eps is %g", name, norm_eps);
	if (site + sites > UINT16_MAX + 1u)
		return fail(HEC_ERR_ARGUMENT, "%s: dropout sites %u … +%u go beyond %u", name, site,
		            sites, (unsigned)UINT16_MAX);
	return HEC_OK;
}

/* All masks and gradients first, so that a wrong one is found before anything is written. */
static hec_status check_all(hec_ctx *ctx, hec_arena *arena, const sublayer *list, int n,
                            const hec_tensor *x, const sublayer_grad *grads)
{
	for (int i = 0; i < n; i++) {
		const sublayer *s = &list[i];
		if (!s->attention || s->cache)
			continue;
		HEC_TRY(multi_head_check(ctx, arena, s->attention, x, s->memory, s->mask,
		                         grads ? grads[i].dbias : NULL));
		if (grads && s->memory)
			HEC_TRY(check_tensor("layer: dmemory", grads[i].dmemory, x->dtype, 3,
			                     s->memory->shape));
	}
	return HEC_OK;
}

hec_status sublayers_fwd(hec_ctx *ctx, hec_arena *arena, const sublayer *list, int n,
                         const hec_tensor *x, const hec_dropout_key *key, hec_tensor *y,
                         sublayer_kept *kept)
{
	HEC_TRY(check_all(ctx, arena, list, n, x, NULL));
	hec_tensor in = *x, between;
	for (int i = 0; i < n; i++) {
		hec_tensor out = *y;
		if (i < n - 1) {
			HEC_TRY(take_like(arena, x, &between));
			out = between;
		}
		HEC_TRY(run_sublayer(ctx, arena, &list[i], &in, key, &out, kept ? &kept[i] : NULL));
		in = out;
	}
	return HEC_OK;
}

hec_status sublayers_bwd(hec_ctx *ctx, hec_arena *arena, const sublayer *list, int n,
                         const hec_tensor *dy, const hec_tensor *x, const hec_dropout_key *key,
                         const sublayer_kept *kept, hec_tensor *dx, const sublayer_grad *grads)
{
	HEC_TRY(check_all(ctx, arena, list, n, x, grads));
	hec_tensor dout = *dy;
	for (int i = n - 1; i >= 0; i--) {
		hec_tensor din = *dx;
		if (i > 0)
			HEC_TRY(take_like(arena, dy, &din));
		sublayer_kept k = kept[i];
		if (i == 0) { /* the caller's x need not lie where it lay */
			k.x = *x;
			k.in = list[i].norm_first ? k.in : *x;
		}
		HEC_TRY(run_sublayer_back(ctx, arena, &list[i], &dout, key, &k, i == 0, &din,
		                          &grads[i]));
		dout = din;
	}
	return HEC_OK;
}
