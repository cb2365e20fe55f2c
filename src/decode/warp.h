/* warp.h — drawing one of many tokens: temperature, then what top_k, top_p and min_p leave. */
#ifndef DECODE_WARP_H
#define DECODE_WARP_H

#include "decode/plan.h"
#include "decode/topk.h"

/* One token that may be drawn. */
typedef struct chance {
	double weight; /* exp(score − the greatest) */
	int32_t id;
} chance;

/* Writes the tokens that are left of x [vocab] to out [vocab], by id; returns how many. 0 only
 * where every x is −inf or NaN. best [top_k] is work space. */
int64_t warp(const plan *p, const float *x, scored *best, chance *out);

/* Draws from stream `stream` at position `position`: the same wherever and whenever. */
int32_t warp_draw(uint64_t seed, uint64_t stream, uint64_t position, const chance *of, int64_t n);

#endif
