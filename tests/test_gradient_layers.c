/* test_gradient_layers.c — gradients of the encoder layer and the decoder layer, of every input and
 * every parameter. */
#include "support/gradient.h"

#include <math.h>
#include <stdio.h>

static const hec_dropout_key key = {424242, 9, 3};

static const hec_tensor *given(const hec_tensor *t)
{
	return t->rank ? t : NULL;
}

/* ---- encoder layer ---- */

typedef struct encoder_case {
	kit *k;
	hec_encoder_layer layer;
	hec_tensor x, y, cotangent;
	hec_mask mask;
	const hec_dropout_key *key;
} encoder_case;

static double encoder_loss(void *arg, double *magnitude)
{
	encoder_case *c = arg;
	size_t mark = hec_arena_used(c->k->arena);
	poison(&c->y);
	OK(c->k, hec_encoder_layer_fwd(c->k->ctx, c->k->arena, &c->layer, &c->x, &c->mask, c->key,
	                               &c->y, NULL, NULL));
	CHECK(c->k, hec_arena_used(c->k->arena) == mark, "only running left something behind");
	return weighted_sum(&c->y, &c->cotangent, magnitude);
}

static void encoder_check(kit *k, const hec_encoder_layer_config *config, bool bias,
                          const hec_dropout_key *dropout)
{
	const int64_t B = 2, T = 3, C = config->attention.width;
	encoder_case c = {.k = k, .mask = HEC_MASK_INIT, .key = dropout};
	hec_encoder_layer grad;
	OK(k, hec_encoder_layer_setup(config, &c.layer));
	OK(k, hec_encoder_layer_setup(config, &grad));
	param_list params = {.k = k, .dtype = HEC_F64},
		   grads = {.k = k, .dtype = HEC_F64, .constant = true, .scale = GRADIENT_START};
	OK(k, hec_encoder_layer_params(&c.layer, "layer", param_make, &params));
	OK(k, hec_encoder_layer_params(&grad, "layer", param_make, &grads));
	const int32_t lengths[] = {3, 2};
	c.mask.key_length = lengths;
	if (bias)
		c.mask.bias = make_random(k, HEC_F64, SHAPE(1, config->attention.heads, T, T));
	c.x = make_random(k, HEC_F64, SHAPE(B, T, C));
	c.y = make(k, HEC_F64, SHAPE(B, T, C));
	c.cotangent = make_random(k, HEC_F64, SHAPE(B, T, C));
	hec_tensor dx = gradient_of(k, &c.x), dbias = HEC_TENSOR_NONE;
	if (bias)
		dbias = gradient_of(k, &c.mask.bias);
	hec_encoder_layer_kept *kept = NULL;
	OK(k, hec_encoder_layer_fwd(k->ctx, k->arena, &c.layer, &c.x, &c.mask, dropout, &c.y, NULL,
	                            &kept));
	OK(k, hec_encoder_layer_bwd(k->ctx, k->arena, &c.layer, &c.cotangent, &c.x, &c.mask,
	                            dropout, kept, &dx, bias ? &dbias : NULL, &grad));
	check_gradient(k, "x", encoder_loss, &c, &c.x, &dx, GRADIENT_START);
	if (bias)
		check_gradient(k, "bias", encoder_loss, &c, &c.mask.bias, &dbias, GRADIENT_START);
	check_param_gradients(k, encoder_loss, &c, &params, &grads);
	hec_arena_rewind(k->arena, 0);
	kit_check_guards(k);
}

static hec_encoder_layer_config encoder_config(int n)
{
	static const hec_activation acts[] = {HEC_ACT_RELU, HEC_ACT_GELU, HEC_ACT_SILU,
	                                      HEC_ACT_GELU_TANH};
	hec_encoder_layer_config config = {
		.size = sizeof config,
		.attention = {.size = sizeof config.attention, .width = 4, .heads = 2},
		.feed_forward = {.size = sizeof config.feed_forward,
	                         .width = 4,
	                         .hidden = 6,
	                         .act = acts[n / 2 % 4],
	                         .gated = n % 3 == 2},
		.norm = n & 4 ? HEC_NORM_RMS : HEC_NORM_LAYER,
		.norm_eps = 1e-3,
		.norm_first = n & 1,
	};
	return config;
}

static void the_encoder_layer_with_pre_and_post_norm(void **state)
{
	(void)state;
	kit k = kit_open(37);
	for (int n = 0; n < 8; n++) {
		hec_encoder_layer_config config = encoder_config(n);
		config.attention.fused = n & 2;
		encoder_check(&k, &config, n == 2 || n == 3, NULL);
	}
	kit_close(&k);
}

static void the_encoder_layer_with_a_learned_residual(void **state)
{
	(void)state;
	kit k = kit_open(38);
	for (int n = 0; n < 2; n++) {
		hec_encoder_layer_config config = encoder_config(n);
		config.residual_linear = true;
		encoder_check(&k, &config, false, NULL);
	}
	kit_close(&k);
}

static void the_encoder_layer_with_every_dropout(void **state)
{
	(void)state;
	kit k = kit_open(39);
	for (int n = 0; n < 4; n++) {
		hec_encoder_layer_config config = encoder_config(n);
		config.attention.dropout_qkv = 0.1;
		config.attention.dropout_weights = 0.2;
		config.attention.dropout_out = 0.3;
		config.feed_forward.dropout_hidden = 0.2;
		config.feed_forward.dropout_out = 0.3;
		config.residual_linear = n >= 2;
		config.site = 20;
		encoder_check(&k, &config, false, &key);
	}
	kit_close(&k);
}

/* ---- decoder layer ---- */

typedef struct decoder_case {
	kit *k;
	hec_decoder_layer layer;
	hec_tensor x, memory, y, cotangent;
	hec_mask self, cross;
	const hec_dropout_key *key;
} decoder_case;

static double decoder_loss(void *arg, double *magnitude)
{
	decoder_case *c = arg;
	size_t mark = hec_arena_used(c->k->arena);
	poison(&c->y);
	OK(c->k, hec_decoder_layer_fwd(c->k->ctx, c->k->arena, &c->layer, &c->x, given(&c->memory),
	                               &c->self, &c->cross, c->key, &c->y, NULL, NULL, NULL));
	CHECK(c->k, hec_arena_used(c->k->arena) == mark, "only running left something behind");
	return weighted_sum(&c->y, &c->cotangent, magnitude);
}

static void decoder_check(kit *k, const hec_decoder_layer_config *config, bool bias,
                          const hec_dropout_key *dropout)
{
	const int64_t B = 2, T = 3, S = 4, C = config->self.width;
	const bool cross = config->cross.heads > 0;
	const int64_t M = config->cross.memory_width ? config->cross.memory_width : C;
	decoder_case c = {.k = k, .self = HEC_MASK_INIT, .cross = HEC_MASK_INIT, .key = dropout};
	hec_decoder_layer grad;
	OK(k, hec_decoder_layer_setup(config, &c.layer));
	OK(k, hec_decoder_layer_setup(config, &grad));
	param_list params = {.k = k, .dtype = HEC_F64},
		   grads = {.k = k, .dtype = HEC_F64, .constant = true, .scale = GRADIENT_START};
	OK(k, hec_decoder_layer_params(&c.layer, "layer", param_make, &params));
	OK(k, hec_decoder_layer_params(&grad, "layer", param_make, &grads));
	const int32_t lengths[] = {4, 2};
	c.self.causal = true;
	c.cross.key_length = lengths;
	hec_tensor dself = HEC_TENSOR_NONE, dcross = HEC_TENSOR_NONE, dmemory = HEC_TENSOR_NONE;
	if (bias) {
		c.self.bias = make_random(k, HEC_F64, SHAPE(1, config->self.heads, T, T));
		dself = gradient_of(k, &c.self.bias);
	}
	if (bias && cross) {
		c.cross.bias = make_random(k, HEC_F64, SHAPE(1, 1, T, S));
		dcross = gradient_of(k, &c.cross.bias);
	}
	c.x = make_random(k, HEC_F64, SHAPE(B, T, C));
	if (cross) {
		c.memory = make_random(k, HEC_F64, SHAPE(B, S, M));
		dmemory = gradient_of(k, &c.memory);
	}
	c.y = make(k, HEC_F64, SHAPE(B, T, C));
	c.cotangent = make_random(k, HEC_F64, SHAPE(B, T, C));
	hec_tensor dx = gradient_of(k, &c.x);
	hec_decoder_layer_kept *kept = NULL;
	OK(k, hec_decoder_layer_fwd(k->ctx, k->arena, &c.layer, &c.x, given(&c.memory), &c.self,
	                            &c.cross, dropout, &c.y, NULL, NULL, &kept));
	OK(k,
	   hec_decoder_layer_bwd(k->ctx, k->arena, &c.layer, &c.cotangent, &c.x, given(&c.memory),
	                         &c.self, &c.cross, dropout, kept, &dx, cross ? &dmemory : NULL,
	                         bias ? &dself : NULL, bias && cross ? &dcross : NULL, &grad));
	check_gradient(k, "x", decoder_loss, &c, &c.x, &dx, GRADIENT_START);
	if (cross)
		check_gradient(k, "memory", decoder_loss, &c, &c.memory, &dmemory, GRADIENT_START);
	if (bias)
		check_gradient(k, "self bias", decoder_loss, &c, &c.self.bias, &dself,
		               GRADIENT_START);
	if (bias && cross)
		check_gradient(k, "cross bias", decoder_loss, &c, &c.cross.bias, &dcross,
		               GRADIENT_START);
	check_param_gradients(k, decoder_loss, &c, &params, &grads);
	hec_arena_rewind(k->arena, 0);
	kit_check_guards(k);
}

static hec_decoder_layer_config decoder_config(int n)
{
	hec_encoder_layer_config e = encoder_config(n);
	hec_decoder_layer_config config = {
		.size = sizeof config,
		.self = e.attention,
		.cross = e.attention,
		.feed_forward = e.feed_forward,
		.norm = e.norm,
		.norm_eps = e.norm_eps,
		.norm_first = e.norm_first,
	};
	return config;
}

static void the_decoder_layer_with_pre_and_post_norm(void **state)
{
	(void)state;
	kit k = kit_open(40);
	for (int n = 0; n < 8; n++) {
		hec_decoder_layer_config config = decoder_config(n);
		config.cross.memory_width = n & 2 ? 5 : 0;
		config.self.fused = n & 1;
		config.residual_linear = n >= 6;
		decoder_check(&k, &config, n == 4 || n == 5, NULL);
	}
	kit_close(&k);
}

static void the_decoder_layer_with_every_dropout(void **state)
{
	(void)state;
	kit k = kit_open(41);
	for (int n = 0; n < 4; n++) {
		hec_decoder_layer_config config = decoder_config(n);
		config.self.dropout_qkv = config.cross.dropout_qkv = 0.1;
		config.self.dropout_weights = config.cross.dropout_weights = 0.2;
		config.self.dropout_out = config.cross.dropout_out = 0.3;
		config.feed_forward.dropout_hidden = 0.2;
		config.feed_forward.dropout_out = 0.3;
		config.site = 40;
		decoder_check(&k, &config, false, &key);
	}
	kit_close(&k);
}

static void the_layer_of_a_decoder_only_model(void **state)
{
	(void)state;
	kit k = kit_open(42);
	for (int n = 0; n < 4; n++) {
		hec_decoder_layer_config config = decoder_config(n);
		config.cross = (hec_multi_head_config){.size = sizeof config.cross};
		decoder_check(&k, &config, n & 2, n == 3 ? &key : NULL);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_encoder_layer_with_pre_and_post_norm),
		cmocka_unit_test(the_encoder_layer_with_a_learned_residual),
		cmocka_unit_test(the_encoder_layer_with_every_dropout),
		cmocka_unit_test(the_decoder_layer_with_pre_and_post_norm),
		cmocka_unit_test(the_decoder_layer_with_every_dropout),
		cmocka_unit_test(the_layer_of_a_decoder_only_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
