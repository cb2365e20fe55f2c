/* chain.h — attention forward and backward by its formulas, in doubles, with every matrix stored and a bound of
 * the rounding beside every number.
 *
 *   d_concat = d_output·W_Oᵀ                   d_scaled = weights ∘ (d_weights − row sums of weights ∘ d_weights)
 *   dV = weightsᵀ·d_head                       d_scores = d_scaled/√d_k
 *   d_weights = d_head·Vᵀ                      dQ = d_scores·K,  dK = d_scoresᵀ·Q */
#ifndef CLI_EXPLAIN_CHAIN_H
#define CLI_EXPLAIN_CHAIN_H

#include "cli/explain/bounded.h"
#include "cli/explain/problem.h"

typedef struct chain {
	const explain_problem *p;
	rounding r;
	int64_t T, S, H, K, D;
	bounded given[GIVEN_COUNT];
	bounded q, k, v, concat, output; /* the heads side by side */
	bounded scaled, weights;         /* [H·T, S]: the heads one below the other */
	double loss;

	bounded d_output, d_concat, d_given[GIVEN_COUNT], dq, dk, dv;
	bounded d_weights, row_sums, d_scaled, d_scores; /* [H·T, …] */
} chain;

/* given: the problem's numbers as doubles. All memory of the chain is from the arena. */
hec_status chain_make(const explain_problem *p, const hec_tensor *given, rounding r,
                      hec_arena *arena, chain *out);
void chain_forward(chain *c);
void chain_backward(chain *c);

/* Σ d_output ∘ output, or ½·Σ output² where no d_output is given. */
double chain_loss(const explain_problem *p, const hec_tensor *output, const hec_tensor *d_output);

#endif
