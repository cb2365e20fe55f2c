/* test_masking_layers.c — promise 1 through whole layers, and T5's bias as attention sees it. */
#include "support/layers.h"

#include <math.h>
#include <string.h>

static void fill_rows(kit *k, const hec_tensor *x, const int32_t *lengths)
{
	int64_t T = x->shape[1], C = x->shape[2];
	for (int64_t b = 0; b < x->shape[0]; b++)
		for (int64_t i = lengths[b] * C; i < T * C; i++)
			put(x, b * T * C + i, draw(k) % 2 ? NAN : INFINITY);
}

static void check_rows_zero(kit *k, const char *what, const hec_tensor *x, const int32_t *lengths)
{
	int64_t T = x->shape[1], C = x->shape[2];
	for (int64_t b = 0; b < x->shape[0]; b++)
		for (int64_t i = lengths[b] * C; i < T * C; i++)
			CHECK(k, get(x, b * T * C + i) == 0, "%s: padding has gradient %g", what,
			      get(x, b * T * C + i));
}

static void run(layer *l, layer_io *io)
{
	kit *k = l->k;
	void *kept = NULL;
	poison(&io->y);
	fill_with(&io->dx, 0);
	if (io->dmemory.rank)
		fill_with(&io->dmemory, 0);
	OK(k, layer_fwd(l, k->ctx, k->arena, io, &kept));
	OK(k, layer_bwd(l, k->ctx, k->arena, io, kept));
}

/* What lies behind the end of the encoder's output is seen by no query of the decoder. */
static void the_padding_of_memory_may_hold_nan(void **state)
{
	(void)state;
	static const layer_kind kinds[] = {LAYER_CROSS, LAYER_DECODER, LAYER_DECODER_PRE};
	for (int n = 0; n < 3; n++) {
		kit k = kit_open(9000 + (uint64_t)n);
		layer l;
		layer_open(&l, &k, kinds[n], HEC_F32, 32, 2, 48, 0);
		const int32_t lengths[] = {19, 7, 0};
		layer_io io = layer_io_open(&l, 3, 11, 23);
		io.mask.key_length = kinds[n] == LAYER_CROSS ? lengths : NULL;
		io.cross_mask.key_length = lengths;
		run(&l, &io);
		hec_tensor y = make_copy(&k, &io.y), dx = make_copy(&k, &io.dx),
			   dmemory = make_copy(&k, &io.dmemory);
		fill_rows(&k, &io.memory, lengths);
		run(&l, &io);
		check_same_bits(&k, "y", &io.y, &y);
		check_same_bits(&k, "dx", &io.dx, &dx);
		check_same_bits(&k, "dmemory", &io.dmemory, &dmemory);
		check_rows_zero(&k, "dmemory", &io.dmemory, lengths);
		kit_close(&k);
	}
}

/* Padding rows of the input itself go through the layer as rows of their own: whatever they hold,
 * the other rows do not notice, forward or backward. */
static void rows_of_padding_do_not_touch_the_others(void **state)
{
	(void)state;
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		kit k = kit_open(9100 + (uint64_t)kind);
		const int64_t B = 3, T = 21, C = 32;
		layer l;
		layer_open(&l, &k, (layer_kind)kind, HEC_F32, C, 2, 48, 0);
		const int32_t lengths[] = {21, 9, 16};
		layer_io io = layer_io_open(&l, B, T, 13);
		io.mask.query_length = io.cross_mask.query_length = lengths;
		if (kind != LAYER_CROSS)
			io.mask.key_length = lengths;
		for (int64_t b = 0; b < B; b++)
			for (int64_t i = lengths[b] * C; i < T * C; i++)
				put(&io.dy, b * T * C + i, 0);
		run(&l, &io);
		hec_tensor y = make_copy(&k, &io.y), dx = make_copy(&k, &io.dx);
		fill_rows(&k, &io.x, lengths);
		run(&l, &io);
		for (int64_t b = 0; b < B; b++) {
			hec_tensor now, then;
			for (int which = 0; which < 2; which++) {
				OK(&k, hec_tensor_slice(which ? &io.dx : &io.y, 0, b, 1, &now));
				OK(&k, hec_tensor_slice(&now, 1, 0, lengths[b], &now));
				OK(&k, hec_tensor_slice(which ? &dx : &y, 0, b, 1, &then));
				OK(&k, hec_tensor_slice(&then, 1, 0, lengths[b], &then));
				check_same_bits(&k, layer_name(l.kind), &now, &then);
			}
		}
		kit_close(&k);
	}
}

/* A causal layer: what comes later changes nothing of what came before. */
static void the_future_does_not_reach_the_past(void **state)
{
	(void)state;
	for (int kind = LAYER_DECODER; kind < LAYER_KINDS; kind++) {
		kit k = kit_open(9200 + (uint64_t)kind);
		const int64_t T = 25, C = 32;
		layer l;
		layer_open(&l, &k, (layer_kind)kind, HEC_F32, C, 2, 48, 0);
		layer_io io = layer_io_open(&l, 2, T, 13);
		OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, NULL));
		hec_tensor y = make_copy(&k, &io.y);
		for (int64_t cut = 1; cut < T; cut += 5) {
			const int32_t lengths[] = {(int32_t)cut, (int32_t)cut};
			hec_tensor x = make_copy(&k, &io.x), kept = io.x, now, then;
			fill_rows(&k, &x, lengths);
			io.x = x;
			OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, NULL));
			io.x = kept;
			OK(&k, hec_tensor_slice(&io.y, 1, 0, cut, &now));
			OK(&k, hec_tensor_slice(&y, 1, 0, cut, &then));
			check_same_bits(&k, layer_name(l.kind), &now, &then);
		}
		kit_close(&k);
	}
}

static void empty_batches_and_sequences_pass_through_every_layer(void **state)
{
	(void)state;
	static const int64_t sizes[][3] = {{0, 3, 4}, {2, 0, 4}, {0, 0, 0}, {2, 3, 0}};
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			kit k = kit_open(9300);
			layer l;
			layer_open(&l, &k, (layer_kind)kind, HEC_F32, 8, 2, 12, 0);
			layer_io io = layer_io_open(&l, sizes[i][0], sizes[i][1], sizes[i][2]);
			run(&l, &io);
			check_all_finite(&k, "y", &io.y);
			check_all_finite(&k, "dx", &io.dx);
			kit_close(&k);
		}
	}
}

/* Cross-attention to nothing: the joined heads are zero, so y is the bias of the last linear. */
static void attention_to_an_empty_memory_gives_the_bias(void **state)
{
	(void)state;
	kit k = kit_open(9400);
	layer l;
	layer_open(&l, &k, LAYER_CROSS, HEC_F32, 8, 2, 12, 0);
	layer_io io = layer_io_open(&l, 2, 3, 0);
	OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, NULL));
	for (int64_t i = 0; i < 48; i++)
		CHECK(&k, get(&io.y, i) == get(&l.multi_head.out.b, i % 8), "y is %g",
		      get(&io.y, i));
	kit_close(&k);
}

static void the_relative_bias_is_its_table_by_distance(void **state)
{
	(void)state;
	static const int64_t sizes[][3] = {{1, 1, 0},  {5, 5, 0},   {3, 9, 6},
	                                   {9, 3, -6}, {1, 40, 39}, {40, 1, 0}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (int both = 0; both < 2; both++) {
			kit k = kit_open(9500);
			const int64_t T = sizes[i][0], S = sizes[i][1], offset = sizes[i][2], H = 3;
			hec_relative_bias bias = {make_random(&k, HEC_F32, SHAPE(16, H)), both, 20};
			hec_tensor view;
			OK(&k, hec_relative_bias_fwd(k.ctx, k.arena, &bias, T, S, offset, &view));
			CHECK(&k, hec_arena_used(k.arena) <= (size_t)(H * (T + S) * 4 + 128),
			      "%zu bytes for a line of %lld", hec_arena_used(k.arena),
			      (long long)(T + S));
			for (int64_t h = 0; h < H; h++)
				for (int64_t t = 0; t < T; t++)
					for (int64_t s = 0; s < S; s++)
						CHECK(&k,
						      get4(&view, 0, h, t, s) ==
						              get(&bias.table,
						                  hec_relative_bucket(
									  &bias, s - t - offset) *
						                                  H +
						                          h),
						      "head %lld query %lld key %lld", (long long)h,
						      (long long)t, (long long)s);
			/* Attention takes the view as it takes a dense bias. */
			hec_tensor q = make_random(&k, HEC_F32, SHAPE(2, T, H, 8)),
				   key = make_random(&k, HEC_F32, SHAPE(2, S, H, 8)),
				   a = make(&k, HEC_F32, SHAPE(2, T, H, 8)),
				   b = make(&k, HEC_F32, SHAPE(2, T, H, 8));
			hec_mask mask = HEC_MASK_INIT;
			mask.bias = view;
			OK(&k, hec_attention_fwd(k.ctx, NULL, &q, &key, &key, &mask, &a, NULL));
			mask.bias = make_copy(&k, &view);
			OK(&k, hec_attention_fwd(k.ctx, NULL, &q, &key, &key, &mask, &b, NULL));
			check_same_bits(&k, "through the view", &a, &b);
			kit_close(&k);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_padding_of_memory_may_hold_nan),
		cmocka_unit_test(rows_of_padding_do_not_touch_the_others),
		cmocka_unit_test(the_future_does_not_reach_the_past),
		cmocka_unit_test(empty_batches_and_sequences_pass_through_every_layer),
		cmocka_unit_test(attention_to_an_empty_memory_gives_the_bias),
		cmocka_unit_test(the_relative_bias_is_its_table_by_distance),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
