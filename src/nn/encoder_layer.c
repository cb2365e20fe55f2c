/* encoder_layer.c — self-attention and feed-forward: two sublayers in a row. */
#include <hecate/encoder_layer.h>

#include "base/status.h"
#include "nn/param.h"
#include "nn/sublayer.h"
#include "tensor/check.h"

#define SUBLAYERS 2

struct hec_encoder_layer_kept {
	sublayer_kept sublayers[SUBLAYERS];
};

hec_status hec_encoder_layer_setup(const hec_encoder_layer_config *config, hec_encoder_layer *layer)
{
	HEC_TRY(CHECK_GIVEN("encoder layer", config));
	HEC_TRY(CHECK_GIVEN("encoder layer", layer));
	if (config->size != sizeof *config)
		return fail(HEC_ERR_ARGUMENT, "hec_encoder_layer_config.size is %zu, expected %zu",
		            config->size, sizeof *config);
	hec_encoder_layer_config c = *config;
	HEC_TRY(hec_multi_head_resolve(&c.attention));
	int64_t C = c.attention.width;
	if (c.attention.out_width != C || c.attention.memory_width != C ||
	    c.feed_forward.width != C)
		return fail(
			HEC_ERR_SHAPE,
			"encoder layer: attention takes %lld and gives %lld, feed-forward takes "
			"%lld: all must be one width",
			(long long)C, (long long)c.attention.out_width,
			(long long)c.feed_forward.width);
	HEC_TRY(sublayers_check_config("encoder layer", &c.feed_forward, c.norm, c.norm_eps, c.site,
	                               HEC_ENCODER_LAYER_SITES));
	if (c.norm_eps == 0)
		c.norm_eps = 1e-5;
	c.attention.site = c.site;
	c.feed_forward.site = (uint16_t)(c.site + HEC_MULTI_HEAD_SITES);
	hec_norm norm = {.kind = c.norm, .eps = c.norm_eps};
	*layer = (hec_encoder_layer){.config = c,
	                             .attention = {.config = c.attention},
	                             .feed_forward = {.config = c.feed_forward},
	                             .norm1 = norm,
	                             .norm2 = norm};
	return HEC_OK;
}

hec_status hec_encoder_layer_params(hec_encoder_layer *layer, const char *prefix, hec_param_fn *fn,
                                    void *user)
{
	HEC_TRY(CHECK_GIVEN("encoder layer", layer));
	HEC_TRY(CHECK_GIVEN("encoder layer", fn));
	int64_t C = layer->attention.config.width;
	param_walk walk = {prefix, fn, user};
	char name[PARAM_NAME];
	HEC_TRY(param_join(prefix, "attention", name));
	HEC_TRY(hec_multi_head_params(&layer->attention, name, fn, user));
	if (layer->config.residual_linear)
		HEC_TRY(walk_linear(&walk, "residual1", &layer->residual1, C, C, true));
	HEC_TRY(walk_norm(&walk, "norm1", &layer->norm1, C));
	HEC_TRY(param_join(prefix, "feed_forward", name));
	HEC_TRY(hec_feed_forward_params(&layer->feed_forward, name, fn, user));
	if (layer->config.residual_linear)
		HEC_TRY(walk_linear(&walk, "residual2", &layer->residual2, C, C, true));
	return walk_norm(&walk, "norm2", &layer->norm2, C);
}

static void list_sublayers(const hec_encoder_layer *layer, const hec_mask *mask,
                           hec_tensor *weights, sublayer list[SUBLAYERS])
{
	const hec_encoder_layer_config *c = &layer->config;
	list[0] = (sublayer){.attention = &layer->attention,
	                     .norm = &layer->norm1,
	                     .residual = c->residual_linear ? &layer->residual1 : NULL,
	                     .norm_first = c->norm_first,
	                     .mask = mask,
	                     .weights = weights};
	list[1] = (sublayer){.feed_forward = &layer->feed_forward,
	                     .norm = &layer->norm2,
	                     .residual = c->residual_linear ? &layer->residual2 : NULL,
	                     .norm_first = c->norm_first};
}

static hec_status check_layer(hec_ctx *ctx, hec_arena *arena, const hec_encoder_layer *layer,
                              const hec_tensor *x)
{
	HEC_TRY(CHECK_GIVEN("encoder layer", ctx));
	HEC_TRY(CHECK_GIVEN("encoder layer", arena));
	HEC_TRY(CHECK_GIVEN("encoder layer", layer));
	if (layer->config.size != sizeof layer->config)
		return fail(
			HEC_ERR_ARGUMENT,
			"encoder layer: the layer has not been through hec_encoder_layer_setup");
	HEC_TRY(check_real("encoder layer: x", x));
	return CHECK_3D("encoder layer: x", x, x->dtype, ANY, ANY, layer->attention.config.width);
}

hec_status hec_encoder_layer_fwd(hec_ctx *ctx, hec_arena *arena, const hec_encoder_layer *layer,
                                 const hec_tensor *x, const hec_mask *mask,
                                 const hec_dropout_key *key, hec_tensor *y, hec_tensor *weights,
                                 hec_encoder_layer_kept **kept)
{
	HEC_TRY(check_layer(ctx, arena, layer, x));
	HEC_TRY(check_tensor("encoder layer: y", y, x->dtype, 3, x->shape));
	size_t mark = hec_arena_used(arena);
	hec_encoder_layer_kept *k = NULL;
	if (kept)
		HEC_TRY(hec_arena_alloc(arena, sizeof *k, (void **)&k));
	sublayer list[SUBLAYERS];
	list_sublayers(layer, mask, weights, list);
	hec_status status =
		sublayers_fwd(ctx, arena, list, SUBLAYERS, x, key, y, k ? k->sublayers : NULL);
	if (status != HEC_OK || !kept)
		hec_arena_rewind(arena, mark);
	else
		*kept = k;
	return status;
}

hec_status hec_encoder_layer_bwd(hec_ctx *ctx, hec_arena *arena, const hec_encoder_layer *layer,
                                 const hec_tensor *dy, const hec_tensor *x, const hec_mask *mask,
                                 const hec_dropout_key *key, const hec_encoder_layer_kept *kept,
                                 hec_tensor *dx, hec_tensor *dbias, hec_encoder_layer *grad)
{
	HEC_TRY(check_layer(ctx, arena, layer, x));
	HEC_TRY(CHECK_GIVEN("encoder layer", kept));
	HEC_TRY(CHECK_GIVEN("encoder layer", grad));
	HEC_TRY(check_tensor("encoder layer: dy", dy, x->dtype, 3, x->shape));
	HEC_TRY(check_tensor("encoder layer: dx", dx, x->dtype, 3, x->shape));
	sublayer list[SUBLAYERS];
	list_sublayers(layer, mask, NULL, list);
	const sublayer_grad grads[SUBLAYERS] = {
		{.attention = &grad->attention,
	         .norm = &grad->norm1,
	         .residual = &grad->residual1,
	         .dbias = dbias},
		{.feed_forward = &grad->feed_forward,
	         .norm = &grad->norm2,
	         .residual = &grad->residual2},
	};
	size_t mark = hec_arena_used(arena);
	hec_status status =
		sublayers_bwd(ctx, arena, list, SUBLAYERS, dy, x, key, kept->sublayers, dx, grads);
	hec_arena_rewind(arena, mark);
	return status;
}
