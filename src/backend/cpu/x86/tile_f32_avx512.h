/* tile_f32_avx512.h — the micro-kernel under every product: gemm and all of attention.
 *
 *   acc[i][j] += Σ_k a[i·a_row + k·a_k] · b[k·b_k + 16·j … +15]     i < rows, j < vecs
 *
 * a is read as broadcast scalars, so it may lie any way round; b is read as vectors of 16 columns.
 * Every output is one chain of fused multiply-adds in the order of k, whatever the tile: its bits
 * do not depend on how many rows or columns are computed with it. rows and vecs are constants where
 * this is inlined; rows · vecs ≤ 24 leaves registers for b and the broadcast. Addresses ahead, ahead +
 * ahead_k, … are fetched into L2 on the way, one for each k; 0: none. */
#ifndef BACKEND_CPU_X86_TILE_F32_AVX512_H
#define BACKEND_CPU_X86_TILE_F32_AVX512_H

#include <immintrin.h>
#include <stdint.h>

/* Both compilers must unroll the loops over rows and vectors early, else acc lies in memory. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Checks of each address, twenty-four times over, take clang minutes to compile: tiles go without
 * those of UBSan (AddressSanitizer stays). */
#define TILE_INLINE static inline __attribute__((always_inline, no_sanitize("undefined")))

#define TILE_ROWS 6
#define TILE_VECS 4

/* One row of the tile at one k, written out: clang 14 leaves acc in memory where it must unroll a
 * loop of its own accord. */
#define TILE_ROW(i)                                                                                \
	if (rows > (i)) {                                                                          \
		__m512 av = _mm512_set1_ps(a[(i)*a_row]);                                          \
		acc[i][0] = _mm512_fmadd_ps(av, b0, acc[i][0]);                                    \
		if (vecs > 1)                                                                      \
			acc[i][1] = _mm512_fmadd_ps(av, b1, acc[i][1]);                            \
		if (vecs > 2)                                                                      \
			acc[i][2] = _mm512_fmadd_ps(av, b2, acc[i][2]);                            \
		if (vecs > 3)                                                                      \
			acc[i][3] = _mm512_fmadd_ps(av, b3, acc[i][3]);                            \
	}

/* A vector of b stays in its register: gcc would load it again for every row. */
TILE_INLINE __m512 tile_load(const int vecs, int j, const float *b)
{
	__m512 v = j < vecs ? _mm512_loadu_ps(b + 16 * j) : _mm512_setzero_ps();
	if (j < vecs)
		__asm__("" : "+v"(v));
	return v;
}

TILE_INLINE void tile_f32_avx512(const int rows, const int vecs, int64_t K, const float *a,
                                 int64_t a_row, int64_t a_k, const float *b, int64_t b_k,
                                 uintptr_t ahead, uintptr_t ahead_k,
                                 __m512 acc[TILE_ROWS][TILE_VECS])
{
	for (int64_t k = 0; k < K; k++) {
		if (ahead) {
			_mm_prefetch((const char *)ahead, _MM_HINT_T1);
			ahead += ahead_k;
		}
		__m512 b0 = tile_load(vecs, 0, b), b1 = tile_load(vecs, 1, b);
		__m512 b2 = tile_load(vecs, 2, b), b3 = tile_load(vecs, 3, b);
		TILE_ROW(0)
		TILE_ROW(1)
		TILE_ROW(2)
		TILE_ROW(3)
		TILE_ROW(4)
		TILE_ROW(5)
		a += a_k;
		b += b_k;
	}
}

#endif
