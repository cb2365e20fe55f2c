/* multi_head.h — multi-head attention inside another layer. */
#ifndef NN_MULTI_HEAD_H
#define NN_MULTI_HEAD_H

#include <hecate/multi_head.h>

/* The arguments that forward and backward share, checked before anything is written. */
hec_status multi_head_check(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                            const hec_tensor *x, const hec_tensor *memory, const hec_mask *mask,
                            const hec_tensor *dbias);

/* hec_multi_head_fwd and hec_multi_head_bwd on arguments that went through multi_head_check. dx is
 * added to, or written. */
hec_status multi_head_fwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                          const hec_tensor *x, const hec_tensor *memory, const hec_mask *mask,
                          const hec_dropout_key *key, const hec_tensor *residual, hec_tensor *y,
                          hec_tensor *weights, hec_multi_head_kept **kept);
hec_status multi_head_bwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                          const hec_tensor *dy, const hec_tensor *x, const hec_tensor *memory,
                          const hec_mask *mask, const hec_dropout_key *key,
                          const hec_multi_head_kept *kept, bool add, hec_tensor *dx,
                          hec_tensor *dmemory, hec_tensor *dbias, hec_multi_head *grad);

/* q, k and v, or their gradients: rows as the projections see them, heads as attention does. */
typedef struct heads {
	hec_tensor q_rows;  /* [B·T, H·K], or with k and v behind in self-attention */
	hec_tensor kv_rows; /* [B·S, G·K + G·D]; self-attention: the same rows as q_rows */
	hec_tensor q, k, v; /* [B, T, H, K], [B, S, G, K], [B, S, G, D] */
} heads;

/* The buffers, and the heads as views of them. */
hec_status heads_make(hec_arena *arena, const hec_multi_head_config *c, hec_dtype dtype, int64_t B,
                      int64_t T, int64_t S, bool cross, heads *h);
/* q from x, k and v from memory (cross) or x; what has no input (NULL) is left out. */
hec_status multi_head_project(hec_ctx *ctx, const hec_multi_head *layer, const hec_tensor *x,
                              const hec_tensor *memory, bool cross, heads *h);
/* y = dropout(joined · W_O + b_O) + residual. */
hec_status multi_head_join(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                           const hec_dropout_key *key, const hec_tensor *joined, /* [B, T, H, D] */
                           const hec_tensor *residual,                           /* or NULL */
                           hec_tensor *y);
hec_attention_desc multi_head_desc(const hec_multi_head_config *c, const hec_dropout_key *key);

/* Keys and values that stay from one call to the next.
 *   self-attention: B sequences of their own. Each has first[b] keys, and count[b] of the T new
 *   positions are put behind them.
 *   cross-attention: sources, each looked at by `beams` sequences; nothing is added. */
typedef struct multi_head_cache {
	hec_tensor k, v;            /* [B or sources, S, G, K], [B or sources, S, G, D] */
	const int32_t *count;       /* [B] how many of the T positions are real; NULL: all */
	const int32_t *keys;        /* [B] keys that are there after this call, of each sequence */
	const int32_t *first;       /* self: [B] keys that were there before */
	const int32_t *source_keys; /* cross: [sources]; keys has the same for each sequence */
	int64_t beams;              /* cross; 0: self-attention */
	int64_t window;             /* self, as in hec_mask */
	hec_tensor bias;            /* self, as in hec_mask, or absent */
	hec_tensor q; /* [B, S', H, K] where queries are put too, at first[b]; or absent */
} multi_head_cache;

/* hec_multi_head_fwd on such a cache, without dropout. The same bits whatever else is in the batch. */
hec_status multi_head_step(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                           const hec_tensor *x, /* [B, T, C] */
                           const multi_head_cache *cache,
                           const hec_tensor *residual, /* [B, T, out], or NULL */
                           hec_tensor *y /* [B, T, out] written */);
/* Keys and values of cross-attention: memory of sources, put at the begin of each one's cache. */
hec_status multi_head_cache_memory(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                                   const hec_tensor *memory, /* [sources, S, M] */
                                   hec_tensor *k,            /* [sources, ≥ S, G, K] written */
                                   hec_tensor *v);

#endif
