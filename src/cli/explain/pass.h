/* pass.h — a problem once through the library, forward and backward, in floats or in doubles.
 *
 *   X, memory ─ linear ─► q, k, v ─ fused attention ─► concat ─ linear ─► output */
#ifndef CLI_EXPLAIN_PASS_H
#define CLI_EXPLAIN_PASS_H

#include <hecate/arena.h>
#include <hecate/attention.h>
#include <hecate/context.h>

#include "cli/explain/problem.h"

typedef struct pass {
	hec_ctx *ctx;
	hec_arena *arena;
	const explain_problem *p;
	hec_dtype dtype;
	int64_t T, S, H, K, D;
	hec_tensor given[GIVEN_COUNT]; /* f32: the problem's own; f64: copies */
	hec_tensor q, k, v;            /* [T or S, H·K or H·D] */
	hec_tensor concat;             /* [T, H·D] */
	hec_tensor lse;                /* [1, H, T] */
	hec_tensor output;             /* [T, d_out]; concat where there is no W_O */
} pass;

/* The gradient of a loss, shaped as what it belongs to; made by pass_backward. */
typedef struct pass_gradient {
	hec_tensor given[GIVEN_COUNT]; /* rank 0 where nothing was given */
	hec_tensor q, k, v;
} pass_gradient;

/* Numbers of dtype that making a pass takes from the arena, the gradient included. */
int64_t pass_numbers(const explain_problem *p);
#define PASS_TENSORS 48 /* and so many tensors, each aligned */

hec_status pass_make(hec_ctx *ctx, const explain_problem *p, hec_dtype dtype, hec_arena *arena,
                     pass *out);
hec_status pass_forward(pass *w);
/* The same from q, k and v on, with every matrix stored: those of steps that are not NULL, and out [T, H·D]. */
hec_status pass_unfused(const pass *w, hec_attention_steps *steps, const hec_tensor *out);
/* After pass_forward; d_output is of the pass's type. */
hec_status pass_backward(const pass *w, const hec_tensor *d_output, pass_gradient *out);

#endif
