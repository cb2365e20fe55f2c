/* steps.h — a problem computed through the library, every step kept.
 *
 *   X, memory ─ linear ─► Q, K, V ─ unfused ─► scores ► scaled ► masked ► weights   (per head)
 *                            └────── fused ──► head ► concat ─ linear ─► output
 *
 * The unfused reference also gives the heads: the two are compared, against a bound that follows
 * from the rounding of floats. */
#ifndef CLI_EXPLAIN_STEPS_H
#define CLI_EXPLAIN_STEPS_H

#include <hecate/arena.h>
#include <hecate/context.h>

#include "cli/explain/problem.h"

typedef struct step {
	const char *name;  /* "Q" */
	int64_t head;      /* −1: of no single head */
	hec_tensor values; /* f32 or f64, rank 1 or 2, any strides */
} step;

typedef struct explain_steps {
	hec_arena *arena; /* holds all values but the problem's own */
	step *steps;
	size_t count;
	hec_tensor output;  /* [T, d_out] */
	double difference;  /* the largest between fused and unfused heads */
	double bound;       /* what rounding allows at that element */
	int64_t blind_rows; /* queries that see no key */
} explain_steps;

/* The problem must have passed explain_problem_check. HEC_OK, or the message is in error. */
hec_status explain_compute(hec_ctx *ctx, const explain_problem *p, explain_steps *out, char *error,
                           size_t error_size);
void explain_steps_free(explain_steps *s);

/* Into a list that has room. */
void add_step(explain_steps *out, const char *name, int64_t head, const hec_tensor *values);

/* The step of that name and head (−1: of none), NULL where there is none. */
const step *find_step(const explain_steps *s, const char *name, int64_t head);

/* Whether key s is visible to query t. */
bool problem_sees(const explain_problem *p, int64_t t, int64_t s);

static inline double value_at(const hec_tensor *t, int64_t row, int64_t column)
{
	int64_t at =
		t->rank == 1 ? column * t->stride[0] : row * t->stride[0] + column * t->stride[1];
	return t->dtype == HEC_F64 ? ((const double *)t->data)[at] : ((const float *)t->data)[at];
}

#endif
