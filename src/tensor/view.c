/* view.c — broadcasting, joining and splitting axes. */
#include "tensor/view.h"

#include <string.h>

#include "base/status.h"
#include "tensor/check.h"

hec_status view_broadcast(const char *name, const hec_tensor *t, int rank, const int64_t *shape,
                          hec_tensor *out)
{
	hec_tensor r = *t;
	r.rank = rank;
	bool fits = t->rank <= rank;
	for (int i = rank - 1; fits && i >= 0; i--) {
		int j = i - (rank - t->rank);
		bool repeated = j < 0 || (t->shape[j] == 1 && shape[i] != 1);
		fits = j < 0 || repeated || t->shape[j] == shape[i];
		r.shape[i] = shape[i];
		r.stride[i] = repeated ? 0 : t->stride[j];
	}
	if (!fits) {
		hec_tensor want = {.rank = rank};
		memcpy(want.shape, shape, (size_t)rank * sizeof *shape);
		char a[SHAPE_TEXT], b[SHAPE_TEXT];
		return fail(HEC_ERR_SHAPE, "%s has shape %s, which does not broadcast to %s", name,
		            shape_text(t, a), shape_text(&want, b));
	}
	*out = r;
	return HEC_OK;
}

hec_status view_rows(const char *name, const hec_tensor *t, hec_tensor *out)
{
	hec_tensor axes = *t; /* all but the last; too many to count: reshape refuses them */
	axes.rank--;
	const int64_t shape[] = {hec_tensor_count(&axes), t->shape[t->rank - 1]};
	hec_status status = hec_tensor_reshape(t, 2, shape, out);
	return status == HEC_OK ? HEC_OK : fail_in(status, "%s", name);
}

hec_status view_heads(const hec_tensor *rows, int64_t begin, int64_t width, int64_t B, int64_t T,
                      int64_t heads, hec_tensor *out)
{
	hec_tensor part;
	HEC_TRY(hec_tensor_slice(rows, 1, begin, width, &part));
	return hec_tensor_reshape(&part, 4, (int64_t[]){B, T, heads, width / heads}, out);
}
