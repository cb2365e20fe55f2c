/* layers.c — scenarios in which whole layers learn. */
#include "world.h"

/* A step of learning of a layer: forward, gradients from zero, backward. */
static const hec_dropout_key key = {.seed = 5, .step = 1, .micro_batch = 0};

hec_status encoder_step(world *w, const hec_encoder_layer *layer, hec_encoder_layer *grad,
                        hec_param_alloc *zeros, const hec_tensor *x, hec_tensor *y, hec_tensor *dx)
{
	hec_encoder_layer_kept *kept = NULL;
	hec_status status = hec_encoder_layer_params(grad, "", hec_param_allocate, zeros);
	if (status == HEC_OK)
		status = zero(w, dx);
	if (status == HEC_OK)
		status = hec_encoder_layer_fwd(w->ctx, w->arena, layer, x, NULL, &key, y, NULL,
		                               &kept);
	if (status == HEC_OK)
		status = hec_encoder_layer_bwd(w->ctx, w->arena, layer, y, x, NULL, &key, kept, dx,
		                               NULL, grad);
	return status;
}

hec_status encoder_setup(world *w, hec_encoder_layer *layer)
{
	hec_encoder_layer_config config = {.size = sizeof config, .norm_first = true};
	config.attention = (hec_multi_head_config){.size = sizeof config.attention,
	                                           .width = C,
	                                           .heads = H,
	                                           .fused = true,
	                                           .dropout_weights = 0.1};
	config.feed_forward = (hec_feed_forward_config){.size = sizeof config.feed_forward,
	                                                .width = C,
	                                                .hidden = F,
	                                                .act = HEC_ACT_GELU,
	                                                .dropout_out = 0.1};
	hec_param_alloc alloc = {.size = sizeof alloc,
	                         .ctx = w->ctx,
	                         .arena = w->arena,
	                         .seed = 3,
	                         .with_bwd = true};
	hec_status status = hec_encoder_layer_setup(&config, layer);
	if (status == HEC_OK)
		status = hec_encoder_layer_params(layer, "", hec_param_allocate, &alloc);
	if (status == HEC_OK)
		status = hec_encoder_layer_params(layer, "", hec_param_initialise, &alloc);
	if (status == HEC_OK)
		status = hec_encoder_layer_params(layer, "", hec_param_pack, &alloc);
	return status;
}

void encoder_layer(world *w)
{
	BEGIN(w);
	hec_encoder_layer layer, grad;
	hec_tensor x, y, dx;
	MAKE3(w, &x, B, T, C);
	MAKE3(w, &y, B, T, C);
	MAKE3(w, &dx, B, T, C);
	CALL(w, encoder_setup(w, &layer));
	hec_param_alloc zeros = {.size = sizeof zeros, .ctx = w->ctx, .arena = w->arena};
	CALL(w, hec_encoder_layer_setup(&layer.config, &grad));
	CALL(w, encoder_step(w, &layer, &grad, &zeros, &x, &y, &dx));
	add_bits(w, &y);
	add_bits(w, &dx);
	add_bits(w, &grad.attention.qkv.w);
	add_bits(w, &grad.feed_forward.down.w);
}

typedef struct decoder_call {
	hec_decoder_layer layer, grad;
	hec_tensor x, memory, y, dx, dmemory;
	hec_mask causal;
} decoder_call;

static hec_status decoder_setup(world *w, decoder_call *d)
{
	hec_decoder_layer_config config = {.size = sizeof config, .norm = HEC_NORM_RMS};
	config.self = (hec_multi_head_config){.size = sizeof config.self, .width = C, .heads = H};
	config.cross = (hec_multi_head_config){
		.size = sizeof config.cross, .width = C, .heads = H, .d_v = 8, .dropout_qkv = 0.1};
	config.feed_forward = (hec_feed_forward_config){.size = sizeof config.feed_forward,
	                                                .width = C,
	                                                .hidden = F,
	                                                .act = HEC_ACT_SILU,
	                                                .gated = true};
	hec_param_alloc alloc = {.size = sizeof alloc, .ctx = w->ctx, .arena = w->arena, .seed = 4};
	hec_status status = hec_decoder_layer_setup(&config, &d->layer);
	if (status == HEC_OK)
		status = hec_decoder_layer_params(&d->layer, "", hec_param_allocate, &alloc);
	if (status == HEC_OK)
		status = hec_decoder_layer_params(&d->layer, "", hec_param_initialise, &alloc);
	if (status == HEC_OK)
		status = hec_decoder_layer_setup(&config, &d->grad);
	return status;
}

static hec_status decoder_step(world *w, decoder_call *d)
{
	hec_param_alloc zeros = {.size = sizeof zeros, .ctx = w->ctx, .arena = w->arena};
	hec_decoder_layer_kept *kept = NULL;
	hec_status status = hec_decoder_layer_params(&d->grad, "", hec_param_allocate, &zeros);
	if (status == HEC_OK)
		status = zero(w, &d->dx);
	if (status == HEC_OK)
		status = zero(w, &d->dmemory);
	if (status == HEC_OK)
		status = hec_decoder_layer_fwd(w->ctx, w->arena, &d->layer, &d->x, &d->memory,
		                               &d->causal, NULL, &key, &d->y, NULL, NULL, &kept);
	if (status == HEC_OK)
		status = hec_decoder_layer_bwd(w->ctx, w->arena, &d->layer, &d->y, &d->x,
		                               &d->memory, &d->causal, NULL, &key, kept, &d->dx,
		                               &d->dmemory, NULL, NULL, &d->grad);
	return status;
}

void decoder_layer(world *w)
{
	BEGIN(w);
	decoder_call d = {.causal = HEC_MASK_INIT};
	d.causal.causal = true;
	MAKE3(w, &d.x, B, T, C);
	MAKE3(w, &d.y, B, T, C);
	MAKE3(w, &d.dx, B, T, C);
	MAKE3(w, &d.memory, B, S, C);
	MAKE3(w, &d.dmemory, B, S, C);
	CALL(w, decoder_setup(w, &d));
	CALL(w, decoder_step(w, &d));
	add_bits(w, &d.y);
	add_bits(w, &d.dx);
	add_bits(w, &d.dmemory);
	add_bits(w, &d.grad.feed_forward.up.w);
}
