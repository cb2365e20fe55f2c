/* test_params.c — the list of a layer's parameters: names, order, start, memory; and the optimizer
 * that walks it. */
#include "support/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What was told of a parameter: a hec_param itself is only there during the call. */
typedef struct noted {
	hec_tensor *tensor;
	const hec_linear *linear;
	int rank;
	int64_t shape[HEC_MAX_RANK];
} noted;

typedef struct listing {
	int count;
	char names[64][96];
	noted params[64];
} listing;

static hec_status note(void *user, const hec_param *p)
{
	listing *l = user;
	snprintf(l->names[l->count], sizeof l->names[0], "%s", p->name);
	noted *n = &l->params[l->count++];
	n->tensor = p->tensor;
	n->linear = p->linear;
	n->rank = p->rank;
	memcpy(n->shape, p->shape, sizeof n->shape);
	return HEC_OK;
}

static hec_encoder_layer_config config_of(bool fused, bool residual_linear)
{
	return (hec_encoder_layer_config){
		.size = sizeof(hec_encoder_layer_config),
		.attention = {.size = sizeof(hec_multi_head_config),
	                      .width = 12,
	                      .heads = 3,
	                      .fused = fused},
		.feed_forward = {.size = sizeof(hec_feed_forward_config),
	                         .width = 12,
	                         .hidden = 20,
	                         .act = HEC_ACT_RELU},
		.residual_linear = residual_linear,
	};
}

static void parameters_come_with_name_and_shape_always_in_one_order(void **state)
{
	(void)state;
	kit k = kit_open(8000);
	hec_encoder_layer l;
	hec_encoder_layer_config config = config_of(true, true);
	OK(&k, hec_encoder_layer_setup(&config, &l));
	listing a = {0}, b = {0};
	OK(&k, hec_encoder_layer_params(&l, "encoder.layers.0", note, &a));
	OK(&k, hec_encoder_layer_params(&l, "encoder.layers.0", note, &b));
	static const struct {
		const char *name;
		int64_t rows, columns; /* columns 0: a vector */
	} want[] = {
		{"encoder.layers.0.attention.qkv.w", 36, 12},
		{"encoder.layers.0.attention.qkv.b", 36, 0},
		{"encoder.layers.0.attention.out.w", 12, 12},
		{"encoder.layers.0.attention.out.b", 12, 0},
		{"encoder.layers.0.residual1.w", 12, 12},
		{"encoder.layers.0.residual1.b", 12, 0},
		{"encoder.layers.0.norm1.gamma", 12, 0},
		{"encoder.layers.0.norm1.beta", 12, 0},
		{"encoder.layers.0.feed_forward.up.w", 20, 12},
		{"encoder.layers.0.feed_forward.up.b", 20, 0},
		{"encoder.layers.0.feed_forward.down.w", 12, 20},
		{"encoder.layers.0.feed_forward.down.b", 12, 0},
		{"encoder.layers.0.residual2.w", 12, 12},
		{"encoder.layers.0.residual2.b", 12, 0},
		{"encoder.layers.0.norm2.gamma", 12, 0},
		{"encoder.layers.0.norm2.beta", 12, 0},
	};
	assert_int_equal(a.count, sizeof want / sizeof *want);
	for (int i = 0; i < a.count; i++) {
		assert_string_equal(a.names[i], want[i].name);
		assert_string_equal(a.names[i], b.names[i]);
		assert_ptr_equal(a.params[i].tensor, b.params[i].tensor);
		assert_int_equal(a.params[i].rank, want[i].columns ? 2 : 1);
		assert_int_equal(a.params[i].shape[0], want[i].rows);
		if (want[i].columns)
			assert_int_equal(a.params[i].shape[1], want[i].columns);
		assert_int_equal(a.params[i].linear != NULL, want[i].columns != 0);
	}
	kit_close(&k);
}

static hec_status stop_at_the_third(void *user, const hec_param *p)
{
	(void)p;
	return ++*(int *)user == 3 ? HEC_ERR_CANCELLED : HEC_OK;
}

static void a_walk_ends_where_the_function_says_so(void **state)
{
	(void)state;
	kit k = kit_open(8100);
	layer l;
	int calls = 0;
	layer_open(&l, &k, LAYER_DECODER, HEC_F32, 8, 2, 12, 0);
	assert_int_equal(hec_decoder_layer_params(&l.decoder, NULL, stop_at_the_third, &calls),
	                 HEC_ERR_CANCELLED);
	assert_int_equal(calls, 3);
	kit_close(&k);
}

static void parameters_are_allocated_as_zeros_and_started_from_the_seed(void **state)
{
	(void)state;
	kit k = kit_open(8200);
	hec_encoder_layer a, b, c;
	hec_encoder_layer_config config = config_of(false, false);
	hec_encoder_layer *all[] = {&a, &b, &c};
	listing lists[3] = {{0}, {0}, {0}};
	for (int i = 0; i < 3; i++) {
		hec_param_alloc alloc = {.size = sizeof alloc,
		                         .ctx = k.ctx,
		                         .arena = k.arena,
		                         .dtype = HEC_F32,
		                         .seed = i < 2 ? 7 : 8};
		OK(&k, hec_encoder_layer_setup(&config, all[i]));
		OK(&k, hec_encoder_layer_params(all[i], "", hec_param_allocate, &alloc));
		OK(&k, hec_encoder_layer_params(all[i], "", note, &lists[i]));
		for (int p = 0; p < lists[i].count; p++)
			check_all_zero(&k, lists[i].names[p], lists[i].params[p].tensor);
		OK(&k, hec_encoder_layer_params(all[i], "", hec_param_initialise, &alloc));
	}
	for (int p = 0; p < lists[0].count; p++) {
		const noted *x = &lists[0].params[p];
		check_same_bits(&k, lists[0].names[p], x->tensor, lists[1].params[p].tensor);
		if (x->rank == 1) {
			double want = strstr(lists[0].names[p], "gamma") ? 1 : 0;
			for (int64_t i = 0; i < x->shape[0]; i++)
				CHECK(&k, get(x->tensor, i) == want, "%s starts as %g",
				      lists[0].names[p], get(x->tensor, i));
			continue;
		}
		double limit = sqrt(6.0 / (double)(x->shape[0] + x->shape[1])), sum = 0,
		       squares = 0;
		int64_t n = hec_tensor_count(x->tensor), differ = 0;
		for (int64_t i = 0; i < n; i++) {
			double v = get(x->tensor, i);
			CHECK(&k, fabs(v) <= limit, "%s holds %g, beyond ±%g", lists[0].names[p], v,
			      limit);
			sum += v;
			squares += v * v;
			differ += v != get(lists[2].params[p].tensor, i);
		}
		/* A uniform number has variance limit²/3; five standard errors either way. */
		CHECK(&k, fabs(sum / (double)n) <= 5 * limit / sqrt(3.0 * (double)n), "%s: mean %g",
		      lists[0].names[p], sum / (double)n);
		CHECK(&k,
		      fabs(squares / (double)n - limit * limit / 3) <=
		              5 * limit * limit * sqrt(4.0 / 45 / (double)n),
		      "%s: variance %g", lists[0].names[p], squares / (double)n);
		CHECK(&k, differ == n, "%s: another seed gives the same numbers",
		      lists[0].names[p]);
		for (int other = 0; other < p; other++)
			CHECK(&k,
			      lists[0].params[other].rank == 1 ||
			              get(lists[0].params[other].tensor,
			                  0) / sqrt(6.0 /
			                            (double)(lists[0].params[other].shape[0] +
			                                     lists[0].params[other].shape[1])) !=
			                      get(x->tensor, 0) / limit,
			      "%s and %s start from the same numbers", lists[0].names[p],
			      lists[0].names[other]);
	}
	kit_close(&k);
}

static void an_arena_too_small_for_a_parameter_names_it(void **state)
{
	(void)state;
	kit k = kit_open(8300);
	hec_encoder_layer l;
	hec_encoder_layer_config config = config_of(true, false);
	OK(&k, hec_encoder_layer_setup(&config, &l));
	hec_arena *small;
	OK(&k, hec_arena_create(36 * 12 * 4, &small));
	hec_param_alloc alloc = {
		.size = sizeof alloc, .ctx = k.ctx, .arena = small, .dtype = HEC_F32};
	FAILS(&k, HEC_ERR_MEMORY, hec_encoder_layer_params(&l, "layer", hec_param_allocate, &alloc),
	      "layer.attention.qkv.b", "144");
	hec_arena_destroy(small);
	alloc.size = 1;
	FAILS(&k, HEC_ERR_ARGUMENT,
	      hec_encoder_layer_params(&l, "layer", hec_param_allocate, &alloc), "hec_param_alloc");
	kit_close(&k);
}

/* As param.h says: the walk keeps what it took, and one rewind gives it back. */
static void a_walk_that_fails_is_undone_by_a_rewind(void **state)
{
	(void)state;
	kit k = kit_open(8350);
	hec_encoder_layer l, grad;
	hec_encoder_layer_config config = config_of(true, false);
	OK(&k, hec_encoder_layer_setup(&config, &l));
	OK(&k, hec_encoder_layer_setup(&config, &grad));
	hec_param_alloc alloc = {
		.size = sizeof alloc, .ctx = k.ctx, .arena = k.arena, .dtype = HEC_F32};
	OK(&k, hec_encoder_layer_params(&l, "layer", hec_param_allocate, &alloc));
	size_t size = hec_arena_used(k.arena);

	OK(&k, hec_arena_create(2 * size - 64, &alloc.arena));
	OK(&k, hec_encoder_layer_params(&l, "layer", hec_param_allocate, &alloc));
	size_t mark = hec_arena_used(alloc.arena);
	CHECK(&k, mark == size, "%zu bytes, then %zu", size, mark);
	for (int again = 0; again < 2; again++) {
		FAILS(&k, HEC_ERR_MEMORY,
		      hec_encoder_layer_params(&grad, "grad", hec_param_allocate, &alloc), "grad.");
		CHECK(&k, hec_arena_used(alloc.arena) > mark, "the walk took nothing");
		hec_arena_rewind(alloc.arena, mark);
	}
	OK(&k, hec_encoder_layer_params(&l, "layer", hec_param_initialise, &alloc));
	hec_arena_destroy(alloc.arena);
	kit_close(&k);
}

static void a_pack_changes_no_bit_of_a_layer(void **state)
{
	(void)state;
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		kit k = kit_open(8400 + (uint64_t)kind);
		layer l;
		layer_open(&l, &k, (layer_kind)kind, HEC_F32, 48, 3, 70, 0);
		layer_io io = layer_io_open(&l, 2, 9, 11);
		void *kept;
		OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, &kept));
		OK(&k, layer_bwd(&l, k.ctx, k.arena, &io, kept));
		hec_tensor y = make_copy(&k, &io.y), dx = make_copy(&k, &io.dx);
		poison(&io.y);
		fill_with(&io.dx, 0);
		layer_pack(&l, k.ctx, k.arena);
		OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, &kept));
		OK(&k, layer_bwd(&l, k.ctx, k.arena, &io, kept));
		check_same_bits(&k, layer_name(l.kind), &io.y, &y);
		check_same_bits(&k, layer_name(l.kind), &io.dx, &dx);
		kit_close(&k);
	}
}

static void an_older_pack_is_not_used_for_newer_weights(void **state)
{
	(void)state;
	kit k = kit_open(8450);
	hec_linear packed = {.w = make_random(&k, HEC_F32, SHAPE(70, 33))}, plain;
	hec_tensor x = make_random(&k, HEC_F32, SHAPE(5, 33));
	hec_tensor dy = make_random(&k, HEC_F32, SHAPE(5, 70));
	OK(&k, hec_linear_pack(k.ctx, k.arena, true, &packed));
	fill_with(&packed.w, 0.5);
	OK(&k, hec_linear_pack(k.ctx, k.arena, false, &packed));
	plain = (hec_linear){.w = packed.w};
	hec_tensor a = make(&k, HEC_F32, SHAPE(5, 33)), b = make(&k, HEC_F32, SHAPE(5, 33));
	fill_with(&a, 0);
	fill_with(&b, 0);
	OK(&k, hec_linear_bwd(k.ctx, &packed, &dy, &x, &a, NULL));
	OK(&k, hec_linear_bwd(k.ctx, &plain, &dy, &x, &b, NULL));
	check_same_bits(&k, "dx", &a, &b);
	kit_close(&k);
}

/* Weights that were cut after they were packed: fewer inputs, then fewer outputs. */
static void a_pack_of_another_shape_is_not_read(void **state)
{
	(void)state;
	kit k = kit_open(8455);
	const int64_t cut[2][2] = {{70, 20}, {41, 33}};
	for (int i = 0; i < 2; i++) {
		hec_linear packed = {.w = make_random(&k, HEC_F32, SHAPE(70, 33))};
		OK(&k, hec_linear_pack(k.ctx, k.arena, true, &packed));
		packed.w = make_random(&k, HEC_F32, SHAPE(cut[i][0], cut[i][1]));
		const hec_linear plain = {.w = packed.w};
		hec_tensor x = make_random(&k, HEC_F32, SHAPE(5, cut[i][1]));
		hec_tensor a = make(&k, HEC_F32, SHAPE(5, cut[i][0]));
		hec_tensor b = make(&k, HEC_F32, SHAPE(5, cut[i][0]));
		poison(&a);
		OK(&k, hec_linear_fwd(k.ctx, &packed, HEC_ACT_NONE, &x, NULL, &a, NULL));
		OK(&k, hec_linear_fwd(k.ctx, &plain, HEC_ACT_NONE, &x, NULL, &b, NULL));
		check_same_bits(&k, "y", &a, &b);
	}
	kit_close(&k);
}

static void a_pack_does_not_return_to_memory_that_was_given_back(void **state)
{
	(void)state;
	kit k = kit_open(8460);
	hec_linear linear = {.w = make_random(&k, HEC_F32, SHAPE(70, 33))};
	hec_arena *arena;
	OK(&k, hec_arena_create(1 << 20, &arena));
	OK(&k, hec_linear_pack(k.ctx, arena, true, &linear));
	size_t used = hec_arena_used(arena);
	hec_arena_rewind(arena, 0);
	OK(&k, hec_linear_pack(k.ctx, arena, true, &linear));
	CHECK(&k, hec_arena_used(arena) == used, "%zu bytes are taken, not %zu",
	      hec_arena_used(arena), used);
	hec_arena_destroy(arena);
	kit_close(&k);
}

static void backward_reads_the_x_that_it_is_given(void **state)
{
	(void)state;
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		kit k = kit_open(8470 + (uint64_t)kind);
		layer l;
		layer_open(&l, &k, (layer_kind)kind, HEC_F32, 12, 3, 20, 0);
		layer_io io = layer_io_open(&l, 2, 5, 7);
		void *kept;
		OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, &kept));
		OK(&k, layer_bwd(&l, k.ctx, k.arena, &io, kept));
		hec_tensor dx = make_copy(&k, &io.dx), x = make_copy(&k, &io.x);
		poison(&io.x);
		io.x = x;
		fill_with(&io.dx, 0);
		OK(&k, layer_bwd(&l, k.ctx, k.arena, &io, kept));
		check_same_bits(&k, layer_name(l.kind), &io.dx, &dx);
		kit_close(&k);
	}
}

/* ---- AdamW ---- */

static void adamw_is_its_formula(void **state)
{
	(void)state;
	kit k = kit_open(8500);
	for (int n = 0; n < 12; n++) {
		hec_dtype dtype = n % 2 ? HEC_F32 : HEC_F64;
		int64_t N = draw_size(&k, 131);
		hec_adamw o = HEC_ADAMW_INIT;
		o.lr = 0.01;
		o.weight_decay = n % 3 ? 0.1 : 0;
		o.grad_scale = n % 4 ? 1 : 0.5;
		hec_tensor w = make_random(&k, dtype, SHAPE(N)),
			   dw = make_random(&k, dtype, SHAPE(N)),
			   m = make_zero(&k, dtype, SHAPE(N)), v = make_zero(&k, dtype, SHAPE(N));
		hec_tensor ww = make_cast(&k, HEC_F64, &w), mm = make_zero(&k, HEC_F64, SHAPE(N)),
			   vv = make_zero(&k, HEC_F64, SHAPE(N));
		for (int64_t step = 1; step <= 5; step++) {
			OK(&k, hec_adamw_step(k.ctx, &o, step, &dw, &m, &v, &w));
			for (int64_t i = 0; i < N; i++) {
				double g = get(&dw, i) * o.grad_scale, a = get(&mm, i),
				       b = get(&vv, i), x = get(&ww, i);
				a = o.beta1 * a + (1 - o.beta1) * g;
				b = o.beta2 * b + (1 - o.beta2) * g * g;
				x -= o.lr * o.weight_decay * x;
				x -= o.lr * (a / (1 - pow(o.beta1, (double)step))) /
				     (sqrt(b / (1 - pow(o.beta2, (double)step))) + o.eps);
				put(&mm, i, a);
				put(&vv, i, b);
				put(&ww, i, x);
			}
			for (int64_t i = 0; i < N; i++)
				put(&dw, i, get(&dw, i) * 0.9 + 0.1 * draw_normal(&k));
		}
		/* Some ten roundings a step, of w and of a move of at most lr each. */
		double u = dtype == HEC_F32 ? 0x1p-24 : 0x1p-53;
		for (int64_t i = 0; i < N; i++)
			CHECK(&k,
			      fabs(get(&w, i) - get(&ww, i)) <=
			              5 * 10 * u * (fabs(get(&ww, i)) + 5 * o.lr),
			      "w %.9g, not %.9g", get(&w, i), get(&ww, i));
	}
	kit_close(&k);
}

static void sums_of_squares_are_gathered_over_many_tensors(void **state)
{
	(void)state;
	kit k = kit_open(8600);
	double sum = 0, want = 0;
	for (int n = 0; n < 8; n++) {
		hec_tensor x = make_random(&k, n % 2 ? HEC_F64 : HEC_F32,
		                           SHAPE(draw_size(&k, 131), draw_size(&k, 131)));
		OK(&k, hec_sum_squares(k.ctx, &x, &sum));
		for (int64_t i = 0; i < hec_tensor_count(&x); i++)
			want += get(&x, i) * get(&x, i);
		/* All terms are positive: one f32 rounding a term at most, however they are added. */
		CHECK(&k, fabs(sum - want) <= 131 * 131 * 0x1p-24 * want, "%.9g, not %.9g", sum,
		      want);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_come_with_name_and_shape_always_in_one_order),
		cmocka_unit_test(a_walk_ends_where_the_function_says_so),
		cmocka_unit_test(parameters_are_allocated_as_zeros_and_started_from_the_seed),
		cmocka_unit_test(an_arena_too_small_for_a_parameter_names_it),
		cmocka_unit_test(a_walk_that_fails_is_undone_by_a_rewind),
		cmocka_unit_test(a_pack_changes_no_bit_of_a_layer),
		cmocka_unit_test(an_older_pack_is_not_used_for_newer_weights),
		cmocka_unit_test(a_pack_of_another_shape_is_not_read),
		cmocka_unit_test(a_pack_does_not_return_to_memory_that_was_given_back),
		cmocka_unit_test(backward_reads_the_x_that_it_is_given),
		cmocka_unit_test(adamw_is_its_formula),
		cmocka_unit_test(sums_of_squares_are_gathered_over_many_tensors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
