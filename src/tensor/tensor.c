/* tensor.c — shapes and strides; nothing here touches the data. */
#include <hecate/tensor.h>

#include "base/status.h"
#include "tensor/check.h"

static const struct {
	const char *name;
	size_t size;
} dtypes[HEC_DTYPES] = {
	[HEC_F32] = {"f32", 4}, [HEC_F64] = {"f64", 8}, [HEC_BF16] = {"bf16", 2},
	[HEC_F16] = {"f16", 2}, [HEC_I8] = {"i8", 1},   [HEC_I32] = {"i32", 4},
};

size_t hec_dtype_size(hec_dtype dtype)
{
	return (unsigned)dtype < HEC_DTYPES ? dtypes[dtype].size : 0;
}

const char *hec_dtype_name(hec_dtype dtype)
{
	return (unsigned)dtype < HEC_DTYPES ? dtypes[dtype].name : "?";
}

/* By wrapping arithmetic: where a tensor has no elements its other axes may be of any size. */
static void set_contiguous_strides(hec_tensor *t)
{
	uint64_t stride = 1;
	for (int i = t->rank - 1; i >= 0; i--) {
		t->stride[i] = (int64_t)stride;
		stride *= (uint64_t)t->shape[i];
	}
}

static hec_tensor contiguous(void *data, hec_dtype dtype, int rank, const int64_t *shape)
{
	hec_tensor t = {.data = data, .dtype = dtype, .device = HEC_DEVICE_CPU, .rank = rank};
	for (int i = 0; i < rank; i++)
		t.shape[i] = shape[i];
	set_contiguous_strides(&t);
	return t;
}

hec_tensor hec_tensor_1d(void *data, hec_dtype dtype, int64_t n0)
{
	return contiguous(data, dtype, 1, (int64_t[]){n0});
}

hec_tensor hec_tensor_2d(void *data, hec_dtype dtype, int64_t n0, int64_t n1)
{
	return contiguous(data, dtype, 2, (int64_t[]){n0, n1});
}

hec_tensor hec_tensor_3d(void *data, hec_dtype dtype, int64_t n0, int64_t n1, int64_t n2)
{
	return contiguous(data, dtype, 3, (int64_t[]){n0, n1, n2});
}

hec_tensor hec_tensor_4d(void *data, hec_dtype dtype, int64_t n0, int64_t n1, int64_t n2,
                         int64_t n3)
{
	return contiguous(data, dtype, 4, (int64_t[]){n0, n1, n2, n3});
}

/* false: there are more elements than an int64_t counts. */
static bool count_elements(const hec_tensor *t, int64_t *count)
{
	bool fits = true;
	*count = 1;
	for (int i = 0; i < t->rank; i++) {
		if (t->shape[i] == 0) {
			*count = 0;
			return true;
		}
		fits = fits && !__builtin_mul_overflow(*count, t->shape[i], count);
	}
	return fits;
}

int64_t hec_tensor_count(const hec_tensor *t)
{
	int64_t count;
	return count_elements(t, &count) ? count : INT64_MAX;
}

bool hec_tensor_is_contiguous(const hec_tensor *t)
{
	uint64_t stride = 1;
	for (int i = t->rank - 1; i >= 0; i--) {
		if (t->shape[i] != 1 && t->stride[i] != (int64_t)stride)
			return false;
		stride *= (uint64_t)t->shape[i];
	}
	return true;
}

/* What every view asks of its arguments. */
static hec_status check_view(const char *call, const hec_tensor *t, const hec_tensor *out)
{
	HEC_TRY(CHECK_GIVEN(call, t));
	HEC_TRY(CHECK_GIVEN(call, out));
	if (t->rank < 0 || t->rank > HEC_MAX_RANK)
		return fail(HEC_ERR_SHAPE, "%s: a tensor of rank %d", call, (int)t->rank);
	return HEC_OK;
}

hec_status hec_tensor_slice(const hec_tensor *t, int axis, int64_t begin, int64_t length,
                            hec_tensor *out)
{
	HEC_TRY(check_view("slice", t, out));
	if (axis < 0 || axis >= t->rank)
		return fail(HEC_ERR_ARGUMENT, "slice: axis %d of a tensor of rank %d", axis,
		            (int)t->rank);
	if (begin < 0 || length < 0 || begin > t->shape[axis] || length > t->shape[axis] - begin)
		return fail(HEC_ERR_SHAPE, "slice: %lld … +%lld of axis %d, which has %lld",
		            (long long)begin, (long long)length, axis, (long long)t->shape[axis]);
	*out = *t;
	out->shape[axis] = length;
	if (t->data)
		out->data = (char *)t->data +
		            begin * t->stride[axis] * (int64_t)hec_dtype_size(t->dtype);
	return HEC_OK;
}

hec_status hec_tensor_transpose(const hec_tensor *t, int axis_a, int axis_b, hec_tensor *out)
{
	HEC_TRY(check_view("transpose", t, out));
	if (axis_a < 0 || axis_a >= t->rank || axis_b < 0 || axis_b >= t->rank)
		return fail(HEC_ERR_ARGUMENT, "transpose: axes %d and %d of a tensor of rank %d",
		            axis_a, axis_b, (int)t->rank);
	hec_tensor r = *t;
	r.shape[axis_a] = t->shape[axis_b];
	r.stride[axis_a] = t->stride[axis_b];
	r.shape[axis_b] = t->shape[axis_a];
	r.stride[axis_b] = t->stride[axis_a];
	*out = r;
	return HEC_OK;
}

/* Walks both shapes from the last axis: a run of old axes that lie densely one within the other can
 * be cut anew at will; where the new axes do not fill a run exactly, the data would have to move. */
hec_status hec_tensor_reshape(const hec_tensor *t, int rank, const int64_t *shape, hec_tensor *out)
{
	HEC_TRY(check_view("reshape", t, out));
	HEC_TRY(CHECK_GIVEN("reshape", shape));
	if (rank < 1 || rank > HEC_MAX_RANK)
		return fail(HEC_ERR_ARGUMENT, "reshape: rank %d is not 1 … %d", rank, HEC_MAX_RANK);
	hec_tensor r = *t;
	r.rank = rank;
	for (int i = 0; i < HEC_MAX_RANK; i++) {
		if (i < rank && shape[i] < 0)
			return fail(HEC_ERR_SHAPE, "reshape: axis %d has size %lld", i,
			            (long long)shape[i]);
		r.shape[i] = i < rank ? shape[i] : 0;
		r.stride[i] = 0;
	}
	int64_t count, asked;
	char from[SHAPE_TEXT], to[SHAPE_TEXT];
	if (!count_elements(t, &count) || !count_elements(&r, &asked))
		return fail(HEC_ERR_SHAPE, "reshape: %s into %s: more elements than can be counted",
		            shape_text(t, from), shape_text(&r, to));
	if (asked != count)
		return fail(HEC_ERR_SHAPE, "reshape: %lld elements into %lld", (long long)count,
		            (long long)asked);
	if (count == 0 || hec_tensor_is_contiguous(t)) {
		set_contiguous_strides(&r);
		*out = r;
		return HEC_OK;
	}
	int j = rank - 1;
	for (int i = t->rank - 1; i >= 0;) {
		int64_t run = t->shape[i], stride = t->stride[i];
		while (i > 0 && (t->shape[i - 1] == 1 || t->stride[i - 1] == stride * run))
			run *= t->shape[--i];
		i--;
		int64_t filled = 1;
		while (j >= 0 && filled * r.shape[j] <= run) {
			r.stride[j] = stride * filled;
			filled *= r.shape[j--];
		}
		if (filled != run)
			return fail(HEC_ERR_SHAPE,
			            "reshape: the strides do not allow it without a copy");
	}
	*out = r;
	return HEC_OK;
}
