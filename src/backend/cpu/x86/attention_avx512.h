/* attention_avx512.h — the micro-kernels of attention in f32 with AVX-512, by file. */
#ifndef BACKEND_CPU_X86_ATTENTION_AVX512_H
#define BACKEND_CPU_X86_ATTENTION_AVX512_H

#include <immintrin.h>

#include "backend/cpu/attention.h"
#include "backend/cpu/x86/tile_f32_avx512.h" /* also UNROLL */

/* attention_product_avx512.c */
void attention_product_f32_avx512(const tile_product *p);

/* attention_softmax_avx512.c */
bool attention_softmax_f32_avx512(const tile_softmax *s);
void attention_gradient_f32_avx512(const tile_gradient *g);
void attention_finish_f32_avx512(int rows, int64_t cols, const float *o, int64_t o_row,
                                 const float *m, const float *l, float unit, float keep_scale,
                                 float *out, int64_t out_row, float *lse);

/* attention_one_avx512.c */
void attention_one_scores_f32_avx512(const one_tile *x);
float attention_one_softmax_f32_avx512(float *weights, float unit, uint64_t seen, float *m,
                                       float *l);
void attention_one_product_f32_avx512(const one_tile *x, bool alike);

/* attention_stage_avx512.c */
void attention_transpose_f32_avx512(const float *x, int64_t row, int rows, int64_t cols,
                                    float factor, float *xt);
void attention_row_dots_f32_avx512(const float *x, int64_t row, int rows, int64_t cols,
                                   const float *yt, float *sum);
bool attention_rows_finite_f32_avx512(const float *x, int64_t row, int rows, int64_t cols);
bool attention_stage_bias_f32_avx512(const float *bias, int64_t t_stride, int64_t s_stride,
                                     int queries, int keys, float *tile, uint64_t *hidden);
uint64_t attention_mask_bits_avx512(const int8_t *mask, int n);
void attention_keep_bits_avx512(const dropout_tile *d, int queries, int keys, uint64_t *keep);
void attention_drop_f32_avx512(float *st, const uint64_t *keep, int queries, int keys);

/* v[r] holds rows r, 4 + r, 8 + r, 12 + r of a 16×4 block, one in each quarter; t[c] becomes
 * column c, rows in order: a 4×4 transpose within the quarters. */
static inline __attribute__((always_inline)) void transpose_quarters(const __m512 v[4], __m512 t[4])
{
	__m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(v[0], v[1]));
	__m512d b = _mm512_castps_pd(_mm512_unpacklo_ps(v[2], v[3]));
	__m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(v[0], v[1]));
	__m512d e = _mm512_castps_pd(_mm512_unpackhi_ps(v[2], v[3]));
	t[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
	t[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
	t[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(d, e));
	t[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(d, e));
}

/* Four columns of 16 rows, by loads of 128 bits that are merged into their quarters. */
static inline __attribute__((always_inline)) void load_16x4(const float *const row[16], int64_t c,
                                                            __m512 t[4])
{
	__m512 v[4];
	UNROLL
	for (int r = 0; r < 4; r++) {
		v[r] = _mm512_castps128_ps512(_mm_loadu_ps(row[r] + c));
		v[r] = _mm512_mask_broadcast_f32x4(v[r], 0x00f0, _mm_loadu_ps(row[4 + r] + c));
		v[r] = _mm512_mask_broadcast_f32x4(v[r], 0x0f00, _mm_loadu_ps(row[8 + r] + c));
		v[r] = _mm512_mask_broadcast_f32x4(v[r], 0xf000, _mm_loadu_ps(row[12 + r] + c));
	}
	transpose_quarters(v, t);
}

#endif
