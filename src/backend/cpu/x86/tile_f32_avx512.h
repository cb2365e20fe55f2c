/* tile_f32_avx512.h — the micro-kernel under every product: gemm and all of attention.
 *
 *   acc[i][j] += Σ_k a[i·a_row + k·a_k] · b[k·b_k + 16·j … +15]     i < rows, j < vecs
 *
 * a is read as broadcast scalars, so it may lie any way round; b is read as vectors of 16 columns.
 * Every output is one chain of fused multiply-adds in the order of k, whatever the tile: its bits
 * do not depend on how many rows or columns are computed with it. rows and vecs are constants where
 * this is inlined; rows · vecs ≤ 24 leaves registers for b and the broadcast. */
#ifndef BACKEND_CPU_X86_TILE_F32_AVX512_H
#define BACKEND_CPU_X86_TILE_F32_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#define TILE_ROWS 6
#define TILE_VECS 4

static inline __attribute__((always_inline)) void
tile_f32_avx512(const int rows, const int vecs, int64_t K, const float *a, int64_t a_row,
                int64_t a_k, const float *b, int64_t b_k, __m512 acc[TILE_ROWS][TILE_VECS])
{
	for (int64_t k = 0; k < K; k++) {
		__m512 bv[TILE_VECS];
#pragma GCC unroll 4
		for (int j = 0; j < vecs; j++) {
			bv[j] = _mm512_loadu_ps(b + 16 * j);
			if (rows > 1) /* else gcc loads it again for every row */
				__asm__("" : "+v"(bv[j]));
		}
#pragma GCC unroll 6
		for (int i = 0; i < rows; i++) {
			__m512 av = _mm512_set1_ps(a[i * a_row]);
#pragma GCC unroll 4
			for (int j = 0; j < vecs; j++)
				acc[i][j] = _mm512_fmadd_ps(av, bv[j], acc[i][j]);
		}
		a += a_k;
		b += b_k;
	}
}

#endif
