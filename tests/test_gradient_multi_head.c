/* test_gradient_multi_head.c — gradients of multi-head attention, of every input and parameter. */
#include "support/gradient.h"

typedef struct multi_head_case {
	kit *k;
	hec_multi_head layer;
	hec_rotary rotary;
	hec_tensor x, memory, residual, y, cotangent; /* memory, residual: absent where rank is 0 */
	hec_mask mask;
	const hec_dropout_key *key;
} multi_head_case;

static const hec_tensor *given(const hec_tensor *t)
{
	return t->rank ? t : NULL;
}

static double multi_head_loss(void *arg, double *magnitude)
{
	multi_head_case *c = arg;
	size_t mark = hec_arena_used(c->k->arena);
	poison(&c->y);
	OK(c->k, hec_multi_head_fwd(c->k->ctx, c->k->arena, &c->layer, &c->x, given(&c->memory),
	                            &c->mask, c->key, given(&c->residual), &c->y, NULL, NULL));
	CHECK(c->k, hec_arena_used(c->k->arena) == mark, "only running left %zu bytes in the arena",
	      hec_arena_used(c->k->arena) - mark);
	return weighted_sum(&c->y, &c->cotangent, magnitude);
}

static void multi_head_check(kit *k, hec_multi_head_config config, bool cross, bool rotary,
                             bool residual, bool causal, bool bias, const hec_dropout_key *key)
{
	int64_t B = 2, T = 3, S = cross ? 4 : 3;
	multi_head_case c = {.k = k, .mask = HEC_MASK_INIT, .key = key};
	config.size = sizeof config;
	OK(k, hec_multi_head_resolve(&config));
	c.layer.config = config;
	param_list params = {.k = k, .dtype = HEC_F64},
		   grads = {.k = k, .dtype = HEC_F64, .constant = true, .scale = GRADIENT_START};
	hec_multi_head grad = {.config = config};
	OK(k, hec_multi_head_params(&c.layer, "attention", param_make, &params));
	OK(k, hec_multi_head_params(&grad, "attention", param_make, &grads));
	if (rotary) {
		c.rotary =
			(hec_rotary){HEC_ROTARY_HALVES, make(k, HEC_F64, SHAPE(8, config.d_k / 2)),
		                     make(k, HEC_F64, SHAPE(8, config.d_k / 2))};
		OK(k, hec_rotary_fill(k->ctx, 50, &c.rotary));
		c.layer.rotary = &c.rotary;
	}
	c.x = make_random(k, HEC_F64, SHAPE(B, T, config.width));
	if (cross)
		c.memory = make_random(k, HEC_F64, SHAPE(B, S, config.memory_width));
	if (residual)
		c.residual = make_random(k, HEC_F64, SHAPE(B, T, config.out_width));
	c.mask.causal = causal;
	if (bias)
		c.mask.bias = make_random(k, HEC_F64, SHAPE(1, config.heads, T, S));
	c.y = make(k, HEC_F64, SHAPE(B, T, config.out_width));
	c.cotangent = make_random(k, HEC_F64, SHAPE(B, T, config.out_width));

	hec_tensor dx = gradient_of(k, &c.x), dmemory = HEC_TENSOR_NONE, dbias = HEC_TENSOR_NONE;
	if (cross)
		dmemory = gradient_of(k, &c.memory);
	if (bias)
		dbias = gradient_of(k, &c.mask.bias);
	hec_multi_head_kept *kept = NULL;
	OK(k, hec_multi_head_fwd(k->ctx, k->arena, &c.layer, &c.x, given(&c.memory), &c.mask, key,
	                         given(&c.residual), &c.y, NULL, &kept));
	OK(k, hec_multi_head_bwd(k->ctx, k->arena, &c.layer, &c.cotangent, &c.x, given(&c.memory),
	                         &c.mask, key, kept, &dx, cross ? &dmemory : NULL,
	                         bias ? &dbias : NULL, &grad));
	check_gradient(k, "x", multi_head_loss, &c, &c.x, &dx, GRADIENT_START);
	if (cross)
		check_gradient(k, "memory", multi_head_loss, &c, &c.memory, &dmemory,
		               GRADIENT_START);
	if (bias)
		check_gradient(k, "bias", multi_head_loss, &c, &c.mask.bias, &dbias,
		               GRADIENT_START);
	if (residual)
		check_gradient(k, "residual", multi_head_loss, &c, &c.residual, &c.cotangent, 0);
	check_param_gradients(k, multi_head_loss, &c, &params, &grads);
	hec_arena_rewind(k->arena, 0);
	kit_check_guards(k);
}

static const hec_dropout_key key = {424242, 9, 3};

static void multi_head_self_attention(void **state)
{
	(void)state;
	kit k = kit_open(31);
	multi_head_check(&k, (hec_multi_head_config){.width = 6, .heads = 2}, false, false, false,
	                 false, false, NULL);
	multi_head_check(&k, (hec_multi_head_config){.width = 6, .heads = 2}, false, false, true,
	                 true, true, NULL);
	multi_head_check(&k, (hec_multi_head_config){.width = 5, .heads = 1, .scale = 0.2}, false,
	                 false, false, true, false, NULL);
	kit_close(&k);
}

static void multi_head_with_one_fused_projection(void **state)
{
	(void)state;
	kit k = kit_open(32);
	hec_multi_head_config config = {.width = 4, .heads = 2, .fused = true};
	multi_head_check(&k, config, false, false, false, true, false, NULL);
	config = (hec_multi_head_config){
		.width = 5, .heads = 4, .kv_heads = 2, .d_k = 2, .d_v = 3, .fused = true};
	multi_head_check(&k, config, false, true, true, true, true, NULL);
	config.no_bias = true;
	multi_head_check(&k, config, false, false, false, false, false, NULL);
	kit_close(&k);
}

static void multi_head_cross_attention(void **state)
{
	(void)state;
	kit k = kit_open(33);
	hec_multi_head_config config = {.width = 4, .heads = 2, .memory_width = 5};
	multi_head_check(&k, config, true, false, false, false, false, NULL);
	config.out_width = 3;
	config.d_k = 3;
	config.d_v = 2;
	multi_head_check(&k, config, true, false, true, false, true, NULL);
	config.kv_heads = 1;
	config.no_out_bias = true;
	multi_head_check(&k, config, true, false, false, true, false, NULL);
	kit_close(&k);
}

static void multi_head_without_biases(void **state)
{
	(void)state;
	kit k = kit_open(34);
	hec_multi_head_config config = {
		.width = 4, .heads = 2, .no_bias = true, .no_out_bias = true};
	multi_head_check(&k, config, false, false, false, false, false, NULL);
	kit_close(&k);
}

static void multi_head_with_rotary_positions(void **state)
{
	(void)state;
	kit k = kit_open(35);
	hec_multi_head_config config = {.width = 8, .heads = 2};
	multi_head_check(&k, config, false, true, false, true, false, NULL);
	config.kv_heads = 1;
	multi_head_check(&k, config, false, true, true, false, false, NULL);
	kit_close(&k);
}

static void multi_head_with_every_dropout(void **state)
{
	(void)state;
	kit k = kit_open(36);
	for (int n = 1; n < 16; n++) {
		hec_multi_head_config config = {.width = 4, .heads = 2, .site = 3};
		config.dropout_qkv = n & 1 ? 0.2 : 0;
		config.dropout_weights = n & 2 ? 0.3 : 0;
		config.dropout_out = n & 4 ? 0.25 : 0;
		config.fused = n & 8;
		multi_head_check(&k, config, false, n % 3 == 0, n & 4, n & 1, false, &key);
		if (!config.fused)
			multi_head_check(&k, config, true, false, n & 2, false, n & 1, &key);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(multi_head_self_attention),
		cmocka_unit_test(multi_head_with_one_fused_projection),
		cmocka_unit_test(multi_head_cross_attention),
		cmocka_unit_test(multi_head_without_biases),
		cmocka_unit_test(multi_head_with_rotary_positions),
		cmocka_unit_test(multi_head_with_every_dropout),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
