/* ops.h — the few plain operations on tensors that a caller needs around the layers. */
#ifndef HECATE_OPS_H
#define HECATE_OPS_H

#include <hecate/context.h>
#include <hecate/tensor.h>

HEC_BEGIN

HEC_API HEC_MUST_USE hec_status hec_tensor_fill(hec_ctx *ctx, double value, hec_tensor *x);
/* y = x, with conversion where the types differ; any strides. */
HEC_API HEC_MUST_USE hec_status hec_tensor_copy(hec_ctx *ctx, const hec_tensor *x, hec_tensor *y);
/* y = alpha·a + beta·b; a and b broadcast to the shape of y; y may be a or b. */
HEC_API HEC_MUST_USE hec_status hec_tensor_add(hec_ctx *ctx, double alpha, const hec_tensor *a,
                                               double beta, const hec_tensor *b, hec_tensor *y);

HEC_END

#endif
