/* attention_f32_avx512.c — the table of micro-kernels of attention, and its slots.
 *
 * The kernels want the last axis of every tensor to be contiguous; what is laid out otherwise goes
 * to the reference. */
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/attention_avx512.h"
#include "backend/cpu/x86/avx512.h"

static const attention_kernels kernels = {
	.lanes = 16,
	.product = attention_product_f32_avx512,
	.transpose = attention_transpose_f32_avx512,
	.softmax = attention_softmax_f32_avx512,
	.finish = attention_finish_f32_avx512,
	.gradient = attention_gradient_f32_avx512,
	.row_dots = attention_row_dots_f32_avx512,
	.rows_finite = attention_rows_finite_f32_avx512,
	.stage_bias = attention_stage_bias_f32_avx512,
	.mask_bits = attention_mask_bits_avx512,
	.keep_bits = attention_keep_bits_avx512,
	.drop = attention_drop_f32_avx512,
	.one_scores = attention_one_scores_f32_avx512,
	.one_softmax = attention_one_softmax_f32_avx512,
	.one_product = attention_one_product_f32_avx512,
};

static bool rows_contiguous(const hec_tensor *x)
{
	return x->stride[3] == 1 || x->shape[3] <= 1;
}

static hec_status attention_fwd_f32_avx512(hec_ctx *ctx, const attention_args *a)
{
	if (!rows_contiguous(a->q) || !rows_contiguous(a->k) || !rows_contiguous(a->v) ||
	    !rows_contiguous(a->out))
		return attention_fwd_f32_ref(ctx, a);
	return attention_fwd_tiled(ctx, a, &kernels);
}

static hec_status attention_bwd_f32_avx512(hec_ctx *ctx, const attention_args *a)
{
	if (!rows_contiguous(a->q) || !rows_contiguous(a->k) || !rows_contiguous(a->v) ||
	    !rows_contiguous(a->out) || !rows_contiguous(a->dout) || !rows_contiguous(a->dq) ||
	    !rows_contiguous(a->dk) || !rows_contiguous(a->dv))
		return attention_bwd_f32_ref(ctx, a);
	return attention_bwd_tiled(ctx, a, &kernels);
}

void attention_f32_avx512_fill(backend_ops *ops)
{
	ops->attention_fwd = attention_fwd_f32_avx512;
	ops->attention_bwd = attention_bwd_f32_avx512;
}
