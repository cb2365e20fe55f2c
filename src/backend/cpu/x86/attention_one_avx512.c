/* attention_one_avx512.c — one query against a tile of 64 keys, keys in the lanes.
 *
 * k is transposed in registers, 16 keys × 4, so that each score is the same chain over K as in a
 * tile of queries; the sum over the keys follows the same tree; the values are added key by key. So
 * a query has the same bits here as there. */
#include "backend/cpu/x86/attention_avx512.h"
#include "backend/cpu/x86/exp2_f32_avx512.h"

#include <math.h>

/* 16 keys from k on: what four steps along K add to their scores. */
static inline __attribute__((always_inline)) __m512 add_4(const float *k, int64_t row,
                                                          const float *q, __m512 acc)
{
	__m512 v[4];
#pragma GCC unroll 4
	for (int r = 0; r < 4; r++) {
		const float *x = k + r * row;
		v[r] = _mm512_castps128_ps512(_mm_loadu_ps(x));
		v[r] = _mm512_mask_broadcast_f32x4(v[r], 0x00f0, _mm_loadu_ps(x + 4 * row));
		v[r] = _mm512_mask_broadcast_f32x4(v[r], 0x0f00, _mm_loadu_ps(x + 8 * row));
		v[r] = _mm512_mask_broadcast_f32x4(v[r], 0xf000, _mm_loadu_ps(x + 12 * row));
	}
	__m512 t[4];
	transpose_quarters(v, t);
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
		acc = _mm512_fmadd_ps(t[i], _mm512_set1_ps(q[i]), acc);
	return acc;
}

/* The rest of K, up to three steps. */
static __m512 add_rest(const float *k, int64_t row, int n, const float *q, __m512 acc)
{
	for (int i = 0; i < n; i++) {
		float v[16];
		for (int r = 0; r < 16; r++)
			v[r] = k[r * row + i];
		acc = _mm512_fmadd_ps(_mm512_loadu_ps(v), _mm512_set1_ps(q[i]), acc);
	}
	return acc;
}

static void scores_32(const float *q, int64_t K, const float *k, int64_t row, float *scores)
{
	__m512 a = _mm512_setzero_ps(), b = a;
	const float *k2 = k + 16 * row;
	int64_t i = 0;
	for (; i + 4 <= K; i += 4) {
		a = add_4(k + i, row, q + i, a);
		b = add_4(k2 + i, row, q + i, b);
	}
	_mm512_storeu_ps(scores, add_rest(k + i, row, (int)(K - i), q + i, a));
	_mm512_storeu_ps(scores + 16, add_rest(k2 + i, row, (int)(K - i), q + i, b));
}

void attention_one_scores_f32_avx512(const float *q, int64_t K, const float *k, int64_t k_row,
                                     int keys, float *scores)
{
	int s = 0;
	for (; s + 32 <= keys; s += 32)
		scores_32(q, K, k + s * k_row, k_row, scores + s);
	for (; s < keys; s++) {
		const float *x = k + s * k_row;
		float sum = 0;
		for (int64_t i = 0; i < K; i++)
			sum = __builtin_fmaf(x[i], q[i], sum);
		scores[s] = sum;
	}
}

/* Sums of the two blocks of eight keys of a vector, at lanes 0 and 8: the tree of the tile. */
static inline __m512 block_sums(__m512 p)
{
	p = _mm512_add_ps(p, _mm512_shuffle_f32x4(p, p, 0xb1));
	p = _mm512_add_ps(p, _mm512_permute_ps(p, 0x4e));
	return _mm512_add_ps(p, _mm512_permute_ps(p, 0xb1));
}

float attention_one_softmax_f32_avx512(float *scores, float unit, uint64_t seen, float *m, float *l)
{
	const __m512 hidden = _mm512_set1_ps(-INFINITY), c = _mm512_set1_ps(unit);
	__m512 x[4], max = hidden;
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		x[i] = _mm512_mask_loadu_ps(hidden, (__mmask16)(seen >> 16 * i), scores + 16 * i);
		max = _mm512_max_ps(max, x[i]);
	}
	float old = *m, new = _mm512_reduce_max_ps(max);
	new = old > new ? old : new;
	__m512 base = _mm512_set1_ps(new == -INFINITY ? 0 : new);
	float sum = 0, blocks[16];
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		__m512 p = exp2_f32_avx512(_mm512_mul_ps(_mm512_sub_ps(x[i], base), c));
		_mm512_storeu_ps(scores + 16 * i, p);
		_mm512_storeu_ps(blocks, block_sums(p));
		sum += blocks[0];
		sum += blocks[8];
	}
	float factor = 1;
	if (new != old) {
		__m512 less = _mm512_sub_ps(_mm512_set1_ps(old), base);
		factor = _mm512_cvtss_f32(exp2_f32_avx512(_mm512_mul_ps(less, c)));
	}
	*m = new;
	*l = __builtin_fmaf(*l, factor, sum);
	return factor;
}

/* Up to 64 columns. */
static inline __attribute__((always_inline)) void
columns(const int vecs, const float *p, uint64_t seen, const float *v, int64_t row, __mmask16 last,
        float factor, float *o)
{
	__m512 acc[4];
#pragma GCC unroll 4
	for (int j = 0; j < vecs; j++)
		acc[j] = _mm512_mul_ps(_mm512_loadu_ps(o + 16 * j), _mm512_set1_ps(factor));
	for (; seen; seen &= seen - 1) {
		int s = __builtin_ctzll(seen);
		const float *x = v + s * row;
		__m512 w = _mm512_set1_ps(p[s]);
#pragma GCC unroll 4
		for (int j = 0; j < vecs - 1; j++)
			acc[j] = _mm512_fmadd_ps(w, _mm512_loadu_ps(x + 16 * j), acc[j]);
		acc[vecs - 1] = _mm512_fmadd_ps(w, _mm512_maskz_loadu_ps(last, x + 16 * (vecs - 1)),
		                                acc[vecs - 1]);
	}
#pragma GCC unroll 4
	for (int j = 0; j < vecs; j++)
		_mm512_storeu_ps(o + 16 * j, acc[j]);
}

void attention_one_product_f32_avx512(const float *p, uint64_t seen, const float *v, int64_t v_row,
                                      int64_t D, float factor, float *o)
{
	for (int64_t c = 0; c < D; c += 64) {
		int64_t left = D - c < 64 ? D - c : 64;
		__mmask16 last = left % 16 ? (__mmask16)((1u << (left % 16)) - 1) : 0xffff;
		switch ((left + 15) / 16) {
		case 1:
			columns(1, p, seen, v + c, v_row, last, factor, o + c);
			break;
		case 2:
			columns(2, p, seen, v + c, v_row, last, factor, o + c);
			break;
		case 3:
			columns(3, p, seen, v + c, v_row, last, factor, o + c);
			break;
		default:
			columns(4, p, seen, v + c, v_row, last, factor, o + c);
		}
	}
}
