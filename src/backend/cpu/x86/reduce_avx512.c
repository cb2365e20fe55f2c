/* reduce_avx512.c — sums of columns in float, each over the rows in order; sums of everything in
 * double, by chunks of a fixed size whose sums are added in order. */
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

#define COLUMNS 128
#define VECS (COLUMNS / 16)

static void sum_block(const reduce_args *a, int64_t first)
{
	int64_t C = a->x->shape[1];
	__m512 sum[VECS];
	__mmask16 lanes[VECS];
#pragma GCC unroll 8
	for (int i = 0; i < VECS; i++) {
		sum[i] = _mm512_setzero_ps();
		lanes[i] = first + 16 * i < C ? lanes_at(first + 16 * i, C) : 0;
	}
	for (int64_t n = 0; n < a->x->shape[0]; n++) {
		const float *x = row_at(a->x, n) + first;
#pragma GCC unroll 8
		for (int i = 0; i < VECS; i++)
			sum[i] = _mm512_add_ps(sum[i], load_ps(lanes[i], x + 16 * i));
	}
	float *to = (float *)a->sum->data + first;
#pragma GCC unroll 8
	for (int i = 0; i < VECS; i++) {
		__m512 before = load_ps(lanes[i], to + 16 * i);
		store_ps(to + 16 * i, lanes[i], _mm512_add_ps(before, sum[i]));
	}
}

static void sum_blocks(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	for (int64_t block = begin; block < end; block++)
		sum_block(args, block * COLUMNS);
}

static hec_status sum_rows_f32_avx512(hec_ctx *ctx, const reduce_args *a)
{
	if (!has_rows(a->x) || !has_rows(a->sum))
		return sum_rows_f32_ref(ctx, a);
	return rows_run(ctx, div_up(a->x->shape[1], COLUMNS), a->x->shape[0] * COLUMNS / 4, 0,
	                sum_blocks, a);
}

#define CHUNK 4096

typedef struct total_call {
	const float *x;
	int64_t count;
	bool squares;
	double *partial; /* one per chunk */
} total_call;

/* Sixteen sums, one per lane, are folded in a fixed order; beyond the end are zeros. */
static double chunk_total(const float *x, int64_t count, bool squares)
{
	__m512d s[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
	for (int64_t i = 0; i < count; i += 16) {
		__m512 v = load_ps(lanes_at(i, count), x + i);
		__m512d lower = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
		__m512d upper = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
		const __m512d one = _mm512_set1_pd(1);
		s[0] = _mm512_fmadd_pd(lower, squares ? lower : one, s[0]);
		s[1] = _mm512_fmadd_pd(upper, squares ? upper : one, s[1]);
	}
	return _mm512_reduce_add_pd(_mm512_add_pd(s[0], s[1]));
}

static void total_chunks(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const total_call *call = args;
	for (int64_t i = begin; i < end; i++)
		call->partial[i] =
			chunk_total(call->x + i * CHUNK, min_i64(CHUNK, call->count - i * CHUNK),
		                    call->squares);
}

static hec_status add_total(hec_ctx *ctx, const reduce_args *a, bool squares)
{
	total_call call = {a->x->data, hec_tensor_count(a->x), squares, NULL};
	int64_t chunks = div_up(call.count, CHUNK);
	if (chunks == 0)
		return HEC_OK;
	char *base;
	size_t stride;
	HEC_TRY(ctx_scratch(ctx, (size_t)chunks * sizeof(double), &base, &stride));
	call.partial = (double *)base;
	HEC_TRY(rows_run(ctx, chunks, CHUNK / 4, 0, total_chunks, &call));
	double sum = 0;
	for (int64_t i = 0; i < chunks; i++)
		sum += call.partial[i];
	*(double *)a->sum->data += sum;
	return HEC_OK;
}

static hec_status sum_all_f32_avx512(hec_ctx *ctx, const reduce_args *a)
{
	if (!hec_tensor_is_contiguous(a->x))
		return sum_all_f32_ref(ctx, a);
	return add_total(ctx, a, false);
}

static hec_status sum_squares_f32_avx512(hec_ctx *ctx, const reduce_args *a)
{
	if (!hec_tensor_is_contiguous(a->x))
		return sum_squares_f32_ref(ctx, a);
	return add_total(ctx, a, true);
}

void reduce_f32_avx512_fill(backend_ops *ops)
{
	ops->sum_rows = sum_rows_f32_avx512;
	ops->sum_all = sum_all_f32_avx512;
	ops->sum_squares = sum_squares_f32_avx512;
}
