/* compare.h — the promise of accuracy, element by element. */
#ifndef CHECK_COMPARE_H
#define CHECK_COMPARE_H

#include "trial.h"

typedef struct bound {
	const char *name;
	double factor, ulps;
	const char *scale;
} bound;

const bound *bound_of(const char *op); /* NULL: not in the table */

/* Errors in units of eps · scale: the largest so far. */
typedef struct errors {
	double plain, kernel;
	int other; /* trials in which the kernel's bits were not those of the f32 reference */
} errors;

/* Whether the f32 reference keeps to its own bound; the reason why not, or NULL. */
const char *compare_plain(const run *truth, const run *plain, errors *worst);
/* Whether the kernel keeps to bound b; the reason why not, or NULL. */
const char *compare_kernel(const bound *b, const run *truth, const run *plain, const run *kernel,
                           errors *worst);

/* Whether the table in the file says what bounds.h says: 0 yes, 1 no (and why, on stderr). */
int bounds_match(const char *path);

#endif
