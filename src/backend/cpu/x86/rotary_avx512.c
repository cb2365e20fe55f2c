/* rotary_avx512.c — turning pairs; the formulas are in ref/rotary.c. */
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

static void turn_halves(const float *x, float *y, const float *cosine, const float *sine,
                        __m512 sign, int64_t half)
{
	for (int64_t p = 0; p < half; p += 16) {
		__mmask16 lanes = lanes_at(p, half);
		__m512 c = load_ps(lanes, cosine + p);
		__m512 s = _mm512_xor_ps(load_ps(lanes, sine + p), sign);
		__m512 xi = load_ps(lanes, x + p), xj = load_ps(lanes, x + half + p);
		store_ps(y + p, lanes, _mm512_fmsub_ps(xi, c, _mm512_mul_ps(xj, s)));
		store_ps(y + half + p, lanes, _mm512_fmadd_ps(xj, c, _mm512_mul_ps(xi, s)));
	}
}

static void turn_neighbours(const float *x, float *y, const float *cosine, const float *sine,
                            __m512 sign, int64_t half)
{
	const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
	for (int64_t p = 0; p < half; p += 8) {
		__mmask16 pairs = first_lanes(min_i64(8, half - p)),
			  lanes = lanes_at(2 * p, 2 * half);
		__m512 c = _mm512_permutexvar_ps(twice, load_ps(pairs, cosine + p));
		__m512 s = _mm512_permutexvar_ps(twice, load_ps(pairs, sine + p));
		__m512 v = load_ps(lanes, x + 2 * p);
		__m512 swapped = _mm512_permute_ps(v, 0xB1);
		swapped = _mm512_mul_ps(swapped, _mm512_xor_ps(s, sign));
		store_ps(y + 2 * p, lanes, _mm512_fmaddsub_ps(v, c, swapped));
	}
}

/* Row (b·T + t)·H + h. */
static void turn_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const rotary_args *a = args;
	int64_t T = a->x->shape[1], H = a->x->shape[2], K = a->x->shape[3];
	int64_t half = a->cosine->shape[1];
	const __m512 sign = _mm512_set1_ps(a->inverse ? -0.0f : 0.0f);
	for (int64_t row = begin; row < end; row++) {
		int64_t h = row % H, t = row / H % T, b = row / H / T;
		int64_t position = t + (a->first ? a->first[b] : 0);
		const int64_t *xs = a->x->stride, *ys = a->y->stride;
		const float *x = row_at(a->x, b) + t * xs[1] + h * xs[2];
		float *y = row_at(a->y, b) + t * ys[1] + h * ys[2];
		const float *cosine = row_at(a->cosine, position);
		const float *sine = row_at(a->sine, position);
		if (a->interleaved)
			turn_neighbours(x, y, cosine, sine, sign, half);
		else
			turn_halves(x, y, cosine, sine, sign, half);
		for (int64_t c = 2 * half; c < K; c += 16)
			store_ps(y + c, lanes_at(c, K), load_ps(lanes_at(c, K), x + c));
	}
}

static hec_status rotary_f32_avx512(hec_ctx *ctx, const rotary_args *a)
{
	if (!has_rows(a->x) || !has_rows(a->y) || !has_rows(a->cosine) || !has_rows(a->sine))
		return rotary_f32_ref(ctx, a);
	const int64_t *n = a->x->shape;
	return rows_run(ctx, n[0] * n[1] * n[2], div_up(n[3], 4), 0, turn_rows, a);
}

void rotary_f32_avx512_fill(backend_ops *ops)
{
	ops->rotary = rotary_f32_avx512;
}
