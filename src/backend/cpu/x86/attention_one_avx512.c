/* attention_one_avx512.c — one query against a tile of 64 keys.
 *
 * A score is 16 chains over K and a sum across them; 16 keys go together, so that these sums share
 * their shuffles. The sum over the keys follows the tree of the tiles of queries, and the values are
 * added key by key. */
#include "backend/cpu/x86/attention_avx512.h"
#include "backend/cpu/x86/exp2_f32_avx512.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* Lane i of the result is the sum of the lanes of v[i]: pairs are added and interleaved, so that each
 * step halves their number. */
INLINE __m512 sums_16(__m512 v[16])
{
	UNROLL
	for (int i = 0; i < 8; i++) /* v[i], v[8 + i]: 16-byte quarters 0 + 2, 1 + 3 of each */
		v[i] = _mm512_add_ps(_mm512_shuffle_f32x4(v[i], v[8 + i], 0x44),
		                     _mm512_shuffle_f32x4(v[i], v[8 + i], 0xee));
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm512_add_ps(_mm512_shuffle_f32x4(v[i], v[4 + i], 0x88),
		                     _mm512_shuffle_f32x4(v[i], v[4 + i], 0xdd));
	/* Quarters of v[i] are now keys i, 8 + i, 4 + i, 12 + i. */
	__m512 a = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
	__m512 b = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
	__m512d c = _mm512_castps_pd(a), d = _mm512_castps_pd(b);
	a = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(c, d)),
	                  _mm512_castpd_ps(_mm512_unpackhi_pd(c, d)));
	return _mm512_shuffle_f32x4(a, a, 0xd8);
}

/* The scores of 16 keys: 16 chains over K, then one sum across each. Meanwhile their values, from
 * v16 on, are fetched into the second-level cache, and in the product of the weights with these the
 * keys of the next tile: rows of one head are too short for the hardware to see what comes. */
INLINE __m512 scores_16(const one_tile *x, const float *q, const float *const k[16],
                        const float *v16)
{
	__m512 acc[16];
	int64_t i = 0;
	UNROLL
	for (int r = 0; r < 16; r++)
		acc[r] = _mm512_setzero_ps();
	for (; i + 16 <= x->K; i += 16) {
		__m512 v = _mm512_loadu_ps(q + i);
		UNROLL
		for (int r = 0; r < 16; r++) {
			_mm_prefetch((const char *)(v16 + r * x->v_row + i), _MM_HINT_T1);
			acc[r] = _mm512_fmadd_ps(v, _mm512_loadu_ps(k[r] + i), acc[r]);
		}
	}
	if (i < x->K) {
		const __mmask16 tail = (__mmask16)((1u << (x->K - i)) - 1);
		__m512 v = _mm512_maskz_loadu_ps(tail, q + i);
		UNROLL
		for (int r = 0; r < 16; r++)
			acc[r] = _mm512_fmadd_ps(v, _mm512_maskz_loadu_ps(tail, k[r] + i), acc[r]);
	}
	return sums_16(acc);
}

void attention_one_scores_f32_avx512(const one_tile *x)
{
	for (int s = 0; s < x->keys; s += 16) {
		const float *k[16];
		for (int r = 0; r < 16; r++)
			k[r] = x->k + x->k_row * (s + r < x->keys ? s + r : x->keys - 1);
		for (int h = 0; h < x->heads; h++)
			_mm512_storeu_ps(x->weights + h * ATTENTION_TILE + s,
			                 scores_16(x, x->q + h * x->q_row, k, x->v + s * x->v_row));
	}
}

/* Sums of the two blocks of eight keys of a vector, at lanes 0 and 8: the tree of the tile. */
static inline __m512 block_sums(__m512 p)
{
	p = _mm512_add_ps(p, _mm512_shuffle_f32x4(p, p, 0xb1));
	p = _mm512_add_ps(p, _mm512_permute_ps(p, 0x4e));
	return _mm512_add_ps(p, _mm512_permute_ps(p, 0xb1));
}

float attention_one_softmax_f32_avx512(float *weights, float unit, uint64_t seen, float *m,
                                       float *l)
{
	const __m512 hidden = _mm512_set1_ps(-INFINITY), c = _mm512_set1_ps(unit);
	__m512 x[4], max = hidden;
	UNROLL
	for (int i = 0; i < 4; i++) {
		x[i] = _mm512_mask_loadu_ps(hidden, (__mmask16)(seen >> 16 * i), weights + 16 * i);
		max = _mm512_max_ps(max, x[i]);
	}
	float old = *m, new = _mm512_reduce_max_ps(max);
	new = old > new ? old : new;
	__m512 base = _mm512_set1_ps(new == -INFINITY ? 0 : new);
	float sum = 0, blocks[16];
	UNROLL
	for (int i = 0; i < 4; i++) {
		__m512 p = exp2_f32_avx512(_mm512_mul_ps(_mm512_sub_ps(x[i], base), c));
		_mm512_storeu_ps(weights + 16 * i, p);
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

/* Heads h … h + heads − 1, columns c … c + 16·vecs − 1, all of them seeing the same keys. */
INLINE void columns(const int heads, const int vecs, const one_tile *x, int first, int64_t c,
                    __mmask16 last)
{
	__m512 acc[ATTENTION_ROWS][4];
	float *o = x->o + first * x->o_row + c;
	const float *w = x->weights + first * ATTENTION_TILE;
	UNROLL
	for (int h = 0; h < heads; h++) {
		UNROLL
		for (int j = 0; j < vecs; j++)
			acc[h][j] = _mm512_mul_ps(_mm512_loadu_ps(o + h * x->o_row + 16 * j),
			                          _mm512_set1_ps(x->factor[first + h]));
	}
	for (uint64_t seen = x->seen[first]; seen; seen &= seen - 1) {
		const int s = __builtin_ctzll(seen);
		const float *v = x->v + s * x->v_row + c;
		const float *next = x->next_k + s * x->k_row + c;
		__m512 value[4];
		UNROLL
		for (int j = 0; j < vecs; j++) {
			_mm_prefetch((const char *)(next + 16 * j), _MM_HINT_T1);
			value[j] = j < vecs - 1 ? _mm512_loadu_ps(v + 16 * j)
			                        : _mm512_maskz_loadu_ps(last, v + 16 * j);
		}
		UNROLL
		for (int h = 0; h < heads; h++) {
			__m512 p = _mm512_set1_ps(w[h * ATTENTION_TILE + s]);
			UNROLL
			for (int j = 0; j < vecs; j++)
				acc[h][j] = _mm512_fmadd_ps(p, value[j], acc[h][j]);
		}
	}
	UNROLL
	for (int h = 0; h < heads; h++) {
		UNROLL
		for (int j = 0; j < vecs; j++)
			_mm512_storeu_ps(o + h * x->o_row + 16 * j, acc[h][j]);
	}
}

INLINE void all_columns(const int heads, const one_tile *x, int first)
{
	for (int64_t c = 0; c < x->D; c += 64) {
		int64_t left = x->D - c < 64 ? x->D - c : 64;
		__mmask16 last = left % 16 ? (__mmask16)((1u << (left % 16)) - 1) : 0xffff;
		switch ((left + 15) / 16) {
		case 1:
			columns(heads, 1, x, first, c, last);
			break;
		case 2:
			columns(heads, 2, x, first, c, last);
			break;
		case 3:
			columns(heads, 3, x, first, c, last);
			break;
		default:
			columns(heads, 4, x, first, c, last);
		}
	}
}

void attention_one_product_f32_avx512(const one_tile *x, bool alike)
{
	int h = 0;
	if (alike && x->heads == 4) {
		all_columns(4, x, 0);
		h = 4;
	} else if (alike && x->heads >= 2) {
		all_columns(2, x, 0);
		h = 2;
	}
	for (; h < x->heads; h++)
		all_columns(1, x, h);
}
