/* tensor.h — a description of memory: type, shape, strides. It owns nothing and does no arithmetic.
 *
 * Letters for dimensions, the same everywhere: B batch, T queries, S keys, C model width, H heads,
 * G key/value heads, K head size of q and k, D head size of v, F feed-forward width, V vocabulary. */
#ifndef HECATE_TENSOR_H
#define HECATE_TENSOR_H

#include <hecate/status.h>

HEC_BEGIN

typedef enum hec_dtype {
	HEC_F32 = 0,
	HEC_F64,  /* reference only: definitions and gradient checks */
	HEC_BF16, /* storage */
	HEC_F16,  /* storage */
	HEC_I8,
	HEC_I32
} hec_dtype;
#define HEC_DTYPES 6

typedef enum hec_device { HEC_DEVICE_CPU = 0 } hec_device;

#define HEC_MAX_RANK 4

typedef struct hec_tensor { /* value */
	void *data;         /* NULL only where there are no elements */
	hec_dtype dtype;
	hec_device device;
	int32_t rank;                 /* 1 … HEC_MAX_RANK; 0: absent (optional tensors) */
	int64_t shape[HEC_MAX_RANK];  /* each ≥ 0 */
	int64_t stride[HEC_MAX_RANK]; /* in elements; 0 repeats, negative runs backwards */
} hec_tensor;

HEC_API size_t hec_dtype_size(hec_dtype dtype);      /* bytes; 0 for an unknown type */
HEC_API const char *hec_dtype_name(hec_dtype dtype); /* "f32"; "?" for an unknown type */

/* A contiguous tensor over memory of the caller's. No checks: for sizes that come from outside use
 * hec_arena_tensor, which multiplies with overflow checks. */
HEC_API hec_tensor hec_tensor_1d(void *data, hec_dtype dtype, int64_t n0);
HEC_API hec_tensor hec_tensor_2d(void *data, hec_dtype dtype, int64_t n0, int64_t n1);
HEC_API hec_tensor hec_tensor_3d(void *data, hec_dtype dtype, int64_t n0, int64_t n1, int64_t n2);
HEC_API hec_tensor hec_tensor_4d(void *data, hec_dtype dtype, int64_t n0, int64_t n1, int64_t n2,
                                 int64_t n3);

/* The absent tensor: data NULL, rank 0. */
/* clang-format off */
#define HEC_TENSOR_NONE {NULL, HEC_F32, HEC_DEVICE_CPU, 0, {0, 0, 0, 0}, {0, 0, 0, 0}}
/* clang-format on */

/* The number of elements; INT64_MAX where there are more. */
HEC_API int64_t hec_tensor_count(const hec_tensor *t);
HEC_API bool hec_tensor_is_contiguous(const hec_tensor *t);

/* Views: the same memory, described differently. out may be t. */
HEC_API HEC_MUST_USE hec_status hec_tensor_slice(const hec_tensor *t, int axis, int64_t begin,
                                                 int64_t length, hec_tensor *out);
HEC_API HEC_MUST_USE hec_status hec_tensor_transpose(const hec_tensor *t, int axis_a, int axis_b,
                                                     hec_tensor *out);
/* Splits or joins axes without moving data; an error where the strides do not allow it. */
HEC_API HEC_MUST_USE hec_status hec_tensor_reshape(const hec_tensor *t, int rank,
                                                   const int64_t *shape, hec_tensor *out);

HEC_END

#endif
