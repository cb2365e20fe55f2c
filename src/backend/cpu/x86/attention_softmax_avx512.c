/* attention_softmax_avx512.c — the element-wise part of a tile: queries in the lanes, so no sums
 * across lanes. 16 queries at a time go down the keys in blocks of eight, which are eight
 * independent chains. The sum of a block is the tree ((0+4)+(2+6)) + ((1+5)+(3+7)), blocks are
 * added in order: an order that the version with keys in the lanes can follow too. */
#include "backend/cpu/x86/attention_avx512.h"
#include "backend/cpu/x86/exp2_f32_avx512.h"
#include "backend/cpu/x86/math_avx512.h"

#include <math.h>

#define STEP ATTENTION_TILE /* floats from one key to the next */

/* A score as a float, not fused into what comes next: of scores near 1e38 forward and backward must
 * mean the same one, to the last digit. */
static inline __attribute__((always_inline)) __m512 rounded(__m512 score)
{
	__asm__("" : "+v"(score));
	return score;
}

/* Whether queries shift … shift + 15 see none of 4, of 8 keys. */
static inline __attribute__((always_inline)) bool hidden_4(const uint64_t *seen, int shift)
{
	return (((seen[0] | seen[1] | seen[2] | seen[3]) >> shift) & 0xffff) == 0;
}

static inline __attribute__((always_inline)) bool hidden_8(const uint64_t *seen, int shift)
{
	return hidden_4(seen, shift) && hidden_4(seen + 4, shift);
}

static inline __attribute__((always_inline)) __m512 tree_sum(const __m512 p[8])
{
	__m512 a = _mm512_add_ps(p[0], p[4]), b = _mm512_add_ps(p[1], p[5]);
	__m512 c = _mm512_add_ps(p[2], p[6]), d = _mm512_add_ps(p[3], p[7]);
	return _mm512_add_ps(_mm512_add_ps(a, c), _mm512_add_ps(b, d));
}

/* The maximum of one vector of queries; with a bias the scores are written back with it. */
static inline __attribute__((always_inline)) __m512 maximum(float *st, __m512 natural,
                                                            const float *bias, const uint64_t *seen,
                                                            int shift, int keys, __m512 m)
{
	__m512 max[4] = {m, m, m, m};
	for (int s = 0; s < keys; s += 4) {
		UNROLL
		for (int i = 0; i < 4; i++) {
			__m512 x = _mm512_loadu_ps(st + (s + i) * STEP);
			if (bias) {
				x = _mm512_fmadd_ps(x, natural,
				                    _mm512_loadu_ps(bias + (s + i) * STEP));
				_mm512_storeu_ps(st + (s + i) * STEP, x);
			}
			if (seen)
				max[i] = _mm512_mask_max_ps(
					max[i], (__mmask16)(seen[s + i] >> shift), max[i], x);
			else
				max[i] = _mm512_max_ps(max[i], x);
		}
	}
	return _mm512_max_ps(_mm512_max_ps(max[0], max[1]), _mm512_max_ps(max[2], max[3]));
}

/* st = 2^(unit · (st − m)); returns the sum over the keys. */
static inline __attribute__((always_inline)) __m512
exponentials(float *st, __m512 unit, const uint64_t *seen, int shift, int keys, __m512 m)
{
	const __m512 hidden = _mm512_set1_ps(-INFINITY);
	__m512 sum = _mm512_setzero_ps();
	for (int s = 0; s < keys; s += 8, st += 8 * STEP) {
		__m512 p[8];
		if (seen && hidden_8(seen + s, shift)) {
			for (int i = 0; i < 8; i++)
				_mm512_storeu_ps(st + i * STEP, _mm512_setzero_ps());
			continue;
		}
		UNROLL
		for (int i = 0; i < 8; i++) {
			__m512 x = _mm512_loadu_ps(st + i * STEP);
			if (seen)
				x = _mm512_mask_sub_ps(hidden, (__mmask16)(seen[s + i] >> shift), x,
				                       m);
			else
				x = _mm512_sub_ps(x, m);
			p[i] = exp2_f32_avx512(_mm512_mul_ps(x, unit));
			_mm512_storeu_ps(st + i * STEP, p[i]);
		}
		sum = _mm512_add_ps(sum, tree_sum(p));
	}
	return sum;
}

static inline __attribute__((always_inline)) bool softmax(const tile_softmax *x, const bool biased,
                                                          const bool masked)
{
	const __m512 lowest = _mm512_set1_ps(-INFINITY);
	const __m512 natural = _mm512_set1_ps(x->natural), unit = _mm512_set1_ps(x->unit);
	const int keys = (x->keys + 7) & ~7;
	__mmask16 changed = 0;
	for (int t = 0; t < x->queries; t += 16) {
		float *st = x->st + t;
		const uint64_t *seen = masked ? x->seen : NULL;
		__m512 old = _mm512_loadu_ps(x->m + t);
		__m512 m = maximum(st, natural, biased ? x->bias + t : NULL, seen, t, keys, old);
		/* Where nothing is visible yet every score is −inf: subtract 0, not −inf. */
		__m512 base =
			_mm512_mask_mov_ps(m, _mm512_cmpeq_ps_mask(m, lowest), _mm512_setzero_ps());
		__mmask16 grown = _mm512_cmpneq_ps_mask(m, old);
		__m512 factor = _mm512_mask_mov_ps(
			_mm512_set1_ps(1.0f), grown,
			exp2_f32_avx512(_mm512_mul_ps(_mm512_sub_ps(old, base), unit)));
		__m512 sum = exponentials(st, unit, seen, t, keys, base);
		__m512 l = _mm512_fmadd_ps(_mm512_loadu_ps(x->l + t), factor, sum);
		_mm512_storeu_ps(x->m + t, m);
		_mm512_storeu_ps(x->l + t, l);
		_mm512_storeu_ps(x->factor + t, factor);
		changed |= grown;
	}
	return changed != 0;
}

/* Keys up to the next multiple of eight hold what no one sees: −inf. */
static void pad_keys(float *st, int keys)
{
	for (; keys % 8; keys++) {
		for (int t = 0; t < ATTENTION_TILE; t += 16)
			_mm512_storeu_ps(st + keys * STEP + t, _mm512_set1_ps(-INFINITY));
	}
}

bool attention_softmax_f32_avx512(const tile_softmax *s)
{
	if (!s->seen)
		pad_keys(s->st, s->keys);
	if (s->bias)
		return s->seen ? softmax(s, true, true) : softmax(s, true, false);
	return s->seen ? softmax(s, false, true) : softmax(s, false, false);
}

/* One vector of 16 queries down the keys. */
static inline __attribute__((always_inline)) void
gradient(const tile_gradient *g, int t, const bool biased, const bool masked, const bool dropped)
{
	const __m512 lse = _mm512_loadu_ps(g->lse + t), delta = _mm512_loadu_ps(g->delta + t);
	const __m512 natural = _mm512_set1_ps(g->natural), scale = _mm512_set1_ps(g->scale);
	const __m512 kept = _mm512_set1_ps(g->keep_scale), hidden = _mm512_set1_ps(-INFINITY);
	const __m512 log2_e = _mm512_set1_ps(0x1.715476p+0f);
	for (int s = 0; s < g->keys; s += 4) {
		float *st = g->st + s * STEP + t, *dp = g->dp + s * STEP + t;
		if (masked && hidden_4(g->seen + s, t)) {
			for (int i = 0; i < 4; i++) {
				_mm512_storeu_ps(st + i * STEP, _mm512_setzero_ps());
				_mm512_storeu_ps(dp + i * STEP, _mm512_setzero_ps());
			}
			continue;
		}
		UNROLL
		for (int i = 0; i < 4; i++) {
			__m512 x = _mm512_loadu_ps(st + i * STEP),
			       d = _mm512_loadu_ps(dp + i * STEP);
			__mmask16 seen = masked ? (__mmask16)(g->seen[s + i] >> t) : 0xffff;
			if (biased) {
				__m512 b = _mm512_loadu_ps(g->bias + (s + i) * STEP + t);
				x = _mm512_sub_ps(_mm512_fmadd_ps(x, natural, b), lse);
			} else {
				x = _mm512_sub_ps(rounded(_mm512_mul_ps(x, natural)), lse);
			}
			if (masked)
				x = _mm512_mask_mov_ps(hidden, seen, x);
			__m512 p = exp2_f32_avx512(_mm512_mul_ps(x, log2_e)), weight = p;
			if (dropped) {
				__mmask16 keep = (__mmask16)(g->keep[s + i] >> t);
				weight = _mm512_maskz_mul_ps(keep, p, kept);
				d = _mm512_maskz_mul_ps(keep, d, kept);
			}
			d = _mm512_mul_ps(p, _mm512_sub_ps(d, delta));
			d = _mm512_maskz_mul_ps(seen, d, scale);
			_mm512_storeu_ps(st + i * STEP, weight);
			_mm512_storeu_ps(dp + i * STEP, d);
		}
	}
}

void attention_gradient_f32_avx512(const tile_gradient *g)
{
	for (int t = 0; t < g->queries; t += 16) {
		if (!g->bias && !g->keep) {
			if (g->seen)
				gradient(g, t, false, true, false);
			else
				gradient(g, t, false, false, false);
		} else if (!g->keep) {
			if (g->seen)
				gradient(g, t, true, true, false);
			else
				gradient(g, t, true, false, false);
		} else if (g->bias) {
			if (g->seen)
				gradient(g, t, true, true, true);
			else
				gradient(g, t, true, false, true);
		} else {
			if (g->seen)
				gradient(g, t, false, true, true);
			else
				gradient(g, t, false, false, true);
		}
	}
}

/* 1 / l · keep_scale and the logsumexp of 16 queries. */
static __m512 finish_16(__m512 m, __m512 l, float unit, float keep_scale, float *lse,
                        __mmask16 live)
{
	const __mmask16 empty = _mm512_cmpeq_ps_mask(l, _mm512_setzero_ps());
	if (lse) {
		__m512 x = rounded(_mm512_mul_ps(m, _mm512_set1_ps(unit)));
		x = _mm512_add_ps(x, log_ps_avx512(l));
		x = _mm512_mask_mov_ps(x, empty, _mm512_set1_ps(-INFINITY));
		_mm512_mask_storeu_ps(lse, live, x);
	}
	__m512 inverse = _mm512_div_ps(_mm512_set1_ps(keep_scale), l);
	return _mm512_mask_mov_ps(inverse, empty, _mm512_setzero_ps());
}

void attention_finish_f32_avx512(int rows, int64_t cols, const float *o, int64_t o_row,
                                 const float *m, const float *l, float unit, float keep_scale,
                                 float *out, int64_t out_row, float *lse)
{
	const __mmask16 tail = (__mmask16)((1u << (cols % 16)) - 1);
	for (int r = 0; r < rows; r += 16) {
		int n = rows - r < 16 ? rows - r : 16;
		__mmask16 live = (__mmask16)((1u << n) - 1);
		float inverse[16];
		__m512 v = finish_16(_mm512_maskz_loadu_ps(live, m + r),
		                     _mm512_maskz_loadu_ps(live, l + r), unit, keep_scale,
		                     lse ? lse + r : NULL, live);
		_mm512_storeu_ps(inverse, v);
		for (int i = 0; i < n; i++) {
			const float *from = o + (r + i) * o_row;
			float *to = out + (r + i) * out_row;
			__m512 f = _mm512_set1_ps(inverse[i]), zero = _mm512_setzero_ps();
			int64_t c = 0;
			/* + 0: whether a zero is negative depends on what was left out. */
			for (; c + 16 <= cols; c += 16)
				_mm512_storeu_ps(to + c, _mm512_fmadd_ps(_mm512_loadu_ps(from + c),
				                                         f, zero));
			if (tail)
				_mm512_mask_storeu_ps(
					to + c, tail,
					_mm512_fmadd_ps(_mm512_maskz_loadu_ps(tail, from + c), f,
				                        zero));
		}
	}
}
