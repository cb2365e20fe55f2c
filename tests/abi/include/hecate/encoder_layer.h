/* encoder_layer.h — self-attention, then the feed-forward network, each with a residual and a norm.
 *   post-norm (2017): h = norm₁(R(x) + attention(x));   y = norm₂(R(h) + ffn(h))
 *   pre-norm:         h = R(x) + attention(norm₁(x));   y = R(h) + ffn(norm₂(h))
 * R is the identity, or a learned linear where residual_linear asks for one. */
#ifndef HECATE_ENCODER_LAYER_H
#define HECATE_ENCODER_LAYER_H

#include <hecate/feed_forward.h>
#include <hecate/multi_head.h>
#include <hecate/norm.h>

HEC_BEGIN

typedef struct hec_encoder_layer_config { /* layer */
	size_t size;                      /* sizeof(hec_encoder_layer_config) */
	hec_multi_head_config attention;
	hec_feed_forward_config feed_forward;
	hec_norm_kind norm;
	double norm_eps; /* 0: 1e-5 */
	bool norm_first;
	bool residual_linear;
	uint16_t site; /* the first of HEC_ENCODER_LAYER_SITES; setup hands them to the parts */
} hec_encoder_layer_config;
#define HEC_ENCODER_LAYER_SITES (HEC_MULTI_HEAD_SITES + HEC_FEED_FORWARD_SITES)

typedef struct hec_encoder_layer { /* layer */
	hec_encoder_layer_config config;
	hec_multi_head attention;
	hec_feed_forward feed_forward;
	hec_norm norm1, norm2;
	hec_linear residual1, residual2; /* [C, C] where residual_linear */
} hec_encoder_layer;

/* Checks the configuration, fills in its zeros, and sets up a layer without parameters yet. */
HEC_API HEC_MUST_USE hec_status hec_encoder_layer_setup(const hec_encoder_layer_config *config,
                                                        hec_encoder_layer *layer);
HEC_API HEC_MUST_USE hec_status hec_encoder_layer_params(hec_encoder_layer *layer,
                                                         const char *prefix, hec_param_fn *fn,
                                                         void *user);

typedef struct hec_encoder_layer_kept hec_encoder_layer_kept;

HEC_API HEC_MUST_USE hec_status
hec_encoder_layer_fwd(hec_ctx *ctx, hec_arena *arena, const hec_encoder_layer *layer,
                      const hec_tensor *x,        /* [B, T, C] */
                      const hec_mask *mask,       /* or NULL */
                      const hec_dropout_key *key, /* NULL: no dropout */
                      hec_tensor *y,              /* [B, T, C] written; not x */
                      hec_tensor *weights,        /* [B, H, T, T] when asked for, or NULL */
                      hec_encoder_layer_kept **kept /* NULL: only running */);
HEC_API HEC_MUST_USE hec_status hec_encoder_layer_bwd(
	hec_ctx *ctx, hec_arena *arena, const hec_encoder_layer *layer, const hec_tensor *dy,
	const hec_tensor *x, const hec_mask *mask, const hec_dropout_key *key,
	const hec_encoder_layer_kept *kept, hec_tensor *dx, /* [B, T, C] added to */
	hec_tensor *dbias,                                  /* as mask->bias, added to; or NULL */
	hec_encoder_layer *grad /* added to */);

HEC_END

#endif
