/* attention.h — scaled dot-product attention, in one pass: no T×S matrix is ever stored.
 *
 *   score(t, s)  = scale · q_t·k_s + bias(t, s)
 *   weight(t, s) = exp(score(t, s)) / Σ over visible s' of exp(score(t, s'))
 *   out_t        = Σ over visible s of dropout(weight(t, s)) · v_s
 *
 * An invisible key contributes exactly nothing, even where k or v hold NaN or Inf. A query that
 * sees no key gives output 0, weights 0, gradients 0 and logsumexp −inf. */
#ifndef HECATE_ATTENTION_H
#define HECATE_ATTENTION_H

#include <hecate/context.h>
#include <hecate/dropout.h>
#include <hecate/tensor.h>

HEC_BEGIN

typedef struct hec_attention_desc { /* options */
	size_t size;                /* sizeof(hec_attention_desc) */
	double scale;               /* 0: 1/√K */
	hec_dropout dropout;        /* on the weights; all zeros: none */
} hec_attention_desc;

/* clang-format off */
#define HEC_ATTENTION_DESC_INIT {.size = sizeof(hec_attention_desc)}
/* clang-format on */

/* Who may look at whom. A key must be visible by every rule that is given. NULL for a mask: every
 * key is visible to every query. */
typedef struct hec_mask {             /* options */
	size_t size;                  /* sizeof(hec_mask) */
	bool causal;                  /* s ≤ t + offset */
	int64_t window;               /* > 0: 0 ≤ t + offset − s < window */
	const int32_t *causal_offset; /* [B]; NULL: key length − query length of each sequence */
	const int32_t *query_length;  /* [B]; NULL: all T. Later queries see nothing */
	const int32_t *key_length;    /* [B]; NULL: all S. Later keys are seen by no one */
	hec_tensor visible; /* i8, broadcastable to [B, H, T, S]: 0 is invisible; or absent */
	hec_tensor bias;    /* as q, broadcastable to [B, H, T, S]: added to the scores,
	                                 −inf means invisible; or absent */
} hec_mask;

/* clang-format off */
#define HEC_MASK_INIT {.size = sizeof(hec_mask)}
/* clang-format on */

/* Strides are free, here and in the backward pass. Rows whose numbers do not follow one another (the
 * last axis is not contiguous) are copied first, into memory that the context keeps. */
HEC_API HEC_MUST_USE hec_status
hec_attention_fwd(hec_ctx *ctx, const hec_attention_desc *desc, /* NULL: the defaults */
                  const hec_tensor *q,                          /* [B, T, H, K], any strides */
                  const hec_tensor *k,                          /* [B, S, G, K], H mod G = 0 */
                  const hec_tensor *v,                          /* [B, S, G, D] */
                  const hec_mask *mask,                         /* NULL: everything is visible */
                  hec_tensor *out,                              /* [B, T, H, D] written */
                  hec_tensor *lse /* [B, H, T] logsumexp of the scores, for backward; or NULL */);

HEC_API HEC_MUST_USE hec_status
hec_attention_bwd(hec_ctx *ctx, const hec_attention_desc *desc, const hec_tensor *q,
                  const hec_tensor *k, const hec_tensor *v, const hec_mask *mask,
                  const hec_tensor *out, const hec_tensor *lse, /* forward's */
                  const hec_tensor *dout,                       /* [B, T, H, D] */
                  hec_tensor *dq,                               /* as q, written */
                  hec_tensor *dk,                               /* as k, written */
                  hec_tensor *dv,                               /* as v, written */
                  hec_tensor *dbias /* shaped as mask->bias, added to; or NULL */);

/* The weights, made again from q and k (without dropout); lse says which rows see anything. Pass
 * slices of q and lse for the rows and heads of interest. first_head says which head of H (and
 * first_query which query of T) the slices begin with; heads and queries are those of the whole
 * call. */
typedef struct hec_attention_part { /* options */
	size_t size;                /* sizeof(hec_attention_part) */
	int64_t first_head, heads;
	int64_t first_query, queries;
} hec_attention_part;

/* clang-format off */
#define HEC_ATTENTION_PART_INIT {.size = sizeof(hec_attention_part)}
/* clang-format on */

HEC_API HEC_MUST_USE hec_status
hec_attention_weights(hec_ctx *ctx, const hec_attention_desc *desc,
                      const hec_attention_part *part, /* NULL: q and lse are whole */
                      const hec_tensor *q,            /* [B, t, h, K] of the part */
                      const hec_tensor *k,            /* [B, S, G, K] whole */
                      const hec_mask *mask,           /* of the whole call */
                      const hec_tensor *lse,          /* [B, h, t] of the part */
                      hec_tensor *weights /* [B, h, t, S] written */);

/* The same computation step by step by the reference, with every matrix stored: for learning and
 * for checking, not for speed. Each tensor that is not NULL is written, [B, H, T, S] but out. */
typedef struct hec_attention_steps { /* options */
	size_t size;                 /* sizeof(hec_attention_steps) */
	hec_tensor *scores;          /* q·k */
	hec_tensor *scaled;          /* scale · q·k + bias */
	hec_tensor *masked;          /* the same, −inf where invisible */
	hec_tensor *weights;         /* softmax of the rows */
	hec_tensor *out; /* [B, T, H, D] weights · v, with dropout where the desc has it */
} hec_attention_steps;

/* clang-format off */
#define HEC_ATTENTION_STEPS_INIT {.size = sizeof(hec_attention_steps)}
/* clang-format on */

HEC_API HEC_MUST_USE hec_status hec_attention_unfused(hec_ctx *ctx, const hec_attention_desc *desc,
                                                      const hec_tensor *q, const hec_tensor *k,
                                                      const hec_tensor *v, const hec_mask *mask,
                                                      const hec_attention_steps *steps);

HEC_END

#endif
