/* gradient.h — the backward pass of a problem: its steps by the formulas (chain.h), compared with the library's
 * backward pass in floats and with differences of the loss in doubles. */
#ifndef CLI_EXPLAIN_GRADIENT_H
#define CLI_EXPLAIN_GRADIENT_H

#include "cli/explain/chain.h"
#include "cli/explain/pass.h"
#include "cli/explain/steps.h"

/* One number of a gradient, found in two ways. */
typedef struct difference {
	const char *name; /* "dW_Q" */
	int64_t row, column;
	double analytic; /* by the steps */
	double other;    /* by the library, or numeric */
	double allowed;  /* apart, by what is known of the errors of both */
} difference;

static inline double difference_apart(const difference *d)
{
	double apart = d->analytic - d->other;
	return apart < 0 ? -apart : apart;
}

static inline bool difference_agrees(const difference *d)
{
	return difference_apart(d) <= d->allowed; /* not where one is NaN */
}

enum { LIBRARY_DOUBLES = 0, LIBRARY_FLOATS };

typedef struct explain_gradient {
	explain_steps steps; /* f64: d_output, …, dX; of it only arena, steps and count */
	double loss;
	struct {
		bool done;        /* false where rounding decides the weights */
		difference worst; /* the furthest apart, or further than allowed */
	} library[2];             /* its backward pass in doubles, and in floats */
	difference *differences;  /* numeric: all numbers of small matrices, some of large ones */
	size_t count;
} explain_gradient;

/* p->backward was set when the problem was checked. HEC_OK, or the message is in error. */
hec_status explain_backward(hec_ctx *ctx, const explain_problem *p, explain_gradient *out,
                            char *error, size_t error_size);
/* Whether all ways agree; else says where not, and with which numbers. */
bool explain_gradient_agrees(const explain_gradient *g, char *error, size_t error_size);
void explain_gradient_free(explain_gradient *g);

/* differences.c — dL/dx of numbers of what was given, by the loss at x ± h. w is in doubles; c holds the
 * analytic gradients. Fills in g->differences. */
hec_status explain_differentiate(pass *w, const chain *c, explain_gradient *g);

extern const char *const gradient_names[GIVEN_COUNT]; /* "dX", "d_memory", "dW_Q", … */

#endif
