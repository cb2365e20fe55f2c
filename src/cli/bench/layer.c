/* layer.c — one encoder layer, post-norm, ReLU, as the 2017 paper has it: forward only, the
 * backward pass after a forward that kept what it needs, and packing the weights for both. */
#include <stdlib.h>

#include "cli/bench/case.h"

typedef struct layer_state {
	hec_encoder_layer layer, grad;
	hec_encoder_layer_kept *kept;
	hec_param_alloc alloc;
	hec_tensor x, y, dy, dx;
} layer_state;

static hec_status make_layer(bench_case *c, bool learn, layer_state **out)
{
	bench_shape *shape = &c->shape;
	shape_default(shape, 'B', 8);
	shape_default(shape, 'T', 128);
	shape_default(shape, 'C', 512);
	shape_default(shape, 'F', 2048);
	shape_default(shape, 'H', 8);
	int64_t B = shape_get(shape, 'B'), T = shape_get(shape, 'T'), C = shape_get(shape, 'C');
	int64_t F = shape_get(shape, 'F'), H = shape_get(shape, 'H');
	double weights = (double)C * (double)(4 * C + 2 * F), rows = (double)B * (double)T;
	double kept = rows * (16 * (double)C + 6 * (double)F);
	TRY(case_open(c, 4 * (8 * weights + 4 * kept) + (64 << 20)));
	layer_state *s;
	TRY(hec_arena_alloc(c->arena, sizeof *s, (void **)&s));
	*s = (layer_state){.kept = NULL};
	hec_encoder_layer_config config = {
		.size = sizeof config,
		.attention = {.size = sizeof config.attention, .width = C, .heads = H},
		.feed_forward = {.size = sizeof config.feed_forward,
	                         .width = C,
	                         .hidden = F,
	                         .act = HEC_ACT_RELU},
		.norm = HEC_NORM_LAYER,
	};
	s->alloc = (hec_param_alloc){.size = sizeof s->alloc,
	                             .ctx = c->ctx,
	                             .arena = c->arena,
	                             .dtype = HEC_F32,
	                             .seed = 1,
	                             .with_bwd = learn};
	TRY(hec_encoder_layer_setup(&config, &s->layer));
	TRY(hec_encoder_layer_params(&s->layer, "", hec_param_allocate, &s->alloc));
	TRY(hec_encoder_layer_params(&s->layer, "", hec_param_initialise, &s->alloc));
	TRY(hec_encoder_layer_params(&s->layer, "", hec_param_pack, &s->alloc));
	const int64_t rows_shape[3] = {B, T, C};
	TRY(case_normal(c, 3, rows_shape, &s->x));
	TRY(case_tensor(c, 3, rows_shape, &s->y));
	double gemms = 2 * rows * weights;
	double attention = 4 * rows * (double)T * (double)C;
	c->flops = learn ? 2 * gemms + 2.5 * attention : gemms + attention;
	c->bytes = 4 * (weights + 2 * rows * (double)C);
	c->state = s;
	*out = s;
	return HEC_OK;
}

static hec_status fwd_call(bench_case *c, int64_t i)
{
	layer_state *s = c->state;
	(void)i;
	return hec_encoder_layer_fwd(c->ctx, c->arena, &s->layer, &s->x, NULL, NULL, &s->y, NULL,
	                             NULL);
}

static hec_status bwd_call(bench_case *c, int64_t i)
{
	layer_state *s = c->state;
	(void)i;
	size_t mark = hec_arena_used(c->arena);
	hec_status status = hec_encoder_layer_bwd(c->ctx, c->arena, &s->layer, &s->dy, &s->x, NULL,
	                                          NULL, s->kept, &s->dx, NULL, &s->grad);
	hec_arena_rewind(c->arena, mark);
	return status;
}

static hec_status pack_call(bench_case *c, int64_t i)
{
	layer_state *s = c->state;
	(void)i;
	return hec_encoder_layer_params(&s->layer, "", hec_param_pack, &s->alloc);
}

hec_status encoder_fwd_setup(bench_case *c)
{
	layer_state *s;
	TRY(make_layer(c, false, &s));
	c->call = fwd_call;
	return HEC_OK;
}

hec_status encoder_bwd_setup(bench_case *c)
{
	layer_state *s;
	TRY(make_layer(c, true, &s));
	s->alloc.with_bwd = false;
	TRY(hec_encoder_layer_setup(&s->layer.config, &s->grad));
	TRY(hec_encoder_layer_params(&s->grad, "", hec_param_allocate, &s->alloc));
	TRY(case_normal(c, 3, s->x.shape, &s->dy));
	TRY(case_tensor(c, 3, s->x.shape, &s->dx));
	TRY(hec_tensor_fill(c->ctx, 0, &s->dx));
	TRY(hec_encoder_layer_fwd(c->ctx, c->arena, &s->layer, &s->x, NULL, NULL, &s->y, NULL,
	                          &s->kept));
	c->call = bwd_call;
	return HEC_OK;
}

hec_status encoder_pack_setup(bench_case *c)
{
	layer_state *s;
	TRY(make_layer(c, true, &s));
	c->call = pack_call;
	c->flops = 0;
	/* Each matrix is read twice and written twice. */
	c->bytes = 4 * (c->bytes - 8 * (double)(hec_tensor_count(&s->x)));
	c->memory = true;
	return HEC_OK;
}
