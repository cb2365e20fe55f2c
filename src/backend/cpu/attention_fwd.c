/* attention_fwd.c — out = softmax(scale · q·kᵀ + bias) · v in one pass over the keys.
 *
 * Per tile of 64 queries, qt = qᵀ · a power of two that is nearly scale, without a bias:
 *
 *   for each tile of 64 keys:  st = k · qt                     [key][query]
 *                              m' = max(m, st), p = 2^(unit · (st − m')), f = 2^(unit · (m − m'))
 *                              l = f · l + Σ p,  o = f · o + pᵀ · v
 *   out = o / l,  lse = natural · m + ln l
 *
 * where natural · st is the score and unit = natural · log2 e; with a bias st becomes the score
 * itself, natural · st + bias.
 *
 * Nothing is packed: k is read as broadcast scalars and v as rows, where they lie. A call with few
 * queries (decoding) goes query by query: attention_one.c. */
#include "backend/cpu/attention_fwd.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/dropout_mask.h"

#define TASK_COST 40000  /* vector multiply-adds that are worth handing to a thread */
#define TASKS 32         /* for each thread, where there are many more units */
#define WHOLE_HEADS 8    /* for each thread: then a task takes whole heads, whose keys stay near */
#define ALONE_COST 16000 /* a call with fewer stays on the calling thread */

static size_t workspace_set(const forward *f, char *base, workspace *w)
{
	const int64_t tile = ATTENTION_TILE;
	size_t used = 0;
	w->qt = attention_take(base, &used, tile * f->n.Kp);
	w->st = attention_take(base, &used, tile * tile);
	w->bias = attention_take(base, &used, tile * tile);
	w->o = attention_take(base, &used, tile * f->n.Dp);
	w->v = attention_take(base, &used, tile * f->n.Dp);
	w->m = attention_take(base, &used, tile);
	w->l = attention_take(base, &used, tile);
	w->factor = attention_take(base, &used, tile);
	w->keep = (uint64_t *)attention_take(base, &used, 2 * tile);
	return used;
}

/* Rows that see nothing: output 0, lse −inf. */
static void write_empty(const forward *f, int64_t b, int64_t h, int64_t t, int64_t end)
{
	const hec_tensor *lse = f->a->lse;
	for (; t < end; t++) {
		memset(row_of(f->a->out, b, t, h), 0, (size_t)f->n.D * sizeof(float));
		if (lse)
			*(row_of(lse, b, h, t)) = -INFINITY;
	}
}

/* o += pᵀ · v for one tile, careful where an invisible key may hold NaN or Inf. */
static void add_values(const forward *f, const workspace *w, const query_tile *q, const key_tile *k,
                       bool first, bool rescale, tile_hint soon)
{
	int64_t v_row = f->a->v->stride[1];
	const float *v = row_of(f->a->v, q->b, k->s0, q->g);
	bool guard = k->kind == TILE_MIXED && !f->ks->rows_finite(v, v_row, k->keys, f->n.D);
	v = attention_pad_rows(v, &v_row, k->keys, f->n.D, f->n.Dp, w->v);
	tile_product p = {
		.rows = q->rows,
		.cols = (int)f->n.Dp,
		.depth = k->keys,
		.a = w->st,
		.a_row = 1,
		.a_k = ATTENTION_TILE,
		.b = v,
		.b_k = v_row,
		.c = w->o,
		.c_row = f->n.Dp,
		.add = !first,
		.factor = rescale ? w->factor : NULL,
		.depths = k->kind == TILE_MIXED ? k->depth_keys : NULL,
		.soon = soon,
	};
	if (guard)
		attention_product_guarded(&p, k->by_query);
	else
		f->ks->product(&p);
}

/* The next rows of keys or values, where they lie apart: the CPU itself foresees rows that follow one
 * another, and asking for them costs more than it brings. */
static tile_hint next_rows(const hec_tensor *x, const query_tile *q, int64_t s, int64_t more)
{
	if (x->stride[1] == x->shape[3])
		return (tile_hint){0};
	return attention_rows_soon(x, q->b, s, q->g, more);
}

/* One tile of keys: scores, softmax, values. Meanwhile the next keys and values are fetched; after
 * the last, next_q and the rows of the output. */
static void add_keys(const forward *f, const workspace *w, const query_tile *q, const key_tile *k,
                     bool first, tile_hint next_q)
{
	const attention_args *a = f->a;
	const int lanes = f->ks->lanes;
	const int64_t next = k->s0 + ATTENTION_TILE, more = q->any.end - next;
	tile_product scores = {
		.rows = k->keys,
		.cols = (q->rows + lanes - 1) / lanes * lanes,
		.depth = (int)f->n.K,
		.a = row_of(f->a->k, q->b, k->s0, q->g),
		.a_row = f->a->k->stride[1],
		.a_k = 1,
		.b = w->qt,
		.b_k = ATTENTION_TILE,
		.c = w->st,
		.c_row = ATTENTION_TILE,
		.columns = k->kind == TILE_MIXED ? k->lanes : NULL,
		.soon = more > 0 ? next_rows(a->k, q, next, more) : next_q,
	};
	f->ks->product(&scores);
	tile_softmax s = {
		.keys = k->keys,
		.queries = q->rows,
		.natural = f->u.natural,
		.unit = f->u.unit,
		.st = w->st,
		.bias = k->bias,
		.seen = k->kind == TILE_MIXED ? k->by_key : NULL,
		.m = w->m,
		.l = w->l,
		.factor = w->factor,
	};
	bool rescale = f->ks->softmax(&s);
	if (f->a->dropout.p > 0) {
		dropout_tile d = attention_dropout_at(f->a, &f->n, q, k->s0);
		f->ks->keep_bits(&d, q->rows, k->keys, w->keep);
		f->ks->drop(w->st, w->keep, q->rows, k->keys);
	}
	add_values(f, w, q, k, first, rescale,
	           more > 0 ? next_rows(a->v, q, next, more)
	                    : attention_rows_soon(a->out, q->b, q->t0, q->h, q->rows));
}

void attention_check_empty(const forward *f, int64_t b, int64_t h, int64_t t)
{
	if (!attention_sees_any(f->a, &f->n, b, h, t))
		return;
	float *out = row_of(f->a->out, b, t, h);
	for (int64_t d = 0; d < f->n.D; d++)
		out[d] = NAN;
	if (f->a->lse)
		*(row_of(f->a->lse, b, h, t)) = NAN;
}

static void write_tile(const forward *f, const workspace *w, const query_tile *q)
{
	const hec_tensor *out = f->a->out, *lse = f->a->lse;
	float spare[ATTENTION_TILE];
	float *to = lse ? row_of(lse, q->b, q->h, q->t0) : spare;
	bool direct = lse && lse->stride[2] == 1;
	f->ks->finish(q->rows, f->n.D, w->o, f->n.Dp, w->m, w->l, f->u.lse_unit, f->keep_scale,
	              row_of(out, q->b, q->t0, q->h), out->stride[1],
	              !lse     ? NULL
	              : direct ? to
	                       : spare);
	if (lse && !direct) {
		for (int t = 0; t < q->rows; t++)
			to[t * lse->stride[2]] = spare[t];
	}
	for (int t = 0; t < q->rows; t++) {
		if (w->l[t] == 0)
			attention_check_empty(f, q->b, q->h, q->t0 + t);
	}
}

static void forward_tile(const forward *f, const workspace *w, int64_t b, int64_t h, int64_t t0,
                         int rows, tile_hint next_q)
{
	query_tile q;
	key_tile k;
	query_tile_set(&q, f->a, &f->n, b, h, t0, rows);
	f->ks->transpose(row_of(f->a->q, b, t0, h), f->a->q->stride[1], rows, f->n.K, f->u.q_factor,
	                 w->qt);
	for (int t = 0; t < ATTENTION_TILE; t++) {
		w->m[t] = -INFINITY;
		w->l[t] = 0;
	}
	bool first = true;
	for (int64_t s0 = q.any.begin & -ATTENTION_TILE; s0 < q.any.end; s0 += ATTENTION_TILE) {
		key_tile_set(&k, f->a, &f->n, f->ks, &q, s0, w->bias);
		if (k.kind == TILE_NONE)
			continue;
		add_keys(f, w, &q, &k, first, next_q);
		first = false;
	}
	if (first)
		write_empty(f, b, h, t0, t0 + rows);
	else
		write_tile(f, w, &q);
}

static void forward_few(const forward *f, const workspace *w, int64_t b, int64_t part)
{
	int64_t heads = f->n.H / f->n.G, live = attention_live_queries(f->a, &f->n, b);
	int64_t h0 = f->n.G * part / f->parts * heads, h1 = f->n.G * (part + 1) / f->parts * heads;
	for (int64_t t = 0; t < live; t++)
		attention_forward_one(f, w, b, h0, h1, t);
	for (int64_t h = h0; h < h1; h++)
		write_empty(f, b, h, live, f->n.T);
}

static void forward_many(const forward *f, const workspace *w, int64_t b, int64_t h, int64_t t0,
                         tile_hint next_q)
{
	int64_t live = attention_live_queries(f->a, &f->n, b);
	int64_t end = min_i64(t0 + ATTENTION_TILE, f->n.T);
	int64_t rows = max_i64(0, min_i64(live, end) - t0);
	if (live > ATTENTION_ONE && rows > 0)
		forward_tile(f, w, b, h, t0, (int)rows, next_q);
	for (int64_t t = t0; live <= ATTENTION_ONE && t < t0 + rows; t++)
		attention_forward_one(f, w, b, h, h + 1, t);
	write_empty(f, b, h, t0 + rows, end);
}

typedef struct place {
	int64_t b, h, t0;
} place;

/* Where a unit is. The last tiles of a causal head are the longest: they go first. */
static place place_of(const forward *f, int64_t unit)
{
	int64_t head = unit / f->tiles, tile = f->tiles - 1 - unit % f->tiles;
	return (place){head / f->n.H, head % f->n.H, tile * ATTENTION_TILE};
}

static void forward_task(void *arg, int64_t task, int worker)
{
	const forward *f = arg;
	workspace w;
	workspace_set(f, f->scratch + (size_t)worker * f->stride, &w);
	int64_t end = min_i64(f->units, (task + 1) * f->units_per_task);
	for (int64_t u = task * f->units_per_task; u < end; u++) {
		if (f->one) {
			forward_few(f, &w, u / f->parts, u % f->parts);
			continue;
		}
		place here = place_of(f, u), next = place_of(f, min_i64(u + 1, f->units - 1));
		forward_many(
			f, &w, here.b, here.h, here.t0,
			attention_rows_soon(f->a->q, next.b, next.t0, next.h, f->n.T - next.t0));
	}
}

/* How many units make a task: enough work for a thread to be worth its handing out. Query by query,
 * a unit takes as many heads as the threads allow where they lie side by side in memory, which is
 * then read in one go. */
static void plan(forward *f, int64_t threads)
{
	const attention_sizes *n = &f->n;
	f->one = n->T <= ATTENTION_ONE;
	f->tiles = div_up(n->T, ATTENTION_TILE);
	f->parts = f->a->k->stride[2] < f->a->k->stride[1] ? min_i64(n->G, div_up(threads, n->B))
	                                                   : n->G;
	f->units = n->B * (f->one ? f->parts : n->H * f->tiles);
	int64_t rows = f->one ? 4 * n->T * n->H / f->parts : min_i64(n->T, ATTENTION_TILE);
	double cost = (double)rows * (double)n->S * (double)(n->K + n->D) / 16 + 200;
	f->units_per_task = max_i64(f->units / (threads * TASKS), (int64_t)(TASK_COST / cost));
	f->units_per_task = max_i64(1, f->units_per_task);
	if (!f->one && n->B * n->H >= threads * WHOLE_HEADS)
		f->units_per_task = div_up(f->units_per_task, f->tiles) * f->tiles;
	if (cost * (double)f->units < ALONE_COST)
		f->units_per_task = max_i64(1, f->units);
}

hec_status attention_fwd_tiled(hec_ctx *ctx, const attention_args *a, const attention_kernels *ks)
{
	forward f = {.a = a, .ks = ks, .n = attention_sizes_of(a, ks->lanes)};
	if (f.n.B == 0 || f.n.T == 0 || f.n.H == 0)
		return HEC_OK;
	f.u = attention_units_of(a);
	f.keep_scale = (float)dropout_scale(&a->dropout);
	plan(&f, pool_threads(ctx_pool(ctx)));
	workspace w;
	HEC_TRY(ctx_scratch(ctx, workspace_set(&f, NULL, &w), &f.scratch, &f.stride));
	pool_run(ctx_pool(ctx), div_up(f.units, f.units_per_task), forward_task, &f);
	return HEC_OK;
}
