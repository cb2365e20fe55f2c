/* draws.h — whether what was drawn follows the probabilities it was drawn by, one draw without any link to
 * another: Pearson's chi-square. */
#ifndef TESTS_SUPPORT_DRAWS_H
#define TESTS_SUPPORT_DRAWS_H

#include "support/test.h"

/* What a model writes first after a prompt, by probability: softmax(logits / temperature) [vocab], for free(). */
double *first_token_chances(kit *k, const hec_model *model, const int32_t *ids, int64_t n,
                            double temperature);

/* Draws of one set of values 0 … values − 1 with these chances, which sum up to 1. */
typedef struct draws {
	const int32_t *drawn; /* [n] */
	int64_t n;
	const double *chances; /* [values] */
	int64_t values;
} draws;

/* Chi-square's probability of counts as far from what is expected as these, or farther. */
double draws_fit(const draws *d);
/* The same for pairs of a draw and the one that comes `lag` after it, each draw in one pair at most: near 0
 * where they are linked. */
double draws_apart(const draws *d, int64_t lag);

/* Fails where either is below one in a million: at each of the lags, 0 last. */
void check_draws(const kit *k, const char *what, const draws *d, const int64_t *lags);

#endif
