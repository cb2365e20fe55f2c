/* activation.c — activations by themselves; inside a linear they ride on its product. */
#include <hecate/activation.h>

#include "backend/backend.h"
#include "base/status.h"
#include "tensor/check.h"

const char *hec_activation_name(hec_activation act)
{
	static const char *const names[HEC_ACTIVATIONS] = {"none",      "relu", "gelu",
	                                                   "gelu_tanh", "silu", "tanh"};
	return (unsigned)act < HEC_ACTIVATIONS ? names[act] : "?";
}

static hec_status check_activation(hec_ctx *ctx, hec_activation act, const hec_tensor *x)
{
	HEC_TRY(CHECK_GIVEN("activation", ctx));
	if ((unsigned)act >= HEC_ACTIVATIONS)
		return fail(HEC_ERR_ARGUMENT, "activation %d is not known", (int)act);
	HEC_TRY(check_real("activation: x", x));
	return CHECK_2D("activation: x", x, x->dtype, ANY, ANY);
}

static hec_status check_like(const char *name, const hec_tensor *t, const hec_tensor *x)
{
	return check_tensor(name, t, x->dtype, 2, x->shape);
}

hec_status hec_activation_fwd(hec_ctx *ctx, hec_activation act, const hec_tensor *x, hec_tensor *y)
{
	HEC_TRY(check_activation(ctx, act, x));
	HEC_TRY(check_like("activation: y", y, x));
	return BACKEND(ctx, x->dtype, activation_fwd,
	               &((activation_args){.act = act, .x = x, .y = y}));
}

hec_status hec_activation_bwd(hec_ctx *ctx, hec_activation act, const hec_tensor *dy,
                              const hec_tensor *x, hec_tensor *dx)
{
	HEC_TRY(check_activation(ctx, act, x));
	HEC_TRY(check_like("activation: dy", dy, x));
	HEC_TRY(check_like("activation: dx", dx, x));
	return BACKEND(ctx, x->dtype, activation_bwd,
	               &((activation_args){.act = act, .x = x, .dy = dy, .dx = dx}));
}

hec_status hec_gated_fwd(hec_ctx *ctx, hec_activation act, const hec_tensor *gate,
                         const hec_tensor *up, hec_tensor *y)
{
	HEC_TRY(check_activation(ctx, act, gate));
	HEC_TRY(check_like("gated: up", up, gate));
	HEC_TRY(check_like("gated: y", y, gate));
	return BACKEND(ctx, gate->dtype, activation_fwd,
	               &((activation_args){.act = act, .x = gate, .up = up, .y = y}));
}

hec_status hec_gated_bwd(hec_ctx *ctx, hec_activation act, const hec_tensor *dy,
                         const hec_tensor *gate, const hec_tensor *up, hec_tensor *dgate,
                         hec_tensor *dup)
{
	HEC_TRY(check_activation(ctx, act, gate));
	HEC_TRY(check_like("gated: up", up, gate));
	HEC_TRY(check_like("gated: dy", dy, gate));
	HEC_TRY(check_like("gated: dgate", dgate, gate));
	HEC_TRY(check_like("gated: dup", dup, gate));
	activation_args args = {.act = act, .x = gate, .up = up, .dy = dy, .dx = dgate, .dup = dup};
	return BACKEND(ctx, gate->dtype, activation_bwd, &args);
}
