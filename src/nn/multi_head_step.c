/* multi_head_step.c — multi-head attention of new positions over keys and values that are kept.
 *
 * The beams of a source are queries over one cache: its keys are read once for all of them, and
 * nothing is copied. How a sequence is computed depends on its own counts (and on those of its
 * source's other beams), never on the rest of the batch. */
#include "backend/backend.h"
#include "base/size.h"
#include "base/status.h"
#include "nn/multi_head.h"
#include "tensor/check.h"
#include "tensor/view.h"

static hec_status append_to_cache(hec_ctx *ctx, const hec_tensor *x, const int32_t *at,
                                  const int32_t *count, const hec_tensor *cache)
{
	cache_args args = {.x = x, .index = at, .length = count, .cache = cache};
	return BACKEND(ctx, x->dtype, cache_append, &args);
}

/* x [B, T, …] of sequence b alone, its real positions. */
static hec_status one_sequence(const hec_tensor *x, int64_t b, int64_t count, hec_tensor *out)
{
	HEC_TRY(hec_tensor_slice(x, 0, b, 1, out));
	return hec_tensor_slice(out, 1, 0, count, out);
}

/* Positions of padding may lie beyond the rotary tables, so with padding each sequence is rotated alone. */
static hec_status apply_rotary(hec_ctx *ctx, const hec_rotary *rotary,
                               const multi_head_cache *cache, hec_tensor *x)
{
	if (!rotary)
		return HEC_OK;
	if (!cache->count)
		return hec_rotary_apply(ctx, rotary, false, x, cache->first, x);
	for (int64_t b = 0; b < x->shape[0]; b++) {
		hec_tensor one;
		HEC_TRY(one_sequence(x, b, cache->count[b], &one));
		HEC_TRY(hec_rotary_apply(ctx, rotary, false, &one, &cache->first[b], &one));
	}
	return HEC_OK;
}

static hec_status attend_self(hec_ctx *ctx, const hec_attention_desc *desc, const hec_tensor *q,
                              const multi_head_cache *cache, hec_tensor *heads_out)
{
	const int64_t B = q->shape[0];
	int64_t S = 0;
	for (int64_t b = 0; b < B; b++)
		S = max_i64(S, cache->keys[b]);
	hec_mask mask = HEC_MASK_INIT;
	mask.causal = true;
	mask.window = cache->window;
	mask.key_length = cache->keys;
	mask.query_length = cache->count;
	mask.bias = cache->bias;
	hec_tensor k, v;
	HEC_TRY(hec_tensor_slice(&cache->k, 1, 0, S, &k));
	HEC_TRY(hec_tensor_slice(&cache->v, 1, 0, S, &v));
	return hec_attention_fwd(ctx, desc, q, &k, &v, &mask, heads_out, NULL);
}

/* [B, T, H, K] of sequences that share a source, one position each, seen as its queries. */
static void beams_as_queries(const hec_tensor *x, int64_t sources, int64_t beams, hec_tensor *out)
{
	const int64_t sequence = x->stride[0]; /* out may be x */
	*out = *x;
	out->shape[0] = sources;
	out->stride[0] = sequence * beams;
	out->shape[1] = beams;
	out->stride[1] = sequence;
}

static bool each_beam_has_one_token(const multi_head_cache *cache, int64_t first)
{
	for (int64_t i = 0; i < cache->beams; i++) {
		if (!cache->count || cache->count[first + i] != 1)
			return false;
	}
	return true;
}

/* The beams of source i, one new position each: as queries over the source's keys. */
static hec_status attend_as_queries(hec_ctx *ctx, const hec_attention_desc *desc,
                                    const multi_head_cache *cache, int64_t i, const hec_tensor *q,
                                    const hec_tensor *k, const hec_tensor *v, hec_tensor *heads_out)
{
	hec_tensor queries, out;
	hec_mask mask = HEC_MASK_INIT;
	mask.key_length = cache->source_keys + i;
	beams_as_queries(q, 1, cache->beams, &queries);
	beams_as_queries(heads_out, 1, cache->beams, &out);
	return hec_attention_fwd(ctx, desc, &queries, k, v, &mask, &out, NULL);
}

/* The beams of source i, any number of new positions each: sequences with the same keys. */
static hec_status attend_as_sequences(hec_ctx *ctx, const hec_attention_desc *desc,
                                      const multi_head_cache *cache, int64_t i, const hec_tensor *q,
                                      hec_tensor *k, hec_tensor *v, hec_tensor *heads_out)
{
	const int64_t n = cache->beams, first = i * n;
	hec_mask mask = HEC_MASK_INIT;
	k->shape[0] = v->shape[0] = n;
	k->stride[0] = v->stride[0] = 0;
	mask.key_length = cache->keys + first;
	mask.query_length = cache->count ? cache->count + first : NULL;
	return hec_attention_fwd(ctx, desc, q, k, v, &mask, heads_out, NULL);
}

/* Source i of a batch in which some rows have more than one new position. */
static hec_status attend_beams_of_source(hec_ctx *ctx, const hec_attention_desc *desc,
                                         const hec_tensor *q, const multi_head_cache *cache,
                                         int64_t i, hec_tensor *heads_out)
{
	const int64_t n = cache->beams, first = i * n;
	hec_tensor qs, k, v, out;
	HEC_TRY(hec_tensor_slice(q, 0, first, n, &qs));
	HEC_TRY(hec_tensor_slice(heads_out, 0, first, n, &out));
	HEC_TRY(hec_tensor_slice(&cache->k, 0, i, 1, &k));
	HEC_TRY(hec_tensor_slice(&cache->v, 0, i, 1, &v));
	return each_beam_has_one_token(cache, first)
	               ? attend_as_queries(ctx, desc, cache, i, &qs, &k, &v, &out)
	               : attend_as_sequences(ctx, desc, cache, i, &qs, &k, &v, &out);
}

static hec_status attend_cross(hec_ctx *ctx, const hec_attention_desc *desc, const hec_tensor *q,
                               const multi_head_cache *cache, hec_tensor *heads_out)
{
	const int64_t n = cache->beams, sources = q->shape[0] / n, T = q->shape[1];
	hec_mask mask = HEC_MASK_INIT;
	mask.key_length = cache->source_keys;
	if (n == 1) {
		mask.query_length = cache->count;
		return hec_attention_fwd(ctx, desc, q, &cache->k, &cache->v, &mask, heads_out,
		                         NULL);
	}
	if (T == 1 && !cache->count) {
		hec_tensor queries, out;
		beams_as_queries(q, sources, n, &queries);
		beams_as_queries(heads_out, sources, n, &out);
		return hec_attention_fwd(ctx, desc, &queries, &cache->k, &cache->v, &mask, &out,
		                         NULL);
	}
	for (int64_t i = 0; i < sources; i++)
		HEC_TRY(attend_beams_of_source(ctx, desc, q, cache, i, heads_out));
	return HEC_OK;
}

static hec_status step_layer(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                             const hec_tensor *x, const multi_head_cache *cache,
                             const hec_tensor *residual, hec_tensor *y)
{
	const hec_multi_head_config *c = &layer->config;
	const int64_t B = x->shape[0], T = x->shape[1];
	const bool cross = cache->beams > 0;
	const hec_attention_desc desc = multi_head_desc(c, NULL);
	heads h;
	hec_tensor heads_out;
	HEC_TRY(heads_make(arena, c, x->dtype, B, T, cross ? 0 : T, cross, &h));
	HEC_TRY(hec_arena_tensor(arena, x->dtype, 4, (int64_t[]){B, T, c->heads, c->d_v},
	                         &heads_out));
	HEC_TRY(multi_head_project(ctx, layer, x, NULL, cross, &h));
	if (!cross) {
		HEC_TRY(apply_rotary(ctx, layer->rotary, cache, &h.q));
		HEC_TRY(apply_rotary(ctx, layer->rotary, cache, &h.k));
		HEC_TRY(append_to_cache(ctx, &h.k, cache->first, cache->count, &cache->k));
		HEC_TRY(append_to_cache(ctx, &h.v, cache->first, cache->count, &cache->v));
	}
	if (is_present(&cache->q))
		HEC_TRY(append_to_cache(ctx, &h.q, cache->first, cache->count, &cache->q));
	HEC_TRY(cross ? attend_cross(ctx, &desc, &h.q, cache, &heads_out)
	              : attend_self(ctx, &desc, &h.q, cache, &heads_out));
	return multi_head_join(ctx, arena, layer, NULL, &heads_out, residual, y);
}

hec_status multi_head_step(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                           const hec_tensor *x, const multi_head_cache *cache,
                           const hec_tensor *residual, hec_tensor *y)
{
	size_t mark = hec_arena_used(arena);
	hec_status status = step_layer(ctx, arena, layer, x, cache, residual, y);
	hec_arena_rewind(arena, mark);
	return status;
}

static hec_status cache_memory(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                               const hec_tensor *memory, hec_tensor *k, hec_tensor *v)
{
	const int64_t sources = memory->shape[0], S = memory->shape[1];
	heads h;
	void *at;
	HEC_TRY(heads_make(arena, &layer->config, memory->dtype, sources, 0, S, true, &h));
	HEC_TRY(hec_arena_alloc(arena, (size_t)sources * sizeof(int32_t), &at));
	for (int64_t i = 0; i < sources; i++)
		((int32_t *)at)[i] = 0;
	HEC_TRY(multi_head_project(ctx, layer, NULL, memory, true, &h));
	HEC_TRY(append_to_cache(ctx, &h.k, at, NULL, k));
	return append_to_cache(ctx, &h.v, at, NULL, v);
}

hec_status multi_head_cache_memory(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                                   const hec_tensor *memory, hec_tensor *k, hec_tensor *v)
{
	size_t mark = hec_arena_used(arena);
	hec_status status = cache_memory(ctx, arena, layer, memory, k, v);
	hec_arena_rewind(arena, mark);
	return status;
}
