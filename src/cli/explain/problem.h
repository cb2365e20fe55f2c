/* problem.h — what `hecate explain` is asked to compute: matrices, heads, who sees whom. */
#ifndef CLI_EXPLAIN_PROBLEM_H
#define CLI_EXPLAIN_PROBLEM_H

#include <hecate/tensor.h>

typedef enum given {
	GIVEN_X = 0,
	GIVEN_MEMORY,
	GIVEN_W_Q,
	GIVEN_W_K,
	GIVEN_W_V,
	GIVEN_W_O,
	GIVEN_B_Q,
	GIVEN_B_K,
	GIVEN_B_V,
	GIVEN_B_O,
	GIVEN_D_OUTPUT, /* the gradient of a loss at the output: for backward */
	GIVEN_COUNT
} given;

extern const char *const given_names[GIVEN_COUNT]; /* "X", "memory", "W_Q", … */

/* A matrix W acts from the right: Q = X·W_Q. Head i has columns i·d_k … (i + 1)·d_k − 1. */
typedef struct explain_problem {
	hec_tensor given[GIVEN_COUNT]; /* f32, [rows, columns], a bias [columns]; rank 0: absent */
	hec_tensor mask;               /* i8 [T, S], 1 is visible; rank 0: absent */
	int64_t heads, d_k, d_v;       /* d_k, d_v 0: columns of W_Q, W_V by heads */
	bool causal;
	bool backward; /* the gradients, too: more numbers and products */
	char **tokens; /* token_count of them, one for each row of X; or NULL */
	size_t token_count;
	bool block; /* goes on through a ReLU block with dropout and a residual, random from seed */
	uint64_t seed;
} explain_problem;

void explain_problem_free(explain_problem *p); /* leaves it all zeros */

/* Zeroed memory for given[which] (rank 1: rows is ignored) or the mask; freed with the problem. */
bool explain_problem_make(explain_problem *p, given which, int rank, int64_t rows, int64_t columns);
bool explain_problem_make_mask(explain_problem *p, int64_t rows, int64_t columns);

/* Fills in d_k and d_v and checks that everything fits; else says what does not, with its numbers. */
bool explain_problem_check(explain_problem *p, char *error, size_t error_size);

/* How many numbers the steps forward hold, without what is given; and products that they take. */
double explain_problem_numbers(const explain_problem *p);
double explain_problem_products(const explain_problem *p);
/* As many floats as the memory of all that backward computes. */
double explain_backward_numbers(const explain_problem *p);

static inline bool is_given(const explain_problem *p, given which)
{
	return p->given[which].rank > 0;
}

static inline bool is_bias(given which)
{
	return which >= GIVEN_B_Q && which <= GIVEN_B_O;
}

/* Of W_Q, W_K, W_V or W_O. */
static inline given bias_of(given weight)
{
	return (given)(weight + (GIVEN_B_Q - GIVEN_W_Q));
}

/* Where keys and values come from: memory, else X. */
static inline const hec_tensor *key_source(const explain_problem *p)
{
	return &p->given[is_given(p, GIVEN_MEMORY) ? GIVEN_MEMORY : GIVEN_X];
}

#endif
