/* norm_avx512.c — layer norm and RMS norm; the formulas are in ref/norm.c. */
#include <math.h>

#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

static float row_mean(const float *x, int64_t C)
{
	__m512 s[SUMS] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
	                  _mm512_setzero_ps()};
	int64_t c = 0;
	for (; c + 64 <= C; c += 64) {
#pragma GCC unroll 4
		for (int i = 0; i < SUMS; i++)
			s[i] = _mm512_add_ps(s[i], _mm512_loadu_ps(x + c + 16 * i));
	}
#pragma GCC unroll 4
	for (int i = 0; i < SUMS; i++, c += 16) {
		if (c < C)
			s[i] = _mm512_add_ps(s[i], load_ps(lanes_at(c, C), x + c));
	}
	return sum_lanes(s) / (float)C;
}

static float row_variance(const float *x, float mean, int64_t C)
{
	__m512 s[SUMS] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
	                  _mm512_setzero_ps()};
	const __m512 m = _mm512_set1_ps(mean);
	int64_t c = 0;
	for (; c + 64 <= C; c += 64) {
#pragma GCC unroll 4
		for (int i = 0; i < SUMS; i++) {
			__m512 d = _mm512_sub_ps(_mm512_loadu_ps(x + c + 16 * i), m);
			s[i] = _mm512_fmadd_ps(d, d, s[i]);
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < SUMS; i++, c += 16) {
		if (c >= C)
			continue;
		__mmask16 lanes = lanes_at(c, C);
		__m512 d = _mm512_maskz_sub_ps(lanes, load_ps(lanes, x + c), m);
		s[i] = _mm512_fmadd_ps(d, d, s[i]);
	}
	return sum_lanes(s) / (float)C;
}

static void fwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const norm_args *a = args;
	int64_t C = a->x->shape[1];
	const float *gamma = a->gamma->data, *beta = a->beta ? a->beta->data : NULL;
	for (int64_t n = begin; n < end; n++) {
		const float *x = row_at(a->x, n);
		float *y = row_at(a->y, n);
		float mean = a->kind == HEC_NORM_LAYER ? row_mean(x, C) : 0;
		float rstd = 1 / sqrtf(row_variance(x, mean, C) + (float)a->eps);
		rstd = rstd > 0 ? rstd : NAN; /* squares that overflow: 0 would look right */
		const __m512 m = _mm512_set1_ps(mean), r = _mm512_set1_ps(rstd);
		for (int64_t c = 0; c < C; c += 16) {
			__mmask16 lanes = lanes_at(c, C);
			__m512 v = _mm512_mul_ps(_mm512_sub_ps(load_ps(lanes, x + c), m), r);
			__m512 b = beta ? load_ps(lanes, beta + c) : _mm512_setzero_ps();
			store_ps(y + c, lanes, _mm512_fmadd_ps(v, load_ps(lanes, gamma + c), b));
		}
		if (a->mean)
			*row_at(a->mean, n) = mean;
		if (a->rstd)
			*row_at(a->rstd, n) = rstd;
	}
}

/* dx of a row, with g = dy·gamma: the sums of g and of g·x̂ first, then the row again. */
static void dx_row(const norm_args *a, int64_t n)
{
	int64_t C = a->x->shape[1];
	const float *x = row_at(a->x, n), *dy = row_at(a->dy, n), *gamma = a->gamma->data;
	float *dx = row_at(a->dx, n);
	bool layer = a->kind == HEC_NORM_LAYER;
	const __m512 mean = _mm512_set1_ps(layer ? *row_at(a->mean, n) : 0);
	const __m512 rstd = _mm512_set1_ps(*row_at(a->rstd, n));
	__m512 sum_g[SUMS], sum_gx[SUMS];
	for (int i = 0; i < SUMS; i++)
		sum_g[i] = sum_gx[i] = _mm512_setzero_ps();
	for (int64_t c = 0; c < C;) {
#pragma GCC unroll 4
		for (int i = 0; i < SUMS; i++, c += 16) {
			if (c >= C)
				continue;
			__mmask16 lanes = lanes_at(c, C);
			__m512 g = _mm512_mul_ps(load_ps(lanes, dy + c), load_ps(lanes, gamma + c));
			__m512 xhat =
				_mm512_mul_ps(_mm512_sub_ps(load_ps(lanes, x + c), mean), rstd);
			sum_g[i] = _mm512_add_ps(sum_g[i], g);
			/* g is 0 beyond the row, but x̂ might not be finite there. */
			sum_gx[i] = _mm512_mask3_fmadd_ps(g, xhat, sum_gx[i], lanes);
		}
	}
	const __m512 mean_g = _mm512_set1_ps(layer ? sum_lanes(sum_g) / (float)C : 0);
	const __m512 mean_gx = _mm512_set1_ps(sum_lanes(sum_gx) / (float)C);
	for (int64_t c = 0; c < C; c += 16) {
		__mmask16 lanes = lanes_at(c, C);
		__m512 g =
			_mm512_fmsub_ps(load_ps(lanes, dy + c), load_ps(lanes, gamma + c), mean_g);
		__m512 xhat = _mm512_mul_ps(_mm512_sub_ps(load_ps(lanes, x + c), mean), rstd);
		g = _mm512_fnmadd_ps(xhat, mean_gx, g);
		__m512 old = a->accumulate ? load_ps(lanes, dx + c) : _mm512_setzero_ps();
		store_ps(dx + c, lanes, _mm512_fmadd_ps(rstd, g, old));
	}
}

static void dx_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	for (int64_t n = begin; n < end; n++)
		dx_row(args, n);
}

/* dgamma and dbeta by blocks of columns, each column over the rows in order. */
#define COLUMNS 64

static void dparam_block(const norm_args *a, int64_t first)
{
	const int vecs = COLUMNS / 16;
	int64_t C = a->x->shape[1];
	bool layer = a->kind == HEC_NORM_LAYER;
	__m512 dgamma[COLUMNS / 16], dbeta[COLUMNS / 16];
	__mmask16 lanes[COLUMNS / 16];
#pragma GCC unroll 4
	for (int i = 0; i < vecs; i++) {
		dgamma[i] = dbeta[i] = _mm512_setzero_ps();
		lanes[i] = first + 16 * i < C ? lanes_at(first + 16 * i, C) : 0;
	}
	for (int64_t n = 0; n < a->x->shape[0]; n++) {
		const float *x = row_at(a->x, n) + first, *dy = row_at(a->dy, n) + first;
		const __m512 mean = _mm512_set1_ps(layer ? *row_at(a->mean, n) : 0);
		const __m512 rstd = _mm512_set1_ps(*row_at(a->rstd, n));
#pragma GCC unroll 4
		for (int i = 0; i < vecs; i++) {
			__m512 d = load_ps(lanes[i], dy + 16 * i);
			__m512 xhat = _mm512_sub_ps(load_ps(lanes[i], x + 16 * i), mean);
			dgamma[i] = _mm512_fmadd_ps(d, _mm512_mul_ps(xhat, rstd), dgamma[i]);
			dbeta[i] = _mm512_add_ps(dbeta[i], d);
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < vecs; i++) {
		if (a->dgamma) {
			float *to = (float *)a->dgamma->data + first + 16 * i;
			store_ps(to, lanes[i], _mm512_add_ps(load_ps(lanes[i], to), dgamma[i]));
		}
		if (a->dbeta) {
			float *to = (float *)a->dbeta->data + first + 16 * i;
			store_ps(to, lanes[i], _mm512_add_ps(load_ps(lanes[i], to), dbeta[i]));
		}
	}
}

static void dparam_blocks(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	for (int64_t block = begin; block < end; block++)
		dparam_block(args, block * COLUMNS);
}

static hec_status norm_fwd_f32_avx512(hec_ctx *ctx, const norm_args *a)
{
	if (!has_rows(a->x) || !has_rows(a->y) || !has_rows(a->gamma) || !has_rows(a->beta))
		return norm_fwd_f32_ref(ctx, a);
	return rows_run(ctx, a->x->shape[0], div_up(a->x->shape[1], 4), 0, fwd_rows, a);
}

static hec_status norm_bwd_f32_avx512(hec_ctx *ctx, const norm_args *a)
{
	if (!has_rows(a->x) || !has_rows(a->dy) || !has_rows(a->dx) || !has_rows(a->gamma) ||
	    !has_rows(a->dgamma) || !has_rows(a->dbeta))
		return norm_bwd_f32_ref(ctx, a);
	int64_t N = a->x->shape[0], C = a->x->shape[1];
	if (a->dx)
		HEC_TRY(rows_run(ctx, N, div_up(C, 2), 0, dx_rows, a));
	if (!a->dgamma && !a->dbeta)
		return HEC_OK;
	return rows_run(ctx, div_up(C, COLUMNS), N * COLUMNS / 4, 0, dparam_blocks, a);
}

void norm_f32_avx512_fill(backend_ops *ops)
{
	ops->norm_fwd = norm_fwd_f32_avx512;
	ops->norm_bwd = norm_bwd_f32_avx512;
}
