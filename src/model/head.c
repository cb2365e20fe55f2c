/* head.c — the last step: a linear to words or labels, with what stands before it.
 *
 *   LM        logits = x·Wᵀ + b
 *   MASKED    logits = norm(act(dense(x)))·Wᵀ + b
 *   CLASSIFY  logits = labels(dropout(tanh(dense(x₀))))      x₀: the first position
 *   TOKENS    logits = labels(dropout(x))
 *   ANSWER    logits = labels(x), two of them */
#include "model/head.h"

#include <math.h>

#include <hecate/ops.h>

#include "base/status.h"
#include "model/stack.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "tensor/view.h"

hec_status head_rows(const hec_model *m, const hec_tensor *hidden, hec_tensor *rows)
{
	if (m->config.head != HEC_HEAD_CLASSIFY)
		return view_rows("model: hidden", hidden, rows);
	if (hidden->shape[1] < 1)
		return fail(HEC_ERR_SHAPE, "model: there is no first position to classify by");
	hec_tensor first;
	HEC_TRY(hec_tensor_slice(hidden, 1, 0, 1, &first));
	return hec_tensor_reshape(&first, 2, (int64_t[]){hidden->shape[0], hidden->shape[2]}, rows);
}

int64_t head_width(const hec_model *m)
{
	if (m->config.head == HEC_HEAD_NONE)
		return 0;
	return head_is_vocabulary(m->config.head) ? m->config.vocab : m->config.labels;
}

static const hec_linear *last_linear(const hec_model *m)
{
	return head_is_vocabulary(m->config.head) ? &m->output : &m->labels;
}

/* One row a sequence: too little for a slot of its own. */
static void tanh_rows(const hec_tensor *x)
{
	const int64_t n = hec_tensor_count(x);
	for (int64_t i = 0; i < n; i++) {
		if (x->dtype == HEC_F64)
			((double *)x->data)[i] = tanh(((double *)x->data)[i]);
		else
			((float *)x->data)[i] = tanhf(((float *)x->data)[i]);
	}
}

/* dx = dy·(1 − y²), in place. */
static void tanh_rows_bwd(const hec_tensor *y, const hec_tensor *d)
{
	const int64_t n = hec_tensor_count(y);
	for (int64_t i = 0; i < n; i++) {
		if (y->dtype == HEC_F64) {
			double t = ((const double *)y->data)[i];
			((double *)d->data)[i] *= (1 - t) * (1 + t);
		} else {
			float t = ((const float *)y->data)[i];
			((float *)d->data)[i] *= (1 - t) * (1 + t);
		}
	}
}

static hec_status like(hec_arena *arena, const hec_tensor *rows, hec_tensor *out)
{
	return hec_arena_tensor(arena, rows->dtype, 2, rows->shape, out);
}

static hec_dropout dropout_of(const hec_model *m, const hec_dropout_key *key)
{
	const bool has = m->config.head == HEC_HEAD_CLASSIFY || m->config.head == HEC_HEAD_TOKENS;
	return dropout_at(has ? m->config.head_dropout : 0, m->head_site, key);
}

static hec_status masked_fwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                             const hec_tensor *rows, head_kept *kept)
{
	HEC_TRY(like(arena, rows, &kept->pre));
	HEC_TRY(like(arena, rows, &kept->act));
	HEC_TRY(like(arena, rows, &kept->in));
	HEC_TRY(norm_keep(arena, rows->dtype, rows->shape[0], &kept->norm));
	HEC_TRY(hec_linear_fwd(ctx, &m->dense, m->config.head_act, rows, NULL, &kept->act,
	                       &kept->pre));
	return hec_norm_fwd(ctx, &m->norm, &kept->act, &kept->in, &kept->norm);
}

static hec_status masked_bwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                             const head_kept *kept, const hec_tensor *rows, const hec_tensor *din,
                             hec_tensor *drows, hec_model *grad)
{
	hec_tensor d;
	HEC_TRY(like(arena, rows, &d));
	HEC_TRY(hec_fill(ctx, 0, &d));
	HEC_TRY(hec_norm_bwd(ctx, &m->norm, din, &kept->act, &kept->norm, &d, &grad->norm));
	HEC_TRY(hec_activation_bwd(ctx, m->config.head_act, &d, &kept->pre, &d));
	return linear_bwd(ctx, &m->dense, &d, rows, false, drows, &grad->dense);
}

hec_status head_fwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m, const hec_dropout_key *key,
                    const hec_tensor *rows, hec_tensor *logits, head_kept *kept)
{
	kept->in = *rows;
	if (m->config.head == HEC_HEAD_MASKED)
		HEC_TRY(masked_fwd(ctx, arena, m, rows, kept));
	if (m->config.head == HEC_HEAD_CLASSIFY) {
		HEC_TRY(like(arena, rows, &kept->pooled));
		HEC_TRY(hec_linear_fwd(ctx, &m->dense, HEC_ACT_NONE, rows, NULL, &kept->pooled,
		                       NULL));
		tanh_rows(&kept->pooled);
		kept->in = kept->pooled;
	}
	hec_dropout dropout = dropout_of(m, key);
	if (dropout.p > 0) {
		hec_tensor whole = kept->in;
		HEC_TRY(like(arena, rows, &kept->in));
		HEC_TRY(hec_dropout_apply(ctx, &dropout, &whole, &kept->in));
	}
	return hec_linear_fwd(ctx, last_linear(m), HEC_ACT_NONE, &kept->in, NULL, logits, NULL);
}

hec_status head_bwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m, const hec_dropout_key *key,
                    const head_kept *kept, const hec_tensor *rows, hec_tensor *dlogits,
                    hec_tensor *drows, hec_model *grad)
{
	const hec_head head = m->config.head;
	const bool direct = head != HEC_HEAD_MASKED && head != HEC_HEAD_CLASSIFY;
	hec_tensor din = *drows;
	if (!direct)
		HEC_TRY(like(arena, rows, &din));
	hec_linear *last = head_is_vocabulary(head) ? &grad->output : &grad->labels;
	HEC_TRY(linear_bwd(ctx, last_linear(m), dlogits, &kept->in, false, &din, last));
	hec_dropout dropout = dropout_of(m, key);
	if (dropout.p > 0)
		HEC_TRY(hec_dropout_apply(ctx, &dropout, &din, &din));
	if (head == HEC_HEAD_MASKED)
		return masked_bwd(ctx, arena, m, kept, rows, &din, drows, grad);
	if (head == HEC_HEAD_CLASSIFY) {
		tanh_rows_bwd(&kept->pooled, &din);
		return linear_bwd(ctx, &m->dense, &din, rows, false, drows, &grad->dense);
	}
	return HEC_OK;
}
