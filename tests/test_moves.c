/* test_moves.c — operations that every level takes from the reference, and packs that are made piece by
 * piece: against what they say, written down here once more. `check` compares levels, and sees nothing
 * where there is one. */
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"

enum { B = 3, S = 9, G = 2, K = 5 };

/* Element [b, s, g, i] of a cache. */
static double at(const hec_tensor *x, int64_t b, int64_t s, int64_t n)
{
	return get(x, (b * x->shape[1] + s) * G * K + n);
}

static void a_cache_takes_new_rows_behind_the_old_ones(void **state)
{
	(void)state;
	static const int32_t index[B] = {0, 4, 2}, length[B] = {3, 0, 2};
	for (int all = 0; all < 2; all++) {
		kit k = kit_open(9990);
		const hec_tensor x = make_random(&k, HEC_F32, SHAPE(B, 3, G, K)),
				 cache = make_random(&k, HEC_F32, SHAPE(B, S, G, K)),
				 old = make_copy(&k, &cache);
		const cache_args args = {
			.x = &x, .index = index, .length = all ? NULL : length, .cache = &cache};
		OK(&k, BACKEND(k.ctx, HEC_F32, cache_append, &args));
		for (int64_t b = 0; b < B; b++)
			for (int64_t s = 0; s < S; s++)
				for (int64_t n = 0; n < G * K; n++) {
					const int64_t t = s - index[b];
					const bool new = t >= 0 && t < (all ? 3 : length[b]);
					CHECK(&k,
					      at(&cache, b, s, n) ==
					              (new ? at(&x, b, t, n) : at(&old, b, s, n)),
					      "sequence %lld, position %lld", (long long)b,
					      (long long)s);
				}
		kit_close(&k);
	}
}

static void a_cache_takes_rows_of_others_as_far_as_asked(void **state)
{
	(void)state;
	static const int32_t index[B] = {1, 1, 0}, length[B] = {3, S, 0};
	for (int all = 0; all < 2; all++) {
		kit k = kit_open(9991);
		const hec_tensor x = make_random(&k, HEC_F32, SHAPE(B, S, G, K)),
				 cache = make_random(&k, HEC_F32, SHAPE(B, S, G, K)),
				 old = make_copy(&k, &cache);
		const cache_args args = {
			.x = &x, .index = index, .length = all ? NULL : length, .cache = &cache};
		OK(&k, BACKEND(k.ctx, HEC_F32, cache_reorder, &args));
		for (int64_t b = 0; b < B; b++)
			for (int64_t s = 0; s < S; s++)
				for (int64_t n = 0; n < G * K; n++)
					CHECK(&k,
					      at(&cache, b, s, n) ==
					              (all || s < length[b] ? at(&x, index[b], s, n)
					                                    : at(&old, b, s, n)),
					      "row %lld, position %lld", (long long)b,
					      (long long)s);
		kit_close(&k);
	}
}

/* A model is loaded a piece of a file at a time: rows of a matrix, or of its transpose. */
static void a_pack_made_of_pieces_is_the_pack_made_at_once(void **state)
{
	(void)state;
	for (int trial = 0; trial < 20; trial++) {
		kit k = kit_open(9993 + (uint64_t)trial);
		const backend_ops *ops = &ctx_backend(k.ctx)->ops[HEC_F32];
		const int64_t rows = draw_size(&k, 97), cols = draw_size(&k, 131);
		if (!ops->gemm_layout) { /* this level packs nothing */
			kit_close(&k);
			return;
		}
		const hec_tensor b = make_random(&k, HEC_F32, SHAPE(rows, cols));
		const int64_t bytes = (int64_t)ops->gemm_pack_size(rows, cols);
		const hec_tensor whole = make(&k, HEC_F32, SHAPE(bytes / 4)),
				 pieces = make(&k, HEC_F32, SHAPE(bytes / 4));
		hec_packed at_once, bit_by_bit = {.data = pieces.data,
		                                  .k = rows,
		                                  .n = cols,
		                                  .layout = ops->gemm_layout};
		OK(&k,
		   ops->gemm_pack(k.ctx,
		                  &(gemm_pack_args){.b = &b, .data = whole.data, .out = &at_once}));
		for (int64_t n = 0, width; n < cols; n += width) {
			width = draw_in(&k, 1, cols - n);
			for (int64_t r = 0, height; r < rows; r += height) {
				hec_tensor part;
				height = draw_in(&k, 1, rows - r);
				OK(&k, hec_tensor_slice(&b, 0, r, height, &part));
				OK(&k, hec_tensor_slice(&part, 1, n, width, &part));
				OK(&k, ops->gemm_pack(k.ctx, &(gemm_pack_args){.b = &part,
				                                               .into = &bit_by_bit,
				                                               .k = r,
				                                               .n = n}));
			}
		}
		check_same_bits(&k, "pack", &pieces, &whole);
		kit_close(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cache_takes_new_rows_behind_the_old_ones),
		cmocka_unit_test(a_cache_takes_rows_of_others_as_far_as_asked),
		cmocka_unit_test(a_pack_made_of_pieces_is_the_pack_made_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
