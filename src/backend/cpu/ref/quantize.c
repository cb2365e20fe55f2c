/* quantize.c — a row as 8-bit whole numbers and one scale: x ≈ q · scale, scale = max|x| / 127.
 * Rounding is to nearest, ties to even. A row of zeros has scale 0; a NaN becomes 0. */
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static int8_t *i8_at(const hec_tensor *q, int64_t n, int64_t c)
{
	return (int8_t *)q->data + n * q->stride[0] + c * q->stride[1];
}

static float *scale_at(const hec_tensor *scale, int64_t n)
{
	return (float *)scale->data + n * scale->stride[0];
}

static int8_t to_i8(real x)
{
	if (x != x)
		return 0;
	return (int8_t)(x > 127 ? 127 : x < -127 ? -127 : rint(x));
}

static void quantize_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const quantize_args *a = args;
	for (int64_t n = begin; n < end; n++) {
		real largest = 0;
		for (int64_t c = 0; c < a->x->shape[1]; c++) {
			real x = fabs(*at_2d(a->x, n, c));
			largest = x > largest ? x : largest;
		}
		float scale = (float)(largest / 127);
		for (int64_t c = 0; c < a->x->shape[1]; c++)
			*i8_at(a->q, n, c) = scale > 0 ? to_i8(*at_2d(a->x, n, c) / scale) : 0;
		*scale_at(a->scale, n) = scale;
	}
}

static void dequantize_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const quantize_args *a = args;
	for (int64_t n = begin; n < end; n++) {
		for (int64_t c = 0; c < a->x->shape[1]; c++)
			*at_2d(a->x, n, c) = (real)*i8_at(a->q, n, c) * *scale_at(a->scale, n);
	}
}

hec_status REF(quantize)(hec_ctx *ctx, const quantize_args *a)
{
	return rows_run(ctx, a->x->shape[0], 3 * a->x->shape[1], 0, quantize_rows, a);
}

hec_status REF(dequantize)(hec_ctx *ctx, const quantize_args *a)
{
	return rows_run(ctx, a->x->shape[0], a->x->shape[1], 0, dequantize_rows, a);
}
