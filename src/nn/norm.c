/* norm.c — layer norm and RMS norm. Forward keeps mean and rstd (two numbers a row); backward needs
 * those and its input, nothing else. */
#include "nn/norm.h"

#include "backend/backend.h"
#include "base/status.h"
#include "tensor/check.h"

static hec_status check_norm(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *x)
{
	HEC_TRY(CHECK_GIVEN("norm", ctx));
	HEC_TRY(CHECK_GIVEN("norm", norm));
	if (norm->kind != HEC_NORM_LAYER && norm->kind != HEC_NORM_RMS)
		return fail(HEC_ERR_ARGUMENT, "norm: kind %d is not known", (int)norm->kind);
	if (!(norm->eps >= 0))
		return fail(HEC_ERR_ARGUMENT, "norm: eps is %g", norm->eps);
	HEC_TRY(check_real("norm: x", x));
	HEC_TRY(CHECK_2D("norm: x", x, x->dtype, ANY, ANY));
	int64_t C = x->shape[1];
	HEC_TRY(CHECK_1D("norm: gamma", &norm->gamma, x->dtype, C));
	if (is_present(&norm->beta))
		HEC_TRY(CHECK_1D("norm: beta", &norm->beta, x->dtype, C));
	return HEC_OK;
}

static hec_status check_kept(const hec_norm *norm, const hec_norm_kept *kept, const hec_tensor *x)
{
	if (norm->kind == HEC_NORM_LAYER)
		HEC_TRY(CHECK_1D("norm: kept mean", &kept->mean, x->dtype, x->shape[0]));
	return CHECK_1D("norm: kept rstd", &kept->rstd, x->dtype, x->shape[0]);
}

static norm_args args_of_norm(const hec_norm *norm, const hec_tensor *x, const hec_norm_kept *kept)
{
	return (norm_args){
		.kind = norm->kind,
		.eps = norm->eps,
		.x = x,
		.gamma = &norm->gamma,
		.beta = is_present(&norm->beta) ? &norm->beta : NULL,
		.mean = kept && norm->kind == HEC_NORM_LAYER ? &kept->mean : NULL,
		.rstd = kept ? &kept->rstd : NULL,
	};
}

hec_status hec_norm_fwd(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *x, hec_tensor *y,
                        hec_norm_kept *kept)
{
	HEC_TRY(check_norm(ctx, norm, x));
	HEC_TRY(check_tensor("norm: y", y, x->dtype, 2, x->shape));
	if (kept)
		HEC_TRY(check_kept(norm, kept, x));
	norm_args args = args_of_norm(norm, x, kept);
	args.y = y;
	return BACKEND(ctx, x->dtype, norm_fwd, &args);
}

hec_status hec_norm_bwd(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *dy,
                        const hec_tensor *x, const hec_norm_kept *kept, hec_tensor *dx,
                        hec_norm *grad)
{
	return norm_bwd(ctx, norm, dy, x, kept, true, dx, grad);
}

hec_status norm_bwd(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *dy, const hec_tensor *x,
                    const hec_norm_kept *kept, bool add, hec_tensor *dx, hec_norm *grad)
{
	HEC_TRY(check_norm(ctx, norm, x));
	HEC_TRY(CHECK_GIVEN("norm", kept));
	HEC_TRY(check_kept(norm, kept, x));
	HEC_TRY(check_tensor("norm: dy", dy, x->dtype, 2, x->shape));
	HEC_TRY(check_tensor("norm: dx", dx, x->dtype, 2, x->shape));
	norm_args args = args_of_norm(norm, x, kept);
	args.dy = dy;
	args.dx = dx;
	args.accumulate = add;
	if (grad && is_present(&grad->gamma)) {
		HEC_TRY(CHECK_1D("norm: gradient of gamma", &grad->gamma, x->dtype, x->shape[1]));
		args.dgamma = &grad->gamma;
	}
	if (grad && is_present(&grad->beta)) {
		HEC_TRY(CHECK_1D("norm: gradient of beta", &grad->beta, x->dtype, x->shape[1]));
		args.dbeta = &grad->beta;
	}
	return BACKEND(ctx, x->dtype, norm_bwd, &args);
}
