/* embedding.c — y_n = scale · table[id_n]; the gradient adds each row of dy to its table row, in
 * the order of n whatever the threads: they share columns, not rows. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static void gather_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const embedding_args *a = args;
	for (int64_t n = begin; n < end; n++) {
		int32_t id = id_at(a->ids, n);
		for (int64_t c = 0; c < a->table->shape[1]; c++)
			*at_2d(a->y, n, c) = (real)a->scale * *at_2d(a->table, id, c);
	}
}

static void scatter_columns(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const embedding_args *a = args;
	for (int64_t n = 0; n < a->ids->shape[0]; n++) {
		int32_t id = id_at(a->ids, n);
		if (id == a->padding_id)
			continue;
		for (int64_t c = begin; c < end; c++)
			*at_2d(a->table, id, c) += (real)a->scale * *at_2d(a->y, n, c);
	}
}

hec_status REF(embedding_gather)(hec_ctx *ctx, const embedding_args *a)
{
	if (a->packed) /* f32: nothing else is packed */
		return gemm_unpack_run(ctx, a);
	return rows_run(ctx, a->ids->shape[0], a->table->shape[1], 0, gather_rows, a);
}

hec_status REF(embedding_scatter)(hec_ctx *ctx, const embedding_args *a)
{
	return rows_run(ctx, a->table->shape[1], a->ids->shape[0], 0, scatter_columns, a);
}
