/* block.h — what follows attention in the example ten-by-128: a residual and a ReLU block,
 *   dropped  = dropout(output)
 *   residual = X + dropped
 *   hidden   = ReLU(residual·W_1)
 *   block    = residual + dropout(hidden·W_2) */
#ifndef CLI_EXPLAIN_BLOCK_H
#define CLI_EXPLAIN_BLOCK_H

#include "cli/explain/steps.h"

#define BLOCK_STEPS 6     /* W_1, W_2 and the four above */
#define BLOCK_DROPOUT 0.1 /* the share of numbers set to zero */
#define BLOCK_WIDER 4     /* hidden is so many times as wide as X */

int64_t block_numbers(int64_t rows, int64_t width); /* that it takes from the arena */

/* Adds the steps. The output must be as wide as X. */
hec_status block_steps(hec_ctx *ctx, const explain_problem *p, explain_steps *s);

#endif
