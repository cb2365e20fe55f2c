/* gemm.h — a product c = act(a·b + bias) + residual over one level's micro-kernel.
 *
 * gemm.c holds what every level shares: cutting the work into tiles, packing, threads. A level
 * brings a gemm_kernel: its largest tile and three functions. b is read in panels of kernel->cols
 * columns; a packed panel holds its k rows one after another, each as wide as the panel (rounded up
 * to kernel->step, zeros beyond), so that panel p begins at p · cols · K.
 *
 * Every element is one chain of fused multiply-adds over k = 0 … K − 1, then + bias, act, + residual:
 * its bits depend neither on the tile, nor on the block, nor on the threads. */
#ifndef BACKEND_CPU_GEMM_H
#define BACKEND_CPU_GEMM_H

#include "backend/backend.h"

/* One tile of c over a part of k. */
typedef struct gemm_tile {
	int64_t rows, cols, k;
	const float *a; /* [rows, k], any strides */
	int64_t a_row, a_k;
	const float *b; /* [k, cols], unit column stride, readable up to a multiple of step */
	int64_t b_k;
	uintptr_t
		ahead; /* what is read next: a cache line of it is fetched with each k; 0: nothing */
	uintptr_t ahead_k;
	float *sums;        /* [rows, kernel->cols] where sums rest between parts of k */
	bool resume;        /* start from sums, else from zero */
	bool finish;        /* the last part of k: write c, else sums */
	bool plain;         /* c = sum + bias and nothing else */
	bool accumulate;    /* c += sum + bias */
	hec_activation act; /* else c = act(sum + bias) + residual */
	const float *bias;  /* [cols], or NULL */
	const float *residual;
	int64_t residual_row;
	float *pre;
	int64_t pre_row;
	float *c;
	int64_t c_row;
} gemm_tile;

typedef struct gemm_kernel {
	int64_t rows, cols; /* the largest tile */
	int64_t step;       /* columns of one vector */
	int64_t k_block;    /* of a panel that should stay in cache while the rows pass over it */

	void (*tile)(const gemm_tile *t);

	/* out = a panel of b: [k, cols rounded up to step]. */
	void (*pack_panel)(int64_t k, int64_t cols, const float *b, int64_t b_k, int64_t b_col,
	                   float *out);
	/* out[k][rows] = a[rows, k] whose rows lie side by side (row stride 1). */
	void (*pack_rows)(int64_t rows, int64_t k, const float *a, int64_t a_k, float *out);
} gemm_kernel;

/* Whether the kernels can take it: c, residual, pre and bias have unit column strides. */
bool gemm_fits(const gemm_args *g);

hec_status gemm_run(hec_ctx *ctx, const gemm_kernel *kernel, const gemm_args *g);
hec_status gemm_pack_run(hec_ctx *ctx, const gemm_kernel *kernel, const gemm_pack_args *p);
size_t gemm_pack_bytes(const gemm_kernel *kernel, int64_t k, int64_t n);
/* y_n = scale · column id_n of what is packed, by any level: rows of a table whose transpose it is. */
hec_status gemm_unpack_run(hec_ctx *ctx, const embedding_args *a);

#endif
