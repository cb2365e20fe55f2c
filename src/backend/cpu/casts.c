/* casts.c — fill and cast for every dtype, any strides.
 *
 * Every value passes through double, which holds all of the other types exactly, so that each cast
 * rounds once: to nearest, ties to even, for floating-point numbers; towards zero and held within
 * the range for whole numbers, where NaN becomes 0. */
#include "backend/cpu/casts.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/rank4.h"
#include "backend/cpu/rows.h"

/* A 16-bit floating-point format: 1 sign, exponent and fraction bits. */
typedef struct half_format {
	int exponent_bits, fraction_bits;
} half_format;

static const half_format bf16_format = {8, 7};
static const half_format f16_format = {5, 10};

static double half_to_double(half_format f, uint16_t code)
{
	int top = (1 << f.exponent_bits) - 1, bias = top >> 1;
	int exponent = code >> f.fraction_bits & top;
	int fraction = code & ((1 << f.fraction_bits) - 1);
	double x;
	if (exponent == top)
		x = fraction ? NAN : INFINITY;
	else if (exponent == 0)
		x = ldexp(fraction, 1 - bias - f.fraction_bits);
	else
		x = ldexp(fraction + (1 << f.fraction_bits), exponent - bias - f.fraction_bits);
	return code & 0x8000 ? -x : x;
}

static uint16_t double_to_half(half_format f, double x)
{
	int top = (1 << f.exponent_bits) - 1, bias = top >> 1;
	int sign = signbit(x) ? 0x8000 : 0, infinity = top << f.fraction_bits;
	if (isnan(x))
		return (uint16_t)(sign | infinity | 1 << (f.fraction_bits - 1));
	x = fabs(x);
	/* 2^exponent ≤ x, but not below what the smallest normal number has: there the steps stay. */
	int lowest = 1 - bias, exponent = lowest;
	if (x >= ldexp(1, bias + 1))
		return (uint16_t)(sign | infinity);
	if (x >= ldexp(1, lowest))
		exponent = ilogb(x);
	int steps = (int)rint(ldexp(x, f.fraction_bits - exponent));
	/* Rounding up to the next power of two carries into the exponent, and at the top to infinity. */
	return (uint16_t)(sign | (((exponent - lowest) << f.fraction_bits) + steps));
}

static int64_t double_to_whole(double x, int64_t lowest, int64_t highest)
{
	if (isnan(x))
		return 0;
	return x <= (double)lowest ? lowest : x >= (double)highest ? highest : (int64_t)x;
}

static double number_at(hec_dtype dtype, const void *data, int64_t i)
{
	switch (dtype) {
	case HEC_F32:
		return (double)((const float *)data)[i];
	case HEC_F64:
		return ((const double *)data)[i];
	case HEC_BF16:
		return half_to_double(bf16_format, ((const uint16_t *)data)[i]);
	case HEC_F16:
		return half_to_double(f16_format, ((const uint16_t *)data)[i]);
	case HEC_I8:
		return ((const int8_t *)data)[i];
	case HEC_I32:
		return ((const int32_t *)data)[i];
	}
	return 0;
}

static void store(hec_dtype dtype, void *data, int64_t i, double x)
{
	switch (dtype) {
	case HEC_F32:
		((float *)data)[i] = (float)x;
		break;
	case HEC_F64:
		((double *)data)[i] = x;
		break;
	case HEC_BF16:
		((uint16_t *)data)[i] = double_to_half(bf16_format, x);
		break;
	case HEC_F16:
		((uint16_t *)data)[i] = double_to_half(f16_format, x);
		break;
	case HEC_I8:
		((int8_t *)data)[i] = (int8_t)double_to_whole(x, INT8_MIN, INT8_MAX);
		break;
	case HEC_I32:
		((int32_t *)data)[i] = (int32_t)double_to_whole(x, INT32_MIN, INT32_MAX);
		break;
	}
}

typedef struct cast_call {
	double value; /* fill */
	hec_tensor x; /* cast; rank 4 */
	hec_tensor y; /* written; rank 4 */
} cast_call;

static void fill_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const cast_call *call = args;
	const hec_tensor *y = &call->y;
	for (int64_t r = begin; r < end; r++) {
		int64_t to = rank4_row(y, r);
		for (int64_t c = 0; c < y->shape[3]; c++)
			store(y->dtype, y->data, to + c * y->stride[3], call->value);
	}
}

static void cast_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const cast_call *call = args;
	const hec_tensor *x = &call->x, *y = &call->y;
	for (int64_t r = begin; r < end; r++) {
		int64_t from = rank4_row(x, r), to = rank4_row(y, r);
		for (int64_t c = 0; c < y->shape[3]; c++)
			store(y->dtype, y->data, to + c * y->stride[3],
			      number_at(x->dtype, x->data, from + c * x->stride[3]));
	}
}

/* Between equal types, runs of neighbours are copied as they are. */
static void copy_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const cast_call *call = args;
	size_t size = hec_dtype_size(call->y.dtype), bytes = size * (size_t)call->y.shape[3];
	for (int64_t r = begin; r < end; r++) {
		const char *from = (const char *)call->x.data;
		char *to = call->y.data;
		memmove(to + rank4_row(&call->y, r) * (int64_t)size,
		        from + rank4_row(&call->x, r) * (int64_t)size, bytes);
	}
}

static hec_status fill_any(hec_ctx *ctx, const fill_args *a)
{
	cast_call call = {.value = a->value, .y = to_rank4(a->x)};
	return rows_run(ctx, rank4_rows(&call.y), call.y.shape[3], 0, fill_rows, &call);
}

hec_status cast_any(hec_ctx *ctx, const cast_args *a)
{
	cast_call call = {.x = to_rank4(a->x), .y = to_rank4(a->y)};
	bool same = a->x->dtype == a->y->dtype && call.x.stride[3] == 1 && call.y.stride[3] == 1;
	int64_t C = call.y.shape[3];
	if (C == 0)
		return HEC_OK;
	return rows_run(ctx, rank4_rows(&call.y), same ? C / 4 : 8 * C, 0,
	                same ? copy_rows : cast_rows, &call);
}

void ref_fill_casts(backend *b)
{
	for (int dtype = 0; dtype < HEC_DTYPES; dtype++) {
		b->ops[dtype].fill = fill_any;
		b->ops[dtype].cast = cast_any;
	}
}
