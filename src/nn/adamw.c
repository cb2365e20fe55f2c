/* adamw.c — one step of AdamW on one tensor. */
#include <hecate/adamw.h>

#include <math.h>

#include "backend/backend.h"
#include "base/options.h"
#include "base/status.h"
#include "tensor/check.h"

static hec_status check_state(const char *name, const hec_tensor *t, const hec_tensor *w)
{
	HEC_TRY(check_tensor(name, t, w->dtype, w->rank, w->shape));
	if (!hec_tensor_is_contiguous(t))
		return fail(HEC_ERR_ARGUMENT, "%s is not contiguous", name);
	return HEC_OK;
}

hec_status hec_adamw_step(hec_ctx *ctx, const hec_adamw *options, int64_t step,
                          const hec_tensor *dw, hec_tensor *m, hec_tensor *v, hec_tensor *w)
{
	hec_adamw o = HEC_ADAMW_INIT;
	HEC_TRY(options_take("hec_adamw", &o, sizeof o, options));
	HEC_TRY(CHECK_GIVEN("adamw", ctx));
	if (step < 1)
		return fail(HEC_ERR_ARGUMENT, "adamw: step %lld; steps count from 1",
		            (long long)step);
	if (!(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1 && o.eps >= 0))
		return fail(HEC_ERR_ARGUMENT, "adamw: beta1 %g, beta2 %g, eps %g", o.beta1, o.beta2,
		            o.eps);
	HEC_TRY(check_real("adamw: w", w));
	HEC_TRY(check_state("adamw: w", w, w));
	HEC_TRY(check_state("adamw: dw", dw, w));
	HEC_TRY(check_state("adamw: m", m, w));
	HEC_TRY(check_state("adamw: v", v, w));
	adamw_args args = {
		.lr = o.lr,
		.beta1 = o.beta1,
		.beta2 = o.beta2,
		.eps = o.eps,
		.weight_decay = o.weight_decay,
		.grad_scale = o.grad_scale,
		.correction1 = 1 - pow(o.beta1, (double)step),
		.correction2 = 1 - pow(o.beta2, (double)step),
		.dw = dw,
		.m = m,
		.v = v,
		.w = w,
	};
	return BACKEND(ctx, w->dtype, adamw, &args);
}
