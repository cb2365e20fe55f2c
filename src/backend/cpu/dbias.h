/* dbias.h — which sequences and heads may add to the gradient of the bias side by side.
 *
 * dbias is seen as [B, H, T, S] through any strides: zero, negative, overlapping. Slices that may
 * share an element go one after the other in one task, in the order of sequences, then heads. */
#ifndef BACKEND_CPU_DBIAS_H
#define BACKEND_CPU_DBIAS_H

#include <stdlib.h>

#include <hecate/tensor.h>

/* Whether different indices of an axis are surely different elements, whatever those of the other
 * axes from first_other on: each of these either steps over the axis as a whole, or is among those
 * that together stay within one step of it. */
static inline bool axis_apart(const hec_tensor *x, int axis, int first_other)
{
	const int64_t n = x->shape[axis], step = llabs(x->stride[axis]);
	int64_t reach = 0;
	if (n <= 1)
		return true;
	if (step == 0)
		return false;
	for (int i = first_other; i < 4; i++) {
		if (i != axis && x->shape[i] > 1 && x->stride[i] % (step * n) != 0)
			reach += llabs(x->stride[i]) * (x->shape[i] - 1);
	}
	return reach < step;
}

typedef struct dbias_sharing {
	bool sequences, heads; /* one task for all of them */
} dbias_sharing;

static inline dbias_sharing dbias_sharing_of(const hec_tensor *dbias)
{
	dbias_sharing s = {.sequences = !axis_apart(dbias, 0, 1)};
	/* A task that takes all sequences meets every element of its heads. */
	s.heads = !axis_apart(dbias, 1, s.sequences ? 0 : 2);
	return s;
}

#endif
