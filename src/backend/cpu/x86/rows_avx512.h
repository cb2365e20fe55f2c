/* rows_avx512.h — rows of floats that lie side by side: what every operation here asks of its
 * tensors, and the loop over a row in vectors of 16. */
#ifndef BACKEND_CPU_X86_ROWS_AVX512_H
#define BACKEND_CPU_X86_ROWS_AVX512_H

#include "backend/cpu/rows.h"
#include "backend/cpu/x86/math_avx512.h"
#include "base/size.h"

/* Whether the last axis lies without gaps; an absent tensor does not mind. */
static inline bool has_rows(const hec_tensor *x)
{
	return !x || x->stride[x->rank - 1] == 1 || x->shape[x->rank - 1] <= 1;
}

/* Whether a rank-2 tensor is one run of numbers. */
static inline bool is_flat(const hec_tensor *x)
{
	return !x || (x->stride[0] == x->shape[1] && has_rows(x));
}

static inline float *row_at(const hec_tensor *x, int64_t n)
{
	return (float *)x->data + n * x->stride[0];
}

/* The lanes of the vector at c of a row that ends at C. */
VECTOR_MATH __mmask16 lanes_at(int64_t c, int64_t C)
{
	return C - c >= 16 ? 0xFFFF : first_lanes(C - c);
}

VECTOR_MATH __m512 load_ps(__mmask16 lanes, const float *x)
{
	return _mm512_maskz_loadu_ps(lanes, x);
}

VECTOR_MATH void store_ps(float *y, __mmask16 lanes, __m512 x)
{
	_mm512_mask_storeu_ps(y, lanes, x);
}

/* A sum over a row runs in four vectors, vector i of the row in number i mod 4: 64 short sums, so
 * less rounding than one long one, in an order that depends on C alone. */
#define SUMS 4

VECTOR_MATH float sum_lanes(const __m512 s[SUMS])
{
	return _mm512_reduce_add_ps(
		_mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3])));
}

#endif
