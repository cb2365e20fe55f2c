/* test_gradient_attention.c — gradients of attention by itself, for each kind of mask. */
#include "support/gradient.h"

#include <math.h>
#include <string.h>

typedef struct attention_case {
	kit *k;
	hec_attention_desc desc;
	hec_tensor q, key, v;
	hec_mask mask;
	hec_tensor out, lse, cotangent;
} attention_case;

static double attention_loss(void *arg, double *magnitude)
{
	attention_case *c = arg;
	poison(&c->out);
	OK(c->k,
	   hec_attention_fwd(c->k->ctx, &c->desc, &c->q, &c->key, &c->v, &c->mask, &c->out, NULL));
	return weighted_sum(&c->out, &c->cotangent, magnitude);
}

static attention_case attention_open(kit *k, int64_t B, int64_t T, int64_t S, int64_t H, int64_t G,
                                     int64_t K, int64_t D)
{
	attention_case c = {.k = k, .desc = HEC_ATTENTION_DESC_INIT, .mask = HEC_MASK_INIT};
	c.q = make_random(k, HEC_F64, SHAPE(B, T, H, K));
	c.key = make_random(k, HEC_F64, SHAPE(B, S, G, K));
	c.v = make_random(k, HEC_F64, SHAPE(B, S, G, D));
	c.out = make(k, HEC_F64, SHAPE(B, T, H, D));
	c.lse = make(k, HEC_F64, SHAPE(B, H, T));
	c.cotangent = make_random(k, HEC_F64, SHAPE(B, T, H, D));
	return c;
}

/* dbias NULL: a contiguous one is made where the mask has a bias. */
static void attention_check(attention_case *c)
{
	kit *k = c->k;
	OK(k,
	   hec_attention_fwd(k->ctx, &c->desc, &c->q, &c->key, &c->v, &c->mask, &c->out, &c->lse));
	hec_tensor dq = make_copy(k, &c->q), dk = make_copy(k, &c->key), dv = make_copy(k, &c->v);
	poison(&dq);
	poison(&dk);
	poison(&dv);
	bool biased = c->mask.bias.rank > 0;
	hec_tensor dbias = HEC_TENSOR_NONE;
	if (biased)
		dbias = gradient_of(k, &c->mask.bias);
	OK(k, hec_attention_bwd(k->ctx, &c->desc, &c->q, &c->key, &c->v, &c->mask, &c->out, &c->lse,
	                        &c->cotangent, &dq, &dk, &dv, biased ? &dbias : NULL));
	check_gradient(k, "q", attention_loss, c, &c->q, &dq, 0);
	check_gradient(k, "k", attention_loss, c, &c->key, &dk, 0);
	check_gradient(k, "v", attention_loss, c, &c->v, &dv, 0);
	if (biased)
		check_gradient(k, "bias", attention_loss, c, &c->mask.bias, &dbias, GRADIENT_START);
	kit_check_guards(k);
}

static void attention_without_a_mask(void **state)
{
	(void)state;
	kit k = kit_open(11);
	static const int64_t sizes[][7] = {{1, 1, 1, 1, 1, 1, 1}, {2, 3, 3, 2, 2, 4, 4},
	                                   {2, 3, 5, 2, 2, 2, 3}, {1, 5, 2, 3, 3, 3, 1},
	                                   {1, 4, 3, 6, 2, 2, 3}, {2, 2, 3, 4, 1, 3, 2}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const int64_t *s = sizes[i];
		attention_case c = attention_open(&k, s[0], s[1], s[2], s[3], s[4], s[5], s[6]);
		attention_check(&c);
		c.desc.scale = 0.3;
		attention_check(&c);
	}
	kit_close(&k);
}

static void attention_under_a_causal_mask(void **state)
{
	(void)state;
	kit k = kit_open(12);
	static const int64_t sizes[][2] = {{4, 4}, {2, 5}, {5, 2}}; /* T > S: some see nothing */
	for (size_t i = 0; i < 3; i++) {
		attention_case c = attention_open(&k, 2, sizes[i][0], sizes[i][1], 2, 1, 3, 2);
		c.mask.causal = true;
		attention_check(&c);
		const int32_t offsets[] = {-1, 2};
		c.mask.causal_offset = offsets;
		attention_check(&c);
	}
	kit_close(&k);
}

static void attention_in_a_sliding_window(void **state)
{
	(void)state;
	kit k = kit_open(13);
	for (int64_t window = 1; window <= 3; window++) {
		attention_case c = attention_open(&k, 2, 4, 6, 1, 1, 3, 3);
		c.mask.window = window;
		attention_check(&c);
		c.mask.causal = true;
		attention_check(&c);
	}
	kit_close(&k);
}

static void attention_with_lengths(void **state)
{
	(void)state;
	kit k = kit_open(14);
	attention_case c = attention_open(&k, 3, 4, 5, 2, 2, 2, 3);
	const int32_t keys[] = {5, 2, 0}, queries[] = {4, 1, 3};
	c.mask.key_length = keys;
	attention_check(&c);
	c.mask.query_length = queries;
	attention_check(&c);
	c.mask.causal = true;
	attention_check(&c);
	kit_close(&k);
}

static void attention_with_a_mask_tensor(void **state)
{
	(void)state;
	kit k = kit_open(15);
	for (int pattern = 0; pattern < 16; pattern++) {
		attention_case c = attention_open(&k, 2, 3, 4, 2, 1, 2, 2);
		c.mask.visible = make(&k, HEC_I8,
		                      SHAPE(pattern & 1 ? 2 : 1, pattern & 2 ? 2 : 1,
		                            pattern & 4 ? 3 : 1, pattern & 8 ? 4 : 1));
		int64_t n = hec_tensor_count(&c.mask.visible);
		for (int64_t i = 0; i < n; i++)
			put(&c.mask.visible, i, draw(&k) % 4 != 0);
		attention_check(&c);
	}
	kit_close(&k);
}

static void attention_with_a_bias_broadcast_any_way(void **state)
{
	(void)state;
	kit k = kit_open(16);
	for (int pattern = 0; pattern < 16; pattern++) {
		attention_case c = attention_open(&k, 2, 3, 4, 2, 1, 2, 3);
		c.mask.bias = make_random(&k, HEC_F64,
		                          SHAPE(pattern & 1 ? 2 : 1, pattern & 2 ? 2 : 1,
		                                pattern & 4 ? 3 : 1, pattern & 8 ? 4 : 1));
		attention_check(&c);
		/* −inf means invisible, and takes no gradient. */
		put(&c.mask.bias, 0, -INFINITY);
		attention_check(&c);
	}
	kit_close(&k);
}

static void attention_with_dropout(void **state)
{
	(void)state;
	kit k = kit_open(17);
	attention_case c = attention_open(&k, 2, 4, 7, 2, 1, 3, 2);
	c.desc.dropout = (hec_dropout){0.3, 5, {1234567890123, 3, 2}};
	attention_check(&c);
	c.mask.causal = true;
	c.mask.bias = make_random(&k, HEC_F64, SHAPE(1, 2, 4, 7));
	attention_check(&c);
	kit_close(&k);
}

static void attention_with_everything_at_once(void **state)
{
	(void)state;
	kit k = kit_open(18);
	for (int n = 0; n < 10; n++) {
		int64_t B = draw_in(&k, 1, 3), T = draw_in(&k, 1, 4), S = draw_in(&k, 1, 6);
		int64_t G = draw_in(&k, 1, 2), H = G * draw_in(&k, 1, 2);
		attention_case c =
			attention_open(&k, B, T, S, H, G, draw_in(&k, 1, 4), draw_in(&k, 1, 4));
		int32_t keys[3], queries[3], offsets[3];
		for (int b = 0; b < 3; b++) {
			keys[b] = (int32_t)draw_in(&k, 0, S);
			queries[b] = (int32_t)draw_in(&k, 0, T);
			offsets[b] = (int32_t)draw_in(&k, -2, S);
		}
		c.mask.causal = draw(&k) % 2;
		c.mask.window = draw_in(&k, 0, 3);
		c.mask.key_length = draw(&k) % 2 ? keys : NULL;
		c.mask.query_length = draw(&k) % 2 ? queries : NULL;
		c.mask.causal_offset = draw(&k) % 2 ? offsets : NULL;
		c.mask.visible = make(&k, HEC_I8, SHAPE(B, 1, T, S));
		for (int64_t i = 0; i < B * T * S; i++)
			put(&c.mask.visible, i, draw(&k) % 5 != 0);
		c.mask.bias = make_random(&k, HEC_F64, SHAPE(1, H, T, S));
		if (draw(&k) % 2)
			c.desc.dropout = (hec_dropout){0.2, 1, {99, (uint32_t)n, 0}};
		attention_check(&c);
	}
	kit_close(&k);
}

/* ---- T5's relative bias: the gradient runs through the view into the table ---- */

typedef struct relative_case {
	attention_case attention;
	hec_relative_bias bias;
	int64_t T, S, offset;
} relative_case;

static double relative_loss(void *arg, double *magnitude)
{
	relative_case *r = arg;
	kit *k = r->attention.k;
	size_t mark = hec_arena_used(k->arena);
	OK(k, hec_relative_bias_fwd(k->ctx, k->arena, &r->bias, r->T, r->S, r->offset,
	                            &r->attention.mask.bias));
	double loss = attention_loss(&r->attention, magnitude);
	hec_arena_rewind(k->arena, mark);
	return loss;
}

static void the_relative_bias_through_its_view(void **state)
{
	(void)state;
	kit k = kit_open(19);
	static const int64_t sizes[][3] = {{4, 4, 0}, {3, 6, 3}, {1, 5, 4}, {5, 2, 0}, {1, 1, 0}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (int bidirectional = 0; bidirectional < 2; bidirectional++) {
			int64_t T = sizes[i][0], S = sizes[i][1], H = 2;
			relative_case r = {.attention = attention_open(&k, 2, T, S, H, 1, 2, 2),
			                   .T = T,
			                   .S = S,
			                   .offset = sizes[i][2]};
			attention_case *c = &r.attention;
			r.bias = (hec_relative_bias){make_random(&k, HEC_F64, SHAPE(8, H)),
			                             bidirectional, 6};
			OK(&k, hec_relative_bias_fwd(k.ctx, k.arena, &r.bias, T, S, r.offset,
			                             &c->mask.bias));
			OK(&k, hec_attention_fwd(k.ctx, &c->desc, &c->q, &c->key, &c->v, &c->mask,
			                         &c->out, &c->lse));
			hec_tensor dview;
			OK(&k, hec_relative_bias_zero(k.ctx, k.arena, &r.bias, T, S, &dview));
			hec_tensor dq = make(&k, HEC_F64, SHAPE(2, T, H, 2)),
				   dk = make(&k, HEC_F64, SHAPE(2, S, 1, 2)),
				   dv = make(&k, HEC_F64, SHAPE(2, S, 1, 2));
			OK(&k, hec_attention_bwd(k.ctx, &c->desc, &c->q, &c->key, &c->v, &c->mask,
			                         &c->out, &c->lse, &c->cotangent, &dq, &dk, &dv,
			                         &dview));
			hec_tensor dtable = gradient_of(&k, &r.bias.table);
			OK(&k, hec_relative_bias_bwd(k.ctx, k.arena, &r.bias, r.offset, &dview,
			                             &dtable));
			check_gradient(&k, "table", relative_loss, &r, &r.bias.table, &dtable,
			               GRADIENT_START);
			hec_arena_rewind(k.arena, 0);
		}
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attention_without_a_mask),
		cmocka_unit_test(attention_under_a_causal_mask),
		cmocka_unit_test(attention_in_a_sliding_window),
		cmocka_unit_test(attention_with_lengths),
		cmocka_unit_test(attention_with_a_mask_tensor),
		cmocka_unit_test(attention_with_a_bias_broadcast_any_way),
		cmocka_unit_test(attention_with_dropout),
		cmocka_unit_test(attention_with_everything_at_once),
		cmocka_unit_test(the_relative_bias_through_its_view),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
