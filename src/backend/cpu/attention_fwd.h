/* attention_fwd.h — what the two ways of the forward pass share: by tiles of queries, and query by
 * query. */
#ifndef BACKEND_CPU_ATTENTION_FWD_H
#define BACKEND_CPU_ATTENTION_FWD_H

#include "backend/cpu/attention_tile.h"

typedef struct forward {
	const attention_args *a;
	const attention_kernels *ks;
	attention_sizes n;
	attention_units u;
	float keep_scale;
	bool one;      /* few queries: they go one by one; a unit is (b, part of the heads) */
	int64_t parts; /* of the key/value heads, when one by one */
	int64_t tiles; /* of queries, per head */
	int64_t units, units_per_task;
	char *scratch;
	size_t stride;
} forward;

/* One worker's memory. */
typedef struct workspace {
	float *qt;      /* [K][64]; one by one: [64][Kp] */
	float *st;      /* [64][64] */
	float *bias;    /* [64][64] */
	float *o;       /* [64][Dp], a row per query, or per head where they go one by one */
	float *v;       /* [64][Dp] where v has no whole vectors */
	float *m, *l;   /* [64], likewise */
	float *factor;  /* [64] */
	uint64_t *keep; /* [64] */
} workspace;

/* After a row is written whose sum of exponentials is 0. It sees nothing, and zeros are right; or all
 * that it sees has a score of −inf, which no finite numbers have but by overflow. Then 0/0 is said as
 * it is: NaN, as in the reference. */
void attention_check_empty(const forward *f, int64_t b, int64_t h, int64_t t);

/* Query t of sequence b, heads h0 … h1 − 1. */
void attention_forward_one(const forward *f, const workspace *w, int64_t b, int64_t h0, int64_t h1,
                           int64_t t);

#endif
