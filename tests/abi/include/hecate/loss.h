/* loss.h — softmax cross-entropy with label smoothing and ignored positions.
 *   loss_n = −(1 − ε)·log p(target_n) − ε/V·Σ_v log p(v);  0 where target_n = ignore */
#ifndef HECATE_LOSS_H
#define HECATE_LOSS_H

#include <hecate/context.h>
#include <hecate/tensor.h>

HEC_BEGIN

typedef struct hec_cross_entropy { /* options */
	size_t size;               /* sizeof(hec_cross_entropy) */
	double smoothing;          /* ε, 0 ≤ ε < 1 */
	int32_t ignore;            /* targets of this value do not count; −100 by custom */
} hec_cross_entropy;

/* clang-format off */
#define HEC_CROSS_ENTROPY_INIT {.size = sizeof(hec_cross_entropy), .ignore = -100}
/* clang-format on */

/* A target outside 0 … V−1 that is not `ignore` is an error that names its position. */
HEC_API HEC_MUST_USE hec_status hec_cross_entropy_fwd(
	hec_ctx *ctx, const hec_cross_entropy *options, const hec_tensor *logits, /* [N, V] */
	const hec_tensor *targets,                                                /* [N] i32 */
	hec_tensor *losses,                                                       /* [N] written */
	hec_tensor *lse /* [N] written: logsumexp of the logits, for backward */);

/* Sum of the losses and how many positions counted. */
HEC_API HEC_MUST_USE hec_status hec_cross_entropy_sum(hec_ctx *ctx,
                                                      const hec_cross_entropy *options,
                                                      const hec_tensor *losses,
                                                      const hec_tensor *targets, double *sum,
                                                      int64_t *count);

HEC_API HEC_MUST_USE hec_status
hec_cross_entropy_bwd(hec_ctx *ctx, const hec_cross_entropy *options, const hec_tensor *logits,
                      const hec_tensor *targets, const hec_tensor *lse,
                      double scale, /* gradient of each loss: 1/count for the mean */
                      hec_tensor *dlogits /* [N, V] written, may be logits */);

HEC_END

#endif
