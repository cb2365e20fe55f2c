/* attention.h — what forward and backward must compute alike: who is seen, and with what score. */
#ifndef BACKEND_CPU_REF_ATTENTION_H
#define BACKEND_CPU_REF_ATTENTION_H

#include "backend/backend.h"
#include "backend/cpu/ref/real.h"
#include "backend/cpu/visible.h"

/* One query: sequence b, head h, query t of the whole call, and the key/value head it looks at. The scale
 * is power · rest, 1 ≤ |rest| < 2: q takes the power of two, which rounds nothing, so that no score
 * overflows before it is scaled. */
typedef struct query {
	int64_t b, h, t, g;
	const real *q;
	real power, rest;
	key_range keys;
} query;

/* Row (b·H + h)·T + t, also where q holds only a part of the heads and queries. */
static inline query query_at(const attention_args *a, int64_t row)
{
	int64_t H = a->q->shape[2], T = a->q->shape[1];
	int64_t t = row % T, h = row / T % H, b = row / T / H;
	query x = {.b = b, .h = h, .t = t, .q = at_4d(a->q, b, t, h, 0)};
	int exponent;
	x.rest = (real)(2 * frexp(a->scale, &exponent));
	x.power = (real)ldexp(1, exponent - 1);
	if (a->part.heads > 0) {
		x.h += a->part.first_head;
		x.t += a->part.first_query;
		H = a->part.heads;
		T = a->part.queries;
	}
	x.g = x.h / (H / a->k->shape[2]);
	x.keys = visible_keys(&a->mask, b, x.t, T, a->k->shape[1]);
	return x;
}

static inline real bias_at(const attention_args *a, const query *x, int64_t s)
{
	return a->mask.bias.data ? *at_4d(&a->mask.bias, x->b, x->h, x->t, s) : 0;
}

/* Whether the query sees key s: by the range, the mask and a bias that is not −inf. */
static inline bool key_shown(const attention_args *a, const query *x, int64_t s)
{
	return s >= x->keys.begin && s < x->keys.end && mask_shows(&a->mask, x->b, x->h, x->t, s) &&
	       bias_at(a, x, s) != -(real)INFINITY;
}

static inline real query_dot_key(const attention_args *a, const query *x, int64_t s)
{
	return dot(a->k->shape[3], x->q, a->q->stride[3], at_4d(a->k, x->b, s, x->g, 0),
	           a->k->stride[3]);
}

/* scale · q·k + bias, whether the key is visible or not. */
static inline real scaled_at(const attention_args *a, const query *x, int64_t s)
{
	const real *k = at_4d(a->k, x->b, s, x->g, 0);
	real sum = 0;
	for (int64_t i = 0; i < a->k->shape[3]; i++)
		sum += x->power * x->q[i * a->q->stride[3]] * k[i * a->k->stride[3]];
	return x->rest * sum + bias_at(a, x, s);
}

/* The score of a key; false where it is invisible, and then k is not read. */
static inline bool score_at(const attention_args *a, const query *x, int64_t s, real *score)
{
	if (!key_shown(a, x, s))
		return false;
	*score = scaled_at(a, x, s);
	return true;
}

#endif
