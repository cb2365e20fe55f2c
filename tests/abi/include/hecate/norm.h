/* norm.h — layer norm and RMS norm over the last axis.
 *   layer: y = (x − mean) / √(var + eps) · gamma + beta
 *   rms:   y = x / √(mean(x²) + eps) · gamma
 * A row whose squares add up to more than an f32 holds (numbers near 1e18) is NaN. */
#ifndef HECATE_NORM_H
#define HECATE_NORM_H

#include <hecate/context.h>
#include <hecate/tensor.h>

HEC_BEGIN

typedef enum hec_norm_kind { HEC_NORM_LAYER = 0, HEC_NORM_RMS } hec_norm_kind;

typedef struct hec_norm { /* layer */
	hec_norm_kind kind;
	double eps;
	hec_tensor gamma; /* [C] */
	hec_tensor beta;  /* [C], or absent */
} hec_norm;

/* What forward keeps for backward: two numbers a row. */
typedef struct hec_norm_kept { /* layer */
	hec_tensor mean;       /* [N]; unused by rms */
	hec_tensor rstd;       /* [N] */
} hec_norm_kept;

HEC_API HEC_MUST_USE hec_status hec_norm_fwd(hec_ctx *ctx, const hec_norm *norm,
                                             const hec_tensor *x, /* [N, C] */
                                             hec_tensor *y,       /* [N, C] written, may be x */
                                             hec_norm_kept *kept /* written; NULL: only running */);
HEC_API HEC_MUST_USE hec_status hec_norm_bwd(hec_ctx *ctx, const hec_norm *norm,
                                             const hec_tensor *dy, /* [N, C] */
                                             const hec_tensor *x,  /* [N, C] forward's input */
                                             const hec_norm_kept *kept,
                                             hec_tensor *dx, /* [N, C] added to; may not be dy */
                                             hec_norm *grad /* gamma, beta added to, or NULL */);

HEC_END

#endif
