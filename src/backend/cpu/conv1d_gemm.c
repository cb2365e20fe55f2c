/* conv1d_gemm.c — a convolution as one product per tap of the kernel and sequence.
 *
 * Tap j takes rows j − padding, j − padding + stride, … of x: a view, so nothing is copied. Output
 * rows whose tap falls outside x are left out of its product. Each element adds its taps in order,
 * each a sum of one gemm: the same bits however long the sequence is. */
#include "backend/cpu/conv1d_gemm.h"

#include "backend/backend.h"
#include "base/size.h"
#include "base/status.h"

/* The output rows that tap j reaches, and the rows of x that it finds there. */
typedef struct tap {
	int64_t rows;
	hec_tensor w; /* [O, I] */
	int64_t y_first, x_first;
} tap;

static tap tap_at(const conv1d_args *a, const hec_tensor *w, int64_t U, int64_t j)
{
	int64_t T = a->x->shape[1], offset = j - a->padding;
	int64_t first = offset < 0 ? div_up(-offset, a->stride) : 0;
	int64_t end = T > offset ? min_i64(U, (T - 1 - offset) / a->stride + 1) : 0;
	tap t = {.rows = max_i64(0, end - first), .w = *w};
	t.w.rank = 2;
	t.w.data = (char *)w->data + j * w->stride[2] * (int64_t)hec_dtype_size(w->dtype);
	t.y_first = first;
	t.x_first = first * a->stride + offset;
	return t;
}

/* Rows first, first + step, … of sequence b of a [B, rows, C] tensor, as a matrix. */
static hec_tensor rows_of(const hec_tensor *x, int64_t b, int64_t first, int64_t step, int64_t rows)
{
	hec_tensor y = *x;
	y.data = (char *)x->data +
	         (b * x->stride[0] + first * x->stride[1]) * (int64_t)hec_dtype_size(x->dtype);
	y.rank = 2;
	y.shape[0] = rows;
	y.shape[1] = x->shape[2];
	y.stride[0] = step * x->stride[1];
	y.stride[1] = x->stride[2];
	return y;
}

static hec_tensor transposed(hec_tensor x)
{
	hec_tensor y = x;
	y.shape[0] = x.shape[1];
	y.shape[1] = x.shape[0];
	y.stride[0] = x.stride[1];
	y.stride[1] = x.stride[0];
	return y;
}

/* c += a·b */
static hec_status add_product(hec_ctx *ctx, const hec_tensor *a, const hec_tensor *b, hec_tensor *c)
{
	const gemm_args args = {.a = a, .b = b, .c = c, .accumulate = true};
	return BACKEND(ctx, c->dtype, gemm, &args);
}

/* y = the bias in every row. */
static hec_status start_with_bias(hec_ctx *ctx, const conv1d_args *a)
{
	const hec_tensor *y = a->y;
	if (!a->bias)
		return BACKEND(ctx, y->dtype, fill, &((fill_args){.value = 0, .x = y}));
	hec_tensor bias = *y;
	bias.data = a->bias->data;
	bias.stride[0] = bias.stride[1] = 0;
	bias.stride[2] = a->bias->stride[0];
	return BACKEND(ctx, y->dtype, add, &((add_args){.alpha = 1, .a = &bias, .y = y}));
}

hec_status conv1d_fwd_gemm(hec_ctx *ctx, const conv1d_args *a)
{
	HEC_TRY(start_with_bias(ctx, a));
	for (int64_t b = 0; b < a->y->shape[0]; b++) {
		for (int64_t j = 0; j < a->w->shape[2]; j++) {
			tap t = tap_at(a, a->w, a->y->shape[1], j);
			if (t.rows == 0)
				continue;
			hec_tensor x = rows_of(a->x, b, t.x_first, a->stride, t.rows);
			hec_tensor y = rows_of(a->y, b, t.y_first, 1, t.rows);
			hec_tensor w = transposed(t.w);
			HEC_TRY(add_product(ctx, &x, &w, &y));
		}
	}
	return HEC_OK;
}

static hec_status tap_bwd(hec_ctx *ctx, const conv1d_args *a, int64_t b, int64_t j)
{
	tap t = tap_at(a, a->w, a->dy->shape[1], j);
	if (t.rows == 0)
		return HEC_OK;
	hec_tensor dy = rows_of(a->dy, b, t.y_first, 1, t.rows);
	if (a->dx) {
		hec_tensor dx = rows_of(a->dx, b, t.x_first, a->stride, t.rows);
		HEC_TRY(add_product(ctx, &dy, &t.w, &dx));
	}
	if (a->dw) {
		hec_tensor x = rows_of(a->x, b, t.x_first, a->stride, t.rows);
		hec_tensor dy_t = transposed(dy);
		tap d = tap_at(a, a->dw, a->dy->shape[1], j);
		HEC_TRY(add_product(ctx, &dy_t, &x, &d.w));
	}
	return HEC_OK;
}

hec_status conv1d_bwd_gemm(hec_ctx *ctx, const conv1d_args *a)
{
	for (int64_t b = 0; b < a->dy->shape[0]; b++) {
		for (int64_t j = 0; j < a->w->shape[2]; j++)
			HEC_TRY(tap_bwd(ctx, a, b, j));
		if (!a->dbias)
			continue;
		hec_tensor dy = rows_of(a->dy, b, 0, 1, a->dy->shape[1]);
		const reduce_args sum = {.x = &dy, .sum = a->dbias};
		HEC_TRY(BACKEND(ctx, dy.dtype, sum_rows, &sum));
	}
	return HEC_OK;
}
