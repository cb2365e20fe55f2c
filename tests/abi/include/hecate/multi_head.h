/* multi_head.h — multi-head attention: project, attend per head, join, project. */
#ifndef HECATE_MULTI_HEAD_H
#define HECATE_MULTI_HEAD_H

#include <hecate/attention.h>
#include <hecate/param.h>
#include <hecate/position.h>

HEC_BEGIN

typedef struct hec_multi_head_config { /* layer */
	size_t size;                   /* sizeof(hec_multi_head_config) */
	int64_t width;                 /* C of x */
	int64_t heads;                 /* H */
	int64_t kv_heads;              /* G; 0: H */
	int64_t d_k;                   /* K; 0: C / H, which must divide */
	int64_t d_v;                   /* D; 0: d_k where that was given, else C / H */
	int64_t memory_width;          /* width of what keys and values come from; 0: C */
	int64_t out_width;             /* 0: C */
	bool fused;                    /* one projection for q, k and v, stored as such */
	bool no_bias;                  /* of q, k, v */
	bool no_out_bias;
	bool no_k_bias; /* of k alone (Whisper); not where fused */
	double scale;   /* 0: 1/√K */
	double dropout_qkv, dropout_weights, dropout_out;
	uint16_t site; /* the first of HEC_MULTI_HEAD_SITES dropout sites */
} hec_multi_head_config;
#define HEC_MULTI_HEAD_SITES 5

typedef struct hec_multi_head { /* layer */
	hec_multi_head_config config;
	hec_linear q, k, v;       /* [H·K, C], [G·K, M], [G·D, M]; not where fused */
	hec_linear qkv;           /* [H·K + G·K + G·D, C] where fused */
	hec_linear out;           /* [out_width, H·D] */
	const hec_rotary *rotary; /* turns q and k; or NULL */
} hec_multi_head;

/* Fills in the zeros of a configuration and checks it: what does not divide is said with its
 * numbers. Every other call expects a configuration that went through here. */
HEC_API HEC_MUST_USE hec_status hec_multi_head_resolve(hec_multi_head_config *config);

HEC_API HEC_MUST_USE hec_status hec_multi_head_params(hec_multi_head *layer, const char *prefix,
                                                      hec_param_fn *fn, void *user);

typedef struct hec_multi_head_kept hec_multi_head_kept; /* lives in the arena */

HEC_API HEC_MUST_USE hec_status
hec_multi_head_fwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                   const hec_tensor *x,        /* [B, T, C] */
                   const hec_tensor *memory,   /* [B, S, M] cross-attention; NULL: x itself */
                   const hec_mask *mask,       /* or NULL */
                   const hec_dropout_key *key, /* NULL: no dropout */
                   const hec_tensor *residual, /* [B, T, out] added at the end, or NULL */
                   hec_tensor *y,              /* [B, T, out] written */
                   hec_tensor *weights,        /* [B, H, T, S] written when asked for, or NULL */
                   hec_multi_head_kept **kept /* NULL: only running */);

HEC_API HEC_MUST_USE hec_status
hec_multi_head_bwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                   const hec_tensor *dy, const hec_tensor *x, const hec_tensor *memory,
                   const hec_mask *mask, const hec_dropout_key *key,
                   const hec_multi_head_kept *kept, hec_tensor *dx, /* [B, T, C] added to */
                   hec_tensor *dmemory, /* [B, S, M] added to; NULL without memory */
                   hec_tensor *dbias,   /* as mask->bias, added to; or NULL */
                   hec_multi_head *grad /* added to */);

HEC_END

#endif
