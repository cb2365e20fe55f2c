/* adamw.h — Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as PyTorch computes it. */
#ifndef HECATE_ADAMW_H
#define HECATE_ADAMW_H

#include <hecate/context.h>
#include <hecate/tensor.h>

HEC_BEGIN

typedef struct hec_adamw { /* options */
	size_t size;       /* sizeof(hec_adamw) */
	double lr, beta1, beta2, eps, weight_decay;
	double grad_scale; /* each gradient is multiplied by this first: clipping, averaging */
} hec_adamw;

/* clang-format off */
#define HEC_ADAMW_INIT \
	{.size = sizeof(hec_adamw), .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01, .grad_scale = 1.0}
/* clang-format on */

/* One step; step counts from 1. m and v start as zeros. All four have the shape of w. v holds squares: of
 * a |dw · grad_scale| beyond 1.8e19 it becomes Inf, and that weight only decays from then on. */
HEC_API HEC_MUST_USE hec_status hec_adamw_step(hec_ctx *ctx, const hec_adamw *options, int64_t step,
                                               const hec_tensor *dw, hec_tensor *m, /* updated */
                                               hec_tensor *v,                       /* updated */
                                               hec_tensor *w /* updated */);

/* Adds Σ x² to *sum: the square of a gradient's norm, gathered over many tensors. */
HEC_API HEC_MUST_USE hec_status hec_sum_squares(hec_ctx *ctx, const hec_tensor *x, double *sum);

HEC_END

#endif
