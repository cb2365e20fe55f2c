/* multi_head.c — multi-head attention, forward and backward.
 *
 *   q, k, v = dropout(x·W_Q + b_Q), dropout(m·W_K + b_K), dropout(m·W_V + b_V)   m = x, or memory
 *   q, k turned where there are rotary positions
 *   y = dropout(attention(q, k, v) joined · W_O + b_O) + residual
 *
 * The projections write into one buffer of rows (self-attention: q, k and v side by side;
 * cross-attention: q by itself, k and v side by side), and the heads are views of it: nothing is
 * moved or copied between a projection and the attention. Forward keeps the buffer, the joined
 * heads and the logsumexp. */
#include "nn/multi_head.h"

#include "base/status.h"
#include "nn/attention.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/param.h"
#include "tensor/check.h"
#include "tensor/view.h"

enum { SITE_Q, SITE_K, SITE_V, SITE_WEIGHTS, SITE_OUT };

struct hec_multi_head_kept {
	heads in;
	hec_tensor joined; /* [B, T, H, D] */
	hec_tensor lse;    /* [B, H, T] */
};

hec_status hec_multi_head_resolve(hec_multi_head_config *c)
{
	HEC_TRY(CHECK_GIVEN("multi-head", c));
	if (c->size != sizeof *c)
		return fail(HEC_ERR_ARGUMENT, "hec_multi_head_config.size is %zu, expected %zu",
		            c->size, sizeof *c);
	if (c->width < 1 || c->heads < 1)
		return fail(HEC_ERR_ARGUMENT, "multi-head: width %lld, %lld heads",
		            (long long)c->width, (long long)c->heads);
	if (c->kv_heads < 0 || c->d_k < 0 || c->d_v < 0 || c->memory_width < 0 || c->out_width < 0)
		return fail(HEC_ERR_ARGUMENT,
		            "multi-head: %lld key/value heads, d_k %lld, d_v %lld, memory width "
		            "%lld, output width %lld",
		            (long long)c->kv_heads, (long long)c->d_k, (long long)c->d_v,
		            (long long)c->memory_width, (long long)c->out_width);
	if (c->scale != 0 && !attention_has_scale(HEC_F32, c->scale))
		return fail(HEC_ERR_ARGUMENT,
		            "multi-head: scale is %g: a number that single precision has is needed",
		            c->scale);
	HEC_TRY(dropout_check_p("multi-head: dropout of q, k, v", c->dropout_qkv));
	HEC_TRY(dropout_check_p("multi-head: dropout of weights", c->dropout_weights));
	HEC_TRY(dropout_check_p("multi-head: dropout of the output", c->dropout_out));
	if (c->kv_heads == 0)
		c->kv_heads = c->heads;
	if (c->heads % c->kv_heads != 0)
		return fail(HEC_ERR_ARGUMENT,
		            "multi-head: %lld heads do not divide among %lld key/value heads",
		            (long long)c->heads, (long long)c->kv_heads);
	if (c->d_k == 0) {
		if (c->width % c->heads != 0)
			return fail(HEC_ERR_SHAPE,
			            "multi-head: width %lld does not divide by %lld heads: a head "
			            "would have %g numbers; say d_k and d_v to choose them freely",
			            (long long)c->width, (long long)c->heads,
			            (double)c->width / (double)c->heads);
		c->d_k = c->width / c->heads;
	}
	if (c->d_v == 0)
		c->d_v = c->d_k;
	if (c->memory_width == 0)
		c->memory_width = c->width;
	if (c->out_width == 0)
		c->out_width = c->width;
	if (c->fused && c->no_k_bias && !c->no_bias)
		return fail(HEC_ERR_ARGUMENT,
		            "multi-head: one projection has one bias: k cannot go without");
	if (c->fused && c->memory_width != c->width)
		return fail(
			HEC_ERR_ARGUMENT,
			"multi-head: one projection cannot take both width %lld and memory width "
			"%lld",
			(long long)c->width, (long long)c->memory_width);
	const int64_t largest = INT32_MAX;
	if (c->width > largest || c->heads > largest || c->d_k > largest || c->d_v > largest ||
	    c->heads * c->d_k > largest || c->heads * c->d_v > largest ||
	    c->memory_width > largest || c->out_width > largest)
		return fail(HEC_ERR_ARGUMENT,
		            "multi-head: %lld heads of %lld and %lld are too many",
		            (long long)c->heads, (long long)c->d_k, (long long)c->d_v);
	return HEC_OK;
}

static hec_status check_resolved(const hec_multi_head_config *c)
{
	if (c->size != sizeof *c || c->width < 1 || c->heads < 1 || c->kv_heads < 1 || c->d_k < 1 ||
	    c->d_v < 1 || c->memory_width < 1 || c->out_width < 1)
		return fail(HEC_ERR_ARGUMENT, "multi-head: the configuration has not been through "
		                              "hec_multi_head_resolve");
	return HEC_OK;
}

static int64_t q_width(const hec_multi_head_config *c)
{
	return c->heads * c->d_k;
}

static int64_t kv_width(const hec_multi_head_config *c)
{
	return c->kv_heads * (c->d_k + c->d_v);
}

hec_status hec_multi_head_params(hec_multi_head *layer, const char *prefix, hec_param_fn *fn,
                                 void *user)
{
	HEC_TRY(CHECK_GIVEN("multi-head", layer));
	HEC_TRY(CHECK_GIVEN("multi-head", fn));
	const hec_multi_head_config *c = &layer->config;
	HEC_TRY(check_resolved(c));
	const bool bias = !c->no_bias;
	param_walk walk = {prefix, fn, user};
	if (c->fused) {
		int64_t all = q_width(c) + kv_width(c);
		HEC_TRY(walk_linear(&walk, "qkv", &layer->qkv, all, c->width, bias));
	} else {
		int64_t k = c->kv_heads * c->d_k, v = c->kv_heads * c->d_v;
		HEC_TRY(walk_linear(&walk, "q", &layer->q, q_width(c), c->width, bias));
		HEC_TRY(walk_linear(&walk, "k", &layer->k, k, c->memory_width,
		                    bias && !c->no_k_bias));
		HEC_TRY(walk_linear(&walk, "v", &layer->v, v, c->memory_width, bias));
	}
	return walk_linear(&walk, "out", &layer->out, c->out_width, c->heads * c->d_v,
	                   !c->no_out_bias);
}

/* One linear of the three (or fewer) that make q, k and v: its input, and its columns of the rows. */
typedef struct projection {
	hec_linear linear;
	bool from_memory;
	bool to_kv; /* into kv_rows, else into q_rows */
	int64_t column, width;
} projection;

/* Rows begin … begin + n of a linear's outputs, as a linear of its own. The pack is of the whole. */
static hec_status part_of(const hec_linear *whole, int64_t begin, int64_t n, hec_linear *part)
{
	*part = (hec_linear){0};
	if (is_present(&whole->w))
		HEC_TRY(hec_tensor_slice(&whole->w, 0, begin, n, &part->w));
	if (is_present(&whole->b))
		HEC_TRY(hec_tensor_slice(&whole->b, 0, begin, n, &part->b));
	return HEC_OK;
}

/* How many projections there are, and which. Also of the gradients: they have the same form. */
static hec_status list_projections(const hec_multi_head_config *c, const hec_multi_head *layer,
                                   bool cross, projection list[3], int *count)
{
	int64_t q = q_width(c), kv = kv_width(c), k = c->kv_heads * c->d_k;
	if (c->fused && !cross) {
		list[0] = (projection){layer->qkv, false, false, 0, q + kv};
		*count = 1;
	} else if (c->fused) {
		list[0] = (projection){.width = q};
		list[1] = (projection){.from_memory = true, .to_kv = true, .width = kv};
		HEC_TRY(part_of(&layer->qkv, 0, q, &list[0].linear));
		HEC_TRY(part_of(&layer->qkv, q, kv, &list[1].linear));
		*count = 2;
	} else {
		int64_t first = cross ? 0 : q;
		list[0] = (projection){layer->q, false, false, 0, q};
		list[1] = (projection){layer->k, cross, true, first, k};
		list[2] = (projection){layer->v, cross, true, first + k, kv - k};
		*count = 3;
	}
	return HEC_OK;
}

hec_status heads_make(hec_arena *arena, const hec_multi_head_config *c, hec_dtype dtype, int64_t B,
                      int64_t T, int64_t S, bool cross, heads *h)
{
	int64_t q = q_width(c), kv = kv_width(c), k = c->kv_heads * c->d_k, first = cross ? 0 : q;
	HEC_TRY(hec_arena_tensor(arena, dtype, 2, (int64_t[]){B * T, cross ? q : q + kv},
	                         &h->q_rows));
	h->kv_rows = h->q_rows;
	if (cross)
		HEC_TRY(hec_arena_tensor(arena, dtype, 2, (int64_t[]){B * S, kv}, &h->kv_rows));
	HEC_TRY(view_heads(&h->q_rows, 0, q, B, T, c->heads, &h->q));
	HEC_TRY(view_heads(&h->kv_rows, first, k, B, S, c->kv_heads, &h->k));
	return view_heads(&h->kv_rows, first + k, kv - k, B, S, c->kv_heads, &h->v);
}

/* Dropout of the projections, in place: of values forward, of gradients backward. */
static hec_status dropout_heads(hec_ctx *ctx, const hec_multi_head_config *c,
                                const hec_dropout_key *key, heads *h)
{
	if (!key || c->dropout_qkv <= 0)
		return HEC_OK;
	int64_t q = q_width(c), k = c->kv_heads * c->d_k, v = c->kv_heads * c->d_v;
	int64_t first = h->kv_rows.shape[1] - k - v;
	hec_tensor part;
	hec_dropout at = dropout_at(c->dropout_qkv, c->site + SITE_Q, key);
	HEC_TRY(hec_tensor_slice(&h->q_rows, 1, 0, q, &part));
	HEC_TRY(dropout_residual(ctx, &at, &part, NULL, &part));
	at = dropout_at(c->dropout_qkv, c->site + SITE_K, key);
	HEC_TRY(hec_tensor_slice(&h->kv_rows, 1, first, k, &part));
	HEC_TRY(dropout_residual(ctx, &at, &part, NULL, &part));
	at = dropout_at(c->dropout_qkv, c->site + SITE_V, key);
	HEC_TRY(hec_tensor_slice(&h->kv_rows, 1, first + k, v, &part));
	return dropout_residual(ctx, &at, &part, NULL, &part);
}

static hec_status turn_heads(hec_ctx *ctx, const hec_rotary *rotary, bool inverse, heads *h)
{
	if (!rotary)
		return HEC_OK;
	HEC_TRY(hec_rotary_apply(ctx, rotary, inverse, &h->q, NULL, &h->q));
	return hec_rotary_apply(ctx, rotary, inverse, &h->k, NULL, &h->k);
}

hec_attention_desc multi_head_desc(const hec_multi_head_config *c, const hec_dropout_key *key)
{
	return (hec_attention_desc){
		.size = sizeof(hec_attention_desc),
		.scale = c->scale,
		.dropout = dropout_at(c->dropout_weights, c->site + SITE_WEIGHTS, key),
	};
}

hec_status multi_head_check(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                            const hec_tensor *x, const hec_tensor *memory, const hec_mask *mask,
                            const hec_tensor *dbias)
{
	HEC_TRY(CHECK_GIVEN("multi-head", ctx));
	HEC_TRY(CHECK_GIVEN("multi-head", arena));
	HEC_TRY(CHECK_GIVEN("multi-head", layer));
	const hec_multi_head_config *c = &layer->config;
	HEC_TRY(check_resolved(c));
	HEC_TRY(check_real("multi-head: x", x));
	HEC_TRY(CHECK_3D("multi-head: x", x, x->dtype, ANY, ANY, c->width));
	if (memory)
		HEC_TRY(CHECK_3D("multi-head: memory", memory, x->dtype, x->shape[0], ANY,
		                 c->memory_width));
	else if (c->memory_width != c->width)
		return fail(HEC_ERR_ARGUMENT,
		            "multi-head: self-attention on width %lld with a memory width of %lld",
		            (long long)c->width, (long long)c->memory_width);
	return attention_check_mask(mask, dbias, x->dtype, x->shape[0], c->heads, x->shape[1],
	                            memory ? memory->shape[1] : x->shape[1]);
}

hec_status multi_head_project(hec_ctx *ctx, const hec_multi_head *layer, const hec_tensor *x,
                              const hec_tensor *memory, bool cross, heads *h)
{
	projection list[3];
	int count;
	HEC_TRY(list_projections(&layer->config, layer, cross, list, &count));
	for (int i = 0; i < count; i++) {
		const hec_tensor *from = list[i].from_memory ? memory : x;
		hec_tensor in, out;
		if (!from)
			continue;
		HEC_TRY(view_rows("multi-head: input", from, &in));
		HEC_TRY(hec_tensor_slice(list[i].to_kv ? &h->kv_rows : &h->q_rows, 1,
		                         list[i].column, list[i].width, &out));
		HEC_TRY(hec_linear_fwd(ctx, &list[i].linear, HEC_ACT_NONE, &in, NULL, &out, NULL));
	}
	return HEC_OK;
}

hec_status multi_head_join(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                           const hec_dropout_key *key, const hec_tensor *joined,
                           const hec_tensor *residual, hec_tensor *y)
{
	const hec_multi_head_config *c = &layer->config;
	hec_tensor in, out, added;
	HEC_TRY(hec_tensor_reshape(
		joined, 2, (int64_t[]){joined->shape[0] * joined->shape[1], c->heads * c->d_v},
		&in));
	HEC_TRY(view_rows("multi-head: y", y, &out));
	if (residual)
		HEC_TRY(view_rows("multi-head: residual", residual, &added));
	hec_dropout outer = dropout_at(c->dropout_out, c->site + SITE_OUT, key);
	if (outer.p <= 0)
		return hec_linear_fwd(ctx, &layer->out, HEC_ACT_NONE, &in, residual ? &added : NULL,
		                      &out, NULL);
	/* y may be the residual, so the product waits in a tensor of its own. */
	size_t mark = hec_arena_used(arena);
	hec_tensor product;
	HEC_TRY(hec_arena_tensor(arena, y->dtype, 2, out.shape, &product));
	HEC_TRY(hec_linear_fwd(ctx, &layer->out, HEC_ACT_NONE, &in, NULL, &product, NULL));
	HEC_TRY(dropout_residual(ctx, &outer, &product, residual ? &added : NULL, &out));
	hec_arena_rewind(arena, mark);
	return HEC_OK;
}

static hec_status run_multi_head(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                                 const hec_tensor *x, const hec_tensor *memory,
                                 const hec_mask *mask, const hec_dropout_key *key,
                                 const hec_tensor *residual, hec_tensor *y, hec_tensor *weights,
                                 hec_multi_head_kept **kept)
{
	const hec_multi_head_config *c = &layer->config;
	int64_t B = x->shape[0], T = x->shape[1], S = memory ? memory->shape[1] : T;
	HEC_TRY(CHECK_3D("multi-head: y", y, x->dtype, B, T, c->out_width));
	if (residual)
		HEC_TRY(CHECK_3D("multi-head: residual", residual, x->dtype, B, T, c->out_width));
	hec_multi_head_kept local, *k = &local;
	if (kept)
		HEC_TRY(hec_arena_alloc(arena, sizeof *k, (void **)&k));
	HEC_TRY(heads_make(arena, c, x->dtype, B, T, S, memory != NULL, &k->in));
	HEC_TRY(hec_arena_tensor(arena, x->dtype, 4, (int64_t[]){B, T, c->heads, c->d_v},
	                         &k->joined));
	HEC_TRY(hec_arena_tensor(arena, x->dtype, 3, (int64_t[]){B, c->heads, T}, &k->lse));

	HEC_TRY(multi_head_project(ctx, layer, x, memory, memory != NULL, &k->in));
	HEC_TRY(dropout_heads(ctx, c, key, &k->in));
	HEC_TRY(turn_heads(ctx, layer->rotary, false, &k->in));
	hec_attention_desc desc = multi_head_desc(c, key);
	HEC_TRY(hec_attention_fwd(ctx, &desc, &k->in.q, &k->in.k, &k->in.v, mask, &k->joined,
	                          kept || weights ? &k->lse : NULL));
	if (weights)
		HEC_TRY(hec_attention_weights(ctx, &desc, NULL, &k->in.q, &k->in.k, mask, &k->lse,
		                              weights));
	HEC_TRY(multi_head_join(ctx, arena, layer, key, &k->joined, residual, y));
	if (kept)
		*kept = k;
	return HEC_OK;
}

hec_status hec_multi_head_fwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                              const hec_tensor *x, const hec_tensor *memory, const hec_mask *mask,
                              const hec_dropout_key *key, const hec_tensor *residual, hec_tensor *y,
                              hec_tensor *weights, hec_multi_head_kept **kept)
{
	HEC_TRY(multi_head_check(ctx, arena, layer, x, memory, mask, NULL));
	return multi_head_fwd(ctx, arena, layer, x, memory, mask, key, residual, y, weights, kept);
}

hec_status multi_head_fwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                          const hec_tensor *x, const hec_tensor *memory, const hec_mask *mask,
                          const hec_dropout_key *key, const hec_tensor *residual, hec_tensor *y,
                          hec_tensor *weights, hec_multi_head_kept **kept)
{
	size_t mark = hec_arena_used(arena);
	hec_status status =
		run_multi_head(ctx, arena, layer, x, memory, mask, key, residual, y, weights, kept);
	if (status != HEC_OK || !kept)
		hec_arena_rewind(arena, mark);
	return status;
}

/* dx (+)= and dmemory += what comes back through the projections; their gradients += . The first
 * projection is always one of x. */
static hec_status project_bwd(hec_ctx *ctx, const hec_multi_head *layer, const hec_tensor *x,
                              const hec_tensor *memory, const heads *d, bool add, hec_tensor *dx,
                              hec_tensor *dmemory, hec_multi_head *grad)
{
	projection list[3], grads[3];
	int count;
	HEC_TRY(list_projections(&layer->config, layer, memory != NULL, list, &count));
	HEC_TRY(list_projections(&layer->config, grad, memory != NULL, grads, &count));
	for (int i = 0; i < count; i++) {
		hec_tensor in, din, dout;
		bool from_memory = list[i].from_memory;
		HEC_TRY(view_rows("multi-head: input", from_memory ? memory : x, &in));
		HEC_TRY(view_rows("multi-head: gradient of the input", from_memory ? dmemory : dx,
		                  &din));
		HEC_TRY(hec_tensor_slice(list[i].to_kv ? &d->kv_rows : &d->q_rows, 1,
		                         list[i].column, list[i].width, &dout));
		HEC_TRY(linear_bwd(ctx, &list[i].linear, &dout, &in, add || i > 0, &din,
		                   &grads[i].linear));
	}
	return HEC_OK;
}

static hec_status project_out_bwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                                  const hec_dropout_key *key, const hec_tensor *dy,
                                  const hec_tensor *joined, hec_tensor *djoined,
                                  hec_multi_head *grad)
{
	const hec_multi_head_config *c = &layer->config;
	const int64_t shape[2] = {joined->shape[0] * joined->shape[1], c->heads * c->d_v};
	hec_tensor in, din, dout, dropped;
	HEC_TRY(hec_tensor_reshape(joined, 2, shape, &in));
	HEC_TRY(hec_tensor_reshape(djoined, 2, shape, &din));
	HEC_TRY(view_rows("multi-head: dy", dy, &dout));
	size_t mark = hec_arena_used(arena);
	hec_dropout outer = dropout_at(c->dropout_out, c->site + SITE_OUT, key);
	if (outer.p > 0) {
		HEC_TRY(hec_arena_tensor(arena, dy->dtype, 2, dout.shape, &dropped));
		HEC_TRY(dropout_residual(ctx, &outer, &dout, NULL, &dropped));
		dout = dropped;
	}
	HEC_TRY(linear_bwd(ctx, &layer->out, &dout, &in, false, &din, &grad->out));
	hec_arena_rewind(arena, mark);
	return HEC_OK;
}

static hec_status run_multi_head_back(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                                      const hec_tensor *dy, const hec_tensor *x,
                                      const hec_tensor *memory, const hec_mask *mask,
                                      const hec_dropout_key *key, const hec_multi_head_kept *kept,
                                      bool add, hec_tensor *dx, hec_tensor *dmemory,
                                      hec_tensor *dbias, hec_multi_head *grad)
{
	const hec_multi_head_config *c = &layer->config;
	int64_t B = x->shape[0], T = x->shape[1], S = memory ? memory->shape[1] : T;
	HEC_TRY(CHECK_3D("multi-head: dy", dy, x->dtype, B, T, c->out_width));
	HEC_TRY(check_tensor("multi-head: dx", dx, x->dtype, 3, x->shape));
	if (memory)
		HEC_TRY(check_tensor("multi-head: dmemory", dmemory, x->dtype, 3, memory->shape));
	hec_tensor djoined;
	heads d;
	HEC_TRY(hec_arena_tensor(arena, x->dtype, 4, kept->joined.shape, &djoined));
	HEC_TRY(heads_make(arena, c, x->dtype, B, T, S, memory != NULL, &d));
	HEC_TRY(project_out_bwd(ctx, arena, layer, key, dy, &kept->joined, &djoined, grad));
	hec_attention_desc desc = multi_head_desc(c, key);
	HEC_TRY(hec_attention_bwd(ctx, &desc, &kept->in.q, &kept->in.k, &kept->in.v, mask,
	                          &kept->joined, &kept->lse, &djoined, &d.q, &d.k, &d.v, dbias));
	HEC_TRY(turn_heads(ctx, layer->rotary, true, &d));
	HEC_TRY(dropout_heads(ctx, c, key, &d));
	return project_bwd(ctx, layer, x, memory, &d, add, dx, dmemory, grad);
}

hec_status hec_multi_head_bwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                              const hec_tensor *dy, const hec_tensor *x, const hec_tensor *memory,
                              const hec_mask *mask, const hec_dropout_key *key,
                              const hec_multi_head_kept *kept, hec_tensor *dx, hec_tensor *dmemory,
                              hec_tensor *dbias, hec_multi_head *grad)
{
	HEC_TRY(multi_head_check(ctx, arena, layer, x, memory, mask, dbias));
	return multi_head_bwd(ctx, arena, layer, dy, x, memory, mask, key, kept, true, dx, dmemory,
	                      dbias, grad);
}

hec_status multi_head_bwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                          const hec_tensor *dy, const hec_tensor *x, const hec_tensor *memory,
                          const hec_mask *mask, const hec_dropout_key *key,
                          const hec_multi_head_kept *kept, bool add, hec_tensor *dx,
                          hec_tensor *dmemory, hec_tensor *dbias, hec_multi_head *grad)
{
	HEC_TRY(CHECK_GIVEN("multi-head", kept));
	HEC_TRY(CHECK_GIVEN("multi-head", grad));
	size_t mark = hec_arena_used(arena);
	hec_status status = run_multi_head_back(ctx, arena, layer, dy, x, memory, mask, key, kept,
	                                        add, dx, dmemory, dbias, grad);
	hec_arena_rewind(arena, mark);
	return status;
}
