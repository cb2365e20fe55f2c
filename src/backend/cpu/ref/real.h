/* real.h — every file in this folder is compiled twice: real is float, and again double.
 * REF(gemm) is gemm_f32_ref in the one, gemm_f64_ref in the other.
 *
 * This folder is the definition: the plainest algorithm, sums one term after another in order, any
 * strides. What is fast is elsewhere. */
#ifndef BACKEND_CPU_REF_REAL_H
#define BACKEND_CPU_REF_REAL_H

#include <hecate/tensor.h>
#include <math.h>
#include <tgmath.h>

#ifdef HEC_REF_F64
typedef double real;
#define REF(name) name##_f64_ref
#define REF_FILL ref_fill_f64
#else
typedef float real;
#define REF(name) name##_f32_ref
#define REF_FILL ref_fill_f32
#endif

/* The place of an element. */
static inline real *at_1d(const hec_tensor *x, int64_t i)
{
	return (real *)x->data + i * x->stride[0];
}

static inline real *at_2d(const hec_tensor *x, int64_t i, int64_t j)
{
	return (real *)x->data + i * x->stride[0] + j * x->stride[1];
}

static inline real *at_3d(const hec_tensor *x, int64_t i, int64_t j, int64_t k)
{
	return (real *)x->data + i * x->stride[0] + j * x->stride[1] + k * x->stride[2];
}

static inline real *at_4d(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t l)
{
	return (real *)x->data + i * x->stride[0] + j * x->stride[1] + k * x->stride[2] +
	       l * x->stride[3];
}

static inline int32_t id_at(const hec_tensor *ids, int64_t i)
{
	return ((const int32_t *)ids->data)[i * ids->stride[0]];
}

/* Σ a[i·a_stride] · b[i·b_stride], in order. */
static inline real dot(int64_t n, const real *a, int64_t a_stride, const real *b, int64_t b_stride)
{
	real sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += a[i * a_stride] * b[i * b_stride];
	return sum;
}

#endif
