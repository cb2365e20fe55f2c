/* attention_bwd.c — the gradients of attention in one pass over the tiles.
 *
 *   p  = exp(natural · k·qt (+ bias) − lse)      the weights, made again           [key][query]
 *   dp = v · doutᵀ,  delta = dout·out
 *   ds = p ∘ (dp − delta)
 *   dv += p · dout,  dk += scale · ds · q,  dq += scale · dsᵀ · k,  dbias += ds
 *
 * A task is one sequence and one key/value head. Its query tiles go in order, and for each the key
 * tiles in order; q and dout are transposed once per query tile, all else is read where it lies.
 * dk and dv are added to in place, so that each of their elements is one chain over heads and
 * queries, and dq one chain over the keys. Tasks that would add to the same element of dbias are one
 * task. */
#include "backend/cpu/attention_tile.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/dbias.h"
#include "backend/cpu/dropout_mask.h"

#define TASK_COST 40000  /* vector multiply-adds that are worth handing to a thread */
#define ALONE_COST 16000 /* a call with fewer stays on the calling thread */

typedef struct backward {
	const attention_args *a;
	const attention_kernels *ks;
	attention_sizes n;
	attention_units u;
	bool join_b, join_g; /* one task for all sequences, all heads: they share dbias */
	int64_t units, units_per_task;
	char *scratch;
	size_t stride;
} backward;

/* One worker's memory. */
typedef struct workspace {
	float *qt, *dot;        /* [K][64], [D][64]: q and dout transposed */
	float *one;             /* [ATTENTION_ONE][Kp]: q as forward took it query by query */
	float *st, *dp, *bias;  /* [64][64] */
	float *q, *dout, *k;    /* [64][Kp], [64][Dp], [64][Kp] where rows have no whole vectors */
	float *lse, *delta;     /* [64] */
	uint64_t *keep;         /* [64] */
	unsigned char *touched; /* per key tile: dk and dv have been written */
} workspace;

/* What is the same for all key tiles of a query tile. */
typedef struct query_side {
	query_tile tile;
	const float *q, *dout; /* rows with whole vectors */
	int64_t q_row, dout_row;
	int finite;  /* of q and dout: 1 yes, 0 no, −1 not looked yet */
	bool one;    /* forward went query by query */
	bool dq_set; /* dq has been written */
} query_side;

static size_t workspace_set(const backward *w, char *base, workspace *s)
{
	const int64_t tile = ATTENTION_TILE;
	size_t used = 0;
	s->qt = attention_take(base, &used, w->n.K * tile);
	s->dot = attention_take(base, &used, w->n.D * tile);
	s->one = attention_take(base, &used, ATTENTION_ONE * w->n.Kp);
	s->st = attention_take(base, &used, tile * tile);
	s->dp = attention_take(base, &used, tile * tile);
	s->bias = attention_take(base, &used, tile * tile);
	s->q = attention_take(base, &used, tile * w->n.Kp);
	s->dout = attention_take(base, &used, tile * w->n.Dp);
	s->k = attention_take(base, &used, tile * w->n.Kp);
	s->lse = attention_take(base, &used, tile);
	s->delta = attention_take(base, &used, tile);
	s->keep = (uint64_t *)attention_take(base, &used, 2 * tile);
	s->touched = (unsigned char *)attention_take(base, &used, div_up(w->n.S, tile) / 4 + 1);
	return used;
}

static void zero_rows(const hec_tensor *x, int64_t i, int64_t k, int64_t begin, int64_t end)
{
	for (int64_t j = begin; j < end; j++)
		memset(row_of(x, i, j, k), 0, (size_t)x->shape[3] * sizeof(float));
}

static void scale_queries(const backward *w, const float *q, int64_t row, int rows, float *to)
{
	for (int t = 0; t < rows; t++) {
		for (int64_t i = 0; i < w->n.K; i++)
			to[t * w->n.Kp + i] = q[t * row + i] * w->u.q_factor;
	}
}

static void query_side_set(const backward *w, const workspace *s, query_side *x, int64_t b,
                           int64_t h, int64_t t0, int rows)
{
	const attention_args *a = w->a;
	query_tile_set(&x->tile, a, &w->n, b, h, t0, rows);
	const float *q = row_of(a->q, b, t0, h), *dout = row_of(a->dout, b, t0, h);
	x->q_row = a->q->stride[1];
	x->dout_row = a->dout->stride[1];
	x->finite = -1;
	x->dq_set = false;
	x->one = attention_live_queries(a, &w->n, b) <= ATTENTION_ONE;
	if (x->one)
		scale_queries(w, q, x->q_row, rows, s->one);
	else
		w->ks->transpose(q, x->q_row, rows, w->n.K, w->u.q_factor, s->qt);
	w->ks->transpose(dout, x->dout_row, rows, w->n.D, 1, s->dot);
	w->ks->row_dots(row_of(a->out, b, t0, h), a->out->stride[1], rows, w->n.D, s->dot,
	                s->delta);
	x->q = attention_pad_rows(q, &x->q_row, rows, w->n.K, w->n.Kp, s->q);
	x->dout = attention_pad_rows(dout, &x->dout_row, rows, w->n.D, w->n.Dp, s->dout);
	const float *lse = row_of(a->lse, b, h, t0);
	for (int t = 0; t < ATTENTION_TILE; t++) {
		float e = t < rows ? lse[t * a->lse->stride[2]] : -INFINITY;
		s->lse[t] = e == -INFINITY ? INFINITY : e;
	}
}

/* What to fetch during a product: rows of the next tile of keys; after the last, of the next
 * queries; after these, the first rows of the next head. Either of the first two may be NULL. */
static tile_hint soon(const backward *w, const query_tile *q, const key_tile *k,
                      const hec_tensor *keys, const hec_tensor *queries, const hec_tensor *head)
{
	const int64_t s = k->s0 + ATTENTION_TILE, t = q->t0 + ATTENTION_TILE;
	const int64_t per_g = head->shape[2] / w->n.G; /* heads of the tensor per key/value head */
	if (s < q->any.end)
		return keys ? attention_rows_soon(keys, q->b, s, q->g, q->any.end - s)
		            : (tile_hint){.x = NULL};
	if (t < w->n.T)
		return queries ? attention_rows_soon(queries, q->b, t, q->h, w->n.T - t)
		               : (tile_hint){.x = NULL};
	if (q->g + 1 < w->n.G)
		return attention_rows_soon(head, q->b, 0, (q->g + 1) * per_g, head->shape[1]);
	if (q->b + 1 < w->n.B)
		return attention_rows_soon(head, q->b + 1, 0, 0, head->shape[1]);
	return (tile_hint){.x = NULL};
}

/* A product along the queries or keys of a tile, careful where invisible ones are not finite. */
static void add_product(const backward *w, const tile_product *p, const uint64_t *seen, bool guard)
{
	if (guard)
		attention_product_guarded(p, seen);
	else
		w->ks->product(p);
}

/* st = k · qt or dp = v · dot: rows are keys, columns queries. */
static void along_features(const backward *w, const query_tile *q, const key_tile *k,
                           const hec_tensor *x, const float *xt, float *tile, tile_hint soon)
{
	const int lanes = w->ks->lanes;
	w->ks->product(&(tile_product){
		.rows = k->keys,
		.cols = (q->rows + lanes - 1) / lanes * lanes,
		.depth = (int)x->shape[3],
		.a = row_of(x, q->b, k->s0, q->g),
		.a_row = x->stride[1],
		.a_k = 1,
		.b = xt,
		.b_k = ATTENTION_TILE,
		.c = tile,
		.c_row = ATTENTION_TILE,
		.columns = k->kind == TILE_MIXED ? k->lanes : NULL,
		.soon = soon,
	});
}

/* dv += p · dout or dk += ds · q: rows are keys, the sum runs along the queries. */
static void along_queries(const backward *w, const query_side *x, const key_tile *k,
                          const float *tile, const float *rows, int64_t row, const hec_tensor *dx,
                          bool add, tile_hint soon)
{
	const query_tile *q = &x->tile;
	const bool mixed = k->kind == TILE_MIXED;
	tile_product p = {
		.rows = k->keys,
		.cols = (int)dx->shape[3],
		.depth = q->rows,
		.a = tile,
		.a_row = ATTENTION_TILE,
		.a_k = 1,
		.b = rows,
		.b_k = row,
		.c = row_of(dx, q->b, k->s0, q->g),
		.c_row = dx->stride[1],
		.add = add,
		.depths = mixed ? k->depth_queries : NULL,
		.soon = soon,
	};
	add_product(w, &p, k->by_key, mixed && !x->finite);
}

/* dq += dsᵀ · k: rows are queries, the sum runs along the keys. */
static void along_keys(const backward *w, const workspace *s, const query_side *x,
                       const key_tile *k)
{
	const query_tile *q = &x->tile;
	const bool mixed = k->kind == TILE_MIXED;
	int64_t k_row = w->a->k->stride[1];
	const float *keys = row_of(w->a->k, q->b, k->s0, q->g);
	bool guard = mixed && !w->ks->rows_finite(keys, k_row, k->keys, w->n.K);
	tile_product p = {
		.rows = q->rows,
		.cols = (int)w->n.K,
		.depth = k->keys,
		.a = s->dp,
		.a_row = 1,
		.a_k = ATTENTION_TILE,
		.b = attention_pad_rows(keys, &k_row, k->keys, w->n.K, w->n.Kp, s->k),
		.c = row_of(w->a->dq, q->b, q->t0, q->h),
		.c_row = w->a->dq->stride[1],
		.add = x->dq_set,
		.depths = mixed ? k->depth_keys : NULL,
		.soon = soon(w, q, k, NULL, NULL, w->a->v),
	};
	p.b_k = k_row; /* which pad_rows may have changed */
	add_product(w, &p, k->by_query, guard);
}

/* dbias += ds, in the order of keys, then queries: elements may be the same. */
static void add_dbias(const backward *w, const workspace *s, const query_tile *q, const key_tile *k)
{
	const hec_tensor *d = w->a->dbias;
	float *to = (float *)d->data + offset_4d(d, q->b, q->h, q->t0, k->s0);
	for (int i = 0; i < k->keys; i++) {
		uint64_t seen = k->kind == TILE_MIXED ? k->by_key[i] : ~UINT64_C(0);
		for (int t = 0; t < q->rows; t++) {
			if (seen >> t & 1)
				to[t * d->stride[2] + i * d->stride[3]] +=
					s->dp[i * ATTENTION_TILE + t];
		}
	}
}

/* st as forward made it query by query: exp(score − lse) is a weight only where lse is of the very
 * same scores, to the last bit. Other lanes are zero. */
static void scores_one_by_one(const backward *w, const workspace *s, const query_tile *q,
                              const key_tile *k)
{
	const hec_tensor *key = w->a->k, *v = w->a->v;
	float scores[ATTENTION_TILE];
	for (int i = 0; i < k->keys; i++)
		memset(s->st + i * ATTENTION_TILE, 0, (size_t)w->ks->lanes * sizeof(float));
	for (int t = 0; t < q->rows; t++) {
		w->ks->one_scores(&(one_tile){
			.heads = 1,
			.keys = k->keys,
			.weights = scores,
			.q = s->one + t * w->n.Kp,
			.q_row = w->n.Kp,
			.k = row_of(key, q->b, k->s0, q->g),
			.k_row = key->stride[1],
			.K = w->n.K,
			.v = row_of(v, q->b, k->s0, q->g),
			.v_row = v->stride[1],
			.D = w->n.D,
		});
		for (int i = 0; i < k->keys; i++)
			s->st[i * ATTENTION_TILE + t] = scores[i];
	}
}

static void weights_and_ds(const backward *w, const workspace *s, const query_side *x,
                           const key_tile *k)
{
	const query_tile *q = &x->tile;
	const bool drop = w->a->dropout.p > 0;
	if (x->one)
		scores_one_by_one(w, s, q, k);
	else
		along_features(w, q, k, w->a->k, s->qt, s->st,
		               soon(w, q, k, w->a->k, w->a->q, w->a->q));
	along_features(w, q, k, w->a->v, s->dot, s->dp,
	               soon(w, q, k, w->a->v, w->a->dout, w->a->dout));
	if (drop) {
		dropout_tile d = attention_dropout_at(w->a, &w->n, q, k->s0);
		w->ks->keep_bits(&d, q->rows, k->keys, s->keep);
	}
	w->ks->gradient(&(tile_gradient){
		.keys = k->keys,
		.queries = q->rows,
		.st = s->st,
		.dp = s->dp,
		.natural = w->u.natural,
		.scale = w->a->dbias ? 1 : (float)w->a->scale,
		.bias = k->bias,
		.seen = k->kind == TILE_MIXED ? k->by_key : NULL,
		.keep = drop ? s->keep : NULL,
		.keep_scale = (float)dropout_scale(&w->a->dropout),
		.lse = s->lse,
		.delta = s->delta,
	});
}

/* ds becomes scale · ds: what the kernel does itself where dbias does not want ds as it is. */
static void scale_ds(const backward *w, const workspace *s, const query_tile *q, const key_tile *k)
{
	const float scale = (float)w->a->scale;
	for (int i = 0; i < k->keys; i++) {
		for (int t = 0; t < q->rows; t++)
			s->dp[i * ATTENTION_TILE + t] *= scale;
	}
}

static void backward_tile(const backward *w, const workspace *s, query_side *x, const key_tile *k)
{
	const query_tile *q = &x->tile;
	weights_and_ds(w, s, x, k);
	if (w->a->dbias) {
		add_dbias(w, s, q, k);
		scale_ds(w, s, q, k);
	}
	if (k->kind == TILE_MIXED && x->finite < 0)
		x->finite = w->ks->rows_finite(x->q, x->q_row, q->rows, w->n.K) &&
		            w->ks->rows_finite(x->dout, x->dout_row, q->rows, w->n.D);
	unsigned char *touched = &s->touched[k->s0 / ATTENTION_TILE];
	along_queries(w, x, k, s->st, x->dout, x->dout_row, w->a->dv, *touched,
	              soon(w, q, k, w->a->dv, w->a->out, w->a->out));
	along_queries(w, x, k, s->dp, x->q, x->q_row, w->a->dk, *touched,
	              soon(w, q, k, w->a->dk, w->a->dq, w->a->k));
	*touched = 1;
	along_keys(w, s, x, k);
	x->dq_set = true;
}

static void backward_queries(const backward *w, const workspace *s, int64_t b, int64_t h,
                             int64_t t0, int rows)
{
	query_side x;
	key_tile k;
	query_side_set(w, s, &x, b, h, t0, rows);
	const key_range any = x.tile.any;
	for (int64_t s0 = any.begin & -ATTENTION_TILE; s0 < any.end; s0 += ATTENTION_TILE) {
		key_tile_set(&k, w->a, &w->n, w->ks, &x.tile, s0, s->bias);
		if (k.kind != TILE_NONE)
			backward_tile(w, s, &x, &k);
	}
	if (!x.dq_set)
		zero_rows(w->a->dq, b, h, t0, t0 + rows);
}

static void backward_head(const backward *w, const workspace *s, int64_t b, int64_t g)
{
	const int64_t heads = w->n.H / w->n.G, live = attention_live_queries(w->a, &w->n, b);
	const int64_t tiles = div_up(w->n.S, ATTENTION_TILE);
	memset(s->touched, 0, (size_t)tiles);
	for (int64_t h = g * heads; h < (g + 1) * heads; h++) {
		for (int64_t t0 = 0; t0 < live; t0 += ATTENTION_TILE)
			backward_queries(w, s, b, h, t0, (int)min_i64(ATTENTION_TILE, live - t0));
		zero_rows(w->a->dq, b, h, live, w->n.T);
	}
	for (int64_t i = 0; i < tiles; i++) {
		if (s->touched[i])
			continue;
		int64_t begin = i * ATTENTION_TILE, end = min_i64(w->n.S, begin + ATTENTION_TILE);
		zero_rows(w->a->dk, b, g, begin, end);
		zero_rows(w->a->dv, b, g, begin, end);
	}
}

static void backward_task(void *arg, int64_t task, int worker)
{
	const backward *w = arg;
	workspace s;
	workspace_set(w, w->scratch + (size_t)worker * w->stride, &s);
	const int64_t heads = w->join_g ? 1 : w->n.G;
	int64_t last = min_i64(w->units, (task + 1) * w->units_per_task);
	for (int64_t u = task * w->units_per_task; u < last; u++) {
		int64_t b0 = w->join_b ? 0 : u / heads, b1 = w->join_b ? w->n.B : b0 + 1;
		int64_t g0 = w->join_g ? 0 : u % heads, g1 = w->join_g ? w->n.G : g0 + 1;
		for (int64_t b = b0; b < b1; b++) {
			for (int64_t g = g0; g < g1; g++)
				backward_head(w, &s, b, g);
		}
	}
}

static void plan(backward *w)
{
	const attention_sizes *n = &w->n;
	if (w->a->dbias) {
		dbias_sharing shared = dbias_sharing_of(w->a->dbias);
		w->join_b = shared.sequences;
		w->join_g = shared.heads;
	}
	w->units = (w->join_b ? 1 : n->B) * (w->join_g ? 1 : n->G);
	double cost = (double)(n->H / n->G) * (double)n->T * (double)n->S *
	                      (double)(3 * n->K + 2 * n->D) / 16 +
	              500;
	w->units_per_task = max_i64(1, (int64_t)(TASK_COST / cost));
	if (cost * (double)(n->B * n->G) < ALONE_COST)
		w->units_per_task = max_i64(1, w->units);
}

hec_status attention_bwd_tiled(hec_ctx *ctx, const attention_args *a, const attention_kernels *ks)
{
	backward w = {.a = a, .ks = ks, .n = attention_sizes_of(a, ks->lanes)};
	if (w.n.B == 0 || w.n.G == 0)
		return HEC_OK;
	w.u = attention_units_of(a);
	plan(&w);
	workspace s;
	HEC_TRY(ctx_scratch(ctx, workspace_set(&w, NULL, &s), &w.scratch, &w.stride));
	pool_run(ctx_pool(ctx), div_up(w.units, w.units_per_task), backward_task, &w);
	return HEC_OK;
}
