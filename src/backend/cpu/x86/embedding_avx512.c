/* embedding_avx512.c — rows out of a table, and gradients back into it in the order of n. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

static int32_t id_of(const embedding_args *a, int64_t n)
{
	return ((const int32_t *)a->ids->data)[n * a->ids->stride[0]];
}

static void gather_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const embedding_args *a = args;
	int64_t C = a->table->shape[1];
	const __m512 scale = _mm512_set1_ps((float)a->scale);
	for (int64_t n = begin; n < end; n++) {
		const float *from = row_at(a->table, id_of(a, n));
		float *y = row_at(a->y, n);
		for (int64_t c = 0; c < C; c += 16) {
			__mmask16 lanes = lanes_at(c, C);
			store_ps(y + c, lanes, _mm512_mul_ps(scale, load_ps(lanes, from + c)));
		}
	}
}

/* Threads share columns, not rows: the same id may come twice. */
#define COLUMNS 128

static void scatter_columns(const embedding_args *a, int64_t first, int64_t last)
{
	const __m512 scale = _mm512_set1_ps((float)a->scale);
	for (int64_t n = 0; n < a->ids->shape[0]; n++) {
		int32_t id = id_of(a, n);
		if (id == a->padding_id)
			continue;
		const float *dy = row_at(a->y, n);
		float *to = row_at(a->table, id);
		for (int64_t c = first; c < last; c += 16) {
			__mmask16 lanes = lanes_at(c, last);
			__m512 sum = _mm512_fmadd_ps(scale, load_ps(lanes, dy + c),
			                             load_ps(lanes, to + c));
			store_ps(to + c, lanes, sum);
		}
	}
}

static void scatter_blocks(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const embedding_args *a = args;
	scatter_columns(a, begin * COLUMNS, min_i64(end * COLUMNS, a->table->shape[1]));
}

static hec_status embedding_gather_f32_avx512(hec_ctx *ctx, const embedding_args *a)
{
	if (a->packed)
		return gemm_unpack_run(ctx, a);
	if (!has_rows(a->table) || !has_rows(a->y))
		return embedding_gather_f32_ref(ctx, a);
	return rows_run(ctx, a->ids->shape[0], div_up(a->table->shape[1], 4), 0, gather_rows, a);
}

static hec_status embedding_scatter_f32_avx512(hec_ctx *ctx, const embedding_args *a)
{
	if (!has_rows(a->table) || !has_rows(a->y))
		return embedding_scatter_f32_ref(ctx, a);
	return rows_run(ctx, div_up(a->table->shape[1], COLUMNS), a->ids->shape[0] * COLUMNS / 4, 0,
	                scatter_blocks, a);
}

void embedding_f32_avx512_fill(backend_ops *ops)
{
	ops->embedding_gather = embedding_gather_f32_avx512;
	ops->embedding_scatter = embedding_scatter_f32_avx512;
}
