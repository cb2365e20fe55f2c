/* elementwise.c — y = alpha·a + beta·b, broadcast by strides of zero. */
#include "backend/cpu/rank4.h"
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

typedef struct add_call {
	real alpha, beta;
	hec_tensor a, b, y; /* rank 4; b.data NULL: none */
} add_call;

static void add_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const add_call *call = args;
	const hec_tensor *a = &call->a, *b = &call->b, *y = &call->y;
	for (int64_t r = begin; r < end; r++) {
		const real *from = (const real *)a->data + rank4_row(a, r);
		real *to = (real *)y->data + rank4_row(y, r);
		for (int64_t c = 0; c < y->shape[3]; c++) {
			real sum = call->alpha * from[c * a->stride[3]];
			if (b->data)
				sum += call->beta *
				       ((const real *)b->data + rank4_row(b, r))[c * b->stride[3]];
			to[c * y->stride[3]] = sum;
		}
	}
}

hec_status REF(add)(hec_ctx *ctx, const add_args *a)
{
	add_call call = {(real)a->alpha, (real)a->beta, to_rank4(a->a), {0}, to_rank4(a->y)};
	if (a->b)
		call.b = to_rank4(a->b);
	return rows_run(ctx, rank4_rows(&call.y), call.y.shape[3], 0, add_rows, &call);
}
