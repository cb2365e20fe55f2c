/* decoder_layer.c — self-attention, cross-attention (where there is one) and feed-forward: two or
 * three sublayers in a row. */
#include "nn/decoder_layer.h"

#include "base/status.h"
#include "nn/param.h"
#include "nn/sublayer.h"
#include "tensor/check.h"

struct hec_decoder_layer_kept {
	sublayer_kept sublayers[MAX_SUBLAYERS];
};

static bool has_cross(const hec_decoder_layer *layer)
{
	return layer->config.cross.heads > 0;
}

hec_status hec_decoder_layer_setup(const hec_decoder_layer_config *config, hec_decoder_layer *layer)
{
	HEC_TRY(CHECK_GIVEN("decoder layer", config));
	HEC_TRY(CHECK_GIVEN("decoder layer", layer));
	if (config->size != sizeof *config)
		return fail(HEC_ERR_ARGUMENT, "hec_decoder_layer_config.size is %zu, expected %zu",
		            config->size, sizeof *config);
	hec_decoder_layer_config c = *config;
	HEC_TRY(hec_multi_head_resolve(&c.self));
	int64_t C = c.self.width;
	if (c.self.out_width != C || c.self.memory_width != C || c.feed_forward.width != C)
		return fail(HEC_ERR_SHAPE,
		            "decoder layer: self-attention takes %lld and gives %lld, feed-forward "
		            "takes %lld: all must be one width",
		            (long long)C, (long long)c.self.out_width,
		            (long long)c.feed_forward.width);
	if (c.cross.heads < 0)
		return fail(HEC_ERR_ARGUMENT, "decoder layer: cross-attention of %lld heads",
		            (long long)c.cross.heads);
	if (c.cross.heads > 0) {
		HEC_TRY(hec_multi_head_resolve(&c.cross));
		if (c.cross.width != C || c.cross.out_width != C)
			return fail(HEC_ERR_SHAPE,
			            "decoder layer: cross-attention takes %lld and gives %lld, "
			            "self-attention gives %lld",
			            (long long)c.cross.width, (long long)c.cross.out_width,
			            (long long)C);
	}
	HEC_TRY(sublayers_check_config("decoder layer", &c.feed_forward, c.norm, c.norm_eps, c.site,
	                               HEC_DECODER_LAYER_SITES));
	if (c.norm_eps == 0)
		c.norm_eps = 1e-5;
	c.self.site = c.site;
	c.cross.site = (uint16_t)(c.site + HEC_MULTI_HEAD_SITES);
	c.feed_forward.site = (uint16_t)(c.site + 2 * HEC_MULTI_HEAD_SITES);
	hec_norm norm = {.kind = c.norm, .eps = c.norm_eps};
	*layer = (hec_decoder_layer){.config = c,
	                             .self = {.config = c.self},
	                             .cross = {.config = c.cross},
	                             .feed_forward = {.config = c.feed_forward},
	                             .norm1 = norm,
	                             .norm2 = norm,
	                             .norm3 = norm};
	return HEC_OK;
}

hec_status hec_decoder_layer_params(hec_decoder_layer *layer, const char *prefix, hec_param_fn *fn,
                                    void *user)
{
	HEC_TRY(CHECK_GIVEN("decoder layer", layer));
	HEC_TRY(CHECK_GIVEN("decoder layer", fn));
	int64_t C = layer->self.config.width;
	const bool residual = layer->config.residual_linear;
	param_walk walk = {prefix, fn, user};
	char name[PARAM_NAME];
	HEC_TRY(param_join(prefix, "self", name));
	HEC_TRY(hec_multi_head_params(&layer->self, name, fn, user));
	if (residual)
		HEC_TRY(walk_linear(&walk, "residual1", &layer->residual1, C, C, true));
	HEC_TRY(walk_norm(&walk, "norm1", &layer->norm1, C));
	if (has_cross(layer)) {
		HEC_TRY(param_join(prefix, "cross", name));
		HEC_TRY(hec_multi_head_params(&layer->cross, name, fn, user));
		if (residual)
			HEC_TRY(walk_linear(&walk, "residual2", &layer->residual2, C, C, true));
		HEC_TRY(walk_norm(&walk, "norm2", &layer->norm2, C));
	}
	HEC_TRY(param_join(prefix, "feed_forward", name));
	HEC_TRY(hec_feed_forward_params(&layer->feed_forward, name, fn, user));
	if (residual)
		HEC_TRY(walk_linear(&walk, "residual3", &layer->residual3, C, C, true));
	return walk_norm(&walk, "norm3", &layer->norm3, C);
}

/* The sublayers, and how many. */
static int list_sublayers(const hec_decoder_layer *layer, const hec_tensor *memory,
                          const hec_mask *self_mask, const hec_mask *cross_mask,
                          hec_tensor *self_weights, hec_tensor *cross_weights,
                          sublayer list[MAX_SUBLAYERS])
{
	const hec_decoder_layer_config *c = &layer->config;
	int n = 0;
	list[n++] = (sublayer){.attention = &layer->self,
	                       .norm = &layer->norm1,
	                       .residual = c->residual_linear ? &layer->residual1 : NULL,
	                       .norm_first = c->norm_first,
	                       .mask = self_mask,
	                       .weights = self_weights};
	if (has_cross(layer))
		list[n++] = (sublayer){.attention = &layer->cross,
		                       .norm = &layer->norm2,
		                       .residual = c->residual_linear ? &layer->residual2 : NULL,
		                       .norm_first = c->norm_first,
		                       .memory = memory,
		                       .mask = cross_mask,
		                       .weights = cross_weights};
	list[n++] = (sublayer){.feed_forward = &layer->feed_forward,
	                       .norm = &layer->norm3,
	                       .residual = c->residual_linear ? &layer->residual3 : NULL,
	                       .norm_first = c->norm_first};
	return n;
}

static hec_status check_layer(hec_ctx *ctx, hec_arena *arena, const hec_decoder_layer *layer,
                              const hec_tensor *x, const hec_tensor *memory)
{
	HEC_TRY(CHECK_GIVEN("decoder layer", ctx));
	HEC_TRY(CHECK_GIVEN("decoder layer", arena));
	HEC_TRY(CHECK_GIVEN("decoder layer", layer));
	if (layer->config.size != sizeof layer->config)
		return fail(
			HEC_ERR_ARGUMENT,
			"decoder layer: the layer has not been through hec_decoder_layer_setup");
	if (has_cross(layer) != (memory != NULL))
		return fail(HEC_ERR_ARGUMENT, "decoder layer: memory is %s, the layer has %s",
		            memory ? "given" : "NULL",
		            memory ? "no cross-attention" : "cross-attention");
	HEC_TRY(check_real("decoder layer: x", x));
	return CHECK_3D("decoder layer: x", x, x->dtype, ANY, ANY, layer->self.config.width);
}

hec_status hec_decoder_layer_fwd(hec_ctx *ctx, hec_arena *arena, const hec_decoder_layer *layer,
                                 const hec_tensor *x, const hec_tensor *memory,
                                 const hec_mask *self_mask, const hec_mask *cross_mask,
                                 const hec_dropout_key *key, hec_tensor *y,
                                 hec_tensor *self_weights, hec_tensor *cross_weights,
                                 hec_decoder_layer_kept **kept)
{
	HEC_TRY(check_layer(ctx, arena, layer, x, memory));
	HEC_TRY(check_tensor("decoder layer: y", y, x->dtype, 3, x->shape));
	size_t mark = hec_arena_used(arena);
	hec_decoder_layer_kept *k = NULL;
	if (kept)
		HEC_TRY(hec_arena_alloc(arena, sizeof *k, (void **)&k));
	sublayer list[MAX_SUBLAYERS];
	int n = list_sublayers(layer, memory, self_mask, cross_mask, self_weights, cross_weights,
	                       list);
	hec_status status = sublayers_fwd(ctx, arena, list, n, x, key, y, k ? k->sublayers : NULL);
	if (status != HEC_OK || !kept)
		hec_arena_rewind(arena, mark);
	else
		*kept = k;
	return status;
}

hec_status decoder_layer_step(hec_ctx *ctx, hec_arena *arena, const hec_decoder_layer *layer,
                              const hec_tensor *x, const multi_head_cache *self,
                              const multi_head_cache *cross, hec_tensor *y)
{
	size_t mark = hec_arena_used(arena);
	sublayer list[MAX_SUBLAYERS];
	int n = list_sublayers(layer, NULL, NULL, NULL, NULL, NULL, list);
	list[0].cache = self;
	if (has_cross(layer))
		list[1].cache = cross;
	hec_status status = sublayers_fwd(ctx, arena, list, n, x, NULL, y, NULL);
	hec_arena_rewind(arena, mark);
	return status;
}

hec_status hec_decoder_layer_bwd(hec_ctx *ctx, hec_arena *arena, const hec_decoder_layer *layer,
                                 const hec_tensor *dy, const hec_tensor *x,
                                 const hec_tensor *memory, const hec_mask *self_mask,
                                 const hec_mask *cross_mask, const hec_dropout_key *key,
                                 const hec_decoder_layer_kept *kept, hec_tensor *dx,
                                 hec_tensor *dmemory, hec_tensor *dself_bias,
                                 hec_tensor *dcross_bias, hec_decoder_layer *grad)
{
	HEC_TRY(check_layer(ctx, arena, layer, x, memory));
	HEC_TRY(CHECK_GIVEN("decoder layer", kept));
	HEC_TRY(CHECK_GIVEN("decoder layer", grad));
	HEC_TRY(check_tensor("decoder layer: dy", dy, x->dtype, 3, x->shape));
	HEC_TRY(check_tensor("decoder layer: dx", dx, x->dtype, 3, x->shape));
	sublayer list[MAX_SUBLAYERS];
	int n = list_sublayers(layer, memory, self_mask, cross_mask, NULL, NULL, list), i = 0;
	sublayer_grad grads[MAX_SUBLAYERS];
	grads[i++] = (sublayer_grad){.attention = &grad->self,
	                             .norm = &grad->norm1,
	                             .residual = &grad->residual1,
	                             .dbias = dself_bias};
	if (has_cross(layer))
		grads[i++] = (sublayer_grad){.attention = &grad->cross,
		                             .norm = &grad->norm2,
		                             .residual = &grad->residual2,
		                             .dmemory = dmemory,
		                             .dbias = dcross_bias};
	grads[i] = (sublayer_grad){.feed_forward = &grad->feed_forward,
	                           .norm = &grad->norm3,
	                           .residual = &grad->residual3};
	size_t mark = hec_arena_used(arena);
	hec_status status =
		sublayers_bwd(ctx, arena, list, n, dy, x, key, kept->sublayers, dx, grads);
	hec_arena_rewind(arena, mark);
	return status;
}
