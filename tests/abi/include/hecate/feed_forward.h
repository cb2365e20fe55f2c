/* feed_forward.h — the position-wise network:
 *   plain: y = down(dropout(act(up(x))))
 *   gated: y = down(dropout(act(gate(x)) · up(x)))   gated GELU, SwiGLU */
#ifndef HECATE_FEED_FORWARD_H
#define HECATE_FEED_FORWARD_H

#include <hecate/dropout.h>
#include <hecate/param.h>

HEC_BEGIN

typedef struct hec_feed_forward_config { /* layer */
	size_t size;                     /* sizeof(hec_feed_forward_config) */
	int64_t width;                   /* C */
	int64_t hidden;                  /* F */
	hec_activation act;
	bool gated;
	bool no_bias;
	double dropout_hidden, dropout_out;
	uint16_t site; /* the first of HEC_FEED_FORWARD_SITES dropout sites */
} hec_feed_forward_config;
#define HEC_FEED_FORWARD_SITES 2

typedef struct hec_feed_forward { /* layer */
	hec_feed_forward_config config;
	hec_linear gate; /* [F, C] where gated */
	hec_linear up;   /* [F, C] */
	hec_linear down; /* [C, F] */
} hec_feed_forward;

HEC_API HEC_MUST_USE hec_status hec_feed_forward_params(hec_feed_forward *layer, const char *prefix,
                                                        hec_param_fn *fn, void *user);

typedef struct hec_feed_forward_kept hec_feed_forward_kept;

HEC_API HEC_MUST_USE hec_status
hec_feed_forward_fwd(hec_ctx *ctx, hec_arena *arena, const hec_feed_forward *layer,
                     const hec_tensor *x,        /* [N, C] */
                     const hec_dropout_key *key, /* NULL: no dropout */
                     const hec_tensor *residual, /* [N, C] added at the end, or NULL */
                     hec_tensor *y,              /* [N, C] written */
                     hec_feed_forward_kept **kept /* NULL: only running */);
HEC_API HEC_MUST_USE hec_status hec_feed_forward_bwd(hec_ctx *ctx, hec_arena *arena,
                                                     const hec_feed_forward *layer,
                                                     const hec_tensor *dy, const hec_tensor *x,
                                                     const hec_dropout_key *key,
                                                     const hec_feed_forward_kept *kept,
                                                     hec_tensor *dx, /* [N, C] added to */
                                                     hec_feed_forward *grad /* added to */);

HEC_END

#endif
