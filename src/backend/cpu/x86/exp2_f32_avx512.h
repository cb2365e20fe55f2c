/* exp2_f32_avx512.h — 2^x of 16 floats, for weights.
 *
 * Cheaper than the one in math_avx512.h, and not quite as close: here exponentials are a fifth of what
 * is not a product, and their argument carries a larger error than this. */
#ifndef BACKEND_CPU_X86_EXP2_F32_AVX512_H
#define BACKEND_CPU_X86_EXP2_F32_AVX512_H

#include <immintrin.h>

/* 2^x = 2^⌊x⌋ · p(x − ⌊x⌋), p of degree 5: within 3 · 2⁻²⁴ of the value, exact at whole numbers.
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

#endif
