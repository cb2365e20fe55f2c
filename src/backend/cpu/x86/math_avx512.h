/* math_avx512.h — exp, log and the activations on 16 floats at a time.
 *
 * Each is written without branches: reduce the argument, a polynomial (fitted to the smallest
 * largest error over its range), put together again. Errors measured over all of float, every 37th
 * number: exp, exp2, log below 1 unit in the last place. NaN stays NaN; ±inf, zeros and denormals
 * are as in C. Products that are added are written as fused operations, so that the bits do not
 * depend on where a function is inlined: gemm's epilogue and the activation give the same. */
#ifndef BACKEND_CPU_X86_MATH_AVX512_H
#define BACKEND_CPU_X86_MATH_AVX512_H

#include <hecate/activation.h>
#include <immintrin.h>

#define VECTOR_MATH static inline __attribute__((always_inline))
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

/* The first n of 16 lanes, 0 ≤ n ≤ 16. */
VECTOR_MATH __mmask16 first_lanes(int64_t n)
{
	return (__mmask16)((1u << n) - 1);
}

VECTOR_MATH __m512 fma_const(__m512 a, __m512 b, float c)
{
	return _mm512_fmadd_ps(a, b, _mm512_set1_ps(c));
}

/* 2^x. x − round(x) is exact, so this is the cheaper one where log2 e can be folded into a scale. */
VECTOR_MATH __m512 exp2_ps_avx512(__m512 x)
{
	__m512 n = _mm512_roundscale_ps(x, NEAREST);
	__m512 r = _mm512_reduce_ps(x, NEAREST);
	__m512 p = _mm512_set1_ps(0x1.41fbbcp-13f);
	p = fma_const(p, r, 0x1.5f3e52p-10f);
	p = fma_const(p, r, 0x1.3b2d4cp-7f);
	p = fma_const(p, r, 0x1.c6aee8p-5f);
	p = fma_const(p, r, 0x1.ebfbdcp-3f);
	p = fma_const(p, r, 0x1.62e430p-1f);
	p = fma_const(p, r, 1);
	return _mm512_scalef_ps(p, n);
}

/* e^x = 2^n · e^r, r = x − n·ln 2 within ±ln 2 / 2. Beyond the clamp the result is 0 or inf. */
VECTOR_MATH __m512 exp_ps_avx512(__m512 x)
{
	x = _mm512_min_ps(_mm512_set1_ps(89), _mm512_max_ps(_mm512_set1_ps(-104), x));
	__m512 n = _mm512_mul_ps(x, _mm512_set1_ps(0x1.715476p+0f));
	n = _mm512_roundscale_ps(n, NEAREST);
	__m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.62e4p-1f), x);
	r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.7f7d1cp-20f), r);
	__m512 p = _mm512_set1_ps(0x1.6a2352p-10f);
	p = fma_const(p, r, 0x1.123a6cp-7f);
	p = fma_const(p, r, 0x1.5558f4p-5f);
	p = fma_const(p, r, 0x1.555490p-3f);
	p = fma_const(p, r, 0x1.fffffcp-2f);
	p = fma_const(p, r, 1);
	p = fma_const(p, r, 1);
	return _mm512_scalef_ps(p, n);
}

/* ln x = e·ln 2 + ln(1 + f), x = 2^e · (1 + f), 0.75 ≤ 1 + f < 1.5. With s = f / (2 + f) the series
 * ln(1 + f) = 2s + s·R(s²) is short; written as f − s·… the leading term is exact. */
VECTOR_MATH __m512 log_ps_avx512(__m512 x)
{
	__m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
	__m512 e = _mm512_sub_ps(_mm512_getexp_ps(x), _mm512_getexp_ps(m));
	__m512 f = _mm512_sub_ps(m, _mm512_set1_ps(1));
	__m512 s = _mm512_div_ps(f, _mm512_add_ps(f, _mm512_set1_ps(2)));
	__m512 w = _mm512_mul_ps(s, s);
	__m512 r = _mm512_set1_ps(0x1.e67a80p-3f);
	r = fma_const(r, w, 0x1.242bccp-2f);
	r = fma_const(r, w, 0x1.999a70p-2f);
	r = fma_const(r, w, 0x1.555556p-1f);
	__m512 half_square = _mm512_mul_ps(_mm512_mul_ps(f, _mm512_set1_ps(0.5f)), f);
	__m512 tail = _mm512_mul_ps(s, _mm512_fmadd_ps(r, w, half_square));
	tail = _mm512_fmadd_ps(e, _mm512_set1_ps(0x1.7f7d1cp-20f), tail);
	f = _mm512_sub_ps(f, _mm512_sub_ps(half_square, tail));
	return _mm512_fmadd_ps(e, _mm512_set1_ps(0x1.62e4p-1f), f);
}

/* x · sigmoid(y). */
VECTOR_MATH __m512 times_sigmoid_ps_avx512(__m512 x, __m512 y)
{
	__m512 e = exp_ps_avx512(_mm512_sub_ps(_mm512_setzero_ps(), y));
	return _mm512_div_ps(x, _mm512_add_ps(_mm512_set1_ps(1), e));
}

/* 2·√(2/π)·(x + 0.044715·x³): twice what tanh takes in GELU's approximation, since
 * (1 + tanh u) / 2 = sigmoid(2u). */
VECTOR_MATH __m512 gelu_tanh_inner_ps_avx512(__m512 x)
{
	__m512 p = fma_const(_mm512_mul_ps(x, x), _mm512_set1_ps(0.07135481627260025f),
	                     1.5957691216057308f);
	return _mm512_mul_ps(p, x);
}

/* Φ(x) = (1 + erf(x/√2)) / 2, by its smaller side: Φ(−|x|) = 2^−q(|x|), within 1.3e-8 of it. q is
 * fitted up to 6; beyond, it goes on growing, and the power of two goes to 0. */
VECTOR_MATH __m512 normal_cdf_ps_avx512(__m512 x)
{
	__m512 t = _mm512_abs_ps(x);
	__m512 q = _mm512_set1_ps(-0x1.7c7edcp-19f);
	q = fma_const(q, t, 0x1.4a52f4p-15f);
	q = fma_const(q, t, -0x1.8672c2p-13f);
	q = fma_const(q, t, -0x1.1f2d26p-13f);
	q = fma_const(q, t, 0x1.cee886p-8f);
	q = fma_const(q, t, -0x1.ae0c78p-5f);
	q = fma_const(q, t, -0x1.d63aacp-2f);
	q = fma_const(q, t, -0x1.26aed4p+0f);
	q = fma_const(q, t, -1);
	__m512 side = exp2_ps_avx512(q);
	__mmask16 other = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ);
	return _mm512_mask_sub_ps(side, other, _mm512_set1_ps(1), side);
}

/* tanh of |x|, then the sign of x. Near 0 an odd polynomial, whose leading term is exact: 1 − 2/(e^2|x| + 1)
 * would cancel there. */
VECTOR_MATH __m512 tanh_ps_avx512(__m512 x)
{
	const __m512 one = _mm512_set1_ps(1), two = _mm512_set1_ps(2);
	__m512 t = _mm512_abs_ps(x), square = _mm512_mul_ps(x, x);
	__m512 p = _mm512_set1_ps(-5.70498872745e-3f);
	p = fma_const(p, square, 2.06390887954e-2f);
	p = fma_const(p, square, -5.37397155531e-2f);
	p = fma_const(p, square, 1.33314422036e-1f);
	p = fma_const(p, square, -3.33332819422e-1f);
	__m512 near = _mm512_fmadd_ps(_mm512_mul_ps(p, square), x, x);
	__m512 e = exp_ps_avx512(_mm512_mul_ps(two, t));
	__m512 far = _mm512_sub_ps(one, _mm512_div_ps(two, _mm512_add_ps(e, one)));
	far = _mm512_or_ps(far, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
	__mmask16 is_far = _mm512_cmp_ps_mask(t, _mm512_set1_ps(0.625f), _CMP_GE_OQ);
	return _mm512_mask_mov_ps(near, is_far, far);
}

/* The activation of 16 numbers. act should be a constant where this is inlined into a loop. */
VECTOR_MATH __m512 activation_ps_avx512(hec_activation act, __m512 x)
{
	switch (act) {
	case HEC_ACT_RELU:
		return _mm512_max_ps(_mm512_setzero_ps(), x); /* NaN stays NaN in this order */
	case HEC_ACT_GELU:
		return _mm512_mul_ps(x, normal_cdf_ps_avx512(x));
	case HEC_ACT_GELU_TANH:
		return times_sigmoid_ps_avx512(x, gelu_tanh_inner_ps_avx512(x));
	case HEC_ACT_SILU:
		return times_sigmoid_ps_avx512(x, x);
	case HEC_ACT_TANH:
		return tanh_ps_avx512(x);
	case HEC_ACT_NONE:
		break;
	}
	return x;
}

/* The slope of x · sigmoid(y(x)), dy = y'(x): s + x·dy·s·(1 − s). With e = e^−|y|, the product
 * s·(1 − s) is e / (1 + e)² on both sides, and nothing cancels. */
VECTOR_MATH __m512 times_sigmoid_slope_ps_avx512(__m512 x, __m512 y, __m512 dy, __m512 *value)
{
	const __m512 one = _mm512_set1_ps(1), zero = _mm512_setzero_ps();
	__m512 e = exp_ps_avx512(_mm512_sub_ps(zero, _mm512_abs_ps(y)));
	__m512 upper = _mm512_div_ps(one, _mm512_add_ps(one, e));
	__m512 lower = _mm512_mul_ps(e, upper);
	__mmask16 negative = _mm512_cmp_ps_mask(y, zero, _CMP_LT_OQ);
	__m512 s = _mm512_mask_mov_ps(upper, negative, lower);
	*value = _mm512_mul_ps(x, s);
	return _mm512_fmadd_ps(_mm512_mul_ps(x, _mm512_mul_ps(upper, lower)), dy, s);
}

/* The slope of the activation; its value falls off on the way, a unit or two in the last place from
 * what activation_ps_avx512 gives. */
VECTOR_MATH __m512 activation_slope_ps_avx512(hec_activation act, __m512 x, __m512 *value)
{
	const __m512 one = _mm512_set1_ps(1), zero = _mm512_setzero_ps();
	switch (act) {
	case HEC_ACT_RELU:
		*value = activation_ps_avx512(act, x);
		return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, zero, _CMP_GT_OQ), one);
	case HEC_ACT_GELU: {
		/* The density e^(−x²/2) / √2π, by way of 2^(−x²/2 · log2 e). */
		__m512 power = _mm512_mul_ps(_mm512_mul_ps(x, _mm512_set1_ps(-0.72134752f)), x);
		__m512 density =
			_mm512_mul_ps(exp2_ps_avx512(power), _mm512_set1_ps(0.39894228040143268f));
		__m512 cdf = normal_cdf_ps_avx512(x);
		*value = _mm512_mul_ps(x, cdf);
		return _mm512_fmadd_ps(x, density, cdf);
	}
	case HEC_ACT_GELU_TANH: {
		/* Far out the slope is 1 or 0, but x² might be inf there. */
		__m512 square = _mm512_min_ps(_mm512_set1_ps(0x1p100f), _mm512_mul_ps(x, x));
		__m512 dy = fma_const(square, _mm512_set1_ps(0.21406444881780076f),
		                      1.5957691216057308f);
		return times_sigmoid_slope_ps_avx512(x, gelu_tanh_inner_ps_avx512(x), dy, value);
	}
	case HEC_ACT_SILU:
		return times_sigmoid_slope_ps_avx512(x, x, one, value);
	case HEC_ACT_TANH: {
		/* 1 − tanh² = 4e / (1 + e)² with e = e^−2|x|: nothing cancels. */
		__m512 e = exp_ps_avx512(_mm512_mul_ps(_mm512_set1_ps(-2), _mm512_abs_ps(x)));
		__m512 half = _mm512_div_ps(_mm512_set1_ps(2), _mm512_add_ps(one, e));
		*value = tanh_ps_avx512(x);
		return _mm512_mul_ps(_mm512_mul_ps(e, half), half);
	}
	case HEC_ACT_NONE:
		break;
	}
	*value = x;
	return one;
}

#endif
