/* exp2_f32_avx512.h — 2^x and log2 x of 16 floats. */
#ifndef BACKEND_CPU_X86_EXP2_F32_AVX512_H
#define BACKEND_CPU_X86_EXP2_F32_AVX512_H

#include <immintrin.h>

/* 2^x = 2^⌊x⌋ · p(x − ⌊x⌋), p of degree 5: within 2.4 · 2⁻²⁴ of the value, exact at whole numbers.
 * −inf gives 0, NaN gives NaN, large x gives inf. */
static inline __attribute__((always_inline)) __m512 exp2_f32_avx512(__m512 x)
{
	__m512 r = _mm512_reduce_ps(x, 0x09); /* x − ⌊x⌋ */
	__m512 p = _mm512_set1_ps(0x1.e974bap-10f);
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.277866p-7f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.c91ce4p-5f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.ebdb58p-3f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.62e4bap-1f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
	return _mm512_scalef_ps(p, x);
}

/* log2 x = e + log2 m, m in [√½, √2): an odd polynomial in s = (m − 1) / (m + 1), its own error
 * 7e-10. x > 0. */
static inline __attribute__((always_inline)) __m512 log2_f32_avx512(__m512 x)
{
	__m512 e = _mm512_getexp_ps(_mm512_mul_ps(x, _mm512_set1_ps(0x1.6a09e6p+0f)));
	__m512 m = _mm512_scalef_ps(x, _mm512_sub_ps(_mm512_setzero_ps(), e));
	const __m512 one = _mm512_set1_ps(1.0f);
	__m512 s = _mm512_div_ps(_mm512_sub_ps(m, one), _mm512_add_ps(m, one));
	__m512 s2 = _mm512_mul_ps(s, s);
	__m512 p = _mm512_set1_ps(0x1.ba1910p-2f);
	p = _mm512_fmadd_ps(p, s2, _mm512_set1_ps(0x1.27471cp-1f));
	p = _mm512_fmadd_ps(p, s2, _mm512_set1_ps(0x1.ec70e6p-1f));
	p = _mm512_fmadd_ps(p, s2, _mm512_set1_ps(0x1.715476p+1f));
	return _mm512_fmadd_ps(p, s, e);
}

#endif
