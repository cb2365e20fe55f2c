/* stack.c — layers one after the other, forward and backward.
 *
 * Only running, two buffers take turns. Learning, the input of every layer stays in the arena beside
 * what the layer itself keeps; backward has two buffers for gradients that take turns. */
#include "model/stack.h"

#include <hecate/ops.h>

#include "base/status.h"
#include "tensor/check.h"

typedef struct stack_masks {
	hec_mask self, cross;
} stack_masks;

/* mask [B, S] for every head and query; or absent. */
static hec_tensor for_all(const hec_tensor *mask)
{
	hec_tensor view = *mask;
	if (!is_present(mask))
		return view;
	view = hec_tensor_4d(mask->data, mask->dtype, mask->shape[0], 1, 1, mask->shape[1]);
	view.stride[0] = mask->stride[0];
	view.stride[3] = mask->stride[1];
	return view;
}

/* Of layer i. bias, or none where it is absent. */
static stack_masks make_masks(const stack_call *call, const model_stack *s, int64_t i,
                              const hec_tensor *bias)
{
	stack_masks masks = {.self = HEC_MASK_INIT, .cross = HEC_MASK_INIT};
	masks.self.causal = s->decoder != NULL;
	masks.self.window = stack_window(s, i);
	masks.self.visible = for_all(&call->mask);
	masks.cross.visible = for_all(&call->memory_mask);
	masks.self.key_length = masks.self.query_length = call->length;
	if (is_present(bias))
		masks.self.bias = *bias;
	masks.cross.key_length = call->memory_length;
	masks.cross.query_length = call->length;
	return masks;
}

int64_t stack_window(const model_stack *s, int64_t layer)
{
	return layer >= s->config->window_from ? s->config->window : 0;
}

static bool has_relative(const model_stack *s)
{
	return s->config->position.kind == HEC_POSITION_RELATIVE;
}

/* Layer i's part of weights [L·B, H, T, S]; NULL where there are none. */
static hec_status layer_weights(const stack_call *call, const hec_tensor *all, int64_t i, int64_t B,
                                hec_tensor *part, hec_tensor **out)
{
	*out = NULL;
	if (!is_present(all) || (call->only > 0 && call->only != i + 1))
		return HEC_OK;
	HEC_TRY(hec_tensor_slice(all, 0, call->only > 0 ? 0 : i * B, B, part));
	*out = part;
	return HEC_OK;
}

static hec_status layer_fwd(const stack_call *call, const model_stack *s, int64_t i,
                            const hec_tensor *bias, const hec_tensor *x, hec_tensor *y,
                            stack_kept *kept)
{
	const stack_masks masks = make_masks(call, s, i, bias);
	hec_tensor self_part, cross_part, *weights, *cross_weights;
	const int64_t B = x->shape[0];
	HEC_TRY(layer_weights(call, &call->weights, i, B, &self_part, &weights));
	HEC_TRY(layer_weights(call, &call->cross_weights, i, B, &cross_part, &cross_weights));
	if (s->encoder)
		return hec_encoder_layer_fwd(call->ctx, call->arena, &s->encoder[i], x, &masks.self,
		                             call->key, y, weights,
		                             kept ? &kept->encoder[i] : NULL);
	return hec_decoder_layer_fwd(call->ctx, call->arena, &s->decoder[i], x,
	                             is_present(&call->memory) ? &call->memory : NULL, &masks.self,
	                             &masks.cross, call->key, y, weights, cross_weights,
	                             kept ? &kept->decoder[i] : NULL);
}

static hec_status layer_bwd(const stack_call *call, const model_stack *s, int64_t i,
                            const stack_kept *kept, const hec_tensor *dy, hec_tensor *dx,
                            hec_tensor *dmemory, hec_tensor *dbias, model_stack *grad)
{
	const stack_masks masks = make_masks(call, s, i, &kept->bias);
	if (s->encoder)
		return hec_encoder_layer_bwd(call->ctx, call->arena, &s->encoder[i], dy,
		                             &kept->x[i], &masks.self, call->key, kept->encoder[i],
		                             dx, dbias, &grad->encoder[i]);
	return hec_decoder_layer_bwd(call->ctx, call->arena, &s->decoder[i], dy, &kept->x[i],
	                             is_present(&call->memory) ? &call->memory : NULL, &masks.self,
	                             &masks.cross, call->key, kept->decoder[i], dx, dmemory, dbias,
	                             NULL, &grad->decoder[i]);
}

/* T; of two frames one position is made. */
static int64_t positions_of(const stack_call *call)
{
	return is_present(&call->features) ? call->features.shape[2] / 2 : call->ids.shape[1];
}

static hec_status make_hidden(const stack_call *call, const model_stack *s, hec_tensor *x)
{
	const bool frames = is_present(&call->features);
	const int64_t shape[3] = {frames ? call->features.shape[0] : call->ids.shape[0],
	                          positions_of(call), s->width};
	return hec_arena_tensor(call->arena, s->dtype, 3, shape, x);
}

static hec_status make_bias(const stack_call *call, const model_stack *s, hec_tensor *bias)
{
	*bias = (hec_tensor)HEC_TENSOR_NONE;
	const int64_t T = positions_of(call);
	return has_relative(s)
	               ? hec_relative_bias_fwd(call->ctx, call->arena, &s->relative, T, T, 0, bias)
	               : HEC_OK;
}

/* The buffer that the last layer writes into is out. */
static hec_status run_layers(const stack_call *call, const model_stack *s, hec_tensor *out)
{
	hec_tensor buffer[2], bias;
	HEC_TRY(make_hidden(call, s, &buffer[0]));
	size_t mark = hec_arena_used(call->arena);
	HEC_TRY(make_hidden(call, s, &buffer[1]));
	HEC_TRY(make_bias(call, s, &bias));
	const int64_t L = s->config->layers;
	HEC_TRY(embed_fwd(call, s, &buffer[L % 2], NULL));
	for (int64_t i = 0; i < L; i++)
		HEC_TRY(layer_fwd(call, s, i, &bias, &buffer[(L - i) % 2], &buffer[(L - i - 1) % 2],
		                  NULL));
	if (s->config->final_norm)
		HEC_TRY(norm_rows_fwd(call->ctx, &s->final_norm, &buffer[0], &buffer[0], NULL));
	hec_arena_rewind(call->arena, mark);
	*out = buffer[0];
	return HEC_OK;
}

static hec_status run_layers_and_keep(const stack_call *call, const model_stack *s, hec_tensor *out,
                                      stack_kept *kept)
{
	const size_t L = (size_t)s->config->layers;
	void *layers;
	HEC_TRY(hec_arena_alloc(call->arena, (L + 1) * sizeof *kept->x, (void **)&kept->x));
	HEC_TRY(hec_arena_alloc(call->arena, L * sizeof layers, &layers));
	kept->encoder = layers;
	kept->decoder = layers;
	HEC_TRY(make_bias(call, s, &kept->bias));
	HEC_TRY(make_hidden(call, s, &kept->x[0]));
	HEC_TRY(embed_fwd(call, s, &kept->x[0], &kept->embed));
	for (size_t i = 0; i < L; i++) {
		HEC_TRY(make_hidden(call, s, &kept->x[i + 1]));
		HEC_TRY(layer_fwd(call, s, (int64_t)i, &kept->bias, &kept->x[i], &kept->x[i + 1],
		                  kept));
	}
	*out = kept->x[L];
	if (!s->config->final_norm)
		return HEC_OK;
	HEC_TRY(make_hidden(call, s, out));
	HEC_TRY(norm_keep(call->arena, out->dtype, out->shape[0] * out->shape[1],
	                  &kept->final_norm));
	return norm_rows_fwd(call->ctx, &s->final_norm, &kept->x[L], out, &kept->final_norm);
}

hec_status stack_fwd(const stack_call *call, const model_stack *s, hec_tensor *out,
                     stack_kept *kept)
{
	return kept ? run_layers_and_keep(call, s, out, kept) : run_layers(call, s, out);
}

/* The gradient of what came before goes into a buffer of zeros, and the two change places. */
static hec_status next_gradient(hec_ctx *ctx, hec_tensor *d, hec_tensor *other)
{
	hec_tensor swap = *d;
	*d = *other;
	*other = swap;
	return hec_tensor_fill(ctx, 0, d);
}

hec_status stack_bwd(const stack_call *call, const model_stack *s, const stack_kept *kept,
                     hec_tensor *dout, hec_tensor *dmemory, model_stack *grad)
{
	const int64_t L = s->config->layers, T = positions_of(call);
	size_t mark = hec_arena_used(call->arena);
	hec_tensor d = *dout, other, dbias;
	HEC_TRY(make_hidden(call, s, &other));
	if (has_relative(s))
		HEC_TRY(hec_relative_bias_zero(call->ctx, call->arena, &s->relative, T, T, &dbias));
	if (s->config->final_norm) {
		HEC_TRY(next_gradient(call->ctx, &d, &other));
		HEC_TRY(norm_rows_bwd(call->ctx, &s->final_norm, &other, &kept->x[L],
		                      &kept->final_norm, &d, &grad->final_norm));
	}
	for (int64_t i = L - 1; i >= 0; i--) {
		HEC_TRY(next_gradient(call->ctx, &d, &other));
		HEC_TRY(layer_bwd(call, s, i, kept, &other, &d, dmemory,
		                  has_relative(s) ? &dbias : NULL, grad));
	}
	if (has_relative(s))
		HEC_TRY(hec_relative_bias_bwd(call->ctx, call->arena, &s->relative, 0, &dbias,
		                              &grad->relative.table));
	HEC_TRY(embed_bwd(call, s, &kept->embed, &d, grad));
	hec_arena_rewind(call->arena, mark);
	return HEC_OK;
}
