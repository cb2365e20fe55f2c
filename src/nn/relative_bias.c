/* relative_bias.c — T5's relative bias as a Toeplitz view.
 *
 * bias(h, t, s) depends on s − t alone: a line of L = T + S − 1 numbers a head holds it all, and
 * element (t, s) is number s − t + T − 1 of the line: strides −1 over t and 1 over s from number
 * T − 1. Attention takes any strides, so nothing of size T×S exists, forward or backward. The line
 * is a gather of table rows by bucket, its gradient the matching scatter. */
#include <hecate/position.h>

#include <math.h>

#include <hecate/embedding.h>
#include <hecate/ops.h>

#include "base/size.h"
#include "base/status.h"
#include "tensor/check.h"

static hec_status check_bias(hec_ctx *ctx, hec_arena *arena, const hec_relative_bias *bias)
{
	HEC_TRY(CHECK_GIVEN("relative bias", ctx));
	HEC_TRY(CHECK_GIVEN("relative bias", arena));
	HEC_TRY(CHECK_GIVEN("relative bias", bias));
	HEC_TRY(check_real("relative bias: table", &bias->table));
	HEC_TRY(CHECK_2D("relative bias: table", &bias->table, bias->table.dtype, ANY, ANY));
	int64_t exact = bias->table.shape[0] / (bias->bidirectional ? 4 : 2);
	if (exact < 1 || bias->max_distance <= exact)
		return fail(
			HEC_ERR_ARGUMENT,
			"relative bias: %lld buckets keep %lld distances apart, max_distance is "
			"%lld",
			(long long)bias->table.shape[0], (long long)exact,
			(long long)bias->max_distance);
	return HEC_OK;
}

/* Half of the buckets (of one direction) are exact distances; the others widen by a logarithm. In
 * single precision, as the models that use it were trained: a distance on the edge of two buckets
 * must fall on the same side. */
int64_t hec_relative_bucket(const hec_relative_bias *bias, int64_t distance)
{
	int64_t buckets = bias->table.shape[0], base = 0, d;
	distance = max_i64(distance, -INT64_MAX); /* so that it can be negated */
	if (bias->bidirectional) {
		buckets /= 2;
		base = distance > 0 ? buckets : 0;
		d = distance < 0 ? -distance : distance;
	} else {
		d = distance < 0 ? -distance : 0;
	}
	int64_t exact = buckets / 2;
	if (exact < 1)
		return 0;
	if (d < exact)
		return base + d;
	float ratio = logf((float)d / (float)exact) /
	              (float)log((double)bias->max_distance / (double)exact);
	if (!(ratio >= 0 && ratio < 1)) /* further than max_distance, or one that makes no sense */
		return base + buckets - 1;
	int64_t wide = exact + (int64_t)(ratio * (float)(buckets - exact));
	return base + min_i64(wide, buckets - 1);
}

static int64_t line_length(int64_t T, int64_t S)
{
	return T > 0 && S > 0 ? T + S - 1 : 0;
}

/* ids [L]: the bucket of each number of the line. */
static hec_status make_ids(hec_arena *arena, const hec_relative_bias *bias, int64_t T, int64_t S,
                           int64_t offset, hec_tensor *ids)
{
	int64_t L = line_length(T, S);
	if (offset < -INT32_MAX || offset > INT32_MAX)
		return fail(HEC_ERR_ARGUMENT, "relative bias: an offset of %lld",
		            (long long)offset);
	HEC_TRY(hec_arena_tensor(arena, HEC_I32, 1, &L, ids));
	for (int64_t i = 0; i < L; i++)
		((int32_t *)ids->data)[i] =
			(int32_t)hec_relative_bucket(bias, i - (T - 1) - offset);
	return HEC_OK;
}

static hec_status make_view(hec_arena *arena, const hec_relative_bias *bias, int64_t T, int64_t S,
                            hec_tensor *line, hec_tensor *view)
{
	if (T < 0 || S < 0 || T > INT32_MAX || S > INT32_MAX)
		return fail(HEC_ERR_SHAPE, "relative bias: %lld queries, %lld keys", (long long)T,
		            (long long)S);
	int64_t H = bias->table.shape[1], L = line_length(T, S);
	hec_dtype dtype = bias->table.dtype;
	HEC_TRY(hec_arena_tensor(arena, dtype, 2, (int64_t[]){H, L}, line));
	*view = hec_tensor_4d(line->data, dtype, 1, H, T, S);
	if (L > 0)
		view->data = (char *)line->data + (T - 1) * (int64_t)hec_dtype_size(dtype);
	view->stride[0] = 0;
	view->stride[1] = L;
	view->stride[2] = -1;
	view->stride[3] = 1;
	return HEC_OK;
}

static hec_embedding as_embedding(const hec_relative_bias *bias)
{
	return (hec_embedding){.table = bias->table, .scale = 1, .padding_id = -1};
}

static hec_status fill_line(hec_ctx *ctx, hec_arena *arena, const hec_relative_bias *bias,
                            int64_t T, int64_t S, int64_t offset, hec_tensor *view)
{
	hec_tensor line, ids, made;
	HEC_TRY(make_view(arena, bias, T, S, &line, &made));
	size_t mark = hec_arena_used(arena);
	HEC_TRY(make_ids(arena, bias, T, S, offset, &ids));
	HEC_TRY(hec_tensor_transpose(&line, 0, 1, &line)); /* [L, H] */
	hec_embedding rows = as_embedding(bias);
	HEC_TRY(hec_embedding_fwd(ctx, &rows, &ids, &line));
	hec_arena_rewind(arena, mark);
	*view = made;
	return HEC_OK;
}

hec_status hec_relative_bias_fwd(hec_ctx *ctx, hec_arena *arena, const hec_relative_bias *bias,
                                 int64_t T, int64_t S, int64_t offset, hec_tensor *view)
{
	HEC_TRY(check_bias(ctx, arena, bias));
	HEC_TRY(CHECK_GIVEN("relative bias", view));
	size_t mark = hec_arena_used(arena);
	hec_status status = fill_line(ctx, arena, bias, T, S, offset, view);
	if (status != HEC_OK)
		hec_arena_rewind(arena, mark);
	return status;
}

hec_status hec_relative_bias_zero(hec_ctx *ctx, hec_arena *arena, const hec_relative_bias *bias,
                                  int64_t T, int64_t S, hec_tensor *dview)
{
	HEC_TRY(check_bias(ctx, arena, bias));
	HEC_TRY(CHECK_GIVEN("relative bias", dview));
	hec_tensor line, made;
	HEC_TRY(make_view(arena, bias, T, S, &line, &made));
	HEC_TRY(hec_tensor_fill(ctx, 0, &line));
	*dview = made;
	return HEC_OK;
}

hec_status hec_relative_bias_bwd(hec_ctx *ctx, hec_arena *arena, const hec_relative_bias *bias,
                                 int64_t offset, const hec_tensor *dview, hec_tensor *dtable)
{
	HEC_TRY(check_bias(ctx, arena, bias));
	hec_dtype dtype = bias->table.dtype;
	int64_t H = bias->table.shape[1];
	HEC_TRY(CHECK_4D("relative bias: dview", dview, dtype, 1, H, ANY, ANY));
	HEC_TRY(check_tensor("relative bias: dtable", dtable, dtype, 2, bias->table.shape));
	int64_t T = dview->shape[2], S = dview->shape[3], L = line_length(T, S);
	if (L == 0)
		return HEC_OK;
	if (dview->stride[1] != L || dview->stride[2] != -1 || dview->stride[3] != 1)
		return fail(HEC_ERR_ARGUMENT,
		            "relative bias: dview was not made by hec_relative_bias_zero");
	hec_tensor ids, line = hec_tensor_2d(dview->data, dtype, L, H);
	line.data = (char *)dview->data - (T - 1) * (int64_t)hec_dtype_size(dtype);
	line.stride[0] = 1;
	line.stride[1] = L;
	size_t mark = hec_arena_used(arena);
	HEC_TRY(make_ids(arena, bias, T, S, offset, &ids));
	hec_embedding rows = as_embedding(bias);
	hec_status status = hec_embedding_bwd(ctx, &rows, &line, &ids, dtable);
	hec_arena_rewind(arena, mark);
	return status;
}
