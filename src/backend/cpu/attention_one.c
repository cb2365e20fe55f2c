/* attention_one.c — the forward pass query by query, for decoding.
 *
 * One query leaves the lanes of a tile empty; its cost is reading k and v. So here a score is a dot
 * product along K in the lanes, the heads that lie side by side in memory go together tile by tile of
 * keys, and the query heads of a group share each read. The order of a score's sum is not that of the
 * tiles (which would cost twice the time where k and v lie in the cache), so which way a sequence
 * goes is decided by its own number of queries alone. */
#include "backend/cpu/attention_fwd.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

/* Dropout on one query's tile of weights. */
static void drop(const forward *f, const query_tile *q, int64_t s0, float *weights)
{
	dropout_tile d = attention_dropout_at(f->a, &f->n, q, s0);
	for (int s = 0; s < ATTENTION_TILE; s += 4, d.counter[0]++) {
		uint32_t words[4];
		philox(d.counter, d.key, words);
		for (int i = 0; i < 4; i++)
			weights[s + i] = words[i] >= d.threshold ? weights[s + i] : 0;
	}
}

/* Where a query's tile of keys is: heads h0 … h1 − 1, of which `group` share keys. */
typedef struct one_step {
	const forward *f;
	const workspace *w;
	query_tile q;
	int64_t h0, h1, group;
	int64_t s0, next; /* this tile of keys and the one after it */
	int keys;
	uint64_t seen[ATTENTION_TILE];
	float factor[ATTENTION_TILE];
} one_step;

/* Up to ATTENTION_ROWS heads from h on that share their keys. */
static one_tile tile_of(const one_step *x, int64_t h)
{
	const forward *f = x->f;
	const hec_tensor *k = f->a->k, *v = f->a->v;
	const int64_t g = h / x->group, j = h - x->h0;
	return (one_tile){
		.heads = (int)min_i64(ATTENTION_ROWS, min_i64(x->h1, (g + 1) * x->group) - h),
		.keys = x->keys,
		.weights = x->w->st + j * ATTENTION_TILE,
		.seen = x->seen + j,
		.factor = x->factor + j,
		.q = x->w->qt + j * f->n.Kp,
		.q_row = f->n.Kp,
		.k = row_of(k, x->q.b, x->s0, g),
		.next_k = row_of(k, x->q.b, x->next, g),
		.k_row = k->stride[1],
		.K = f->n.K,
		.v = row_of(v, x->q.b, x->s0, g),
		.v_row = v->stride[1],
		.D = f->n.D,
		.o = x->w->o + j * f->n.Dp,
		.o_row = f->n.Dp,
	};
}

/* Bias, visibility, softmax and dropout of one head's scores. */
static void weigh(one_step *x, int64_t h)
{
	const forward *f = x->f;
	const int64_t j = h - x->h0;
	float *weights = x->w->st + j * ATTENTION_TILE;
	key_tile k;
	x->q.h = h;
	key_tile_set(&k, f->a, &f->n, f->ks, &x->q, x->s0, x->w->bias);
	for (int s = 0; k.bias && s < k.keys; s++)
		weights[s] = fmaf(weights[s], f->u.natural, k.bias[s * ATTENTION_TILE]);
	if (k.kind == TILE_FULL)
		x->seen[j] = k.keys == 64 ? ~UINT64_C(0) : (UINT64_C(1) << k.keys) - 1;
	else
		x->seen[j] = k.kind == TILE_MIXED ? k.by_query[0] : 0;
	x->factor[j] = f->ks->one_softmax(weights, f->u.unit, x->seen[j], x->w->m + j, x->w->l + j);
	if (f->a->dropout.p > 0)
		drop(f, &x->q, x->s0, weights);
}

/* A tile of keys: scores of all heads, then weights, then values, so that one head's softmax, which
 * waits for itself most of the time, runs beside the next. */
static void add_keys(one_step *x)
{
	for (int64_t h = x->h0; h < x->h1;) {
		one_tile t = tile_of(x, h);
		x->f->ks->one_scores(&t);
		h += t.heads;
	}
	for (int64_t h = x->h0; h < x->h1; h++)
		weigh(x, h);
	for (int64_t h = x->h0; h < x->h1;) {
		one_tile t = tile_of(x, h);
		bool alike = true;
		for (int i = 1; i < t.heads; i++)
			alike = alike && t.seen[i] == t.seen[0];
		x->f->ks->one_product(&t, alike);
		h += t.heads;
	}
}

static void start_heads(const forward *f, const workspace *w, int64_t b, int64_t h0, int64_t h1,
                        int64_t t)
{
	for (int64_t h = h0; h < h1; h++) {
		const float *from = row_of(f->a->q, b, t, h);
		for (int64_t i = 0; i < f->n.K; i++)
			w->qt[(h - h0) * f->n.Kp + i] = from[i] * f->u.q_factor;
		w->m[h - h0] = -INFINITY;
		w->l[h - h0] = 0;
	}
	memset(w->o, 0, (size_t)((h1 - h0) * f->n.Dp) * sizeof(float));
}

static void write_heads(const one_step *x, int64_t t)
{
	const forward *f = x->f;
	for (int64_t h = x->h0; h < x->h1; h++) {
		const int64_t j = h - x->h0;
		float *lse = f->a->lse ? row_of(f->a->lse, x->q.b, h, t) : NULL;
		f->ks->finish(1, f->n.D, x->w->o + j * f->n.Dp, f->n.Dp, x->w->m + j, x->w->l + j,
		              f->u.lse_unit, f->keep_scale, row_of(f->a->out, x->q.b, t, h), 0,
		              lse);
		if (x->w->l[j] == 0)
			attention_check_empty(f, x->q.b, h, t);
	}
}

void attention_forward_one(const forward *f, const workspace *w, int64_t b, int64_t h0, int64_t h1,
                           int64_t t)
{
	one_step x = {.f = f, .w = w, .group = f->n.H / f->n.G};
	query_tile_set(&x.q, f->a, &f->n, b, h0, t, 1);
	for (x.h0 = h0; x.h0 < h1; x.h0 = x.h1) {
		x.h1 = min_i64(h1, x.h0 + ATTENTION_TILE);
		start_heads(f, w, b, x.h0, x.h1, t);
		for (x.s0 = x.q.any.begin & -ATTENTION_TILE; x.s0 < x.q.any.end;
		     x.s0 += ATTENTION_TILE) {
			x.next = min_i64(x.s0 + ATTENTION_TILE, f->n.S - 1);
			x.keys = (int)min_i64(ATTENTION_TILE, f->n.S - x.s0);
			add_keys(&x);
		}
		write_heads(&x, t);
	}
}
