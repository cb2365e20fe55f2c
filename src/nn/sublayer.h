/* sublayer.h — one part of a layer (attention, cross-attention or feed-forward) with its residual
 * and its norm:
 *
 *   post-norm: y = norm(R(x) + f(x))
 *   pre-norm:  y = R(x) + f(norm(x))
 *
 * R is the identity or a learned linear. An encoder layer is two of these in a row, a decoder layer
 * three: both are lists. */
#ifndef NN_SUBLAYER_H
#define NN_SUBLAYER_H

#include <hecate/feed_forward.h>
#include <hecate/multi_head.h>
#include <hecate/norm.h>

#define MAX_SUBLAYERS 3

typedef struct sublayer {
	const hec_multi_head *attention;      /* f is this … */
	const hec_feed_forward *feed_forward; /* … or this */
	const hec_norm *norm;
	const hec_linear *residual; /* NULL: the identity */
	bool norm_first;
	const hec_tensor *memory;             /* attention: what it looks at; NULL: x itself */
	const hec_mask *mask;                 /* attention: or NULL */
	hec_tensor *weights;                  /* attention: written when asked for, or NULL */
	const struct multi_head_cache *cache; /* attention: goes on from here; or NULL */
} sublayer;

/* The gradients of a sublayer, in step with it; all are added to. */
typedef struct sublayer_grad {
	hec_multi_head *attention;
	hec_feed_forward *feed_forward;
	hec_norm *norm;
	hec_linear *residual;
	hec_tensor *dmemory;
	hec_tensor *dbias;
} sublayer_grad;

typedef struct sublayer_kept {
	hec_tensor x;   /* its input: the output of the one before */
	hec_tensor in;  /* what f was given: norm(x), or x */
	hec_tensor sum; /* R(x) + f(in) */
	hec_norm_kept norm;
	hec_multi_head_kept *attention;
	hec_feed_forward_kept *feed_forward;
} sublayer_kept;

/* What the configurations of encoder and decoder layers have in common. */
hec_status sublayers_check_config(const char *name, const hec_feed_forward_config *feed_forward,
                                  hec_norm_kind norm, double norm_eps, unsigned site,
                                  unsigned sites);

/* x [B, T, C] through n sublayers to y [B, T, C]; kept [n], or NULL when only running. */
hec_status sublayers_fwd(hec_ctx *ctx, hec_arena *arena, const sublayer *list, int n,
                         const hec_tensor *x, const hec_dropout_key *key, hec_tensor *y,
                         sublayer_kept *kept);

/* dx is added to. */
hec_status sublayers_bwd(hec_ctx *ctx, hec_arena *arena, const sublayer *list, int n,
                         const hec_tensor *dy, const hec_tensor *x, const hec_dropout_key *key,
                         const sublayer_kept *kept, hec_tensor *dx, const sublayer_grad *grads);

#endif
