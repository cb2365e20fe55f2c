/* definition.h — attention as its definition says it, in double, with nothing clever: the matrix of
 * scores, one word of the masking promise after the other, softmax, and the gradients by the chain
 * rule. Beside each result stands how far a computation in the problem's precision may be from it,
 * derived step by step from the unit roundoff. */
#ifndef TESTS_SUPPORT_DEFINITION_H
#define TESTS_SUPPORT_DEFINITION_H

#include "support/test.h"

#define MOST_SEQUENCES 8

typedef struct problem {
	kit *k;
	hec_dtype dtype;
	int64_t B, T, S, H, G, K, D;
	hec_attention_desc desc;
	hec_mask mask; /* its lengths and offsets point at the arrays below, so: not to be copied */
	int32_t offset[MOST_SEQUENCES], queries[MOST_SEQUENCES], keys[MOST_SEQUENCES];
	hec_tensor q, key, v, dout;
} problem;

/* Random tensors in the layouts that callers use: dense, heads first, or parts of one wide row. */
void problem_open(problem *p, kit *k, hec_dtype dtype, int64_t B, int64_t T, int64_t S, int64_t H,
                  int64_t G, int64_t K, int64_t D);
/* Adds random rules of visibility: each with the chance of one in two. */
void problem_draw_mask(problem *p, bool with_bias);
/* Sizes and rules from the kit's seed. */
void problem_draw(problem *p, kit *k, hec_dtype dtype, int64_t most_T, int64_t most_S);

/* Whether query t of head h sees key s: the words of the promise. */
bool problem_sees(const problem *p, int64_t b, int64_t h, int64_t t, int64_t s);
bool problem_sees_any(const problem *p, int64_t b, int64_t h, int64_t t);
/* Whether any query of any head that reads key/value head g sees key s. */
bool problem_is_seen(const problem *p, int64_t b, int64_t g, int64_t s);

/* What the library makes of a problem; dbias absent where the mask has no bias. */
typedef struct result {
	hec_tensor out, lse, weights, dq, dk, dv, dbias;
} result;
result problem_run(problem *p, hec_ctx *ctx);
/* The same in two steps, for results that lie otherwise in memory. */
result problem_result(problem *p);
void problem_run_into(problem *p, hec_ctx *ctx, result *r);

/* The definition's, in f64, and the bounds. */
typedef struct definition {
	result value, bound;
} definition;
definition problem_define(problem *p);

void check_result(const problem *p, const result *got, const definition *want);
void check_same_result(const kit *k, const char *what, const result *a, const result *b);

#endif
