/* activation_avx512.c — the curves of math_avx512.h over whole tensors, plain and gated. */
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

VECTOR_MATH void fwd_loop(const activation_args *a, hec_activation act, int64_t row, int64_t begin,
                          int64_t end)
{
	const float *x = row_at(a->x, row), *up = a->up ? row_at(a->up, row) : NULL;
	float *y = row_at(a->y, row);
	for (int64_t c = begin; c < end; c += 16) {
		__mmask16 lanes = lanes_at(c, end);
		__m512 v = activation_ps_avx512(act, load_ps(lanes, x + c));
		if (up)
			v = _mm512_mul_ps(v, load_ps(lanes, up + c));
		store_ps(y + c, lanes, v);
	}
}

VECTOR_MATH void bwd_loop(const activation_args *a, hec_activation act, int64_t row, int64_t begin,
                          int64_t end)
{
	const float *x = row_at(a->x, row), *up = a->up ? row_at(a->up, row) : NULL;
	const float *dy = row_at(a->dy, row);
	float *dx = row_at(a->dx, row), *dup = a->up ? row_at(a->dup, row) : NULL;
	for (int64_t c = begin; c < end; c += 16) {
		__mmask16 lanes = lanes_at(c, end);
		__m512 v = load_ps(lanes, x + c), d = load_ps(lanes, dy + c);
		__m512 value, slope = activation_slope_ps_avx512(act, v, &value);
		if (up) {
			__m512 u = load_ps(lanes, up + c);
			store_ps(dup + c, lanes, _mm512_mul_ps(d, value));
			d = _mm512_mul_ps(d, u);
		}
		store_ps(dx + c, lanes, _mm512_mul_ps(d, slope));
	}
}

/* One loop per activation, so that none asks within. */
#define FOR_EACH_ACTIVATION(loop, a, row, begin, end)                                              \
	switch ((a)->act) {                                                                        \
	case HEC_ACT_NONE:                                                                         \
		loop(a, HEC_ACT_NONE, row, begin, end);                                            \
		break;                                                                             \
	case HEC_ACT_RELU:                                                                         \
		loop(a, HEC_ACT_RELU, row, begin, end);                                            \
		break;                                                                             \
	case HEC_ACT_GELU:                                                                         \
		loop(a, HEC_ACT_GELU, row, begin, end);                                            \
		break;                                                                             \
	case HEC_ACT_GELU_TANH:                                                                    \
		loop(a, HEC_ACT_GELU_TANH, row, begin, end);                                       \
		break;                                                                             \
	case HEC_ACT_SILU:                                                                         \
		loop(a, HEC_ACT_SILU, row, begin, end);                                            \
		break;                                                                             \
	case HEC_ACT_TANH:                                                                         \
		loop(a, HEC_ACT_TANH, row, begin, end);                                            \
		break;                                                                             \
	}

static void fwd_span(const void *args, int64_t row, int64_t begin, int64_t end)
{
	const activation_args *a = args;
	FOR_EACH_ACTIVATION(fwd_loop, a, row, begin, end)
}

static void bwd_span(const void *args, int64_t row, int64_t begin, int64_t end)
{
	const activation_args *a = args;
	FOR_EACH_ACTIVATION(bwd_loop, a, row, begin, end)
}

static hec_status activation_fwd_f32_avx512(hec_ctx *ctx, const activation_args *a)
{
	if (!has_rows(a->x) || !has_rows(a->up) || !has_rows(a->y))
		return activation_fwd_f32_ref(ctx, a);
	bool flat = is_flat(a->x) && is_flat(a->up) && is_flat(a->y);
	return spans_run(ctx, a->x->shape[0], a->x->shape[1], flat, 1, fwd_span, a);
}

static hec_status activation_bwd_f32_avx512(hec_ctx *ctx, const activation_args *a)
{
	const hec_tensor *dup = a->up ? a->dup : NULL;
	if (!has_rows(a->x) || !has_rows(a->up) || !has_rows(a->dy) || !has_rows(a->dx) ||
	    !has_rows(dup))
		return activation_bwd_f32_ref(ctx, a);
	bool flat =
		is_flat(a->x) && is_flat(a->up) && is_flat(a->dy) && is_flat(a->dx) && is_flat(dup);
	return spans_run(ctx, a->x->shape[0], a->x->shape[1], flat, 1, bwd_span, a);
}

void activation_f32_avx512_fill(backend_ops *ops)
{
	ops->activation_fwd = activation_fwd_f32_avx512;
	ops->activation_bwd = activation_bwd_f32_avx512;
}
