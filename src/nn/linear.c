/* linear.c — y = x·Wᵀ + b.
 *   dx += dy·W        dW += dyᵀ·x        db += Σ_n dy
 * Forward keeps nothing of its own: backward needs x, which the caller has. */
#include "nn/linear.h"

#include "backend/backend.h"
#include "base/status.h"
#include "tensor/arena.h"
#include "tensor/check.h"

hec_status packed_fits(const char *name, const hec_tensor *w, const hec_packed *p)
{
	if (p->layout && p->n == w->shape[0] && p->k == w->shape[1])
		return HEC_OK;
	return fail(HEC_ERR_UNSUPPORTED, "%s [%lld, %lld] exists only as packed [%lld, %lld]", name,
	            (long long)w->shape[0], (long long)w->shape[1], (long long)p->n,
	            (long long)p->k);
}

/* w exists only packed: as the kernels of this level read it? */
static hec_status check_pack(const hec_ctx *ctx, const hec_tensor *w, const hec_packed *p)
{
	HEC_TRY(packed_fits("linear: w", w, p));
	if (p->layout == ctx_backend(ctx)->ops[w->dtype].gemm_layout)
		return HEC_OK;
	return fail(
		HEC_ERR_UNSUPPORTED,
		"linear: w exists only as another level than %s packed it; hec_model_pack packs "
		"a model for this one",
		hec_ctx_isa(ctx));
}

static hec_status check_linear(hec_ctx *ctx, const hec_linear *linear, bool runs)
{
	HEC_TRY(CHECK_GIVEN("linear", ctx));
	HEC_TRY(CHECK_GIVEN("linear", linear));
	hec_tensor w = linear->w;
	const bool packed_only = runs && !w.data && linear->w_fwd.data;
	if (packed_only)
		w.data = (void *)(uintptr_t)linear->w_fwd.data;
	HEC_TRY(check_real("linear: w", &w));
	HEC_TRY(CHECK_2D("linear: w", &w, w.dtype, ANY, ANY));
	if (packed_only)
		HEC_TRY(check_pack(ctx, &w, &linear->w_fwd));
	if (is_present(&linear->b))
		HEC_TRY(CHECK_1D("linear: b", &linear->b, linear->w.dtype, linear->w.shape[0]));
	return HEC_OK;
}

/* Whether packed weights can make it; NULL can be made. */
static bool is_dense(const hec_tensor *rows)
{
	return !rows || rows->stride[1] == 1;
}

static const hec_packed *if_packed(const hec_packed *p)
{
	return p->data ? p : NULL;
}

static hec_status pack_weight(hec_ctx *ctx, hec_arena *arena, const hec_tensor *b,
                              hec_packed *packed)
{
	const backend_ops *ops = &ctx_backend(ctx)->ops[b->dtype];
	size_t bytes = ops->gemm_pack_size ? ops->gemm_pack_size(b->shape[0], b->shape[1]) : 0;
	if (bytes == 0) {
		*packed = (hec_packed){0};
		return HEC_OK;
	}
	bool again =
		packed->data && packed->bytes == bytes && arena_holds(arena, packed->data, bytes);
	void *data = again ? (void *)(uintptr_t)packed->data : NULL;
	if (!again)
		HEC_TRY(hec_arena_alloc(arena, bytes, &data));
	gemm_pack_args args = {.b = b, .data = data, .out = packed};
	HEC_TRY(BACKEND(ctx, b->dtype, gemm_pack, &args));
	packed->bytes = bytes;
	return HEC_OK;
}

hec_status hec_linear_pack(hec_ctx *ctx, hec_arena *arena, bool with_bwd, hec_linear *linear)
{
	HEC_TRY(check_linear(ctx, linear, false));
	HEC_TRY(CHECK_GIVEN("linear", arena));
	hec_tensor wt;
	HEC_TRY(hec_tensor_transpose(&linear->w, 0, 1, &wt));
	HEC_TRY(pack_weight(ctx, arena, &wt, &linear->w_fwd));
	if (with_bwd)
		return pack_weight(ctx, arena, &linear->w, &linear->w_bwd);
	linear->w_bwd.layout = NULL; /* an older pack is of older weights; its place is kept */
	return HEC_OK;
}

hec_status hec_linear_fwd(hec_ctx *ctx, const hec_linear *linear, hec_activation act,
                          const hec_tensor *x, const hec_tensor *residual, hec_tensor *y,
                          hec_tensor *pre)
{
	HEC_TRY(check_linear(ctx, linear, true));
	if ((unsigned)act >= HEC_ACTIVATIONS)
		return fail(HEC_ERR_ARGUMENT, "linear: activation %d is not known", (int)act);
	hec_dtype dtype = linear->w.dtype;
	int64_t out = linear->w.shape[0], in = linear->w.shape[1];
	HEC_TRY(CHECK_2D("linear: x", x, dtype, ANY, in));
	int64_t N = x->shape[0];
	HEC_TRY(CHECK_2D("linear: y", y, dtype, N, out));
	if (residual)
		HEC_TRY(CHECK_2D("linear: residual", residual, dtype, N, out));
	if (pre)
		HEC_TRY(CHECK_2D("linear: pre", pre, dtype, N, out));
	const bool dense = is_dense(y) && is_dense(residual) && is_dense(pre) &&
	                   (!is_present(&linear->b) || linear->b.stride[0] == 1);
	if (!linear->w.data && linear->w_fwd.data && out > 1 && !dense)
		return fail(HEC_ERR_UNSUPPORTED,
		            "linear: w exists only packed: y, residual, pre and b must then lie "
		            "densely");
	hec_tensor wt;
	HEC_TRY(hec_tensor_transpose(&linear->w, 0, 1, &wt));
	gemm_args args = {
		.a = x,
		.b = &wt,
		.packed = if_packed(&linear->w_fwd),
		.bias = is_present(&linear->b) ? &linear->b : NULL,
		.act = act,
		.residual = residual,
		.pre = pre,
		.c = y,
	};
	return BACKEND(ctx, dtype, gemm, &args);
}

hec_status hec_linear_bwd(hec_ctx *ctx, const hec_linear *linear, const hec_tensor *dy,
                          const hec_tensor *x, hec_tensor *dx, hec_linear *grad)
{
	return linear_bwd(ctx, linear, dy, x, true, dx, grad);
}

hec_status linear_bwd(hec_ctx *ctx, const hec_linear *linear, const hec_tensor *dy,
                      const hec_tensor *x, bool add, hec_tensor *dx, hec_linear *grad)
{
	HEC_TRY(check_linear(ctx, linear, false));
	hec_dtype dtype = linear->w.dtype;
	int64_t out = linear->w.shape[0], in = linear->w.shape[1];
	HEC_TRY(CHECK_2D("linear: x", x, dtype, ANY, in));
	HEC_TRY(CHECK_2D("linear: dy", dy, dtype, x->shape[0], out));
	const bool to_w = grad && is_present(&grad->w), to_b = grad && is_present(&grad->b);
	/* All before the first product: what is refused is not half done. */
	if (dx)
		HEC_TRY(CHECK_2D("linear: dx", dx, dtype, x->shape[0], in));
	if (to_w)
		HEC_TRY(CHECK_2D("linear: gradient of w", &grad->w, dtype, out, in));
	if (to_b)
		HEC_TRY(CHECK_1D("linear: gradient of b", &grad->b, dtype, out));
	if (dx) {
		const hec_packed *packed = if_packed(&linear->w_bwd);
		gemm_args args = {
			.a = dy, .b = &linear->w, .packed = packed, .accumulate = add, .c = dx};
		HEC_TRY(BACKEND(ctx, dtype, gemm, &args));
	}
	if (to_w) {
		hec_tensor dyt;
		HEC_TRY(hec_tensor_transpose(dy, 0, 1, &dyt));
		gemm_args args = {.a = &dyt, .b = x, .accumulate = true, .c = &grad->w};
		HEC_TRY(BACKEND(ctx, dtype, gemm, &args));
	}
	if (to_b) {
		reduce_args args = {.x = dy, .sum = &grad->b};
		HEC_TRY(BACKEND(ctx, dtype, sum_rows, &args));
	}
	return HEC_OK;
}
