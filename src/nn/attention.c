/* attention.c — scaled dot-product attention: checks the arguments, completes the mask, and hands
 * both to the backend's fused pass. Forward keeps the logsumexp of each row of scores (and its own
 * output); backward makes the weights again from q, k and that. */
#include "nn/attention.h"

#include <math.h>

#include "backend/backend.h"
#include "base/options.h"
#include "base/status.h"
#include "nn/dropout.h"
#include "tensor/check.h"
#include "tensor/view.h"

typedef struct sizes {
	int64_t B, T, S, H, G, K, D;
} sizes;

static hec_status check_inputs(const hec_tensor *q, const hec_tensor *k, sizes *n)
{
	HEC_TRY(check_real("attention: q", q));
	HEC_TRY(CHECK_4D("attention: q", q, q->dtype, ANY, ANY, ANY, ANY));
	*n = (sizes){.B = q->shape[0], .T = q->shape[1], .H = q->shape[2], .K = q->shape[3]};
	HEC_TRY(CHECK_4D("attention: k", k, q->dtype, n->B, ANY, ANY, n->K));
	n->S = k->shape[1];
	n->G = k->shape[2];
	return HEC_OK;
}

static hec_status check_groups(int64_t H, int64_t G)
{
	if (G < 1 ? H > 0 : H % G != 0)
		return fail(HEC_ERR_SHAPE,
		            "attention: %lld query heads do not divide among %lld key/value heads",
		            (long long)H, (long long)G);
	return HEC_OK;
}

static hec_status check_lengths(const char *name, const int32_t *lengths, int64_t B, int64_t most)
{
	for (int64_t b = 0; lengths && b < B; b++) {
		if (lengths[b] < 0 || lengths[b] > most)
			return fail(HEC_ERR_ARGUMENT,
			            "attention: %s of sequence %lld is %d, not 0 … %lld", name,
			            (long long)b, (int)lengths[b], (long long)most);
	}
	return HEC_OK;
}

/* The mask with its tensors broadcast to [B, H, T, S]. */
static hec_status complete_mask(const hec_mask *mask, hec_dtype dtype, const sizes *n, hec_mask *m)
{
	*m = (hec_mask)HEC_MASK_INIT;
	HEC_TRY(options_take("hec_mask", m, sizeof *m, mask));
	if (m->window < 0)
		return fail(HEC_ERR_ARGUMENT, "attention: a window of %lld keys",
		            (long long)m->window);
	HEC_TRY(check_lengths("query length", m->query_length, n->B, n->T));
	HEC_TRY(check_lengths("key length", m->key_length, n->B, n->S));
	const int64_t full[4] = {n->B, n->H, n->T, n->S};
	if (is_present(&m->visible)) {
		HEC_TRY(check_any("attention: mask", &m->visible));
		HEC_TRY(check_tensor("attention: mask", &m->visible, HEC_I8, m->visible.rank,
		                     m->visible.shape));
		HEC_TRY(view_broadcast("attention: mask", &m->visible, 4, full, &m->visible));
	}
	if (is_present(&m->bias)) {
		HEC_TRY(check_any("attention: bias", &m->bias));
		HEC_TRY(check_tensor("attention: bias", &m->bias, dtype, m->bias.rank,
		                     m->bias.shape));
		HEC_TRY(view_broadcast("attention: bias", &m->bias, 4, full, &m->bias));
	}
	return HEC_OK;
}

/* dbias as the mask's bias is, broadcast to [B, H, T, S]. */
static hec_status complete_dbias(const hec_tensor *dbias, const hec_mask *mask, hec_dtype dtype,
                                 const sizes *n, hec_tensor *view)
{
	hec_mask given =
		HEC_MASK_INIT; /* what lies behind the size of an older struct is not its bias */
	HEC_TRY(options_take("hec_mask", &given, sizeof given, mask));
	if (!is_present(&given.bias))
		return fail(HEC_ERR_ARGUMENT, "attention: dbias is given, the mask has no bias");
	HEC_TRY(check_tensor("attention: dbias", dbias, dtype, given.bias.rank, given.bias.shape));
	return view_broadcast("attention: dbias", dbias, 4, (int64_t[]){n->B, n->H, n->T, n->S},
	                      view);
}

hec_status attention_check_mask(const hec_mask *mask, const hec_tensor *dbias, hec_dtype dtype,
                                int64_t B, int64_t H, int64_t T, int64_t S)
{
	sizes n = {.B = B, .T = T, .S = S, .H = H};
	hec_mask complete;
	hec_tensor view;
	HEC_TRY(complete_mask(mask, dtype, &n, &complete));
	return dbias ? complete_dbias(dbias, mask, dtype, &n, &view) : HEC_OK;
}

bool attention_has_scale(hec_dtype dtype, double scale)
{
	const double held = dtype == HEC_F32 ? (double)(float)scale : scale;
	return isfinite(held) && held != 0;
}

/* Fills in the options and the mask. */
static hec_status complete_args(const hec_attention_desc *desc, const hec_mask *mask,
                                hec_dtype dtype, const sizes *n, attention_args *args)
{
	hec_attention_desc d = HEC_ATTENTION_DESC_INIT;
	HEC_TRY(options_take("hec_attention_desc", &d, sizeof d, desc));
	args->scale = d.scale != 0 ? d.scale : 1 / sqrt((double)(n->K > 0 ? n->K : 1));
	if (!attention_has_scale(dtype, args->scale))
		return fail(HEC_ERR_ARGUMENT, "attention: scale is %g", d.scale);
	const hec_tensor rows = {.rank = 3, .shape = {n->B, n->H, n->T}};
	HEC_TRY(dropout_check("attention", &d.dropout, hec_tensor_count(&rows)));
	args->dropout = d.dropout;
	return complete_mask(mask, dtype, n, &args->mask);
}

/* What forward and backward have in common. */
static hec_status begin_attention(hec_ctx *ctx, const hec_attention_desc *desc, const hec_tensor *q,
                                  const hec_tensor *k, const hec_tensor *v, const hec_mask *mask,
                                  attention_args *args, sizes *n)
{
	HEC_TRY(CHECK_GIVEN("attention", ctx));
	HEC_TRY(check_inputs(q, k, n));
	HEC_TRY(check_groups(n->H, n->G));
	HEC_TRY(CHECK_4D("attention: v", v, q->dtype, n->B, n->S, n->G, ANY));
	n->D = v->shape[3];
	*args = (attention_args){.q = q, .k = k, .v = v};
	return complete_args(desc, mask, q->dtype, n, args);
}

hec_status hec_attention_fwd(hec_ctx *ctx, const hec_attention_desc *desc, const hec_tensor *q,
                             const hec_tensor *k, const hec_tensor *v, const hec_mask *mask,
                             hec_tensor *out, hec_tensor *lse)
{
	attention_args args;
	sizes n;
	HEC_TRY(begin_attention(ctx, desc, q, k, v, mask, &args, &n));
	HEC_TRY(CHECK_4D("attention: out", out, q->dtype, n.B, n.T, n.H, n.D));
	if (lse)
		HEC_TRY(CHECK_3D("attention: lse", lse, q->dtype, n.B, n.H, n.T));
	args.out = out;
	args.lse = lse;
	return BACKEND(ctx, q->dtype, attention_fwd, &args);
}

hec_status hec_attention_bwd(hec_ctx *ctx, const hec_attention_desc *desc, const hec_tensor *q,
                             const hec_tensor *k, const hec_tensor *v, const hec_mask *mask,
                             const hec_tensor *out, const hec_tensor *lse, const hec_tensor *dout,
                             hec_tensor *dq, hec_tensor *dk, hec_tensor *dv, hec_tensor *dbias)
{
	attention_args args;
	sizes n;
	HEC_TRY(begin_attention(ctx, desc, q, k, v, mask, &args, &n));
	HEC_TRY(CHECK_4D("attention: out", out, q->dtype, n.B, n.T, n.H, n.D));
	HEC_TRY(CHECK_3D("attention: lse", lse, q->dtype, n.B, n.H, n.T));
	HEC_TRY(CHECK_4D("attention: dout", dout, q->dtype, n.B, n.T, n.H, n.D));
	HEC_TRY(check_tensor("attention: dq", dq, q->dtype, 4, q->shape));
	HEC_TRY(check_tensor("attention: dk", dk, q->dtype, 4, k->shape));
	HEC_TRY(check_tensor("attention: dv", dv, q->dtype, 4, v->shape));
	hec_tensor dbias_view;
	if (dbias) {
		HEC_TRY(complete_dbias(dbias, mask, q->dtype, &n, &dbias_view));
		args.dbias = &dbias_view;
	}
	args.out = out;
	args.lse = lse;
	args.dout = dout;
	args.dq = dq;
	args.dk = dk;
	args.dv = dv;
	return BACKEND(ctx, q->dtype, attention_bwd, &args);
}

hec_status hec_attention_weights(hec_ctx *ctx, const hec_attention_desc *desc,
                                 const hec_attention_part *part, const hec_tensor *q,
                                 const hec_tensor *k, const hec_mask *mask, const hec_tensor *lse,
                                 hec_tensor *weights)
{
	HEC_TRY(CHECK_GIVEN("attention", ctx));
	sizes n;
	HEC_TRY(check_inputs(q, k, &n));
	attention_args args = {.q = q, .k = k, .lse = lse, .weights = weights};
	args.part = (hec_attention_part){sizeof args.part, 0, n.H, 0, n.T};
	HEC_TRY(options_take("hec_attention_part", &args.part, sizeof args.part, part));
	const hec_attention_part *p = &args.part;
	if (p->first_head < 0 || p->heads < n.H || p->first_head > p->heads - n.H ||
	    p->first_query < 0 || p->queries < n.T || p->first_query > p->queries - n.T ||
	    p->heads > INT32_MAX || p->queries > INT32_MAX)
		return fail(HEC_ERR_SHAPE,
		            "attention: heads %lld … +%lld of %lld, queries %lld … +%lld of %lld",
		            (long long)p->first_head, (long long)n.H, (long long)p->heads,
		            (long long)p->first_query, (long long)n.T, (long long)p->queries);
	HEC_TRY(check_groups(p->heads, n.G));
	HEC_TRY(CHECK_3D("attention: lse", lse, q->dtype, n.B, n.H, n.T));
	HEC_TRY(CHECK_4D("attention: weights", weights, q->dtype, n.B, n.H, n.T, n.S));
	sizes whole = n;
	whole.H = p->heads;
	whole.T = p->queries;
	HEC_TRY(complete_args(desc, mask, q->dtype, &whole, &args));
	return BACKEND(ctx, q->dtype, attention_weights, &args);
}

hec_status hec_attention_unfused(hec_ctx *ctx, const hec_attention_desc *desc, const hec_tensor *q,
                                 const hec_tensor *k, const hec_tensor *v, const hec_mask *mask,
                                 const hec_attention_steps *steps)
{
	attention_args args;
	sizes n;
	HEC_TRY(begin_attention(ctx, desc, q, k, v, mask, &args, &n));
	HEC_TRY(CHECK_GIVEN("attention", steps));
	hec_attention_steps s = HEC_ATTENTION_STEPS_INIT;
	HEC_TRY(options_take("hec_attention_steps", &s, sizeof s, steps));
	const struct {
		const char *name;
		const hec_tensor *t;
	} stored[] = {{"attention: scores", s.scores},
	              {"attention: scaled", s.scaled},
	              {"attention: masked", s.masked},
	              {"attention: weights", s.weights}};
	for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
		if (stored[i].t)
			HEC_TRY(CHECK_4D(stored[i].name, stored[i].t, q->dtype, n.B, n.H, n.T,
			                 n.S));
	}
	if (s.out)
		HEC_TRY(CHECK_4D("attention: out", s.out, q->dtype, n.B, n.T, n.H, n.D));
	args.steps = &s;
	return BACKEND(ctx, q->dtype, attention_unfused, &args);
}
