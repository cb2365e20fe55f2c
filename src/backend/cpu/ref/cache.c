/* cache.c — keys and values of earlier tokens: new rows put at each sequence's end, and whole
 * sequences exchanged when a beam search keeps other hypotheses. */
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

/* All heads of one position. */
static void copy_position(const hec_tensor *x, int64_t b, int64_t t, const hec_tensor *y, int64_t c,
                          int64_t s)
{
	for (int64_t g = 0; g < x->shape[2]; g++) {
		for (int64_t i = 0; i < x->shape[3]; i++)
			*at_4d(y, c, s, g, i) = *at_4d(x, b, t, g, i);
	}
}

static void append_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const cache_args *a = args;
	int64_t T = a->x->shape[1];
	for (int64_t row = begin; row < end; row++) {
		int64_t b = row / T, t = row % T;
		copy_position(a->x, b, t, a->cache, b, a->index[b] + t);
	}
}

static void reorder_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const cache_args *a = args;
	int64_t S = a->x->shape[1];
	for (int64_t row = begin; row < end; row++) {
		int64_t b = row / S, s = row % S;
		if (!a->length || s < a->length[b])
			copy_position(a->x, a->index[b], s, a->cache, b, s);
	}
}

hec_status REF(cache_append)(hec_ctx *ctx, const cache_args *a)
{
	const int64_t *n = a->x->shape;
	return rows_run(ctx, n[0] * n[1], n[2] * n[3], 0, append_rows, a);
}

hec_status REF(cache_reorder)(hec_ctx *ctx, const cache_args *a)
{
	const int64_t *n = a->cache->shape;
	return rows_run(ctx, n[0] * a->x->shape[1], n[2] * n[3], 0, reorder_rows, a);
}
