/* dropout.h — y = x · mask / (1 − p), the mask a pure function of where and when.
 *
 * Word (column mod 4) of Philox counter (column / 4, row, site | micro_batch << 16, step) under the
 * key seed decides an element: it is kept where word ≥ p · 2³². So the backward pass makes the same
 * mask again instead of storing it, on any device and in any order of tiles. For attention weights
 * the row is (b·H + h)·T + t and the column is the key s; elsewhere the column is the last axis. */
#ifndef HECATE_DROPOUT_H
#define HECATE_DROPOUT_H

#include <hecate/context.h>
#include <hecate/tensor.h>

HEC_BEGIN

/* When: which run, which step. Layers take a pointer to one; NULL means no dropout at all. */
typedef struct hec_dropout_key { /* value */
	uint64_t seed;
	uint32_t step;
	uint16_t micro_batch;
} hec_dropout_key;

/* One dropout, fully said. p = 0 (all zeros) is none. */
typedef struct hec_dropout { /* value */
	double p;            /* 0 ≤ p < 1: the share of elements set to zero */
	uint16_t site;       /* which dropout of the model this is */
	hec_dropout_key key;
} hec_dropout;

/* y = dropout(x); the backward pass is the same call on the gradient. y may be x. */
HEC_API HEC_MUST_USE hec_status hec_dropout_apply(hec_ctx *ctx, const hec_dropout *dropout,
                                                  const hec_tensor *x, /* […, C] */
                                                  hec_tensor *y /* as x, written */);

HEC_END

#endif
