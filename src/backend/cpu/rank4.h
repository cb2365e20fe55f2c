/* rank4.h — a tensor of any rank as rows: the last axis, and all the others counted as one. */
#ifndef BACKEND_CPU_RANK4_H
#define BACKEND_CPU_RANK4_H

#include <hecate/tensor.h>

/* The same tensor with axes of size 1 put before its own. */
static inline hec_tensor to_rank4(const hec_tensor *x)
{
	hec_tensor y = *x;
	y.rank = HEC_MAX_RANK;
	int missing = HEC_MAX_RANK - x->rank;
	for (int i = 0; i < HEC_MAX_RANK; i++) {
		y.shape[i] = i < missing ? 1 : x->shape[i - missing];
		y.stride[i] = i < missing ? 0 : x->stride[i - missing];
	}
	return y;
}

static inline int64_t rank4_rows(const hec_tensor *x)
{
	return x->shape[0] * x->shape[1] * x->shape[2];
}

/* Where row r begins, in elements from data. */
static inline int64_t rank4_row(const hec_tensor *x, int64_t r)
{
	int64_t k = r % x->shape[2], ij = r / x->shape[2];
	return ij / x->shape[1] * x->stride[0] + ij % x->shape[1] * x->stride[1] + k * x->stride[2];
}

#endif
