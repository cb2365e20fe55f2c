/* check.h — what the tool knows of each slot: how to make a random call of it, and how to make it. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "trial.h"

typedef struct check_op {
	const char *name;
	void (*make)(trial *t);                   /* sizes, options, values, scales */
	hec_status (*call)(hec_ctx *ctx, run *r); /* through the table of ctx */
	bool many;                                /* small and varied: more trials */
} check_op;

/* One table per file. Each ends with a NULL name. */
extern const check_op gemm_checks[], attention_checks[], row_checks[], element_checks[],
	move_checks[], conv_checks[];

/* The vector functions of AVX-512 against the C library in double, over floats of every size.
 * Returns the number of those that miss their bound. */
int functions_check_avx512(void);

/* Calls slot op of ctx in the precision of the run. */
#define CALL(ctx, r, op, args)                                                                     \
	BACKEND(ctx, (r)->t->main == HEC_F32 ? (r)->dtype : (r)->t->main, op, args)

/* The activations in double: the value, the scales of value and derivative (docs/numerics.md). */
const char *act_name(hec_activation act);
double act_value(hec_activation act, double x);
double act_scale(hec_activation act, double x);
double act_slope_scale(hec_activation act, double x);
double act_steepest(hec_activation act);

/* Whether dropout keeps an element: the words of include/hecate/dropout.h, written again. */
bool dropout_keeps(const hec_dropout *d, uint64_t row, uint64_t column);

#endif
