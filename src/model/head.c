/* head.c — the last step: a linear to words or labels, with what stands before it.
 *
 *   LM        logits = (output_scale·x)·Wᵀ + b
 *   MASKED    logits = norm(act(dense(x)))·Wᵀ + b
 *   CLASSIFY  logits = labels(dropout(act(dense(xᵢ))))       i: head_row; act: pool_act
 *             logits = labels(dropout(xᵢ))                   head_plain
 *   TOKENS    logits = labels(dropout(x))
 *   ANSWER    logits = labels(x), two of them */
#include "model/head.h"

#include <hecate/ops.h>

#include "base/status.h"
#include "model/stack.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "tensor/view.h"

static hec_status first_rows(const hec_tensor *hidden, hec_tensor *rows)
{
	if (hidden->shape[1] < 1)
		return fail(HEC_ERR_SHAPE, "model: there is no first position to classify by");
	hec_tensor first;
	HEC_TRY(hec_tensor_slice(hidden, 1, 0, 1, &first));
	return hec_tensor_reshape(&first, 2, (int64_t[]){hidden->shape[0], hidden->shape[2]}, rows);
}

/* ---- rows ---- */

static bool is_gathered(const hec_model *m)
{
	return m->config.head == HEC_HEAD_CLASSIFY && m->config.head_row != HEC_ROW_FIRST;
}

/* The position of a sequence that the head reads, or −1. */
static int64_t row_of(const hec_model *m, const int32_t *ids, int64_t length)
{
	const hec_model_config *c = &m->config;
	for (int64_t t = length - 1; t >= 0; t--)
		if (c->head_row == HEC_ROW_LAST ? ids[t] != c->pad_id : ids[t] == c->eos_id)
			return t;
	return c->head_row == HEC_ROW_LAST && length > 0 ? 0 : -1;
}

/* Where they stand among the rows [B·T, C]. */
static hec_status find_rows(hec_arena *arena, const hec_model *m, const hec_model_input *input,
                            int64_t T, hec_tensor *index)
{
	const bool reads_ids = model_has_encoder(m) && !model_has_front(m);
	const bool eos = m->config.head_row == HEC_ROW_EOS;
	const bool encoder = reads_ids && (eos || !model_has_decoder(m));
	const hec_tensor *ids = encoder ? &input->ids : &input->decoder_ids;
	const int32_t *length = encoder ? input->length : input->decoder_length;
	const int64_t B = ids->shape[0], S = ids->shape[1];
	const int64_t N = B * T;
	if (N > INT32_MAX)
		return fail(HEC_ERR_SHAPE, "model: %lld positions at once", (long long)N);
	HEC_TRY(hec_arena_tensor(arena, HEC_I32, 1, &B, index));
	for (int64_t b = 0; b < B; b++) {
		const int64_t t =
			row_of(m, (const int32_t *)ids->data + b * S, length ? length[b] : S);
		const int64_t most = model_has_decoder(m) && input->decoder_length
		                             ? input->decoder_length[b]
		                             : T;
		if (t < 0)
			return fail(HEC_ERR_ARGUMENT,
			            eos ? "model: sequence %lld has no id %d to classify it by"
			                : "model: sequence %lld is empty: it cannot be classified",
			            (long long)b, (int)m->config.eos_id);
		if (t >= most)
			return fail(HEC_ERR_ARGUMENT,
			            "model: sequence %lld is classified by position %lld, the "
			            "decoder is given %lld ids",
			            (long long)b, (long long)t, (long long)most);
		((int32_t *)index->data)[b] = (int32_t)(b * T + t);
	}
	return HEC_OK;
}

hec_status head_rows(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                     const hec_model_input *input, const hec_tensor *hidden, hec_tensor *rows)
{
	if (m->config.head != HEC_HEAD_CLASSIFY)
		return view_rows("model: hidden", hidden, rows);
	if (!is_gathered(m))
		return first_rows(hidden, rows);
	hec_embedding all = {.scale = 1, .padding_id = -1};
	hec_tensor index;
	HEC_TRY(view_rows("model: hidden", hidden, &all.table));
	HEC_TRY(find_rows(arena, m, input, hidden->shape[1], &index));
	HEC_TRY(hec_arena_tensor(arena, hidden->dtype, 2,
	                         (int64_t[]){hidden->shape[0], hidden->shape[2]}, rows));
	return hec_embedding_fwd(ctx, &all, &index, rows);
}

hec_status head_drows(hec_ctx *ctx, hec_arena *arena, const hec_model *m, hec_tensor *dhidden,
                      hec_tensor *drows)
{
	if (m->config.head != HEC_HEAD_CLASSIFY)
		return view_rows("model: hidden", dhidden, drows);
	HEC_TRY(hec_tensor_fill(ctx, 0, dhidden));
	if (!is_gathered(m))
		return first_rows(dhidden, drows);
	return hec_arena_tensor(arena, dhidden->dtype, 2,
	                        (int64_t[]){dhidden->shape[0], dhidden->shape[2]}, drows);
}

hec_status head_put_drows(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                          const hec_model_input *input, const hec_tensor *drows,
                          hec_tensor *dhidden)
{
	if (!is_gathered(m))
		return HEC_OK;
	hec_embedding all = {.scale = 1, .padding_id = -1};
	hec_tensor index;
	HEC_TRY(view_rows("model: hidden", dhidden, &all.table));
	HEC_TRY(find_rows(arena, m, input, dhidden->shape[1], &index));
	hec_tensor to = all.table;
	return hec_embedding_bwd(ctx, &all, drows, &index, &to);
}

/* ---- logits ---- */

static bool has_pool(const hec_model *m)
{
	return m->config.head == HEC_HEAD_CLASSIFY && !m->config.head_plain;
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

static hec_status take_rows_like(hec_arena *arena, const hec_tensor *rows, hec_tensor *out)
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
	HEC_TRY(take_rows_like(arena, rows, &kept->pre));
	HEC_TRY(take_rows_like(arena, rows, &kept->act));
	HEC_TRY(take_rows_like(arena, rows, &kept->in));
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
	HEC_TRY(take_rows_like(arena, rows, &d));
	HEC_TRY(hec_tensor_fill(ctx, 0, &d));
	HEC_TRY(hec_norm_bwd(ctx, &m->norm, din, &kept->act, &kept->norm, &d, &grad->norm));
	HEC_TRY(hec_activation_bwd(ctx, m->config.head_act, &d, &kept->pre, &d));
	return linear_bwd(ctx, &m->dense, &d, rows, false, drows, &grad->dense);
}

static bool is_scaled(const hec_model *m)
{
	return m->config.head == HEC_HEAD_LM && m->config.output_scale != 1;
}

static hec_status classify_fwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                               const hec_tensor *rows, head_kept *kept)
{
	HEC_TRY(take_rows_like(arena, rows, &kept->pre));
	HEC_TRY(take_rows_like(arena, rows, &kept->pooled));
	return hec_linear_fwd(ctx, &m->dense, m->config.pool_act, rows, NULL, &kept->pooled,
	                      &kept->pre);
}

static hec_status classify_bwd(hec_ctx *ctx, const hec_model *m, const head_kept *kept,
                               const hec_tensor *rows, hec_tensor *din, hec_tensor *drows,
                               hec_model *grad)
{
	HEC_TRY(hec_activation_bwd(ctx, m->config.pool_act, din, &kept->pre, din));
	return linear_bwd(ctx, &m->dense, din, rows, false, drows, &grad->dense);
}

hec_status head_pool(hec_ctx *ctx, const hec_model *m, const hec_tensor *hidden, hec_tensor *pooled)
{
	hec_tensor first;
	HEC_TRY(first_rows(hidden, &first));
	return hec_linear_fwd(ctx, &m->dense, HEC_ACT_TANH, &first, NULL, pooled, NULL);
}

hec_status head_fwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m, const hec_dropout_key *key,
                    const hec_tensor *rows, hec_tensor *logits, head_kept *kept)
{
	kept->in = *rows;
	if (m->config.head == HEC_HEAD_MASKED)
		HEC_TRY(masked_fwd(ctx, arena, m, rows, kept));
	if (has_pool(m)) {
		HEC_TRY(classify_fwd(ctx, arena, m, rows, kept));
		kept->in = kept->pooled;
	}
	if (is_scaled(m)) {
		HEC_TRY(take_rows_like(arena, rows, &kept->in));
		HEC_TRY(hec_tensor_add(ctx, m->config.output_scale, rows, 0, rows, &kept->in));
	}
	hec_dropout dropout = dropout_of(m, key);
	if (dropout.p > 0) {
		hec_tensor whole = kept->in;
		HEC_TRY(take_rows_like(arena, rows, &kept->in));
		HEC_TRY(hec_dropout_apply(ctx, &dropout, &whole, &kept->in));
	}
	return hec_linear_fwd(ctx, last_linear(m), HEC_ACT_NONE, &kept->in, NULL, logits, NULL);
}

hec_status head_bwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m, const hec_dropout_key *key,
                    const head_kept *kept, const hec_tensor *rows, hec_tensor *dlogits,
                    hec_tensor *drows, hec_model *grad)
{
	const hec_head head = m->config.head;
	const bool direct = head != HEC_HEAD_MASKED && !has_pool(m);
	hec_tensor din = *drows;
	if (!direct)
		HEC_TRY(take_rows_like(arena, rows, &din));
	hec_linear *last = head_is_vocabulary(head) ? &grad->output : &grad->labels;
	HEC_TRY(linear_bwd(ctx, last_linear(m), dlogits, &kept->in, false, &din, last));
	hec_dropout dropout = dropout_of(m, key);
	if (dropout.p > 0)
		HEC_TRY(hec_dropout_apply(ctx, &dropout, &din, &din));
	if (head == HEC_HEAD_MASKED)
		return masked_bwd(ctx, arena, m, kept, rows, &din, drows, grad);
	if (has_pool(m))
		return classify_bwd(ctx, m, kept, rows, &din, drows, grad);
	return is_scaled(m) ? hec_tensor_add(ctx, m->config.output_scale, drows, 0, drows, drows)
	                    : HEC_OK;
}
