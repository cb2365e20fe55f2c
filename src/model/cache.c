/* cache.c — rows of a cache exchanged in place.
 *
 * A beam search mostly keeps a row where it is, or copies one to its neighbours. So only rows that
 * change are moved, each in an order in which no row is written that is still to be read; where they
 * go round in a circle, one of them waits in the spare row. */
#include "model/cache.h"

#include <string.h>

#include <hecate/ops.h>

#include "backend/backend.h"
#include "base/size.h"
#include "base/status.h"
#include "tensor/check.h"

static hec_status make_numbers(hec_arena *arena, int64_t n, int32_t **out)
{
	void *memory;
	HEC_TRY(hec_arena_alloc(arena, (size_t)n * sizeof **out, &memory));
	*out = memory;
	for (int64_t i = 0; i < n; i++)
		(*out)[i] = 0;
	return HEC_OK;
}

hec_status cache_make(hec_arena *arena, const hec_model *m, const hec_session_options *o,
                      session_cache *c)
{
	const hec_multi_head_config *a = &m->config.decoder.attention;
	const int64_t L = m->config.decoder.layers, rows = o->sources * o->beams,
		      n = (rows + 1) * L, T = o->max_target, S = o->max_source;
	*c = (session_cache){.layers = L, .rows = rows, .beams = o->beams, .max_source = S};
	HEC_TRY(hec_arena_tensor(arena, m->dtype, 4, (int64_t[]){n, T, a->kv_heads, a->d_k},
	                         &c->k));
	HEC_TRY(hec_arena_tensor(arena, m->dtype, 4, (int64_t[]){n, T, a->kv_heads, a->d_v},
	                         &c->v));
	const int64_t queries[4] = {n, T, a->heads, a->d_k};
	if (o->keep_attention)
		HEC_TRY(hec_arena_tensor(arena, m->dtype, 4, queries, &c->q));
	HEC_TRY(make_numbers(arena, rows + 1, &c->length));
	HEC_TRY(make_numbers(arena, rows, &c->from));
	HEC_TRY(make_numbers(arena, L, &c->zero_to));
	HEC_TRY(make_numbers(arena, L, &c->lengths));
	for (int64_t i = 0; i < L; i++)
		c->zero_to[i] = (int32_t)i;
	if (!model_has_encoder(m))
		return HEC_OK;
	if (o->keep_attention)
		HEC_TRY(hec_arena_tensor(arena, m->dtype, 4, queries, &c->cross_q));
	const int64_t sources = o->sources * L;
	HEC_TRY(hec_arena_tensor(arena, m->dtype, 4, (int64_t[]){sources, S, a->kv_heads, a->d_k},
	                         &c->cross_k));
	HEC_TRY(hec_arena_tensor(arena, m->dtype, 4, (int64_t[]){sources, S, a->kv_heads, a->d_v},
	                         &c->cross_v));
	HEC_TRY(make_numbers(arena, o->sources, &c->source_length));
	HEC_TRY(make_numbers(arena, rows, &c->row_source));
	if (!o->keep_attention)
		return HEC_OK;
	const int64_t frames[3] = {o->sources, m->config.front.features, 2 * S};
	return model_has_front(m)
	               ? hec_arena_tensor(arena, m->dtype, 3, frames, &c->source_features)
	               : make_numbers(arena, o->sources * S, &c->source_ids);
}

hec_tensor cache_layer(const session_cache *c, const hec_tensor *all, int64_t l, int64_t first,
                       int64_t n)
{
	hec_tensor t = *all;
	const size_t at = (size_t)((first * c->layers + l) * all->stride[0]);
	t.data = (char *)all->data + at * hec_dtype_size(all->dtype);
	t.shape[0] = n;
	t.stride[0] = all->stride[0] * c->layers;
	return t;
}

/* All layers of row (or source) `from` to row `to`, the first length positions. */
static hec_status move_one(hec_ctx *ctx, session_cache *c, const hec_tensor *all, int64_t from,
                           int64_t to, int32_t length)
{
	if (!is_present(all) || length == 0)
		return HEC_OK;
	hec_tensor x, y;
	HEC_TRY(hec_tensor_slice(all, 0, from * c->layers, c->layers, &x));
	HEC_TRY(hec_tensor_slice(all, 0, to * c->layers, c->layers, &y));
	HEC_TRY(hec_tensor_slice(&x, 1, 0, length, &x));
	for (int64_t i = 0; i < c->layers; i++)
		c->lengths[i] = length;
	cache_args args = {.x = &x, .index = c->zero_to, .length = c->lengths, .cache = &y};
	return BACKEND(ctx, all->dtype, cache_reorder, &args);
}

static hec_status move_row(hec_ctx *ctx, session_cache *c, int64_t from, int64_t to)
{
	const int32_t length = c->length[from];
	HEC_TRY(move_one(ctx, c, &c->k, from, to, length));
	HEC_TRY(move_one(ctx, c, &c->v, from, to, length));
	HEC_TRY(move_one(ctx, c, &c->q, from, to, length));
	HEC_TRY(move_one(ctx, c, &c->cross_q, from, to, length));
	c->length[to] = length;
	return HEC_OK;
}

/* Whether row r of rows first … end − 1 is still to be read by another. */
static bool is_awaited(const session_cache *c, int64_t r, int64_t first, int64_t end)
{
	for (int64_t i = first; i < end; i++) {
		if (i != r && c->from[i] == r)
			return true;
	}
	return false;
}

/* Moves what can be moved; says whether anything is left. */
static hec_status move_free_rows(hec_ctx *ctx, session_cache *c, int64_t first, int64_t end,
                                 bool *left)
{
	bool moved = true;
	while (moved) {
		moved = *left = false;
		for (int64_t r = first; r < end; r++) {
			if (c->from[r] == r)
				continue;
			if (is_awaited(c, r, first, end)) {
				*left = true;
				continue;
			}
			HEC_TRY(move_row(ctx, c, c->from[r], r));
			c->from[r] = (int32_t)r;
			moved = true;
		}
	}
	return HEC_OK;
}

static hec_status reorder_source(hec_ctx *ctx, session_cache *c, int64_t first, int64_t end)
{
	for (;;) {
		bool left;
		HEC_TRY(move_free_rows(ctx, c, first, end, &left));
		if (!left)
			return HEC_OK;
		/* A circle: the first of it that still moves steps aside. */
		int64_t r = first;
		while (c->from[r] == r)
			r++;
		HEC_TRY(move_row(ctx, c, r, c->rows));
		for (int64_t i = first; i < end; i++)
			c->from[i] = c->from[i] == r ? (int32_t)c->rows : c->from[i];
	}
}

hec_status cache_reorder(hec_ctx *ctx, session_cache *c, const int32_t *from, int64_t rows)
{
	memcpy(c->from, from, (size_t)rows * sizeof *from);
	for (int64_t first = 0; first < rows; first += c->beams)
		HEC_TRY(reorder_source(ctx, c, first, first + c->beams));
	return HEC_OK;
}

static hec_status keep_source(hec_ctx *ctx, session_cache *c, int64_t from, int64_t to)
{
	for (int64_t i = 0; i < c->beams; i++)
		HEC_TRY(move_row(ctx, c, from * c->beams + i, to * c->beams + i));
	if (!c->source_length)
		return HEC_OK;
	const int32_t length = c->source_length[from];
	HEC_TRY(move_one(ctx, c, &c->cross_k, from, to, length));
	HEC_TRY(move_one(ctx, c, &c->cross_v, from, to, length));
	c->source_length[to] = length;
	for (int64_t i = 0; i < c->beams; i++)
		c->row_source[to * c->beams + i] = length;
	if (c->source_ids)
		memcpy(c->source_ids + to * c->max_source, c->source_ids + from * c->max_source,
		       (size_t)length * sizeof(int32_t));
	if (!is_present(&c->source_features))
		return HEC_OK;
	hec_tensor x, y;
	HEC_TRY(hec_tensor_slice(&c->source_features, 0, from, 1, &x));
	HEC_TRY(hec_tensor_slice(&c->source_features, 0, to, 1, &y));
	return hec_tensor_copy(ctx, &x, &y);
}

hec_status cache_keep(hec_ctx *ctx, session_cache *c, const int64_t *keep, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (keep[i] != i) /* keep[i] > i: what is written has left or has moved already */
			HEC_TRY(keep_source(ctx, c, keep[i], i));
	}
	return HEC_OK;
}
