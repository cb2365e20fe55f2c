/* cross_entropy_avx512.c — softmax cross-entropy, and logsumexp alone; the formulas are in ref/cross_entropy.c.
 *
 * A row is read twice, the second time from the cache: for its maximum, then for Σ exp(x − max) and
 * with smoothing also Σ (max − x), of which every term is ≥ 0. */
#include <math.h>

#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

static float row_max(const float *x, int64_t V)
{
	const __m512 lowest = _mm512_set1_ps(-INFINITY);
	__m512 m[SUMS] = {lowest, lowest, lowest, lowest};
	for (int64_t v = 0; v < V;) {
#pragma GCC unroll 4
		for (int i = 0; i < SUMS; i++, v += 16) {
			if (v >= V)
				continue;
			/* In this order of operands a NaN is passed over; Σ exp will find it. */
			__mmask16 lanes = lanes_at(v, V);
			m[i] = _mm512_max_ps(_mm512_mask_loadu_ps(lowest, lanes, x + v), m[i]);
		}
	}
	return _mm512_reduce_max_ps(
		_mm512_max_ps(_mm512_max_ps(m[0], m[1]), _mm512_max_ps(m[2], m[3])));
}

/* One vector of x − max, added to both sums. The power of two is cheaper than exp, and what the
 * product with log2 e rounds away counts least where the term is smallest. */
VECTOR_MATH void add_terms(__m512 d, __mmask16 lanes, __m512 *exps, __m512 *falls)
{
	__m512 e = exp2_ps_avx512(_mm512_mul_ps(d, _mm512_set1_ps(0x1.715476p+0f)));
	*exps = _mm512_mask_add_ps(*exps, lanes, *exps, e);
	*falls = _mm512_sub_ps(*falls, d);
}

/* exps = Σ exp(x − max); falls = Σ (max − x). */
static void row_sums(const float *x, float max, int64_t V, float *exps, float *falls)
{
	const __m512 m = _mm512_set1_ps(max);
	__m512 e[SUMS], f[SUMS];
	for (int i = 0; i < SUMS; i++)
		e[i] = f[i] = _mm512_setzero_ps();
	int64_t v = 0;
	for (; v + 64 <= V; v += 64) {
#pragma GCC unroll 4
		for (int i = 0; i < SUMS; i++) {
			__m512 d = _mm512_sub_ps(_mm512_loadu_ps(x + v + 16 * i), m);
			add_terms(d, 0xFFFF, &e[i], &f[i]);
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < SUMS; i++, v += 16) {
		if (v >= V)
			continue;
		__mmask16 lanes = lanes_at(v, V);
		__m512 d = _mm512_maskz_sub_ps(lanes, load_ps(lanes, x + v), m);
		add_terms(d, lanes, &e[i], &f[i]);
	}
	*exps = sum_lanes(e);
	*falls = sum_lanes(f);
}

static int32_t target_at(const cross_entropy_args *a, int64_t n)
{
	return ((const int32_t *)a->targets->data)[n * a->targets->stride[0]];
}

static void fwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const cross_entropy_args *a = args;
	int64_t V = a->logits->shape[1];
	const float smoothing = (float)a->smoothing;
	for (int64_t n = begin; n < end; n++) {
		const float *x = row_at(a->logits, n);
		float exps, falls, loss = 0, max = row_max(x, V);
		row_sums(x, max, V, &exps, &falls);
		float log_sum = logf(exps), lse = max + log_sum;
		int32_t target = target_at(a, n);
		if (target != a->ignore) {
			loss = (1 - smoothing) * (lse - x[target]);
			if (smoothing > 0)
				loss += smoothing * (falls / (float)V + log_sum);
		}
		*row_at(a->losses, n) = loss;
		*row_at(a->lse, n) = lse;
	}
}

static void logsumexp_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const logsumexp_args *a = args;
	for (int64_t n = begin; n < end; n++) {
		const float *x = row_at(a->x, n);
		float exps, falls, max = row_max(x, a->x->shape[1]);
		row_sums(x, max, a->x->shape[1], &exps, &falls);
		*row_at(a->lse, n) = max + logf(exps);
	}
}

static void bwd_row(const cross_entropy_args *a, int64_t n)
{
	int64_t V = a->logits->shape[1];
	const float *x = row_at(a->logits, n);
	float *dx = row_at(a->dlogits, n);
	int32_t target = target_at(a, n);
	if (target == a->ignore) {
		for (int64_t v = 0; v < V; v += 16)
			store_ps(dx + v, lanes_at(v, V), _mm512_setzero_ps());
		return;
	}
	const float smoothing = (float)a->smoothing;
	const __m512 scale = _mm512_set1_ps((float)a->scale);
	const __m512 share = _mm512_set1_ps(smoothing / (float)V);
	const __m512 lse = _mm512_set1_ps(*row_at(a->lse, n));
	/* dlogits may be the logits: the target's is taken before it is written over. */
	__m512 hit = exp_ps_avx512(_mm512_sub_ps(_mm512_set1_ps(x[target]), lse));
	hit = _mm512_sub_ps(_mm512_sub_ps(hit, share), _mm512_set1_ps(1 - smoothing));
	for (int64_t v = 0; v < V; v += 16) {
		__mmask16 lanes = lanes_at(v, V);
		__m512 p = exp_ps_avx512(_mm512_sub_ps(load_ps(lanes, x + v), lse));
		store_ps(dx + v, lanes, _mm512_mul_ps(scale, _mm512_sub_ps(p, share)));
	}
	dx[target] = _mm512_cvtss_f32(_mm512_mul_ps(scale, hit));
}

static void bwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	for (int64_t n = begin; n < end; n++)
		bwd_row(args, n);
}

static hec_status cross_entropy_fwd_f32_avx512(hec_ctx *ctx, const cross_entropy_args *a)
{
	if (!has_rows(a->logits))
		return cross_entropy_fwd_f32_ref(ctx, a);
	return rows_run(ctx, a->logits->shape[0], a->logits->shape[1], 0, fwd_rows, a);
}

static hec_status logsumexp_f32_avx512(hec_ctx *ctx, const logsumexp_args *a)
{
	if (!has_rows(a->x))
		return logsumexp_f32_ref(ctx, a);
	return rows_run(ctx, a->x->shape[0], a->x->shape[1], 0, logsumexp_rows, a);
}

static hec_status cross_entropy_bwd_f32_avx512(hec_ctx *ctx, const cross_entropy_args *a)
{
	if (!has_rows(a->logits) || !has_rows(a->dlogits))
		return cross_entropy_bwd_f32_ref(ctx, a);
	return rows_run(ctx, a->logits->shape[0], a->logits->shape[1], 0, bwd_rows, a);
}

void cross_entropy_f32_avx512_fill(backend_ops *ops)
{
	ops->cross_entropy_fwd = cross_entropy_fwd_f32_avx512;
	ops->cross_entropy_bwd = cross_entropy_bwd_f32_avx512;
	ops->logsumexp = logsumexp_f32_avx512;
}
