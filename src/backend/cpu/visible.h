/* visible.h — which keys a query sees by lengths, causality and window: one range [begin, end).
 *
 * What a mask tensor or a bias of −inf hides within the range is asked per key. Every attention
 * path, forward and backward, at every level, takes its answer from here. */
#ifndef BACKEND_CPU_VISIBLE_H
#define BACKEND_CPU_VISIBLE_H

#include <hecate/attention.h>

#include "base/size.h"

typedef struct key_range {
	int64_t begin, end; /* empty where begin ≥ end */
} key_range;

/* What query t of sequence b sees, of T queries and S keys in the call. */
static inline key_range visible_keys(const hec_mask *mask, int64_t b, int64_t t, int64_t T,
                                     int64_t S)
{
	int64_t queries = mask->query_length ? mask->query_length[b] : T;
	int64_t keys = mask->key_length ? mask->key_length[b] : S;
	if (t >= queries)
		return (key_range){0, 0};
	key_range r = {0, keys};
	if (mask->causal || mask->window > 0) {
		int64_t offset = mask->causal_offset ? mask->causal_offset[b] : keys - queries;
		int64_t last = t + offset;
		r.end = min_i64(keys, last + 1);
		if (mask->window > 0 &&
		    mask->window <= last) /* else it reaches back to the first */
			r.begin = last + 1 - mask->window;
	}
	if (r.begin >= r.end)
		return (key_range){0, 0};
	return r;
}

/* Element of a rank-4 tensor whose strides may be zero. */
static inline int64_t offset_4d(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t l)
{
	return i * x->stride[0] + j * x->stride[1] + k * x->stride[2] + l * x->stride[3];
}

/* Whether the mask tensor, where there is one, shows key s to query t. */
static inline bool mask_shows(const hec_mask *mask, int64_t b, int64_t h, int64_t t, int64_t s)
{
	return !mask->visible.data ||
	       ((const int8_t *)mask->visible.data)[offset_4d(&mask->visible, b, h, t, s)] != 0;
}

#endif
