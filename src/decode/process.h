/* process.h — what may not be written next, and what should not: changes to one row of logits. */
#ifndef DECODE_PROCESS_H
#define DECODE_PROCESS_H

#include "decode/plan.h"

/* What a row was written from. */
typedef struct prefix {
	const int32_t *ids; /* the start or the prompt, then what was written */
	int64_t length;
	int64_t prompt;     /* how many of them were not written */
	int64_t max_length; /* prompt + what may be written */
	int64_t source;     /* its place in the call */
} prefix;

/* Changes x [vocab] in place. The rules act on x + shift: log p where shift is −lse (beams), the
 * logits where it is 0. before [length] holds, where there is a repetition penalty, the values of
 * ids as they were. Gives back how much of Σ exp(x + shift) is gone; NAN: the whole row may be another. */
double process(const plan *p, const prefix *at, float shift, float *x, float *before);

/* The id that must come next, −1: none. */
int32_t process_forced(const plan *p, const prefix *at);

#endif
