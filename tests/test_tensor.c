/* test_tensor.c — views: slice, transpose, reshape; fill, copy, add on any strides. */
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "tensor/view.h"

static kit bare;

static void contiguous_tensors_have_row_major_strides(void **state)
{
	(void)state;
	hec_tensor t = hec_tensor_4d(NULL, HEC_F32, 2, 3, 5, 7);
	assert_int_equal(t.stride[0], 105);
	assert_int_equal(t.stride[1], 35);
	assert_int_equal(t.stride[2], 7);
	assert_int_equal(t.stride[3], 1);
	assert_int_equal(hec_tensor_count(&t), 210);
	assert_true(hec_tensor_is_contiguous(&t));
	t = hec_tensor_3d(NULL, HEC_I8, 4, 0, 3);
	assert_int_equal(hec_tensor_count(&t), 0);
	const int64_t huge = INT64_C(1) << 40;
	t = (hec_tensor){.rank = 3, .shape = {huge, huge, 0}};
	assert_int_equal(hec_tensor_count(&t), 0);
	t.shape[2] = 1;
	assert_true(hec_tensor_count(&t) == INT64_MAX);
	t = hec_tensor_3d(NULL, HEC_F32, 0, huge, huge); /* no product of axes overflows */
	assert_true(hec_tensor_is_contiguous(&t));
	OK(&bare, hec_tensor_reshape(&t, 4, (int64_t[]){huge, 0, huge, huge}, &t));
}

static void a_view_of_nothing_or_of_a_wrong_rank_is_refused(void **state)
{
	(void)state;
	hec_tensor t = hec_tensor_2d(NULL, HEC_F32, 11, 13), s;
	const int64_t shape[2] = {13, 11};
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_tensor_slice(NULL, 0, 0, 1, &s), "slice", "t");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_tensor_transpose(&t, 0, 1, NULL), "transpose", "out");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_tensor_reshape(&t, 2, NULL, &s), "reshape", "shape");
	t.rank = 99;
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_slice(&t, 50, 0, 1, &s), "slice", "99");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_transpose(&t, 0, 50, &s), "transpose", "99");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&t, 2, shape, &s), "reshape", "99");
}

static void a_slice_is_the_same_memory_further_on(void **state)
{
	(void)state;
	float data[24];
	hec_tensor t = hec_tensor_3d(data, HEC_F32, 2, 3, 4), s;
	OK(&bare, hec_tensor_slice(&t, 1, 1, 2, &s));
	assert_ptr_equal(s.data, data + 4);
	assert_int_equal(s.shape[1], 2);
	assert_int_equal(s.stride[0], 12);
	assert_false(hec_tensor_is_contiguous(&s));
	OK(&bare, hec_tensor_slice(&t, 2, 4, 0, &s)); /* empty at the very end */
	assert_int_equal(hec_tensor_count(&s), 0);
	OK(&bare, hec_tensor_slice(&t, 0, 1, 1, &t)); /* out may be t */
	assert_ptr_equal(t.data, data + 12);
}

static void a_slice_outside_is_refused_with_its_numbers(void **state)
{
	(void)state;
	hec_tensor t = hec_tensor_2d(NULL, HEC_F32, 11, 13), s;
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_slice(&t, 0, 9, 3, &s), "9", "3", "11");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_slice(&t, 1, -1, 1, &s), "-1", "13");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_slice(&t, 1, 0, -2, &s), "-2");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_slice(&t, 1, INT64_MAX, 1, &s), "13");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_slice(&t, 1, 1, INT64_MAX, &s), "13");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_tensor_slice(&t, 2, 0, 1, &s), "2");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_tensor_slice(&t, -1, 0, 1, &s), "-1");
}

static void a_transpose_swaps_axes(void **state)
{
	(void)state;
	float data[6] = {0, 1, 2, 3, 4, 5};
	hec_tensor t = hec_tensor_2d(data, HEC_F32, 2, 3), r;
	OK(&bare, hec_tensor_transpose(&t, 0, 1, &r));
	assert_int_equal(r.shape[0], 3);
	static const double want[] = {0, 3, 1, 4, 2, 5};
	for (int64_t i = 0; i < 6; i++)
		assert_true(get(&r, i) == want[i]);
	OK(&bare, hec_tensor_transpose(&r, 1, 0, &r));
	assert_true(hec_tensor_is_contiguous(&r));
	/* Where an axis has one place, its stride says nothing. */
	t = hec_tensor_2d(data, HEC_F32, 1, 6);
	OK(&bare, hec_tensor_transpose(&t, 0, 1, &r));
	assert_true(r.stride[1] == 6 && hec_tensor_is_contiguous(&r));
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_tensor_transpose(&t, 0, 2, &r), "2");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_tensor_transpose(&t, -1, 0, &r), "-1");
}

static void a_reshape_keeps_every_element_in_its_place(void **state)
{
	(void)state;
	/* Each case: a tensor, perhaps sliced or turned, and a shape that needs no copy. */
	kit k = kit_open(1);
	hec_tensor x = make_random(&k, HEC_F32, SHAPE(4, 6, 10)), part, r;
	OK(&k, hec_tensor_slice(&x, 2, 3, 4, &part)); /* [4, 6, 4] with strides 60, 10, 1 */
	static const int64_t shapes[][5] = {
		{24, 4, -1}, {24, 2, 2, -1}, {2, 12, 4, -1}, {4, 2, 3, 4, -1}, {8, 3, 1, 4, -1}};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		int rank = 0;
		while (shapes[i][rank] >= 0)
			rank++;
		OK(&k, hec_tensor_reshape(&part, rank, shapes[i], &r));
		for (int64_t n = 0; n < hec_tensor_count(&part); n++)
			CHECK(&k, get(&r, n) == get(&part, n), "case %zu, element %lld", i,
			      (long long)n);
	}
	OK(&k, hec_tensor_reshape(&x, 1, SHAPE(240), &r));
	OK(&k, hec_tensor_reshape(&r, 4, SHAPE(2, 2, 6, 10), &r));
	assert_true(hec_tensor_is_contiguous(&r));
	kit_close(&k);
}

static void a_reshape_that_needs_a_copy_is_refused(void **state)
{
	(void)state;
	float data[240];
	hec_tensor x = hec_tensor_3d(data, HEC_F32, 4, 6, 10), part, turned, r;
	OK(&bare, hec_tensor_slice(&x, 2, 3, 4, &part));
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&part, 1, SHAPE(96), &r), "copy");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&part, 2, SHAPE(12, 8), &r), "copy");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&part, 2, SHAPE(-12, -8), &r), "-12");
	OK(&bare, hec_tensor_transpose(&x, 0, 2, &turned));
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&turned, 2, SHAPE(60, 4), &r), "copy");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&x, 2, SHAPE(4, 61), &r), "240", "244");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_tensor_reshape(&x, 5, SHAPE(1, 1, 1, 1, 240), &r), "5");
}

/* Counts that stop at the largest number are equal without being the same. */
static void a_reshape_of_more_than_can_be_counted_is_refused(void **state)
{
	(void)state;
	const int64_t huge = INT64_C(1) << 40;
	hec_tensor t = hec_tensor_2d(NULL, HEC_F32, huge, huge), small, r;
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&t, 3, SHAPE(huge, huge, huge), &r),
	      "[1099511627776, 1099511627776] into [1099511627776, 1099511627776, 1099511627776]");
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&t, 1, SHAPE(INT64_MAX), &r),
	      "more elements than can be counted");
	small = hec_tensor_1d(NULL, HEC_F32, INT64_MAX); /* as many as can be */
	FAILS(&bare, HEC_ERR_SHAPE, hec_tensor_reshape(&small, 2, SHAPE(huge, huge), &r),
	      "[9223372036854775807] into");
	OK(&bare, hec_tensor_reshape(&small, 2, SHAPE(7, INT64_MAX / 7), &r));
	t = hec_tensor_3d(NULL, HEC_F32, huge, huge, 3);
	FAILS(&bare, HEC_ERR_SHAPE, view_rows("x", &t, &r), "x: reshape",
	      "[9223372036854775807, 3]");
}

static void random_reshapes_agree_with_a_copy_or_are_refused(void **state)
{
	(void)state;
	kit k = kit_open(5);
	static const int64_t from[][5] = {{2, 3, 4, 5, -1}, {6, 4, 5, -1}, {1, 6, 1, 20, -1}};
	static const int64_t to[][5] = {{120, -1},        {6, 20, -1},       {2, 60, -1},
	                                {2, 3, 20, -1},   {1, 120, 1, -1},   {24, 5, -1},
	                                {3, 2, 4, 5, -1}, {2, 3, 2, 10, -1}, {5, 24, -1}};
	for (int n = 0; n < 400; n++) {
		const int64_t *shape = from[draw(&k) % 3];
		hec_tensor x = make_random(&k, HEC_F32, shape), r;
		for (int turns = (int)draw_in(&k, 0, 2); turns > 0; turns--)
			OK(&k, hec_tensor_transpose(&x, (int)draw_in(&k, 0, x.rank - 1),
			                            (int)draw_in(&k, 0, x.rank - 1), &x));
		const int64_t *want = to[draw(&k) % 9];
		int rank = 0;
		while (want[rank] >= 0)
			rank++;
		if (hec_tensor_reshape(&x, rank, want, &r) != HEC_OK) {
			CHECK(&k, !hec_tensor_is_contiguous(&x), "a contiguous tensor was refused");
			continue;
		}
		for (int64_t i = 0; i < 120; i++)
			CHECK(&k, get(&r, i) == get(&x, i), "case %d, element %lld", n,
			      (long long)i);
	}
	kit_close(&k);
}

static void copy_and_add_work_on_any_strides(void **state)
{
	(void)state;
	kit k = kit_open(6);
	for (int n = 0; n < 40; n++) {
		hec_dtype dtype = draw(&k) % 2 ? HEC_F32 : HEC_F64;
		int64_t A = draw_size(&k, 33), B = draw_size(&k, 33), C = draw_size(&k, 33);
		hec_tensor x = make_random(&k, dtype, SHAPE(A, B, C)), turned;
		OK(&k, hec_tensor_transpose(&x, 0, 2, &turned));
		hec_tensor y = make(&k, dtype, SHAPE(C, B, A));
		OK(&k, hec_tensor_copy(k.ctx, &turned, &y));
		check_same_bits(&k, "copy of a transpose", &y, &turned);
		hec_tensor wide = make(&k, dtype, SHAPE(C, B, A + 2)), middle;
		OK(&k, hec_tensor_slice(&wide, 2, 1, A, &middle));
		OK(&k, hec_tensor_copy(k.ctx, &turned, &middle));
		check_same_bits(&k, "copy into a slice", &middle, &turned);
		for (int64_t i = 0; i < C * B; i++)
			CHECK(&k,
			      isnan(get(&wide, i * (A + 2))) &&
			              isnan(get(&wide, i * (A + 2) + A + 1)),
			      "written beside the slice");
		hec_tensor row = make_random(&k, dtype, SHAPE(1, B, 1)),
			   sum = make(&k, dtype, SHAPE(C, B, A));
		OK(&k, hec_tensor_add(k.ctx, 2, &turned, -3, &row, &sum));
		for (int64_t i = 0; i < C * B * A; i++) {
			double a = get(&turned, i), b = get(&row, i / A % B),
			       u = dtype == HEC_F32 ? 0x1p-24 : 0x1p-53;
			CHECK(&k,
			      fabs(get(&sum, i) - (2 * a - 3 * b)) <=
			              3 * u * (fabs(2 * a) + fabs(3 * b)),
			      "2·%g − 3·%g = %g", a, b, get(&sum, i));
		}
		OK(&k, hec_tensor_add(k.ctx, 1, &sum, 1, &sum, &sum)); /* in place */
	}
	kit_close(&k);
}

static void copies_between_types_round_to_the_nearest(void **state)
{
	(void)state;
	kit k = kit_open(7);
	static const float values[] = {0.0f,  -0.0f,       1.0f,  -1.5f,   65504.0f,
	                               1e-8f, 3.14159274f, 1e30f, -1e-40f, 0.1f};
	hec_tensor x = make(&k, HEC_F32, SHAPE(10)), d = make(&k, HEC_F64, SHAPE(10)),
		   back = make(&k, HEC_F32, SHAPE(10));
	for (int64_t i = 0; i < 10; i++)
		put(&x, i, values[i]);
	OK(&k, hec_tensor_copy(k.ctx, &x, &d));
	OK(&k, hec_tensor_copy(k.ctx, &d, &back));
	check_same_bits(&k, "f32 to f64 and back", &back, &x);
	static const struct {
		hec_dtype dtype;
		double half_ulp, smallest, largest;
	} kinds[] = {{HEC_BF16, 0x1p-9, 0x1p-134, 3.3895e38}, {HEC_F16, 0x1p-11, 0x1p-25, 65504}};
	for (int j = 0; j < 2; j++) {
		uint16_t store[10];
		hec_tensor h = hec_tensor_1d(store, kinds[j].dtype, 10);
		OK(&k, hec_tensor_copy(k.ctx, &x, &h));
		OK(&k, hec_tensor_copy(k.ctx, &h, &back));
		for (int64_t i = 0; i < 10; i++) {
			double v = values[i], got = get(&back, i);
			if (fabs(v) > kinds[j].largest)
				CHECK(&k, isinf(got), "%g gave %g, not infinity", v, got);
			else
				CHECK(&k,
				      fabs(got - v) <=
				              fmax(fabs(v) * kinds[j].half_ulp, kinds[j].smallest),
				      "%g gave %g", v, got);
		}
	}
	/* Ties go to even: 1 + 2⁻⁸ is halfway between two bf16 numbers. */
	uint16_t store[2];
	hec_tensor h = hec_tensor_1d(store, HEC_BF16, 2), ties = make(&k, HEC_F32, SHAPE(2));
	put(&ties, 0, 1 + 0x1p-8);
	put(&ties, 1, 1 + 3 * 0x1p-8);
	OK(&k, hec_tensor_copy(k.ctx, &ties, &h));
	assert_int_equal(store[0], 0x3f80);
	assert_int_equal(store[1], 0x3f82);
	/* A NaN stays one, whatever its bits: rounded up like a number it would be −0 or Inf. */
	static const uint32_t nans[2] = {0x7fffffff, 0xff800001};
	memcpy(ties.data, nans, sizeof nans);
	for (int j = 0; j < 2; j++) {
		h.dtype = j ? HEC_F16 : HEC_BF16;
		OK(&k, hec_tensor_copy(k.ctx, &ties, &h));
		assert_int_equal(store[0], j ? 0x7e00 : 0x7fc0);
		assert_int_equal(store[1], j ? 0xfe00 : 0xffc0);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contiguous_tensors_have_row_major_strides),
		cmocka_unit_test(a_slice_is_the_same_memory_further_on),
		cmocka_unit_test(a_slice_outside_is_refused_with_its_numbers),
		cmocka_unit_test(a_view_of_nothing_or_of_a_wrong_rank_is_refused),
		cmocka_unit_test(a_transpose_swaps_axes),
		cmocka_unit_test(a_reshape_keeps_every_element_in_its_place),
		cmocka_unit_test(a_reshape_that_needs_a_copy_is_refused),
		cmocka_unit_test(a_reshape_of_more_than_can_be_counted_is_refused),
		cmocka_unit_test(random_reshapes_agree_with_a_copy_or_are_refused),
		cmocka_unit_test(copy_and_add_work_on_any_strides),
		cmocka_unit_test(copies_between_types_round_to_the_nearest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
