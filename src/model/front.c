/* front.c — from frames of features to the first hidden states: two convolutions over three frames,
 * GELU behind each, the second in steps of two.
 *
 *   a₁ = gelu(conv(features)) [B, F, C];   x = gelu(conv₂(a₁)) [B, F / 2, C]
 *
 * Features lie band by band: a view turns them. Only running, both activations are made in place;
 * backward needs what each was given, and a₁. */
#include <hecate/activation.h>
#include <hecate/ops.h>

#include "backend/backend.h"
#include "base/status.h"
#include "model/stack.h"
#include "tensor/view.h"

static conv1d_args convolution(int which, const front_layer *f, const hec_tensor *x)
{
	return (conv1d_args){.stride = which + 1, .padding = 1, .x = x, .w = &f->w, .bias = &f->b};
}

static hec_status convolve(hec_ctx *ctx, int which, const front_layer *f, const hec_tensor *x,
                           const hec_tensor *y)
{
	conv1d_args args = convolution(which, f, x);
	args.y = y;
	return BACKEND(ctx, y->dtype, conv1d_fwd, &args);
}

static hec_status activate_rows(hec_ctx *ctx, const hec_tensor *x, const hec_tensor *y)
{
	hec_tensor xr, yr;
	HEC_TRY(view_rows("model: convolution", x, &xr));
	HEC_TRY(view_rows("model: frames", y, &yr));
	return hec_activation_fwd(ctx, HEC_ACT_GELU, &xr, &yr);
}

hec_status front_fwd(const stack_call *call, const model_stack *s, hec_tensor *x, front_kept *kept)
{
	const int64_t frames = call->features.shape[2];
	const int64_t shape[3] = {x->shape[0], frames, x->shape[2]};
	const size_t mark = hec_arena_used(call->arena);
	hec_tensor in, pre1, a1, pre2 = *x;
	HEC_TRY(hec_tensor_transpose(&call->features, 1, 2, &in));
	HEC_TRY(hec_arena_tensor(call->arena, x->dtype, 3, shape, &pre1));
	a1 = pre1;
	if (kept) {
		HEC_TRY(hec_arena_tensor(call->arena, x->dtype, 3, shape, &a1));
		HEC_TRY(hec_arena_tensor(call->arena, x->dtype, 3, x->shape, &pre2));
		*kept = (front_kept){.pre1 = pre1, .a1 = a1, .pre2 = pre2};
	}
	HEC_TRY(convolve(call->ctx, 0, &s->front[0], &in, &pre1));
	HEC_TRY(activate_rows(call->ctx, &pre1, &a1));
	HEC_TRY(convolve(call->ctx, 1, &s->front[1], &a1, &pre2));
	HEC_TRY(activate_rows(call->ctx, &pre2, x));
	if (!kept)
		hec_arena_rewind(call->arena, mark);
	return HEC_OK;
}

/* dy, of the activation's output, becomes that of what it was given. */
static hec_status activate_bwd(hec_ctx *ctx, const hec_tensor *pre, const hec_tensor *dy)
{
	hec_tensor pr, dr;
	HEC_TRY(view_rows("model: convolution", pre, &pr));
	HEC_TRY(view_rows("model: gradient of the frames", dy, &dr));
	return hec_activation_bwd(ctx, HEC_ACT_GELU, &dr, &pr, &dr);
}

static hec_status convolve_bwd(hec_ctx *ctx, int which, const front_layer *f, const hec_tensor *x,
                               const hec_tensor *dy, const hec_tensor *dx, front_layer *grad)
{
	conv1d_args args = convolution(which, f, x);
	args.dy = dy;
	args.dx = dx;
	args.dw = &grad->w;
	args.dbias = &grad->b;
	return BACKEND(ctx, dy->dtype, conv1d_bwd, &args);
}

hec_status front_bwd(const stack_call *call, const model_stack *s, const front_kept *kept,
                     const hec_tensor *dx, model_stack *grad)
{
	hec_tensor in, d1;
	HEC_TRY(hec_tensor_transpose(&call->features, 1, 2, &in));
	HEC_TRY(activate_bwd(call->ctx, &kept->pre2, dx));
	HEC_TRY(hec_arena_tensor(call->arena, dx->dtype, 3, kept->a1.shape, &d1));
	HEC_TRY(hec_tensor_fill(call->ctx, 0, &d1));
	HEC_TRY(convolve_bwd(call->ctx, 1, &s->front[1], &kept->a1, dx, &d1, &grad->front[1]));
	HEC_TRY(activate_bwd(call->ctx, &kept->pre1, &d1));
	return convolve_bwd(call->ctx, 0, &s->front[0], &in, &d1, NULL, &grad->front[0]);
}
