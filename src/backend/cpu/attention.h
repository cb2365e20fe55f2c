/* attention.h — fused attention over tiles of 64 queries × 64 keys, on top of a few micro-kernels.
 *
 * Scores are computed transposed, st[key][query]: queries lie in the lanes of vectors, so maximum,
 * exponential and sum of the softmax are lane-wise, and the tile is at once the broadcast operand
 * of the products that follow. Exponentials are in base 2. Of scale · log2 e the power of two goes
 * into q, which changes no digit of it; the rest, unit, multiplies differences of scores.
 *
 * Same bits: key tiles begin at multiples of 64 whatever the call; a score is one chain over K; an
 * output is one chain over the keys in order, rescaled where the maximum grows after a tile. Lanes,
 * rows and tiles in which nothing is visible are left out: they would add exact zeros. So a query's
 * result depends on nothing but itself and the keys it sees (and on whether its sequence has more
 * than a query or two: attention_one.c).
 *
 * The loops are in attention_fwd.c and attention_bwd.c; an instruction level brings the table of
 * micro-kernels below, with the sizes it wants. */
#ifndef BACKEND_CPU_ATTENTION_H
#define BACKEND_CPU_ATTENTION_H

#include "backend/context.h"
#include "backend/cpu/visible.h"

#define ATTENTION_TILE 64 /* queries and keys of a tile: a visibility word has 64 bits */
#define ATTENTION_ROWS 4  /* rows of a product that share a span */
#define ATTENTION_GROUPS (ATTENTION_TILE / ATTENTION_ROWS)

typedef struct tile_span {
	uint8_t begin, end; /* empty where begin ≥ end */
} tile_span;

/* Rows that will be needed soon, to be fetched a few at a time meanwhile. */
typedef struct tile_hint {
	const float *x; /* NULL: none */
	int64_t row;
	int rows, cols;
} tile_hint;

/* c[i][j] = factor[i] · c[i][j] + Σ_k a[i·a_row + k·a_k] · b[k·b_k + j], each one chain over k. */
typedef struct tile_product {
	int rows, cols, depth;
	const float *a;
	int64_t a_row, a_k;
	const float *b;
	int64_t b_k; /* rows of b are readable up to cols rounded up to whole vectors */
	float *c;
	int64_t c_row;
	bool add;                 /* false: c is taken as zero */
	const float *factor;      /* [rows], or NULL: 1 */
	const tile_span *depths;  /* per ATTENTION_ROWS rows, which k matter; NULL: all */
	const tile_span *columns; /* per ATTENTION_ROWS rows, which columns, in whole vectors, are
	                             computed; NULL: all */
	tile_hint soon;           /* what to fetch meanwhile */
} tile_product;

/* The online softmax of one tile; m, l and factor are [64], a lane per query. */
typedef struct tile_softmax {
	int keys, queries;
	float *st;         /* [64][64] in: scores; out: 2^(unit · (score − m)), 0 if invisible */
	float natural;     /* with a bias the score is natural · st + bias */
	float unit;        /* differences of scores · unit are exponents of 2 */
	const float *bias; /* [64][64] added to the scores, or NULL */
	const uint64_t *seen; /* [64] by key, bit per query; NULL: everything is visible */
	float *m;             /* running maximum, −inf at first */
	float *l;             /* running sum of st, in the order said in the kernel */
	float *factor;        /* out: 2^(unit · (old m − new m)), 1 where m did not change */
} tile_softmax;

/* Backward: from scores and dp = v·dout to weights and ds = weight · (dp − delta) · scale. */
typedef struct tile_gradient {
	int keys, queries;
	float *st;     /* in: scores; out: the weights that v was multiplied with */
	float *dp;     /* in: v·dout; out: gradient of the scores · scale */
	float natural; /* natural · st (+ bias) is the score that lse is of */
	float scale;
	const float *bias;
	const uint64_t *seen;
	const uint64_t *keep; /* dropout, by key; NULL: none */
	float keep_scale;     /* 1 / (1 − p) */
	const float *lse;     /* [64] lse; +inf for queries that see nothing */
	const float *delta;   /* [64] dout·out */
} tile_gradient;

typedef struct dropout_tile {
	uint32_t counter[4]; /* of the tile's first key and query */
	uint32_t key[2];
	uint64_t threshold; /* a weight is kept where its word is at least this */
} dropout_tile;

/* Up to ATTENTION_ROWS heads of one query against a tile of keys that they share. */
typedef struct one_tile {
	int heads, keys;
	float *weights;       /* [heads][64] */
	const uint64_t *seen; /* [heads], bit per key */
	const float *factor;  /* [heads] */
	const float *q;       /* [heads][q_row] */
	int64_t q_row;
	const float *k, *v;  /* [keys][k_row], [keys][v_row] */
	const float *next_k; /* keys that come next: a hint to fetch them */
	int64_t k_row, v_row, K, D;
	float *o; /* [heads][o_row] */
	int64_t o_row;
} one_tile;

typedef struct attention_kernels {
	int lanes; /* floats of a vector: the step of columns */
	void (*product)(const tile_product *p);
	/* xt[c][64] = factor · x[r][c]; lanes from rows on hold anything finite x holds. */
	void (*transpose)(const float *x, int64_t row, int rows, int64_t cols, float factor,
	                  float *xt);
	bool (*softmax)(const tile_softmax *s); /* whether any factor is not 1 */
	/* out[t][d] = o[t][d] / l[t] · keep_scale, 0 where l is 0; lse[t] = unit · m + ln l. */
	void (*finish)(int rows, int64_t cols, const float *o, int64_t o_row, const float *m,
	               const float *l, float unit, float keep_scale, float *out, int64_t out_row,
	               float *lse);
	void (*gradient)(const tile_gradient *g);
	/* sum[r] = Σ_c x[r][c] · yt[c][r], the same chain over c as in a product */
	void (*row_dots)(const float *x, int64_t row, int rows, int64_t cols, const float *yt,
	                 float *sum);
	bool (*rows_finite)(const float *x, int64_t row, int rows, int64_t cols);
	/* tile[s][t] = bias[t·t_stride + s·s_stride], hidden[s] bit t where that is −inf;
	 * returns whether any is. Rows up to the next multiple of 8 keys, and queries of 16, are 0. */
	bool (*stage_bias)(const float *bias, int64_t t_stride, int64_t s_stride, int queries,
	                   int keys, float *tile, uint64_t *hidden);
	uint64_t (*mask_bits)(const int8_t *mask, int n); /* bit i: mask[i] ≠ 0 */
	void (*keep_bits)(const dropout_tile *d, int queries, int keys, uint64_t *keep);
	void (*drop)(float *st, const uint64_t *keep, int queries, int keys);

	/* One query of a few heads. */
	void (*one_scores)(const one_tile *x); /* weights = k·q */
	float (*one_softmax)(float *weights, float unit, uint64_t seen, float *m,
	                     float *l);                     /* returns the factor */
	void (*one_product)(const one_tile *x, bool alike); /* o = factor · o + weights · v; alike:
	                                                       all heads see the same keys */
} attention_kernels;

/* The last axis of q, k, v, out and their gradients is contiguous. */
typedef hec_status attention_pass(hec_ctx *ctx, const attention_args *a,
                                  const attention_kernels *ks);
attention_pass attention_fwd_tiled, attention_bwd_tiled;

/* The same on tensors of any strides: attention_rows.c. */
attention_pass attention_fwd_rows, attention_bwd_rows;

#endif
