/* layers.c — one pair of calls for every composite layer. */
#include "support/layers.h"

const char *layer_name(layer_kind kind)
{
	static const char *const names[LAYER_KINDS] = {
		"self-attention",         "cross-attention", "encoder layer",
		"pre-norm encoder layer", "decoder layer",   "pre-norm decoder layer",
		"decoder-only layer"};
	return names[kind];
}

bool layer_has_memory(layer_kind kind)
{
	return kind == LAYER_CROSS || kind == LAYER_DECODER || kind == LAYER_DECODER_PRE;
}

static hec_multi_head_config attention_config(const layer *l, double p)
{
	return (hec_multi_head_config){.size = sizeof(hec_multi_head_config),
	                               .width = l->C,
	                               .heads = l->H,
	                               .fused = l->kind == LAYER_SELF,
	                               .dropout_qkv = p,
	                               .dropout_weights = p,
	                               .dropout_out = p};
}

static hec_feed_forward_config feed_forward_config(const layer *l, int64_t F, double p)
{
	return (hec_feed_forward_config){.size = sizeof(hec_feed_forward_config),
	                                 .width = l->C,
	                                 .hidden = F,
	                                 .act = l->kind == LAYER_ENCODER_PRE ? HEC_ACT_SILU
	                                        : l->kind == LAYER_DECODER   ? HEC_ACT_GELU
	                                                                     : HEC_ACT_RELU,
	                                 .gated = l->kind == LAYER_ENCODER_PRE,
	                                 .dropout_hidden = p,
	                                 .dropout_out = p};
}

static void open_multi_head(layer *l, double p)
{
	hec_multi_head_config config = attention_config(l, p);
	OK(l->k, hec_multi_head_resolve(&config));
	l->multi_head = l->multi_head_grad = (hec_multi_head){.config = config};
	OK(l->k, hec_multi_head_params(&l->multi_head, "layer", param_make, &l->params));
	OK(l->k, hec_multi_head_params(&l->multi_head_grad, "layer", param_make, &l->grads));
}

static void open_encoder(layer *l, int64_t F, double p)
{
	hec_encoder_layer_config config = {
		.size = sizeof config,
		.attention = attention_config(l, p),
		.feed_forward = feed_forward_config(l, F, p),
		.norm = l->kind == LAYER_ENCODER_PRE ? HEC_NORM_RMS : HEC_NORM_LAYER,
		.norm_first = l->kind == LAYER_ENCODER_PRE,
	};
	OK(l->k, hec_encoder_layer_setup(&config, &l->encoder));
	OK(l->k, hec_encoder_layer_setup(&config, &l->encoder_grad));
	OK(l->k, hec_encoder_layer_params(&l->encoder, "layer", param_make, &l->params));
	OK(l->k, hec_encoder_layer_params(&l->encoder_grad, "layer", param_make, &l->grads));
}

static void open_decoder(layer *l, int64_t F, double p)
{
	hec_decoder_layer_config config = {
		.size = sizeof config,
		.self = attention_config(l, p),
		.feed_forward = feed_forward_config(l, F, p),
		.norm_first = l->kind != LAYER_DECODER,
	};
	config.cross = (hec_multi_head_config){.size = sizeof config.cross};
	if (layer_has_memory(l->kind))
		config.cross = attention_config(l, p);
	OK(l->k, hec_decoder_layer_setup(&config, &l->decoder));
	OK(l->k, hec_decoder_layer_setup(&config, &l->decoder_grad));
	OK(l->k, hec_decoder_layer_params(&l->decoder, "layer", param_make, &l->params));
	OK(l->k, hec_decoder_layer_params(&l->decoder_grad, "layer", param_make, &l->grads));
}

void layer_open(layer *l, kit *k, layer_kind kind, hec_dtype dtype, int64_t C, int64_t H, int64_t F,
                double dropout)
{
	*l = (layer){.k = k, .kind = kind, .dtype = dtype, .C = C, .H = H};
	l->params = (param_list){.k = k, .dtype = dtype, .scale = 0.2};
	l->grads = (param_list){.k = k, .dtype = dtype, .constant = true, .scale = 0};
	if (kind == LAYER_SELF || kind == LAYER_CROSS)
		open_multi_head(l, dropout);
	else if (kind == LAYER_ENCODER || kind == LAYER_ENCODER_PRE)
		open_encoder(l, F, dropout);
	else
		open_decoder(l, F, dropout);
}

void layer_pack(layer *l, hec_ctx *ctx, hec_arena *arena)
{
	hec_param_alloc alloc = {.size = sizeof alloc,
	                         .ctx = ctx,
	                         .arena = arena,
	                         .dtype = l->dtype,
	                         .with_bwd = true};
	if (l->kind == LAYER_SELF || l->kind == LAYER_CROSS)
		OK(l->k, hec_multi_head_params(&l->multi_head, "layer", hec_param_pack, &alloc));
	else if (l->kind == LAYER_ENCODER || l->kind == LAYER_ENCODER_PRE)
		OK(l->k, hec_encoder_layer_params(&l->encoder, "layer", hec_param_pack, &alloc));
	else
		OK(l->k, hec_decoder_layer_params(&l->decoder, "layer", hec_param_pack, &alloc));
}

void layer_zero_grads(layer *l)
{
	for (int i = 0; i < l->grads.count; i++)
		fill_with(l->grads.tensors[i], 0);
}

layer_io layer_io_open(layer *l, int64_t B, int64_t T, int64_t S)
{
	kit *k = l->k;
	layer_io io = {.mask = HEC_MASK_INIT, .cross_mask = HEC_MASK_INIT};
	io.x = make_random(k, l->dtype, SHAPE(B, T, l->C));
	io.dy = make_random(k, l->dtype, SHAPE(B, T, l->C));
	io.y = make(k, l->dtype, SHAPE(B, T, l->C));
	io.dx = make_zero(k, l->dtype, SHAPE(B, T, l->C));
	if (layer_has_memory(l->kind)) {
		io.memory = make_random(k, l->dtype, SHAPE(B, S, l->C));
		io.dmemory = make_zero(k, l->dtype, SHAPE(B, S, l->C));
	}
	io.mask.causal = l->kind >= LAYER_DECODER;
	return io;
}

static hec_tensor *given(hec_tensor *t)
{
	return t->rank ? t : NULL;
}

hec_status layer_fwd(layer *l, hec_ctx *ctx, hec_arena *arena, layer_io *io, void **kept)
{
	if (l->kind == LAYER_SELF || l->kind == LAYER_CROSS)
		return hec_multi_head_fwd(ctx, arena, &l->multi_head, &io->x, given(&io->memory),
		                          &io->mask, io->key, NULL, &io->y, NULL,
		                          (hec_multi_head_kept **)kept);
	if (l->kind == LAYER_ENCODER || l->kind == LAYER_ENCODER_PRE)
		return hec_encoder_layer_fwd(ctx, arena, &l->encoder, &io->x, &io->mask, io->key,
		                             &io->y, NULL, (hec_encoder_layer_kept **)kept);
	return hec_decoder_layer_fwd(ctx, arena, &l->decoder, &io->x, given(&io->memory), &io->mask,
	                             &io->cross_mask, io->key, &io->y, NULL, NULL,
	                             (hec_decoder_layer_kept **)kept);
}

hec_status layer_bwd(layer *l, hec_ctx *ctx, hec_arena *arena, layer_io *io, void *kept)
{
	if (l->kind == LAYER_SELF || l->kind == LAYER_CROSS)
		return hec_multi_head_bwd(ctx, arena, &l->multi_head, &io->dy, &io->x,
		                          given(&io->memory), &io->mask, io->key, kept, &io->dx,
		                          given(&io->dmemory), NULL, &l->multi_head_grad);
	if (l->kind == LAYER_ENCODER || l->kind == LAYER_ENCODER_PRE)
		return hec_encoder_layer_bwd(ctx, arena, &l->encoder, &io->dy, &io->x, &io->mask,
		                             io->key, kept, &io->dx, NULL, &l->encoder_grad);
	return hec_decoder_layer_bwd(ctx, arena, &l->decoder, &io->dy, &io->x, given(&io->memory),
	                             &io->mask, &io->cross_mask, io->key, kept, &io->dx,
	                             given(&io->dmemory), NULL, NULL, &l->decoder_grad);
}
