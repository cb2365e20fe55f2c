/* elementwise_avx512.c — add and fill, rows of any number of axes. */
#include "backend/cpu/rank4.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

typedef struct add_call {
	float alpha, beta;
	hec_tensor a, b, y; /* rank 4; b.data NULL: none */
} add_call;

static void add_span(const void *args, int64_t row, int64_t begin, int64_t end)
{
	const add_call *call = args;
	const float *a = (const float *)call->a.data + rank4_row(&call->a, row);
	const float *b = NULL;
	if (call->b.data)
		b = (const float *)call->b.data + rank4_row(&call->b, row);
	float *y = (float *)call->y.data + rank4_row(&call->y, row);
	const __m512 alpha = _mm512_set1_ps(call->alpha), beta = _mm512_set1_ps(call->beta);
	for (int64_t c = begin; c < end; c += 16) {
		__mmask16 lanes = lanes_at(c, end);
		__m512 v = _mm512_mul_ps(alpha, load_ps(lanes, a + c));
		if (b)
			v = _mm512_fmadd_ps(beta, load_ps(lanes, b + c), v);
		store_ps(y + c, lanes, v);
	}
}

static hec_status add_f32_avx512(hec_ctx *ctx, const add_args *a)
{
	if (!has_rows(a->a) || !has_rows(a->b) || !has_rows(a->y))
		return add_f32_ref(ctx, a);
	add_call call = {(float)a->alpha, (float)a->beta, to_rank4(a->a), {0}, to_rank4(a->y)};
	bool flat = hec_tensor_is_contiguous(a->a) && hec_tensor_is_contiguous(a->y);
	if (a->b) {
		call.b = to_rank4(a->b);
		flat = flat && hec_tensor_is_contiguous(a->b);
	}
	return spans_run(ctx, rank4_rows(&call.y), call.y.shape[3], flat, 1, add_span, &call);
}

typedef struct fill_call {
	float value;
	hec_tensor x; /* rank 4 */
} fill_call;

static void fill_span(const void *args, int64_t row, int64_t begin, int64_t end)
{
	const fill_call *call = args;
	float *x = (float *)call->x.data + rank4_row(&call->x, row);
	for (int64_t c = begin; c < end; c++)
		x[c * call->x.stride[3]] = call->value;
}

static hec_status fill_f32_avx512(hec_ctx *ctx, const fill_args *a)
{
	fill_call call = {(float)a->value, to_rank4(a->x)};
	bool flat = hec_tensor_is_contiguous(a->x);
	if (flat)
		call.x.stride[3] = 1; /* that of an axis of size 1 may be anything */
	return spans_run(ctx, rank4_rows(&call.x), call.x.shape[3], flat, 1, fill_span, &call);
}

void elementwise_f32_avx512_fill(backend_ops *ops)
{
	ops->add = add_f32_avx512;
	ops->fill = fill_f32_avx512;
}
