/* layers.h — multi-head attention, encoder layer and decoder layer behind one pair of calls, for
 * tests that hold for each of them. */
#ifndef TESTS_SUPPORT_LAYERS_H
#define TESTS_SUPPORT_LAYERS_H

#include "support/test.h"

typedef enum layer_kind {
	LAYER_SELF,        /* multi-head self-attention, one fused projection */
	LAYER_CROSS,       /* multi-head cross-attention */
	LAYER_ENCODER,     /* post-norm, ReLU */
	LAYER_ENCODER_PRE, /* pre-norm RMS, SwiGLU */
	LAYER_DECODER,     /* post-norm, GELU */
	LAYER_DECODER_PRE, /* pre-norm, ReLU */
	LAYER_DECODER_ONLY /* without cross-attention */
} layer_kind;
#define LAYER_KINDS 7
const char *layer_name(layer_kind kind);
bool layer_has_memory(layer_kind kind);

typedef struct layer {
	kit *k;
	layer_kind kind;
	hec_dtype dtype;
	int64_t C, H;
	hec_multi_head multi_head, multi_head_grad;
	hec_encoder_layer encoder, encoder_grad;
	hec_decoder_layer decoder, decoder_grad;
	param_list params, grads; /* the gradients start as zeros */
} layer;

/* dropout: p of every dropout in it. Not to be copied: the lists point into it. */
void layer_open(layer *l, kit *k, layer_kind kind, hec_dtype dtype, int64_t C, int64_t H, int64_t F,
                double dropout);
void layer_pack(layer *l, hec_ctx *ctx, hec_arena *arena); /* every linear, also for backward */
void layer_zero_grads(layer *l);

typedef struct layer_io {
	hec_tensor x, memory, dy;  /* [B, T, C], [B, S, C], [B, T, C] */
	hec_mask mask, cross_mask; /* of self-attention (of the only one), and of cross-attention */
	const hec_dropout_key *key;
	hec_tensor y, dx, dmemory; /* results; the gradients start as zeros */
} layer_io;

layer_io layer_io_open(layer *l, int64_t B, int64_t T, int64_t S);
/* kept NULL: only running. */
hec_status layer_fwd(layer *l, hec_ctx *ctx, hec_arena *arena, layer_io *io, void **kept);
hec_status layer_bwd(layer *l, hec_ctx *ctx, hec_arena *arena, layer_io *io, void *kept);

#endif
