/* feed_forward.c — the position-wise network, forward and backward.
 *   plain: h = dropout(act(up(x)));              y = dropout(down(h)) + residual
 *   gated: h = dropout(act(gate(x)) · up(x));    y = dropout(down(h)) + residual
 * Forward keeps what stood before the activation, and h. */
#include "nn/feed_forward.h"

#include "base/status.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/param.h"
#include "tensor/check.h"

enum { SITE_HIDDEN, SITE_OUT };

struct hec_feed_forward_kept {
	hec_tensor gate; /* [N, F] before the activation; where gated */
	hec_tensor up;   /* [N, F] before the activation, or what the gate multiplies */
	hec_tensor h;    /* [N, F] what goes down */
};

hec_status feed_forward_check_config(const hec_feed_forward_config *c)
{
	if (c->size != sizeof *c)
		return fail(HEC_ERR_ARGUMENT, "hec_feed_forward_config.size is %zu, expected %zu",
		            c->size, sizeof *c);
	if (c->width < 1 || c->hidden < 1)
		return fail(HEC_ERR_ARGUMENT, "feed-forward: width %lld, hidden %lld",
		            (long long)c->width, (long long)c->hidden);
	if ((unsigned)c->act >= HEC_ACTIVATIONS)
		return fail(HEC_ERR_ARGUMENT, "feed-forward: activation %d is not known",
		            (int)c->act);
	HEC_TRY(dropout_check_p("feed-forward: dropout of the hidden", c->dropout_hidden));
	return dropout_check_p("feed-forward: dropout of the output", c->dropout_out);
}

static hec_status check_feed_forward(hec_ctx *ctx, hec_arena *arena, const hec_feed_forward *layer)
{
	HEC_TRY(CHECK_GIVEN("feed-forward", ctx));
	HEC_TRY(CHECK_GIVEN("feed-forward", arena));
	HEC_TRY(CHECK_GIVEN("feed-forward", layer));
	return feed_forward_check_config(&layer->config);
}

hec_status hec_feed_forward_params(hec_feed_forward *layer, const char *prefix, hec_param_fn *fn,
                                   void *user)
{
	HEC_TRY(CHECK_GIVEN("feed-forward", layer));
	HEC_TRY(CHECK_GIVEN("feed-forward", fn));
	const hec_feed_forward_config *c = &layer->config;
	HEC_TRY(feed_forward_check_config(c));
	param_walk walk = {prefix, fn, user};
	if (c->gated)
		HEC_TRY(walk_linear(&walk, "gate", &layer->gate, c->hidden, c->width, !c->no_bias));
	HEC_TRY(walk_linear(&walk, "up", &layer->up, c->hidden, c->width, !c->no_bias));
	return walk_linear(&walk, "down", &layer->down, c->width, c->hidden, !c->no_bias);
}

/* h, and where keeping, what stood before the activation. */
static hec_status hidden_fwd(hec_ctx *ctx, hec_arena *arena, const hec_feed_forward *layer,
                             const hec_tensor *x, bool keep, hec_feed_forward_kept *k)
{
	const hec_feed_forward_config *c = &layer->config;
	const int64_t shape[2] = {x->shape[0], c->hidden};
	HEC_TRY(hec_arena_tensor(arena, x->dtype, 2, shape, &k->h));
	if (keep || c->gated)
		HEC_TRY(hec_arena_tensor(arena, x->dtype, 2, shape, &k->up));
	if (!c->gated)
		return hec_linear_fwd(ctx, &layer->up, c->act, x, NULL, &k->h,
		                      keep ? &k->up : NULL);
	if (keep)
		HEC_TRY(hec_arena_tensor(arena, x->dtype, 2, shape, &k->gate));
	else
		k->gate = k->h;
	HEC_TRY(hec_linear_fwd(ctx, &layer->gate, HEC_ACT_NONE, x, NULL, &k->gate, NULL));
	HEC_TRY(hec_linear_fwd(ctx, &layer->up, HEC_ACT_NONE, x, NULL, &k->up, NULL));
	return hec_gated_fwd(ctx, c->act, &k->gate, &k->up, &k->h);
}

static hec_status run_feed_forward(hec_ctx *ctx, hec_arena *arena, const hec_feed_forward *layer,
                                   const hec_tensor *x, const hec_dropout_key *key,
                                   const hec_tensor *residual, hec_tensor *y,
                                   hec_feed_forward_kept **kept)
{
	const hec_feed_forward_config *c = &layer->config;
	HEC_TRY(check_real("feed-forward: x", x));
	HEC_TRY(CHECK_2D("feed-forward: x", x, x->dtype, ANY, c->width));
	HEC_TRY(check_tensor("feed-forward: y", y, x->dtype, 2, x->shape));
	if (residual)
		HEC_TRY(check_tensor("feed-forward: residual", residual, x->dtype, 2, x->shape));
	hec_feed_forward_kept local, *k = &local;
	if (kept)
		HEC_TRY(hec_arena_alloc(arena, sizeof *k, (void **)&k));
	*k = (hec_feed_forward_kept){0};
	HEC_TRY(hidden_fwd(ctx, arena, layer, x, kept != NULL, k));
	hec_dropout inner = dropout_at(c->dropout_hidden, c->site + SITE_HIDDEN, key);
	if (inner.p > 0)
		HEC_TRY(dropout_residual(ctx, &inner, &k->h, NULL, &k->h));
	hec_dropout outer = dropout_at(c->dropout_out, c->site + SITE_OUT, key);
	if (outer.p > 0) {
		/* y may be the residual, so what goes down waits in a tensor of its own. */
		size_t mark = hec_arena_used(arena);
		hec_tensor down;
		HEC_TRY(hec_arena_tensor(arena, x->dtype, 2, x->shape, &down));
		HEC_TRY(hec_linear_fwd(ctx, &layer->down, HEC_ACT_NONE, &k->h, NULL, &down, NULL));
		HEC_TRY(dropout_residual(ctx, &outer, &down, residual, y));
		hec_arena_rewind(arena, mark);
	} else {
		HEC_TRY(hec_linear_fwd(ctx, &layer->down, HEC_ACT_NONE, &k->h, residual, y, NULL));
	}
	if (kept)
		*kept = k;
	return HEC_OK;
}

hec_status hec_feed_forward_fwd(hec_ctx *ctx, hec_arena *arena, const hec_feed_forward *layer,
                                const hec_tensor *x, const hec_dropout_key *key,
                                const hec_tensor *residual, hec_tensor *y,
                                hec_feed_forward_kept **kept)
{
	HEC_TRY(check_feed_forward(ctx, arena, layer));
	size_t mark = hec_arena_used(arena);
	hec_status status = run_feed_forward(ctx, arena, layer, x, key, residual, y, kept);
	if (status != HEC_OK || !kept)
		hec_arena_rewind(arena, mark);
	return status;
}

static hec_status run_feed_forward_back(hec_ctx *ctx, hec_arena *arena,
                                        const hec_feed_forward *layer, const hec_tensor *dy,
                                        const hec_tensor *x, const hec_dropout_key *key,
                                        const hec_feed_forward_kept *kept, bool add, hec_tensor *dx,
                                        hec_feed_forward *grad)
{
	const hec_feed_forward_config *c = &layer->config;
	HEC_TRY(check_real("feed-forward: x", x));
	HEC_TRY(CHECK_2D("feed-forward: x", x, x->dtype, ANY, c->width));
	HEC_TRY(check_tensor("feed-forward: dy", dy, x->dtype, 2, x->shape));
	HEC_TRY(check_tensor("feed-forward: dx", dx, x->dtype, 2, x->shape));
	hec_tensor dh, ddown;
	hec_dropout outer = dropout_at(c->dropout_out, c->site + SITE_OUT, key);
	if (outer.p > 0) {
		HEC_TRY(hec_arena_tensor(arena, x->dtype, 2, x->shape, &ddown));
		HEC_TRY(dropout_residual(ctx, &outer, dy, NULL, &ddown));
		dy = &ddown;
	}
	HEC_TRY(hec_arena_tensor(arena, x->dtype, 2, kept->h.shape, &dh));
	HEC_TRY(linear_bwd(ctx, &layer->down, dy, &kept->h, false, &dh, &grad->down));
	hec_dropout inner = dropout_at(c->dropout_hidden, c->site + SITE_HIDDEN, key);
	if (inner.p > 0)
		HEC_TRY(dropout_residual(ctx, &inner, &dh, NULL, &dh));
	if (!c->gated) {
		HEC_TRY(hec_activation_bwd(ctx, c->act, &dh, &kept->up, &dh));
		return linear_bwd(ctx, &layer->up, &dh, x, add, dx, &grad->up);
	}
	hec_tensor dup;
	HEC_TRY(hec_arena_tensor(arena, x->dtype, 2, kept->h.shape, &dup));
	HEC_TRY(hec_gated_bwd(ctx, c->act, &dh, &kept->gate, &kept->up, &dh, &dup));
	HEC_TRY(linear_bwd(ctx, &layer->gate, &dh, x, add, dx, &grad->gate));
	return hec_linear_bwd(ctx, &layer->up, &dup, x, dx, &grad->up);
}

hec_status hec_feed_forward_bwd(hec_ctx *ctx, hec_arena *arena, const hec_feed_forward *layer,
                                const hec_tensor *dy, const hec_tensor *x,
                                const hec_dropout_key *key, const hec_feed_forward_kept *kept,
                                hec_tensor *dx, hec_feed_forward *grad)
{
	return feed_forward_bwd(ctx, arena, layer, dy, x, key, kept, true, dx, grad);
}

hec_status feed_forward_bwd(hec_ctx *ctx, hec_arena *arena, const hec_feed_forward *layer,
                            const hec_tensor *dy, const hec_tensor *x, const hec_dropout_key *key,
                            const hec_feed_forward_kept *kept, bool add, hec_tensor *dx,
                            hec_feed_forward *grad)
{
	HEC_TRY(check_feed_forward(ctx, arena, layer));
	HEC_TRY(CHECK_GIVEN("feed-forward", kept));
	HEC_TRY(CHECK_GIVEN("feed-forward", grad));
	size_t mark = hec_arena_used(arena);
	hec_status status =
		run_feed_forward_back(ctx, arena, layer, dy, x, key, kept, add, dx, grad);
	hec_arena_rewind(arena, mark);
	return status;
}
