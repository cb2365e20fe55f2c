/* stack.h — a stack of layers on its embeddings, forward and backward:
 *
 *   x₀ = dropout(norm(scale·table[id] + types[type] + positions[t]))   norm where asked for
 *   x₀ = dropout(norm(front(features)[t] + positions[t]))              an encoder of frames
 *   x₁ … x_L = the layers;   out = norm(x_L) where asked for */
#ifndef MODEL_STACK_H
#define MODEL_STACK_H

#include "model/model.h"

/* What one run of a stack reads. */
typedef struct stack_call {
	hec_ctx *ctx;
	hec_arena *arena;
	const hec_dropout_key *key; /* NULL: no dropout */
	hec_tensor ids;             /* [B, T] i32, contiguous */
	hec_tensor features;        /* [B, features, 2·T] instead, of an encoder of frames */
	hec_tensor types;           /* [B, T] i32, or absent: all 0 */
	const int32_t *length;      /* [B], or NULL */
	hec_tensor memory;          /* [B, S, C] where the layers have cross-attention */
	const int32_t *memory_length;
	hec_tensor mask, memory_mask;      /* [B, T], [B, S] i8: 0 is seen by no one; or absent */
	hec_tensor weights, cross_weights; /* [L·B, H, T, T], [L·B, H, T, S] written; or absent */
	int64_t only; /* > 0: weights are [B, H, T, S], of layer only − 1 alone */
} stack_call;

typedef struct front_kept {
	hec_tensor pre1, a1; /* [B, 2·T, C] of the first convolution: before and after GELU */
	hec_tensor pre2;     /* [B, T, C] of the second */
} front_kept;

typedef struct embed_kept {
	front_kept front;
	hec_tensor rows; /* [B·T] i32 of the table of positions, where padding is not counted */
	hec_tensor sum;  /* [B, T, C] what the norm was given */
	hec_norm_kept norm;
} embed_kept;

typedef struct stack_kept {
	embed_kept embed;
	hec_tensor *x; /* [L + 1] input of each layer, and the last one's output */
	hec_encoder_layer_kept **encoder; /* [L], one of the two */
	hec_decoder_layer_kept **decoder;
	hec_norm_kept final_norm;
	hec_tensor bias; /* the relative one, or absent */
} stack_kept;

hec_status embed_fwd(const stack_call *call, const model_stack *s, hec_tensor *x, /* [B, T, C] */
                     embed_kept *kept /* NULL: only running */);
hec_status embed_bwd(const stack_call *call, const model_stack *s, const embed_kept *kept,
                     hec_tensor *dx, /* overwritten */
                     model_stack *grad);

/* What an encoder of frames has instead of a table. */
hec_status front_fwd(const stack_call *call, const model_stack *s, hec_tensor *x, /* [B, T, C] */
                     front_kept *kept /* NULL: only running */);
hec_status front_bwd(const stack_call *call, const model_stack *s, const front_kept *kept,
                     const hec_tensor *dx, /* overwritten */
                     model_stack *grad);

/* The sum that embed_fwd begins with, at positions of the caller's: a session's. */
hec_status embed_at(const stack_call *call, const model_stack *s,
                    const hec_tensor *positions, /* [B·T] i32 */
                    hec_tensor *x /* [B, T, C] written */);

hec_status stack_fwd(const stack_call *call, const model_stack *s,
                     hec_tensor *out, /* [B, T, C] made in the arena */
                     stack_kept *kept /* NULL: only running */);
hec_status stack_bwd(const stack_call *call, const model_stack *s, const stack_kept *kept,
                     hec_tensor *dout,    /* overwritten */
                     hec_tensor *dmemory, /* added to; NULL without cross-attention */
                     model_stack *grad);

/* The window of a layer; 0: it sees all. */
int64_t stack_window(const model_stack *s, int64_t layer);

/* The norm over the rows of [B, T, C]. */
hec_status norm_rows_fwd(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *x,
                         const hec_tensor *y, hec_norm_kept *kept);
hec_status norm_rows_bwd(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *dy,
                         const hec_tensor *x, const hec_norm_kept *kept, const hec_tensor *dx,
                         hec_norm *grad);
hec_status norm_keep(hec_arena *arena, hec_dtype dtype, int64_t rows, hec_norm_kept *kept);

#endif
