/* linear.h — y = x·Wᵀ + b, W stored [out, in] as PyTorch and safetensors files have it. */
#ifndef HECATE_LINEAR_H
#define HECATE_LINEAR_H

#include <hecate/activation.h>
#include <hecate/arena.h>
#include <hecate/context.h>

HEC_BEGIN

/* A matrix laid out as one level's kernel wants it. Made by hec_linear_pack, read by that level. */
typedef struct hec_packed { /* layer */
	const void *data;   /* NULL: not packed */
	int64_t k, n;       /* the matrix is [k, n] */
	size_t bytes;       /* of data */
	const void *layout; /* names the kernel that made it; another one ignores the pack */
} hec_packed;

typedef struct hec_linear { /* layer */
	hec_tensor
		w; /* [out, in]; without data where w_fwd is all that there is: it then only runs,
	                     at the level that packed it */
	hec_tensor b;     /* [out], or absent */
	hec_packed w_fwd; /* Wᵀ packed for the forward pass, or absent */
	hec_packed w_bwd; /* W packed for dx, or absent */
} hec_linear;

/* Packs the weights for the level of ctx into the arena: once when a model is loaded, once a step
 * while it learns (w must not change under a pack). A second call packs into the same place,
 * which the arena must not have been rewound past.
 * with_bwd: also what the backward pass reads. Without a pack every call packs as it goes. */
HEC_API HEC_MUST_USE hec_status hec_linear_pack(hec_ctx *ctx, hec_arena *arena, bool with_bwd,
                                                hec_linear *linear);

/* y = act(x·Wᵀ + b) + residual. */
HEC_API HEC_MUST_USE hec_status
hec_linear_fwd(hec_ctx *ctx, const hec_linear *linear, hec_activation act,
               const hec_tensor *x,        /* [N, in] */
               const hec_tensor *residual, /* [N, out], or NULL; may be y */
               hec_tensor *y,              /* [N, out] written */
               hec_tensor *pre /* [N, out] the value before act, for backward; or NULL */);

/* dy is the gradient at x·Wᵀ + b, before any activation. */
HEC_API HEC_MUST_USE hec_status
hec_linear_bwd(hec_ctx *ctx, const hec_linear *linear, const hec_tensor *dy, /* [N, out] */
               const hec_tensor *x, /* [N, in] forward's input */
               hec_tensor *dx,      /* [N, in] added to, or NULL */
               hec_linear *grad /* w, b added to; absent: skipped */);

HEC_END

#endif
