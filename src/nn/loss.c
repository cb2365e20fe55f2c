/* loss.c — softmax cross-entropy. Forward keeps the logsumexp of each row; backward makes the
 * probabilities again from the logits and that. */
#include <hecate/loss.h>

#include "backend/backend.h"
#include "base/options.h"
#include "base/status.h"
#include "tensor/check.h"
#include "tensor/view.h"

static hec_status take_options(const hec_cross_entropy *options, hec_cross_entropy *o)
{
	*o = (hec_cross_entropy)HEC_CROSS_ENTROPY_INIT;
	HEC_TRY(options_take("hec_cross_entropy", o, sizeof *o, options));
	if (!(o->smoothing >= 0 && o->smoothing < 1))
		return fail(HEC_ERR_ARGUMENT, "cross-entropy: smoothing is %g, not in [0, 1)",
		            o->smoothing);
	return HEC_OK;
}

static hec_status check_loss(hec_ctx *ctx, const hec_cross_entropy *o, const hec_tensor *logits,
                             const hec_tensor *targets, const hec_tensor *lse)
{
	HEC_TRY(CHECK_GIVEN("cross-entropy", ctx));
	HEC_TRY(check_real("cross-entropy: logits", logits));
	HEC_TRY(CHECK_2D("cross-entropy: logits", logits, logits->dtype, ANY, ANY));
	int64_t N = logits->shape[0], V = logits->shape[1];
	HEC_TRY(CHECK_1D("cross-entropy: targets", targets, HEC_I32, N));
	HEC_TRY(CHECK_1D("cross-entropy: lse", lse, logits->dtype, N));
	const int32_t *target = targets->data;
	for (int64_t n = 0; n < N; n++) {
		int32_t t = target[n * targets->stride[0]];
		if (t != o->ignore && (t < 0 || t >= V))
			return fail(HEC_ERR_ARGUMENT,
			            "cross-entropy: target %d at position %lld is not one of %lld "
			            "classes",
			            (int)t, (long long)n, (long long)V);
	}
	return HEC_OK;
}

hec_status hec_cross_entropy_fwd(hec_ctx *ctx, const hec_cross_entropy *options,
                                 const hec_tensor *logits, const hec_tensor *targets,
                                 hec_tensor *losses, hec_tensor *lse)
{
	hec_cross_entropy o;
	HEC_TRY(take_options(options, &o));
	HEC_TRY(check_loss(ctx, &o, logits, targets, lse));
	HEC_TRY(CHECK_1D("cross-entropy: losses", losses, logits->dtype, logits->shape[0]));
	cross_entropy_args args = {.smoothing = o.smoothing,
	                           .ignore = o.ignore,
	                           .logits = logits,
	                           .targets = targets,
	                           .losses = losses,
	                           .lse = lse};
	return BACKEND(ctx, logits->dtype, cross_entropy_fwd, &args);
}

hec_status hec_cross_entropy_sum(hec_ctx *ctx, const hec_cross_entropy *options,
                                 const hec_tensor *losses, const hec_tensor *targets, double *sum,
                                 int64_t *count)
{
	hec_cross_entropy o;
	HEC_TRY(take_options(options, &o));
	HEC_TRY(CHECK_GIVEN("cross-entropy", ctx));
	HEC_TRY(CHECK_GIVEN("cross-entropy", sum));
	HEC_TRY(CHECK_GIVEN("cross-entropy", count));
	HEC_TRY(check_real("cross-entropy: losses", losses));
	HEC_TRY(CHECK_1D("cross-entropy: losses", losses, losses->dtype, ANY));
	int64_t N = losses->shape[0];
	HEC_TRY(CHECK_1D("cross-entropy: targets", targets, HEC_I32, N));
	*count = 0;
	for (int64_t n = 0; n < N; n++)
		*count += ((const int32_t *)targets->data)[n * targets->stride[0]] != o.ignore;
	*sum = 0;
	hec_tensor rows, total = hec_tensor_1d(sum, HEC_F64, 1);
	HEC_TRY(view_rows("cross-entropy: losses", losses, &rows));
	return BACKEND(ctx, losses->dtype, sum_all, &((reduce_args){.x = &rows, .sum = &total}));
}

hec_status hec_cross_entropy_bwd(hec_ctx *ctx, const hec_cross_entropy *options,
                                 const hec_tensor *logits, const hec_tensor *targets,
                                 const hec_tensor *lse, double scale, hec_tensor *dlogits)
{
	hec_cross_entropy o;
	HEC_TRY(take_options(options, &o));
	HEC_TRY(check_loss(ctx, &o, logits, targets, lse));
	HEC_TRY(check_tensor("cross-entropy: dlogits", dlogits, logits->dtype, 2, logits->shape));
	cross_entropy_args args = {.smoothing = o.smoothing,
	                           .ignore = o.ignore,
	                           .logits = logits,
	                           .targets = targets,
	                           .lse = lse,
	                           .scale = scale,
	                           .dlogits = dlogits};
	return BACKEND(ctx, logits->dtype, cross_entropy_bwd, &args);
}
