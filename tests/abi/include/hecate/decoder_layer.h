/* decoder_layer.h — self-attention over what is written so far, cross-attention to the encoder's
 * output, then the feed-forward network, each with a residual and a norm as in encoder_layer.h.
 * Without cross-attention (cross.heads = 0) it is the layer of a decoder-only model. */
#ifndef HECATE_DECODER_LAYER_H
#define HECATE_DECODER_LAYER_H

#include <hecate/feed_forward.h>
#include <hecate/multi_head.h>
#include <hecate/norm.h>

HEC_BEGIN

typedef struct hec_decoder_layer_config { /* layer */
	size_t size;                      /* sizeof(hec_decoder_layer_config) */
	hec_multi_head_config self;
	hec_multi_head_config cross; /* heads 0: none */
	hec_feed_forward_config feed_forward;
	hec_norm_kind norm;
	double norm_eps; /* 0: 1e-5 */
	bool norm_first;
	bool residual_linear;
	uint16_t site; /* the first of HEC_DECODER_LAYER_SITES; setup hands them to the parts */
} hec_decoder_layer_config;
#define HEC_DECODER_LAYER_SITES (2 * HEC_MULTI_HEAD_SITES + HEC_FEED_FORWARD_SITES)

typedef struct hec_decoder_layer { /* layer */
	hec_decoder_layer_config config;
	hec_multi_head self, cross;
	hec_feed_forward feed_forward;
	hec_norm norm1, norm2, norm3;               /* of self, cross, feed_forward */
	hec_linear residual1, residual2, residual3; /* [C, C] where residual_linear */
} hec_decoder_layer;

HEC_API HEC_MUST_USE hec_status hec_decoder_layer_setup(const hec_decoder_layer_config *config,
                                                        hec_decoder_layer *layer);
HEC_API HEC_MUST_USE hec_status hec_decoder_layer_params(hec_decoder_layer *layer,
                                                         const char *prefix, hec_param_fn *fn,
                                                         void *user);

typedef struct hec_decoder_layer_kept hec_decoder_layer_kept;

HEC_API HEC_MUST_USE hec_status
hec_decoder_layer_fwd(hec_ctx *ctx, hec_arena *arena, const hec_decoder_layer *layer,
                      const hec_tensor *x,        /* [B, T, C] */
                      const hec_tensor *memory,   /* [B, S, M]; NULL without cross-attention */
                      const hec_mask *self_mask,  /* give a causal one to keep the future out */
                      const hec_mask *cross_mask, /* or NULL */
                      const hec_dropout_key *key, /* NULL: no dropout */
                      hec_tensor *y,              /* [B, T, C] written; not x */
                      hec_tensor *self_weights,   /* [B, H, T, T] when asked for, or NULL */
                      hec_tensor *cross_weights,  /* [B, H, T, S] when asked for, or NULL */
                      hec_decoder_layer_kept **kept /* NULL: only running */);
HEC_API HEC_MUST_USE hec_status hec_decoder_layer_bwd(
	hec_ctx *ctx, hec_arena *arena, const hec_decoder_layer *layer, const hec_tensor *dy,
	const hec_tensor *x, const hec_tensor *memory, const hec_mask *self_mask,
	const hec_mask *cross_mask, const hec_dropout_key *key, const hec_decoder_layer_kept *kept,
	hec_tensor *dx,      /* [B, T, C] added to */
	hec_tensor *dmemory, /* [B, S, M] added to; NULL without cross-attention */
	hec_tensor *dself_bias, hec_tensor *dcross_bias, /* added to; or NULL */
	hec_decoder_layer *grad /* added to */);

HEC_END

#endif
