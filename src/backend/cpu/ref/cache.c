/* cache.c — keys and values of earlier tokens: new rows put at each sequence's end, and whole
 * sequences exchanged when a beam search keeps other hypotheses. */
#include <string.h>

#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static bool heads_are_dense(const hec_tensor *x)
{
	return x->stride[3] == 1 && x->stride[2] == x->shape[3];
}

/* All heads of one position. */
static void copy_position(const hec_tensor *x, int64_t b, int64_t t, const hec_tensor *y, int64_t c,
                          int64_t s)
{
	if (heads_are_dense(x) && heads_are_dense(y)) {
		memcpy(at_4d(y, c, s, 0, 0), at_4d(x, b, t, 0, 0),
		       (size_t)(x->shape[2] * x->shape[3]) * sizeof(real));
		return;
	}
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
		if (!a->length || t < a->length[b])
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
