/* attention_stage_avx512.c — bringing what lies in tensors into tiles with queries in the lanes:
 * transposes, bias, masks as bits, dropout as bits. */
#include "backend/cpu/x86/attention_avx512.h"

#include <math.h>

#include "base/random.h"

/* Rows from r on; beyond the last the last again, so that nothing beyond it is read. */
static void rows_from(const float *x, int64_t step, int r, int rows, const float *row[16])
{
	for (int i = 0; i < 16; i++)
		row[i] = x + step * (r + i < rows ? r + i : rows - 1);
}

void attention_transpose_f32_avx512(const float *x, int64_t row, int rows, int64_t cols,
                                    float factor, float *xt)
{
	const __m512 f = _mm512_set1_ps(factor);
	for (int r = 0; r < rows; r += 16) {
		const float *from[16];
		rows_from(x, row, r, rows, from);
		int64_t c = 0;
		for (; c + 4 <= cols; c += 4) {
			__m512 t[4];
			load_16x4(from, c, t);
			UNROLL
			for (int i = 0; i < 4; i++)
				_mm512_storeu_ps(xt + (c + i) * ATTENTION_TILE + r,
				                 _mm512_mul_ps(t[i], f));
		}
		for (; c < cols; c++) {
			for (int i = 0; i < 16; i++)
				xt[c * ATTENTION_TILE + r + i] = from[i][c] * factor;
		}
	}
}

void attention_row_dots_f32_avx512(const float *x, int64_t row, int rows, int64_t cols,
                                   const float *yt, float *sum)
{
	for (int r = 0; r < rows; r += 16) {
		const float *from[16], *y = yt + r;
		rows_from(x, row, r, rows, from);
		__m512 acc = _mm512_setzero_ps();
		int64_t c = 0;
		for (; c + 4 <= cols; c += 4) {
			__m512 t[4];
			load_16x4(from, c, t);
			UNROLL
			for (int i = 0; i < 4; i++, y += ATTENTION_TILE)
				acc = _mm512_fmadd_ps(t[i], _mm512_loadu_ps(y), acc);
		}
		for (; c < cols; c++, y += ATTENTION_TILE) {
			float v[16];
			for (int i = 0; i < 16; i++)
				v[i] = from[i][c];
			acc = _mm512_fmadd_ps(_mm512_loadu_ps(v), _mm512_loadu_ps(y), acc);
		}
		_mm512_storeu_ps(sum + r, acc);
	}
}

/* x · 0 is NaN where x is NaN or Inf, and a NaN stays in the sum. Two rows at a time, eight chains. */
bool attention_rows_finite_f32_avx512(const float *x, int64_t row, int rows, int64_t cols)
{
	const __m512 zero = _mm512_setzero_ps();
	__m512 acc[8];
	UNROLL
	for (int i = 0; i < 8; i++)
		acc[i] = zero;
	for (int r = 0; r < rows; r += 2) {
		const float *a = x + r * row, *b = r + 1 < rows ? a + row : a;
		int64_t c = 0;
		for (; c + 64 <= cols; c += 64) {
			UNROLL
			for (int i = 0; i < 4; i++) {
				acc[i] = _mm512_fmadd_ps(_mm512_loadu_ps(a + c + 16 * i), zero,
				                         acc[i]);
				acc[4 + i] = _mm512_fmadd_ps(_mm512_loadu_ps(b + c + 16 * i), zero,
				                             acc[4 + i]);
			}
		}
		for (; c < cols; c += 16) {
			__mmask16 live =
				cols - c >= 16 ? 0xffff : (__mmask16)((1u << (cols - c)) - 1);
			acc[0] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(live, a + c), zero, acc[0]);
			acc[4] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(live, b + c), zero, acc[4]);
		}
	}
	for (int i = 1; i < 8; i++)
		acc[0] = _mm512_add_ps(acc[0], acc[i]);
	return _mm512_cmp_ps_mask(acc[0], acc[0], _CMP_UNORD_Q) == 0;
}

/* The tile as it is, from strides that vectors can follow or not. */
static void load_bias(const float *bias, int64_t t_stride, int64_t s_stride, int queries, int keys,
                      float *tile)
{
	const __m512i backwards =
		_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	for (int s = 0; s < keys; s++) {
		for (int t = 0; t < queries; t += 16) {
			const float *p = bias + t * t_stride + s * s_stride;
			int n = queries - t < 16 ? queries - t : 16;
			__mmask16 live = (__mmask16)((1u << n) - 1);
			__m512 x;
			if (t_stride == 1) {
				x = _mm512_maskz_loadu_ps(live, p);
			} else if (t_stride == 0) {
				x = _mm512_maskz_mov_ps(live, _mm512_set1_ps(*p));
			} else if (t_stride == -1) {
				/* Lane i of the load is element i − 15 of p: the last n are live. */
				__mmask16 high = (__mmask16)(0xffff << (16 - n));
				x = _mm512_maskz_loadu_ps(high, p - 15);
				x = _mm512_permutexvar_ps(backwards, x);
			} else {
				float v[16] = {0};
				for (int i = 0; i < n; i++)
					v[i] = p[i * t_stride];
				x = _mm512_loadu_ps(v);
			}
			_mm512_storeu_ps(tile + s * ATTENTION_TILE + t, x);
		}
	}
}

bool attention_stage_bias_f32_avx512(const float *bias, int64_t t_stride, int64_t s_stride,
                                     int queries, int keys, float *tile, uint64_t *hidden)
{
	if (s_stride == 1 && t_stride != 0 && t_stride != -1 && t_stride != 1)
		attention_transpose_f32_avx512(bias, t_stride, queries, keys, 1, tile);
	else
		load_bias(bias, t_stride, s_stride, queries, keys, tile);
	const __m512 lowest = _mm512_set1_ps(-INFINITY);
	const uint64_t live = queries == 64 ? ~UINT64_C(0) : (UINT64_C(1) << queries) - 1;
	uint64_t any = 0;
	for (int s = 0; s < ATTENTION_TILE; s++) {
		hidden[s] = 0;
		for (int t = 0; t < queries; t += 16) {
			float *p = tile + s * ATTENTION_TILE + t;
			if (s >= keys) {
				_mm512_storeu_ps(p, _mm512_setzero_ps());
				continue;
			}
			__mmask16 low = _mm512_cmpeq_ps_mask(_mm512_loadu_ps(p), lowest);
			hidden[s] |= (uint64_t)low << t;
		}
		hidden[s] &= live;
		any |= hidden[s];
	}
	return any != 0;
}

uint64_t attention_mask_bits_avx512(const int8_t *mask, int n)
{
	__mmask64 live = n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
	__m512i x = _mm512_maskz_loadu_epi8(live, mask);
	return _mm512_test_epi8_mask(x, x);
}

/* High and low halves of the products of 16 32-bit words with m. */
static inline __attribute__((always_inline)) void wide_product(__m512i x, __m512i m, __m512i *high,
                                                               __m512i *low)
{
	const __m512i odd =
		_mm512_set_epi32(31, 15, 29, 13, 27, 11, 25, 9, 23, 7, 21, 5, 19, 3, 17, 1);
	__m512i a = _mm512_mul_epu32(x, m);
	__m512i b = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), m);
	*high = _mm512_permutex2var_epi32(a, odd, b);
	*low = _mm512_mask_shuffle_epi32(a, 0xaaaa, b, (_MM_PERM_ENUM)0xa0);
}

/* Philox 4x32-10 of 16 counters that differ in their second word. */
static void philox_16(const dropout_tile *d, uint32_t block, int first_query, __m512i c[4])
{
	const __m512i lane =
		_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	const __m512i m0 = _mm512_set1_epi64(PHILOX_M0), m1 = _mm512_set1_epi64(PHILOX_M1);
	uint32_t k0 = d->key[0], k1 = d->key[1];
	c[0] = _mm512_set1_epi32((int)(d->counter[0] + block));
	c[1] = _mm512_add_epi32(_mm512_set1_epi32((int)(d->counter[1] + (uint32_t)first_query)),
	                        lane);
	c[2] = _mm512_set1_epi32((int)d->counter[2]);
	c[3] = _mm512_set1_epi32((int)d->counter[3]);
	for (int round = 0; round < PHILOX_ROUNDS; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
		__m512i high0, low0, high1, low1;
		wide_product(c[0], m0, &high0, &low0);
		wide_product(c[2], m1, &high1, &low1);
		c[0] = _mm512_xor_si512(_mm512_xor_si512(high1, c[1]), _mm512_set1_epi32((int)k0));
		c[2] = _mm512_xor_si512(_mm512_xor_si512(high0, c[3]), _mm512_set1_epi32((int)k1));
		c[1] = low1;
		c[3] = low0;
	}
}

void attention_keep_bits_avx512(const dropout_tile *d, int queries, int keys, uint64_t *keep)
{
	const bool none = d->threshold > UINT32_MAX;
	const __m512i threshold = _mm512_set1_epi32((int)(uint32_t)d->threshold);
	for (int s = 0; s < keys; s += 4) {
		uint64_t bits[4] = {0};
		for (int t = 0; !none && t < queries; t += 16) {
			__m512i words[4];
			philox_16(d, (uint32_t)(s / 4), t, words);
			for (int i = 0; i < 4; i++)
				bits[i] |= (uint64_t)_mm512_cmpge_epu32_mask(words[i], threshold)
				           << t;
		}
		for (int i = 0; i < 4; i++)
			keep[s + i] = bits[i];
	}
}

void attention_drop_f32_avx512(float *st, const uint64_t *keep, int queries, int keys)
{
	for (int s = 0; s < keys; s++, st += ATTENTION_TILE) {
		for (int t = 0; t < queries; t += 16) {
			__m512 x = _mm512_maskz_loadu_ps((__mmask16)(keep[s] >> t), st + t);
			_mm512_storeu_ps(st + t, x);
		}
	}
}
