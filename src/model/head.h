/* head.h — from hidden states to logits, forward and backward. */
#ifndef MODEL_HEAD_H
#define MODEL_HEAD_H

#include "model/model.h"

typedef struct head_kept {
	hec_tensor pre, act; /* [N, C] the dense layer before and (MASKED) after its activation */
	hec_norm_kept norm;  /* MASKED */
	hec_tensor in;       /* [N, C] what the last linear was given */
	hec_tensor pooled;   /* CLASSIFY, not plain: [N, C] after its activation, before dropout */
} head_kept;

/* The rows that the head reads: all positions, or one of each sequence. */
hec_status head_rows(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                     const hec_model_input *input, const hec_tensor *hidden, /* [B, T, C] */
                     hec_tensor *rows /* [N, C] a view, or in the arena */);
/* A place for their gradient, and dhidden zero where the head reads nothing; head_put_drows puts it
 * where it belongs, unless it is a view. */
hec_status head_drows(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                      hec_tensor *dhidden, /* [B, T, C] */
                      hec_tensor *drows /* [N, C] a view, or in the arena */);
hec_status head_put_drows(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                          const hec_model_input *input, const hec_tensor *drows,
                          hec_tensor *dhidden);
/* Logits of one row: V, labels or 2. 0: there is no head. */
int64_t head_width(const hec_model *m);

/* A pooler's output. */
hec_status head_pool(hec_ctx *ctx, const hec_model *m, const hec_tensor *hidden, /* [B, T, C] */
                     hec_tensor *pooled /* [B, C] written, contiguous */);

/* What is kept, and what is needed while it runs, is left in the arena. */
hec_status head_fwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m, const hec_dropout_key *key,
                    const hec_tensor *rows, /* [N, C] */
                    hec_tensor *logits,     /* [N, width] written */
                    head_kept *kept);
hec_status head_bwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m, const hec_dropout_key *key,
                    const head_kept *kept, const hec_tensor *rows,
                    hec_tensor *dlogits, /* overwritten */
                    hec_tensor *drows,   /* [N, C] written */
                    hec_model *grad);

#endif
