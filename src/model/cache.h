/* cache.h — what a session keeps of the tokens it has seen.
 *
 * Everything of one row lies together, layer after layer, so that a row moves in one copy; the
 * tensors of one layer are views with the stride of a whole row. */
#ifndef MODEL_CACHE_H
#define MODEL_CACHE_H

#include <hecate/session.h>

#include "model/model.h"

typedef struct session_cache {
	int64_t layers, rows, beams;
	hec_tensor k, v;             /* [(rows + 1)·L, max_target, G, K or D]; the last is spare */
	hec_tensor q, cross_q;       /* the same of queries [H, K], where attention is kept */
	hec_tensor cross_k, cross_v; /* [sources·L, max_source, G, K or D], or absent */
	int32_t *length;             /* [rows + 1] tokens in each row */
	int32_t *source_length;      /* [sources] */
	int32_t *row_source;         /* [rows] the same for each row */
	int32_t *source_ids;         /* [sources, max_source], where attention is kept */
	hec_tensor
		source_features; /* [sources, bands, frames] instead, of a model that reads frames */
	int64_t max_source;
	int32_t *zero_to, *lengths; /* [L] 0, 1, …; [L] of a move */
	int32_t *from;              /* [rows] of a reordering */
} session_cache;

/* Makes it in the arena. */
hec_status cache_make(hec_arena *arena, const hec_model *model, const hec_session_options *options,
                      session_cache *cache);

/* Layer l of rows first … first + n − 1 of one of the tensors: [n, max, …]. */
hec_tensor cache_layer(const session_cache *cache, const hec_tensor *all, int64_t l, int64_t first,
                       int64_t n);

/* Row r becomes what row from[r] was. */
hec_status cache_reorder(hec_ctx *ctx, session_cache *cache, const int32_t *from, int64_t rows);
/* Source i and its rows become what source keep[i] was; keep rises. */
hec_status cache_keep(hec_ctx *ctx, session_cache *cache, const int64_t *keep, int64_t n);

#endif
