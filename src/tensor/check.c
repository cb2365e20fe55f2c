/* check.c — arguments against what a layer expects. */
#include "tensor/check.h"

#include <stdio.h>

#include "base/size.h"
#include "base/status.h"

static const char *sizes_text(int rank, const int64_t *shape, char text[SHAPE_TEXT])
{
	size_t n = (size_t)snprintf(text, SHAPE_TEXT, "[");
	for (int i = 0; i < rank && n < SHAPE_TEXT; i++) {
		const char *comma = i ? ", " : "";
		if (shape[i] == ANY)
			n += (size_t)snprintf(text + n, SHAPE_TEXT - n, "%sany", comma);
		else
			n += (size_t)snprintf(text + n, SHAPE_TEXT - n, "%s%lld", comma,
			                      (long long)shape[i]);
	}
	if (n < SHAPE_TEXT)
		snprintf(text + n, SHAPE_TEXT - n, "]");
	return text;
}

const char *shape_text(const hec_tensor *t, char text[SHAPE_TEXT])
{
	int rank = t->rank < 0 ? 0 : t->rank > HEC_MAX_RANK ? HEC_MAX_RANK : t->rank;
	return sizes_text(rank, t->shape, text);
}

/* The bytes of a tensor; false where they are too many. Where an axis is 0 the others are still
 * walked and multiplied: they must be few. */
static bool count_bytes(const hec_tensor *t, size_t *bytes)
{
	bool empty = false;
	size_t places = 1;
	for (int i = 0; i < t->rank; i++) {
		empty = empty || t->shape[i] == 0;
		if (!size_mul(places, (size_t)max_i64(t->shape[i], 1), &places))
			return false;
	}
	if (!size_mul(empty ? 0 : places, hec_dtype_size(t->dtype), bytes))
		return false;
	return empty ? places <= INT32_MAX : *bytes <= PTRDIFF_MAX;
}

hec_status check_tensor(const char *name, const hec_tensor *t, hec_dtype dtype, int rank,
                        const int64_t *shape)
{
	char got[SHAPE_TEXT], want[SHAPE_TEXT];
	if (!is_present(t))
		return fail(HEC_ERR_ARGUMENT, "%s is missing, expected %s", name,
		            sizes_text(rank, shape, want));
	if (t->device != HEC_DEVICE_CPU)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s is on device %d, which this context cannot use", name,
		            (int)t->device);
	if (t->dtype != dtype)
		return fail(HEC_ERR_ARGUMENT, "%s is %s, expected %s", name,
		            hec_dtype_name(t->dtype), hec_dtype_name(dtype));
	bool fits = t->rank == rank;
	for (int i = 0; fits && i < rank; i++)
		fits = t->shape[i] >= 0 && (shape[i] == ANY || t->shape[i] == shape[i]);
	if (!fits)
		return fail(HEC_ERR_SHAPE, "%s has shape %s, expected %s", name, shape_text(t, got),
		            sizes_text(rank, shape, want));
	size_t bytes;
	if (!count_bytes(t, &bytes))
		return fail(HEC_ERR_SHAPE, "%s has shape %s, more than can be addressed", name,
		            shape_text(t, got));
	if (!t->data && bytes > 0)
		return fail(HEC_ERR_ARGUMENT, "%s has shape %s but no data", name,
		            shape_text(t, got));
	return HEC_OK;
}

hec_status check_given(const char *call, const char *name, const void *pointer)
{
	return pointer ? HEC_OK : fail(HEC_ERR_ARGUMENT, "%s: %s is NULL", call, name);
}

hec_status check_any(const char *name, const hec_tensor *t)
{
	if (!is_present(t))
		return fail(HEC_ERR_ARGUMENT, "%s is missing", name);
	if (t->rank < 1 || t->rank > HEC_MAX_RANK)
		return fail(HEC_ERR_SHAPE, "%s has rank %d, not 1 … %d", name, (int)t->rank,
		            HEC_MAX_RANK);
	if (hec_dtype_size(t->dtype) == 0)
		return fail(HEC_ERR_ARGUMENT, "%s has the unknown dtype %d", name, (int)t->dtype);
	return check_tensor(name, t, t->dtype, t->rank, t->shape);
}

hec_status check_real(const char *name, const hec_tensor *t)
{
	HEC_TRY(check_any(name, t));
	if (t->dtype != HEC_F32 && t->dtype != HEC_F64)
		return fail(HEC_ERR_UNSUPPORTED, "%s is %s, expected f32 or f64", name,
		            hec_dtype_name(t->dtype));
	return HEC_OK;
}
