/* activation.h — the curves between two linears, and their gated forms. */
#ifndef HECATE_ACTIVATION_H
#define HECATE_ACTIVATION_H

#include <hecate/context.h>
#include <hecate/tensor.h>

HEC_BEGIN

typedef enum hec_activation {
	HEC_ACT_NONE = 0,
	HEC_ACT_RELU,      /* max(x, 0) */
	HEC_ACT_GELU,      /* x · Φ(x), by erf */
	HEC_ACT_GELU_TANH, /* its approximation by tanh */
	HEC_ACT_SILU,      /* x · sigmoid(x) */
	HEC_ACT_TANH
} hec_activation;
#define HEC_ACTIVATIONS 6

HEC_API const char *hec_activation_name(hec_activation act); /* "gelu"; "?" if unknown */

HEC_API HEC_MUST_USE hec_status hec_activation_fwd(hec_ctx *ctx, hec_activation act,
                                                   const hec_tensor *x, /* [N, C] */
                                                   hec_tensor *y /* [N, C] written, may be x */);
HEC_API HEC_MUST_USE hec_status hec_activation_bwd(hec_ctx *ctx, hec_activation act,
                                                   const hec_tensor *dy, /* [N, C] */
                                                   const hec_tensor *x,  /* forward's input */
                                                   hec_tensor *dx /* written, may be dy */);

/* y = act(gate) · up: gated GELU with HEC_ACT_GELU or HEC_ACT_GELU_TANH, SwiGLU with HEC_ACT_SILU. */
HEC_API HEC_MUST_USE hec_status hec_gated_fwd(hec_ctx *ctx, hec_activation act,
                                              const hec_tensor *gate, /* [N, F] */
                                              const hec_tensor *up,   /* [N, F] */
                                              hec_tensor *y /* [N, F] written, may be either */);
HEC_API HEC_MUST_USE hec_status hec_gated_bwd(hec_ctx *ctx, hec_activation act,
                                              const hec_tensor *dy, const hec_tensor *gate,
                                              const hec_tensor *up, hec_tensor *dgate, /* written */
                                              hec_tensor *dup /* written */);

HEC_END

#endif
