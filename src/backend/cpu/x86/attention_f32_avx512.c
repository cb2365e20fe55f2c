/* attention_f32_avx512.c — the table of micro-kernels of attention, and its slots. */
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

static hec_status attention_fwd_f32_avx512(hec_ctx *ctx, const attention_args *a)
{
	return attention_fwd_rows(ctx, a, &kernels);
}

static hec_status attention_bwd_f32_avx512(hec_ctx *ctx, const attention_args *a)
{
	return attention_bwd_rows(ctx, a, &kernels);
}

void attention_f32_avx512_fill(backend_ops *ops)
{
	ops->attention_fwd = attention_fwd_f32_avx512;
	ops->attention_bwd = attention_bwd_f32_avx512;
}
