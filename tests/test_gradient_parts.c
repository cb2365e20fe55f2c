/* test_gradient_parts.c — gradients of the small layers: linear, norms, activations, feed-forward,
 * embedding, positions, dropout, loss. */
#include "support/gradient.h"

#include <math.h>

/* One case for all of them: what differs is which call run() makes. */
typedef struct part {
	kit *k;
	hec_status (*run)(struct part *c);
	hec_tensor x, other, y, cotangent;
	hec_activation act;
	hec_linear linear;
	hec_norm norm;
	hec_feed_forward ff;
	const hec_dropout_key *key;
	hec_embedding embedding;
	hec_tensor ids;
	hec_rotary rotary;
	const int32_t *first;
	int64_t position;
	hec_cross_entropy loss;
	hec_tensor lse;
	hec_dropout dropout;
	bool with_residual;
} part;

static double part_loss(void *arg, double *magnitude)
{
	part *c = arg;
	poison(&c->y);
	size_t mark = hec_arena_used(c->k->arena);
	OK(c->k, c->run(c));
	hec_arena_rewind(c->k->arena, mark);
	return weighted_sum(&c->y, &c->cotangent, magnitude);
}

/* ---- linear ---- */

static hec_status run_linear(part *c)
{
	return hec_linear_fwd(c->k->ctx, &c->linear, c->act, &c->x,
	                      c->with_residual ? &c->other : NULL, &c->y, NULL);
}

static void linear_with_and_without_bias_activation_and_residual(void **state)
{
	(void)state;
	kit k = kit_open(21);
	for (int n = 0; n < 4 * HEC_ACTIVATIONS; n++) {
		int64_t N = draw_in(&k, 1, 5), I = draw_in(&k, 1, 7), O = draw_in(&k, 1, 7);
		part c = {.k = &k, .run = run_linear, .act = (hec_activation)(n / 4)};
		c.with_residual = n & 2;
		c.x = make_random(&k, HEC_F64, SHAPE(N, I));
		c.other = make_random(&k, HEC_F64, SHAPE(N, O));
		c.y = make(&k, HEC_F64, SHAPE(N, O));
		c.cotangent = make_random(&k, HEC_F64, SHAPE(N, O));
		c.linear.w = make_random(&k, HEC_F64, SHAPE(O, I));
		hec_linear grad = {.w = gradient_of(&k, &c.linear.w)};
		if (n & 1) {
			c.linear.b = make_random(&k, HEC_F64, SHAPE(O));
			grad.b = gradient_of(&k, &c.linear.b);
		}
		hec_tensor pre = make(&k, HEC_F64, SHAPE(N, O)),
			   dpre = make(&k, HEC_F64, SHAPE(N, O)), dx = gradient_of(&k, &c.x);
		OK(&k, hec_linear_fwd(k.ctx, &c.linear, c.act, &c.x,
		                      c.with_residual ? &c.other : NULL, &c.y, &pre));
		OK(&k, hec_activation_bwd(k.ctx, c.act, &c.cotangent, &pre, &dpre));
		OK(&k, hec_linear_bwd(k.ctx, &c.linear, &dpre, &c.x, &dx, &grad));
		check_gradient(&k, "x", part_loss, &c, &c.x, &dx, GRADIENT_START);
		check_gradient(&k, "w", part_loss, &c, &c.linear.w, &grad.w, GRADIENT_START);
		if (n & 1)
			check_gradient(&k, "b", part_loss, &c, &c.linear.b, &grad.b,
			               GRADIENT_START);
		if (c.with_residual)
			check_gradient(&k, "residual", part_loss, &c, &c.other, &c.cotangent, 0);
		/* What is absent is skipped. */
		hec_linear none = {.w = HEC_TENSOR_NONE};
		OK(&k, hec_linear_bwd(k.ctx, &c.linear, &dpre, &c.x, NULL, &none));
	}
	kit_close(&k);
}

/* ---- norm ---- */

static hec_status run_norm(part *c)
{
	return hec_norm_fwd(c->k->ctx, &c->norm, &c->x, &c->y, NULL);
}

static void check_norm(hec_norm_kind kind, uint64_t seed)
{
	kit k = kit_open(seed);
	static const int64_t widths[] = {1, 2, 3, 7, 16, 17};
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		int64_t N = draw_in(&k, 1, 4), C = widths[i];
		part c = {.k = &k, .run = run_norm, .norm = {.kind = kind, .eps = 1e-3}};
		c.x = make_random(&k, HEC_F64, SHAPE(N, C));
		c.y = make(&k, HEC_F64, SHAPE(N, C));
		c.cotangent = make_random(&k, HEC_F64, SHAPE(N, C));
		c.norm.gamma = make_random(&k, HEC_F64, SHAPE(C));
		hec_norm grad = {.gamma = gradient_of(&k, &c.norm.gamma)};
		if (i % 2) {
			c.norm.beta = make_random(&k, HEC_F64, SHAPE(C));
			grad.beta = gradient_of(&k, &c.norm.beta);
		}
		hec_norm_kept kept = {make(&k, HEC_F64, SHAPE(N)), make(&k, HEC_F64, SHAPE(N))};
		hec_tensor dx = gradient_of(&k, &c.x);
		OK(&k, hec_norm_fwd(k.ctx, &c.norm, &c.x, &c.y, &kept));
		OK(&k, hec_norm_bwd(k.ctx, &c.norm, &c.cotangent, &c.x, &kept, &dx, &grad));
		check_gradient(&k, "x", part_loss, &c, &c.x, &dx, GRADIENT_START);
		check_gradient(&k, "gamma", part_loss, &c, &c.norm.gamma, &grad.gamma,
		               GRADIENT_START);
		if (i % 2)
			check_gradient(&k, "beta", part_loss, &c, &c.norm.beta, &grad.beta,
			               GRADIENT_START);
		hec_tensor again = gradient_of(&k, &c.x);
		OK(&k, hec_norm_bwd(k.ctx, &c.norm, &c.cotangent, &c.x, &kept, &again, NULL));
		check_same_bits(&k, "dx without parameter gradients", &again, &dx);
	}
	kit_close(&k);
}

static void layer_norm(void **state)
{
	(void)state;
	check_norm(HEC_NORM_LAYER, 22);
}

static void rms_norm(void **state)
{
	(void)state;
	check_norm(HEC_NORM_RMS, 23);
}

/* ---- activations ---- */

static hec_status run_activation(part *c)
{
	return hec_activation_fwd(c->k->ctx, c->act, &c->x, &c->y);
}

static hec_status run_gated(part *c)
{
	return hec_gated_fwd(c->k->ctx, c->act, &c->x, &c->other, &c->y);
}

static void every_activation_plain_and_gated(void **state)
{
	(void)state;
	kit k = kit_open(24);
	for (int a = 0; a < HEC_ACTIVATIONS; a++) {
		part c = {.k = &k, .run = run_activation, .act = (hec_activation)a};
		c.x = make_random(&k, HEC_F64, SHAPE(4, 9));
		for (int64_t i = 0; i < 36; i++) /* far from zero on both sides, too */
			put(&c.x, i, get(&c.x, i) * (i % 3 == 0 ? 6 : 1));
		c.other = make_random(&k, HEC_F64, SHAPE(4, 9));
		c.y = make(&k, HEC_F64, SHAPE(4, 9));
		c.cotangent = make_random(&k, HEC_F64, SHAPE(4, 9));
		hec_tensor dx = make(&k, HEC_F64, SHAPE(4, 9)),
			   dup = make(&k, HEC_F64, SHAPE(4, 9));
		OK(&k, hec_activation_bwd(k.ctx, c.act, &c.cotangent, &c.x, &dx));
		check_gradient(&k, hec_activation_name(c.act), part_loss, &c, &c.x, &dx, 0);
		c.run = run_gated;
		poison(&dx);
		OK(&k, hec_gated_bwd(k.ctx, c.act, &c.cotangent, &c.x, &c.other, &dx, &dup));
		check_gradient(&k, "gate", part_loss, &c, &c.x, &dx, 0);
		check_gradient(&k, "up", part_loss, &c, &c.other, &dup, 0);
	}
	kit_close(&k);
}

/* ---- feed-forward ---- */

static hec_status run_feed_forward(part *c)
{
	return hec_feed_forward_fwd(c->k->ctx, c->k->arena, &c->ff, &c->x, c->key,
	                            c->with_residual ? &c->other : NULL, &c->y, NULL);
}

static void feed_forward_of_every_kind(void **state)
{
	(void)state;
	kit k = kit_open(25);
	const hec_dropout_key key = {42, 7, 1};
	for (int n = 0; n < 4 * HEC_ACTIVATIONS; n++) {
		int64_t N = 3, C = 4, F = 6;
		part c = {.k = &k, .run = run_feed_forward};
		c.ff.config = (hec_feed_forward_config){.size = sizeof c.ff.config,
		                                        .width = C,
		                                        .hidden = F,
		                                        .act = (hec_activation)(n / 4),
		                                        .gated = n & 1,
		                                        .no_bias = n & 2,
		                                        .dropout_hidden = n % 3 ? 0.3 : 0,
		                                        .dropout_out = n % 3 ? 0.2 : 0,
		                                        .site = 4};
		c.key = n % 3 ? &key : NULL;
		c.with_residual = n % 4 == 3;
		param_list params = {.k = &k, .dtype = HEC_F64}, grads = {.k = &k,
		                                                          .dtype = HEC_F64,
		                                                          .constant = true,
		                                                          .scale = GRADIENT_START};
		hec_feed_forward grad = {.config = c.ff.config};
		OK(&k, hec_feed_forward_params(&c.ff, "ff", param_make, &params));
		OK(&k, hec_feed_forward_params(&grad, "ff", param_make, &grads));
		c.x = make_random(&k, HEC_F64, SHAPE(N, C));
		c.other = make_random(&k, HEC_F64, SHAPE(N, C));
		c.y = make(&k, HEC_F64, SHAPE(N, C));
		c.cotangent = make_random(&k, HEC_F64, SHAPE(N, C));
		hec_tensor dx = gradient_of(&k, &c.x);
		hec_feed_forward_kept *kept = NULL;
		OK(&k, hec_feed_forward_fwd(k.ctx, k.arena, &c.ff, &c.x, c.key,
		                            c.with_residual ? &c.other : NULL, &c.y, &kept));
		OK(&k, hec_feed_forward_bwd(k.ctx, k.arena, &c.ff, &c.cotangent, &c.x, c.key, kept,
		                            &dx, &grad));
		check_gradient(&k, "x", part_loss, &c, &c.x, &dx, GRADIENT_START);
		if (c.with_residual)
			check_gradient(&k, "residual", part_loss, &c, &c.other, &c.cotangent, 0);
		check_param_gradients(&k, part_loss, &c, &params, &grads);
		hec_arena_rewind(k.arena, 0);
	}
	kit_close(&k);
}

/* ---- embedding and positions ---- */

static hec_status run_embedding(part *c)
{
	return hec_embedding_fwd(c->k->ctx, &c->embedding, &c->ids, &c->y);
}

static void embedding_with_scale_and_a_padding_row(void **state)
{
	(void)state;
	kit k = kit_open(26);
	for (int n = 0; n < 4; n++) {
		int64_t N = 9, V = 5, C = 3;
		part c = {.k = &k, .run = run_embedding};
		c.embedding = (hec_embedding){.table = make_random(&k, HEC_F64, SHAPE(V, C)),
		                              .scale = n & 1 ? sqrt(3) : 1,
		                              .padding_id = n & 2 ? 2 : -1};
		c.ids = make(&k, HEC_I32, SHAPE(N));
		for (int64_t i = 0; i < N; i++)
			put(&c.ids, i, i < V ? (double)i : (double)draw_in(&k, 0, V - 1));
		c.y = make(&k, HEC_F64, SHAPE(N, C));
		c.cotangent = make_random(&k, HEC_F64, SHAPE(N, C));
		hec_tensor dtable = gradient_of(&k, &c.embedding.table);
		OK(&k, hec_embedding_bwd(k.ctx, &c.embedding, &c.cotangent, &c.ids, &dtable));
		for (int64_t v = 0; v < V; v++) {
			hec_tensor row, drow;
			OK(&k, hec_tensor_slice(&c.embedding.table, 0, v, 1, &row));
			OK(&k, hec_tensor_slice(&dtable, 0, v, 1, &drow));
			if (v == c.embedding.padding_id) {
				for (int64_t i = 0; i < C; i++)
					CHECK(&k, get(&drow, i) == GRADIENT_START,
					      "the padding row took a gradient");
			} else {
				check_gradient(&k, "table", part_loss, &c, &row, &drow,
				               GRADIENT_START);
			}
		}
	}
	kit_close(&k);
}

static hec_status run_position(part *c)
{
	return hec_position_add_fwd(c->k->ctx, &c->other, c->position, &c->x, &c->y);
}

static void learned_positions(void **state)
{
	(void)state;
	kit k = kit_open(27);
	for (int64_t first = 0; first < 3; first++) {
		part c = {.k = &k, .run = run_position, .position = first};
		c.x = make_random(&k, HEC_F64, SHAPE(2, 3, 4));
		c.other = make_random(&k, HEC_F64, SHAPE(6, 4));
		c.y = make(&k, HEC_F64, SHAPE(2, 3, 4));
		c.cotangent = make_random(&k, HEC_F64, SHAPE(2, 3, 4));
		hec_tensor dtable = gradient_of(&k, &c.other);
		OK(&k, hec_position_add_bwd(k.ctx, &c.cotangent, first, &dtable));
		check_gradient(&k, "x", part_loss, &c, &c.x, &c.cotangent, 0);
		check_gradient(&k, "table", part_loss, &c, &c.other, &dtable, GRADIENT_START);
	}
	kit_close(&k);
}

static hec_status run_rotary(part *c)
{
	return hec_rotary_apply(c->k->ctx, &c->rotary, false, &c->x, c->first, &c->y);
}

static void rotary_turns_the_gradient_back(void **state)
{
	(void)state;
	kit k = kit_open(28);
	const int32_t first[] = {3, 0};
	for (int n = 0; n < 8; n++) {
		int64_t K = 6, R = n & 2 ? 4 : 6;
		part c = {.k = &k, .run = run_rotary, .first = n & 4 ? first : NULL};
		c.rotary = (hec_rotary){n & 1 ? HEC_ROTARY_INTERLEAVED : HEC_ROTARY_HALVES,
		                        make(&k, HEC_F64, SHAPE(8, R / 2)),
		                        make(&k, HEC_F64, SHAPE(8, R / 2))};
		OK(&k, hec_rotary_fill(k.ctx, 100, &c.rotary));
		c.x = make_random(&k, HEC_F64, SHAPE(2, 3, 2, K));
		c.y = make(&k, HEC_F64, SHAPE(2, 3, 2, K));
		c.cotangent = make_random(&k, HEC_F64, SHAPE(2, 3, 2, K));
		hec_tensor dx = make(&k, HEC_F64, SHAPE(2, 3, 2, K));
		OK(&k, hec_rotary_apply(k.ctx, &c.rotary, true, &c.cotangent, c.first, &dx));
		check_gradient(&k, "x", part_loss, &c, &c.x, &dx, 0);
	}
	kit_close(&k);
}

/* ---- dropout and loss ---- */

static hec_status run_dropout(part *c)
{
	return hec_dropout_apply(c->k->ctx, &c->dropout, &c->x, &c->y);
}

static void dropout_of_the_gradient_is_the_gradient_of_dropout(void **state)
{
	(void)state;
	kit k = kit_open(29);
	part c = {.k = &k, .run = run_dropout, .dropout = {0.4, 3, {77, 5, 1}}};
	c.x = make_random(&k, HEC_F64, SHAPE(3, 4, 7));
	c.y = make(&k, HEC_F64, SHAPE(3, 4, 7));
	c.cotangent = make_random(&k, HEC_F64, SHAPE(3, 4, 7));
	hec_tensor dx = make(&k, HEC_F64, SHAPE(3, 4, 7));
	OK(&k, hec_dropout_apply(k.ctx, &c.dropout, &c.cotangent, &dx));
	check_gradient(&k, "x", part_loss, &c, &c.x, &dx, 0);
	kit_close(&k);
}

static hec_status run_cross_entropy(part *c)
{
	return hec_cross_entropy_fwd(c->k->ctx, &c->loss, &c->x, &c->ids, &c->y, &c->lse);
}

static void cross_entropy_with_smoothing_and_ignored_positions(void **state)
{
	(void)state;
	kit k = kit_open(30);
	for (int n = 0; n < 4; n++) {
		int64_t N = 5, V = n == 3 ? 1 : 7;
		part c = {.k = &k, .run = run_cross_entropy, .loss = HEC_CROSS_ENTROPY_INIT};
		c.loss.smoothing = n & 1 ? 0.1 : 0;
		c.loss.ignore = n & 2 ? 0 : -100;
		c.x = make_random(&k, HEC_F64, SHAPE(N, V));
		c.ids = make(&k, HEC_I32, SHAPE(N));
		for (int64_t i = 0; i < N; i++)
			put(&c.ids, i, i == 1 ? c.loss.ignore : (double)draw_in(&k, 0, V - 1));
		c.y = make(&k, HEC_F64, SHAPE(N));
		c.lse = make(&k, HEC_F64, SHAPE(N));
		c.cotangent = make(&k, HEC_F64, SHAPE(N));
		const double scale = 0.7;
		fill_with(&c.cotangent, scale);
		hec_tensor dx = make(&k, HEC_F64, SHAPE(N, V));
		OK(&k, run_cross_entropy(&c));
		OK(&k, hec_cross_entropy_bwd(k.ctx, &c.loss, &c.x, &c.ids, &c.lse, scale, &dx));
		check_gradient(&k, "logits", part_loss, &c, &c.x, &dx, 0);
		double sum = -1, want = 0;
		int64_t count = -1, counted = 0;
		OK(&k, run_cross_entropy(&c));
		OK(&k, hec_cross_entropy_sum(k.ctx, &c.loss, &c.y, &c.ids, &sum, &count));
		for (int64_t i = 0; i < N; i++) {
			bool counts = get(&c.ids, i) != c.loss.ignore;
			counted += counts;
			want += get(&c.y, i);
			CHECK(&k, counts || get(&c.y, i) == 0, "an ignored position has a loss");
		}
		CHECK(&k, count == counted, "%lld counted, not %lld", (long long)count,
		      (long long)counted);
		CHECK(&k, fabs(sum - want) <= 1e-14 * fabs(want), "sum %g, not %g", sum, want);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_with_and_without_bias_activation_and_residual),
		cmocka_unit_test(layer_norm),
		cmocka_unit_test(rms_norm),
		cmocka_unit_test(every_activation_plain_and_gated),
		cmocka_unit_test(feed_forward_of_every_kind),
		cmocka_unit_test(embedding_with_scale_and_a_padding_row),
		cmocka_unit_test(learned_positions),
		cmocka_unit_test(rotary_turns_the_gradient_back),
		cmocka_unit_test(dropout_of_the_gradient_is_the_gradient_of_dropout),
		cmocka_unit_test(cross_entropy_with_smoothing_and_ignored_positions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
