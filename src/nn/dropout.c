/* dropout.c — y = x · mask / (1 − p); the mask is made anew each time it is needed. */
#include "nn/dropout.h"

#include "backend/backend.h"
#include "base/status.h"
#include "tensor/check.h"
#include "tensor/view.h"

hec_status dropout_check_p(const char *name, double p)
{
	if (!(p >= 0 && p < 1))
		return fail(HEC_ERR_ARGUMENT, "%s: p is %g, not in [0, 1)", name, p);
	return HEC_OK;
}

hec_status dropout_check(const char *name, const hec_dropout *dropout, int64_t rows)
{
	HEC_TRY(dropout_check_p(name, dropout->p));
	if (dropout->p > 0 && rows > (int64_t)UINT32_MAX)
		return fail(HEC_ERR_UNSUPPORTED, "%s: %lld rows, more than 2^32 − 1", name,
		            (long long)rows);
	return HEC_OK;
}

hec_status dropout_residual(hec_ctx *ctx, const hec_dropout *dropout, const hec_tensor *x,
                            const hec_tensor *residual, hec_tensor *y)
{
	hec_tensor xr, rr, yr;
	HEC_TRY(view_rows("dropout: x", x, &xr));
	HEC_TRY(view_rows("dropout: y", y, &yr));
	HEC_TRY(dropout_check("dropout", dropout, xr.shape[0]));
	dropout_args args = {.dropout = *dropout, .x = &xr, .y = &yr};
	if (residual) {
		HEC_TRY(view_rows("dropout: residual", residual, &rr));
		args.residual = &rr;
	}
	return BACKEND(ctx, x->dtype, dropout, &args);
}

hec_status hec_dropout_apply(hec_ctx *ctx, const hec_dropout *dropout, const hec_tensor *x,
                             hec_tensor *y)
{
	HEC_TRY(CHECK_GIVEN("dropout", ctx));
	HEC_TRY(CHECK_GIVEN("dropout", dropout));
	HEC_TRY(check_real("dropout: x", x));
	HEC_TRY(check_tensor("dropout: y", y, x->dtype, x->rank, x->shape));
	return dropout_residual(ctx, dropout, x, NULL, y);
}
