/* scenarios.c — every public call once, on small tensors: contexts, operations, attention. The layers
 * are in layers.c. */
#include <setjmp.h>
#include <stdarg.h>

#include "world.h"

#include <cmocka.h>

void contexts(world *w)
{
	for (int threads = 1; threads <= 4; threads++) {
		CALL(w, create_ctx(w, threads));
		assert_int_equal(hec_ctx_threads(w->ctx), threads);
		hec_ctx_destroy(w->ctx);
		w->ctx = NULL;
	}
	CALL(w, hec_ctx_create_dry(NULL, &w->ctx));
}

void arenas(world *w)
{
	CALL(w, create_arena(w));
	hec_arena_destroy(w->arena);
	w->arena = NULL;
	CALL(w, hec_arena_create_reserved(4096, &w->arena));
}

void plain_operations(world *w)
{
	BEGIN(w);
	hec_tensor x, y, z;
	MAKE2(w, &x, T, C);
	MAKE2(w, &y, T, C);
	MAKE2(w, &z, T, C);
	CALL(w, hec_tensor_fill(w->ctx, 3, &y));
	CALL(w, hec_tensor_copy(w->ctx, &x, &y));
	CALL(w, hec_tensor_add(w->ctx, 2, &x, -1, &y, &z));
	add_bits(w, &z);
	CALL(w, hec_random_normal(w->ctx, 1, 2, 0, 1, &z));
	add_bits(w, &z);
	hec_dropout dropout = {.p = 0.3, .site = 1};
	CALL(w, hec_dropout_apply(w->ctx, &dropout, &x, &y));
	add_bits(w, &y);
	for (int act = 0; act < HEC_ACTIVATIONS; act++) {
		CALL(w, hec_activation_fwd(w->ctx, (hec_activation)act, &x, &y));
		CALL(w, hec_activation_bwd(w->ctx, (hec_activation)act, &y, &x, &z));
		add_bits(w, &z);
	}
	CALL(w, hec_gated_fwd(w->ctx, HEC_ACT_SILU, &x, &y, &z));
	hec_tensor dgate, dup;
	MAKE2(w, &dgate, T, C);
	MAKE2(w, &dup, T, C);
	CALL(w, hec_gated_bwd(w->ctx, HEC_ACT_SILU, &z, &x, &y, &dgate, &dup));
	add_bits(w, &dgate);
	add_bits(w, &dup);
}

static hec_status norm_backward(world *w, const hec_norm *norm, const hec_tensor *dy,
                                const hec_tensor *x, const hec_norm_kept *kept, hec_tensor *dx,
                                hec_norm *grad)
{
	hec_status status = zero(w, dx);
	if (status == HEC_OK)
		status = zero(w, &grad->gamma);
	if (status == HEC_OK && grad->beta.rank)
		status = zero(w, &grad->beta);
	return status == HEC_OK ? hec_norm_bwd(w->ctx, norm, dy, x, kept, dx, grad) : status;
}

void norms(world *w)
{
	BEGIN(w);
	for (int kind = 0; kind < 2; kind++) {
		hec_norm norm = {.kind = (hec_norm_kind)kind, .eps = 1e-5}, grad = norm;
		hec_norm_kept kept;
		hec_tensor x, y, dx;
		MAKE2(w, &x, B * T, C);
		MAKE2(w, &y, B * T, C);
		MAKE2(w, &dx, B * T, C);
		MAKE1(w, &norm.gamma, C);
		MAKE1(w, &grad.gamma, C);
		if (kind == HEC_NORM_LAYER) {
			MAKE1(w, &norm.beta, C);
			MAKE1(w, &grad.beta, C);
		}
		MAKE1(w, &kept.mean, B * T);
		MAKE1(w, &kept.rstd, B * T);
		CALL(w, hec_norm_fwd(w->ctx, &norm, &x, &y, &kept));
		CALL(w, norm_backward(w, &norm, &y, &x, &kept, &dx, &grad));
		add_bits(w, &dx);
		add_bits(w, &grad.gamma);
	}
}

static hec_status linear_backward(world *w, const hec_linear *l, const hec_tensor *dy,
                                  const hec_tensor *x, hec_tensor *dx, hec_linear *grad)
{
	hec_status status = zero(w, dx);
	if (status == HEC_OK)
		status = zero(w, &grad->w);
	if (status == HEC_OK)
		status = zero(w, &grad->b);
	return status == HEC_OK ? hec_linear_bwd(w->ctx, l, dy, x, dx, grad) : status;
}

void linears(world *w)
{
	BEGIN(w);
	for (int packed = 0; packed < 2; packed++) {
		hec_linear l = {.w = HEC_TENSOR_NONE}, grad = l;
		hec_tensor x, y, pre, dx;
		MAKE2(w, &l.w, F, C);
		MAKE1(w, &l.b, F);
		MAKE2(w, &grad.w, F, C);
		MAKE1(w, &grad.b, F);
		MAKE2(w, &x, B * T, C);
		MAKE2(w, &dx, B * T, C);
		MAKE2(w, &y, B * T, F);
		MAKE2(w, &pre, B * T, F);
		if (packed)
			CALL(w, hec_linear_pack(w->ctx, w->arena, true, &l));
		CALL(w, hec_linear_fwd(w->ctx, &l, HEC_ACT_GELU, &x, NULL, &y, &pre));
		CALL(w, linear_backward(w, &l, &y, &x, &dx, &grad));
		add_bits(w, &y);
		add_bits(w, &dx);
		add_bits(w, &grad.w);
	}
}

static hec_status embedding_backward(world *w, const hec_embedding *e, const hec_tensor *dy,
                                     const hec_tensor *ids, hec_tensor *dtable)
{
	hec_status status = zero(w, dtable);
	return status == HEC_OK ? hec_embedding_bwd(w->ctx, e, dy, ids, dtable) : status;
}

static hec_status adamw_from_start(world *w, const hec_tensor *grad, hec_tensor *m, hec_tensor *v,
                                   hec_tensor *x)
{
	hec_adamw options = HEC_ADAMW_INIT;
	hec_status status = hec_tensor_fill(w->ctx, 0, m);
	if (status == HEC_OK)
		status = hec_tensor_fill(w->ctx, 0, v);
	if (status == HEC_OK)
		status = hec_tensor_fill(w->ctx, 1, x);
	return status == HEC_OK ? hec_adamw_step(w->ctx, &options, 1, grad, m, v, x) : status;
}

static hec_status squares(world *w, const hec_tensor *x, double *sum)
{
	*sum = 0;
	return hec_sum_squares(w->ctx, x, sum);
}

void from_ids_to_a_step(world *w)
{
	BEGIN(w);
	int32_t id[T];
	for (int i = 0; i < T; i++)
		id[i] = i * 7 % V;
	hec_tensor ids = hec_tensor_1d(id, HEC_I32, T), x, dtable, losses, lse, m, v;
	hec_embedding e = {.scale = 8, .padding_id = -1};
	MAKE2(w, &e.table, V, V);
	MAKE2(w, &dtable, V, V);
	MAKE2(w, &m, V, V);
	MAKE2(w, &v, V, V);
	MAKE2(w, &x, T, V);
	MAKE1(w, &losses, T);
	MAKE1(w, &lse, T);
	CALL(w, hec_embedding_fwd(w->ctx, &e, &ids, &x));
	hec_cross_entropy ce = HEC_CROSS_ENTROPY_INIT;
	ce.smoothing = 0.1;
	double sum;
	int64_t count;
	CALL(w, hec_cross_entropy_fwd(w->ctx, &ce, &x, &ids, &losses, &lse));
	CALL(w, hec_cross_entropy_sum(w->ctx, &ce, &losses, &ids, &sum, &count));
	assert_int_equal(count, T);
	hec_tensor dx;
	MAKE2(w, &dx, T, V);
	CALL(w, hec_cross_entropy_bwd(w->ctx, &ce, &x, &ids, &lse, 1.0 / T, &dx));
	CALL(w, embedding_backward(w, &e, &dx, &ids, &dtable));
	CALL(w, squares(w, &dtable, &sum));
	CALL(w, adamw_from_start(w, &dtable, &m, &v, &e.table));
	add_bits(w, &losses);
	add_bits(w, &e.table);
}

static hec_status position_backward(world *w, const hec_tensor *dy, hec_tensor *dtable)
{
	hec_status status = zero(w, dtable);
	return status == HEC_OK ? hec_position_add_bwd(w->ctx, dy, 0, dtable) : status;
}

static hec_status relative_backward(world *w, const hec_relative_bias *bias,
                                    const hec_tensor *dview, hec_tensor *dtable)
{
	hec_status status = zero(w, dtable);
	return status == HEC_OK
	               ? hec_relative_bias_bwd(w->ctx, w->arena, bias, S - T, dview, dtable)
	               : status;
}

void positions(world *w)
{
	BEGIN(w);
	hec_tensor table, x, y, dtable, q;
	MAKE2(w, &table, T, C);
	MAKE2(w, &dtable, T, C);
	MAKE3(w, &x, B, T, C);
	MAKE3(w, &y, B, T, C);
	CALL(w, hec_position_sinusoidal(w->ctx, HEC_SINUSOID_HALVES, 10000, 0, &table));
	CALL(w, hec_position_add_fwd(w->ctx, &table, 0, &x, &y));
	CALL(w, position_backward(w, &y, &dtable));
	add_bits(w, &y);
	add_bits(w, &dtable);
	hec_rotary rotary = {.pairs = HEC_ROTARY_INTERLEAVED};
	MAKE2(w, &rotary.cosine, T, K / 2);
	MAKE2(w, &rotary.sine, T, K / 2);
	MAKE4(w, &q, B, T, H, K);
	CALL(w, hec_rotary_fill(w->ctx, 10000, &rotary));
	CALL(w, hec_rotary_apply(w->ctx, &rotary, false, &q, NULL, &q));
	hec_relative_bias bias = {.bidirectional = true, .max_distance = 128};
	hec_tensor view, dbias;
	MAKE2(w, &bias.table, 32, H);
	MAKE2(w, &dbias, 32, H);
	CALL(w, hec_relative_bias_fwd(w->ctx, w->arena, &bias, T, S, S - T, &view));
	CALL(w, relative_backward(w, &bias, &view, &dbias));
	add_bits(w, &dbias);
}

typedef struct attention_call {
	hec_attention_desc desc;
	hec_mask mask;
	hec_tensor q, k, v, out, lse, dq, dk, dv, dbias;
} attention_call;

static hec_status attention_backward(world *w, attention_call *a)
{
	hec_status status = zero(w, &a->dbias);
	return status == HEC_OK
	               ? hec_attention_bwd(w->ctx, &a->desc, &a->q, &a->k, &a->v, &a->mask, &a->out,
	                                   &a->lse, &a->out, &a->dq, &a->dk, &a->dv, &a->dbias)
	               : status;
}

void attention(world *w)
{
	BEGIN(w);
	attention_call a = {.desc = HEC_ATTENTION_DESC_INIT, .mask = HEC_MASK_INIT};
	a.desc.dropout.p = 0.1;
	a.mask.causal = true;
	MAKE4(w, &a.q, B, T, H, K);
	MAKE4(w, &a.k, B, S, H, K);
	MAKE4(w, &a.v, B, S, H, K);
	MAKE4(w, &a.out, B, T, H, K);
	MAKE3(w, &a.lse, B, H, T);
	MAKE4(w, &a.dq, B, T, H, K);
	MAKE4(w, &a.dk, B, S, H, K);
	MAKE4(w, &a.dv, B, S, H, K);
	MAKE4(w, &a.mask.bias, B, H, T, S);
	MAKE4(w, &a.dbias, B, H, T, S);
	CALL(w, hec_attention_fwd(w->ctx, &a.desc, &a.q, &a.k, &a.v, &a.mask, &a.out, &a.lse));
	CALL(w, attention_backward(w, &a));
	add_bits(w, &a.out);
	add_bits(w, &a.dq);
	add_bits(w, &a.dk);
	add_bits(w, &a.dbias);
	hec_tensor q = a.q; /* its last axis with gaps: it is copied */
	MAKE4(w, &a.q, B, T, H, 2 * K);
	a.q.shape[3] = K;
	a.q.stride[3] = 2;
	CALL(w, attention_backward(w, &a));
	add_bits(w, &a.dq);
	a.q = q;
	hec_tensor weights;
	MAKE4(w, &weights, B, H, T, S);
	CALL(w,
	     hec_attention_weights(w->ctx, &a.desc, NULL, &a.q, &a.k, &a.mask, &a.lse, &weights));
	add_bits(w, &weights);
	hec_attention_steps steps = {.size = sizeof steps, .weights = &weights, .out = &a.out};
	CALL(w, hec_attention_unfused(w->ctx, &a.desc, &a.q, &a.k, &a.v, &a.mask, &steps));
	add_bits(w, &a.out);
}
