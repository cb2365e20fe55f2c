/* backend.h — the table of operations: the whole contract between the neural network and a device.
 *
 * Layers, models, decoding and training never test which device or level they are on: they call
 * BACKEND(ctx, dtype, op, args). Every slot takes a context and one struct of arguments, could be
 * one launch on another device, and may be asynchronous there. The layers above have checked shapes
 * and types; slots do no checking, and can fail only for memory.
 *
 * `ref` fills every slot in f32 and f64; each instruction level overwrites the slots it has. A slot
 * that a dtype lacks is NULL, and calling it is HEC_ERR_UNSUPPORTED with its name. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include <hecate/activation.h>
#include <hecate/attention.h>
#include <hecate/context.h>
#include <hecate/dropout.h>
#include <hecate/linear.h>
#include <hecate/norm.h>
#include <hecate/tensor.h>

/* c = act(a·b + bias) + residual. Strides are free, so a transpose is a view. */
typedef struct gemm_args {
	const hec_tensor *a; /* [M, K] */
	const hec_tensor *b; /* [K, N] */
	const hec_packed
		*packed;        /* b packed ahead, or NULL; ignored where made by another kernel */
	const hec_tensor *bias; /* [N], or NULL */
	hec_activation act;
	const hec_tensor *residual; /* [M, N], or NULL; may be c */
	bool accumulate;            /* c += a·b + bias; then there is no act, pre or residual */
	hec_tensor *pre;            /* [M, N] the value before act, or NULL */
	hec_tensor *c;              /* [M, N] */
} gemm_args;

typedef struct gemm_pack_args {
	const hec_tensor *b; /* [K, N], or a piece of it */
	void *data;          /* gemm_pack_size bytes, 64-byte aligned */
	hec_packed *out;     /* written: points at data */
	/* NULL, or the pack that b is a piece of, of this level's layout: data and out are then not
	 * looked at. */
	const hec_packed *into;
	int64_t k, n; /* where the piece begins in it */
} gemm_pack_args;

/* Shared by all attention slots. H = heads of q, G = heads of k and v. */
typedef struct attention_args {
	double scale;
	hec_dropout dropout;
	const hec_tensor *q; /* [B, T, H, K] */
	const hec_tensor *k; /* [B, S, G, K] */
	const hec_tensor *v; /* [B, S, G, D]; NULL for weights */
	hec_mask mask;       /* complete: size is right; visible and bias, where present, have been
	                            broadcast to rank 4 [B, H, T, S] with zero strides */
	const hec_tensor *out;  /* [B, T, H, D]: written by fwd, read by bwd */
	const hec_tensor *lse;  /* [B, H, T] or NULL: written by fwd, read by bwd and weights */
	const hec_tensor *dout; /* bwd: [B, T, H, D] */
	const hec_tensor *dq, *dk, *dv; /* bwd: written */
	const hec_tensor *dbias;   /* bwd: [B, H, T, S] with zero strides where broadcast; added
	                                   to; or NULL */
	hec_attention_part part;   /* weights: where q and lse lie in the whole; H and T above are
	                                   then those of the part */
	const hec_tensor *weights; /* weights: [B, H, T, S] written */
	const hec_attention_steps *steps; /* unfused: written where not NULL */
} attention_args;

typedef struct norm_args {
	hec_norm_kind kind;
	double eps;
	const hec_tensor *x;              /* [N, C] */
	const hec_tensor *gamma;          /* [C] */
	const hec_tensor *beta;           /* [C], or NULL */
	const hec_tensor *y;              /* fwd: [N, C] written, may be x */
	const hec_tensor *mean, *rstd;    /* [N]: fwd writes where not NULL, bwd reads */
	const hec_tensor *dy;             /* bwd: [N, C] */
	const hec_tensor *dx;             /* bwd: [N, C] */
	bool accumulate;                  /* bwd: dx is added to, else written */
	const hec_tensor *dgamma, *dbeta; /* bwd: [C] added to, or NULL */
} norm_args;

typedef struct activation_args {
	hec_activation act;
	const hec_tensor *x;   /* [N, C]; the gate where gated */
	const hec_tensor *up;  /* gated: [N, C]; plain: NULL */
	const hec_tensor *y;   /* fwd: written */
	const hec_tensor *dy;  /* bwd: [N, C] */
	const hec_tensor *dx;  /* bwd: written; may be dy */
	const hec_tensor *dup; /* bwd, gated: written */
} activation_args;

typedef struct cross_entropy_args {
	double smoothing;
	int32_t ignore;
	const hec_tensor *logits;  /* [N, V] */
	const hec_tensor *targets; /* [N] i32, checked */
	const hec_tensor *losses;  /* fwd: [N] written */
	const hec_tensor *lse;     /* [N]: fwd writes, bwd reads */
	double scale;              /* bwd */
	const hec_tensor *dlogits; /* bwd: [N, V] written, may be logits */
} cross_entropy_args;

typedef struct logsumexp_args {
	const hec_tensor *x;   /* [N, V] */
	const hec_tensor *lse; /* [N] written: log Σ exp(x) of each row */
} logsumexp_args;

typedef struct embedding_args {
	double scale;
	int32_t padding_id;
	const hec_tensor *ids;   /* [N] i32, checked */
	const hec_tensor *table; /* gather: [V, C]; scatter: the gradient, added to in order of n */
	/* gather: the table as some level's gemm_pack laid out its transpose, where table has no data;
	 * else NULL */
	const hec_packed *packed;
	const hec_tensor *y; /* gather: [N, C] written; scatter: dy [N, C] */
} embedding_args;

typedef struct rotary_args {
	bool interleaved;
	bool inverse;
	const hec_tensor *cosine, *sine; /* [P, R/2] */
	const hec_tensor *x;             /* [B, T, H, K] */
	const int32_t *first;            /* [B], or NULL */
	const hec_tensor *y;             /* written, may be x */
} rotary_args;

typedef struct dropout_args {
	hec_dropout dropout;
	const hec_tensor *x;        /* [N, C] */
	const hec_tensor *residual; /* [N, C] added after, or NULL; may be y */
	const hec_tensor *y;        /* [N, C] written, may be x */
} dropout_args;

typedef struct add_args {
	double alpha, beta;
	const hec_tensor *a, *b; /* broadcast to y's shape with zero strides; b NULL: y = alpha·a */
	const hec_tensor *y;
} add_args;

typedef struct fill_args {
	double value;
	const hec_tensor *x;
} fill_args;

typedef struct cast_args { /* called by the dtype of x; y may be any dtype */
	const hec_tensor *x;
	const hec_tensor *y;
} cast_args;

typedef struct random_args {
	bool normal; /* a = mean, b = standard deviation; else uniform in [a, b) */
	double a, b;
	uint64_t seed, stream;
	const hec_tensor *x;
} random_args;

typedef struct reduce_args {
	const hec_tensor *x;   /* [N, C] */
	const hec_tensor *sum; /* sum_rows: [C] += Σ_n x; sum_squares, sum_all: f64 [1] += */
} reduce_args;

/* Rows become one: y = scale · Σ w·x, summed in double, one row after another; or the largest of each
 * column, in which a NaN counts only where there is nothing else. */
typedef enum pool_kind {
	POOL_SUM,        /* w = 1 */
	POOL_RISING_SUM, /* w = 1, 2, …, N */
	POOL_MAX
} pool_kind;

typedef struct pool_args {
	pool_kind kind;
	double scale;
	const hec_tensor *x; /* [N, C], N ≥ 1 */
	const hec_tensor *y; /* [C] written */
} pool_args;

typedef struct normalize_args {
	double least;        /* a row that is shorter is divided by this */
	const hec_tensor *x; /* [N, C] */
	const hec_tensor *y; /* [N, C] written: each row by its length, a double; may be x */
} normalize_args;

typedef struct adamw_args {
	double lr, beta1, beta2, eps, weight_decay, grad_scale;
	double correction1, correction2;  /* 1 − beta^step */
	const hec_tensor *dw, *m, *v, *w; /* contiguous, one shape */
} adamw_args;

typedef struct conv1d_args {
	int64_t stride, padding;
	const hec_tensor *x;    /* [B, T, I] */
	const hec_tensor *w;    /* [O, I, W] */
	const hec_tensor *bias; /* [O], or NULL */
	const hec_tensor *y;    /* fwd: [B, (T + 2·padding − W) / stride + 1, O] written */
	const hec_tensor *dy;   /* bwd */
	const hec_tensor *dx, *dw, *dbias; /* bwd: added to, or NULL */
} conv1d_args;

typedef struct cache_args {
	const hec_tensor *x; /* append: [B, T, G, K] new rows; reorder: [B, S, G, K] the source */
	const int32_t
		*index; /* append: position [B] of the first new row; reorder: source row [B] */
	const int32_t *length;   /* [B] rows to put (append) or to move (reorder); NULL: all */
	const hec_tensor *cache; /* [B, S, G, K] written; reorder: not x */
} cache_args;

/* One row per operation: name, type of its arguments. */
#define BACKEND_OPS(OP)                                                                            \
	OP(gemm, gemm_args)                                                                        \
	OP(gemm_pack, gemm_pack_args)                                                              \
	OP(attention_fwd, attention_args)                                                          \
	OP(attention_bwd, attention_args)                                                          \
	OP(attention_weights, attention_args)                                                      \
	OP(attention_unfused, attention_args)                                                      \
	OP(norm_fwd, norm_args)                                                                    \
	OP(norm_bwd, norm_args)                                                                    \
	OP(activation_fwd, activation_args)                                                        \
	OP(activation_bwd, activation_args)                                                        \
	OP(cross_entropy_fwd, cross_entropy_args)                                                  \
	OP(cross_entropy_bwd, cross_entropy_args)                                                  \
	OP(logsumexp, logsumexp_args)                                                              \
	OP(embedding_gather, embedding_args)                                                       \
	OP(embedding_scatter, embedding_args)                                                      \
	OP(rotary, rotary_args)                                                                    \
	OP(dropout, dropout_args)                                                                  \
	OP(add, add_args)                                                                          \
	OP(fill, fill_args)                                                                        \
	OP(cast, cast_args)                                                                        \
	OP(random, random_args)                                                                    \
	OP(sum_rows, reduce_args)                                                                  \
	OP(sum_all, reduce_args)                                                                   \
	OP(sum_squares, reduce_args)                                                               \
	OP(pool, pool_args)                                                                        \
	OP(normalize, normalize_args)                                                              \
	OP(adamw, adamw_args)                                                                      \
	OP(conv1d_fwd, conv1d_args)                                                                \
	OP(conv1d_bwd, conv1d_args)                                                                \
	OP(cache_append, cache_args)                                                               \
	OP(cache_reorder, cache_args)

typedef struct backend_ops {
#define OP(name, args) hec_status (*name)(hec_ctx *, const args *);
	BACKEND_OPS(OP)
#undef OP
	size_t (*gemm_pack_size)(int64_t k, int64_t n); /* bytes; 0: this level packs nothing */
	/* hec_packed.layout of what it packs, the same in every context of the level; NULL: it packs
	 * nothing */
	const void *gemm_layout;
} backend_ops;

typedef struct backend {
	const char *name;            /* "ref", "avx512", … */
	backend_ops ops[HEC_DTYPES]; /* one set per dtype of the operation's main input */
	bool dry;                    /* every operation is left out: see dry.h */
} backend;

/* The error of a slot that is not there. */
hec_status backend_missing(const hec_ctx *ctx, hec_dtype dtype, const char *op);

#define BACKEND(ctx, dtype, op, args)                                                              \
	(ctx_backend(ctx)->ops[dtype].op ? ctx_backend(ctx)->ops[dtype].op((ctx), (args))          \
	                                 : backend_missing((ctx), (dtype), #op))

const backend *ctx_backend(const hec_ctx *ctx);

#endif
