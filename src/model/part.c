/* part.c — rows of a file's tensor into parameters and back, also where these exist only packed.
 *
 * A pack takes rows of W [out, in] as columns of Wᵀ, wherever a piece begins; it gives whole rows of W
 * back, so that a file with [in, out] costs a pass over the pack for each piece. */
#include <stdlib.h>

#include <hecate/ops.h>

#include "backend/backend.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "model/family.h"
#include "model/model.h"

#define ROWS 64 /* taken out of a pack at a time */

typedef hec_status move_rows(hec_ctx *ctx, const hec_model *m, const weight_part *part,
                             int64_t first, const hec_tensor *rows);

static bool is_only_packed(const hec_model *m, const weight_part *part)
{
	return !m->places[part->param].data;
}

bool weight_is_packed(const hec_model *m, const weight *w)
{
	for (int i = 0; i < w->parts; i++)
		if (is_only_packed(m, &w->part[i]))
			return true;
	return false;
}

/* A part in the file's layout, where its parameter has data. */
static hec_status view_part(const hec_model *m, const weight_part *part, hec_tensor *view)
{
	const hec_tensor whole = hec_model_tensor(m, part->param);
	HEC_TRY(hec_tensor_slice(&whole, 0, part->first, part->rows, view));
	return part->transposed ? hec_tensor_transpose(view, 0, 1, view) : HEC_OK;
}

/* ---- into the model ---- */

static hec_status put_packed(hec_ctx *ctx, const hec_model *m, const weight_part *part,
                             int64_t first, const hec_tensor *rows)
{
	hec_tensor b = *rows;
	gemm_pack_args args = {.b = &b, .into = &m->places[part->param].linear->w_fwd};
	if (part->transposed) {
		args.k = first;
		args.n = part->first;
	} else {
		HEC_TRY(hec_tensor_transpose(rows, 0, 1, &b));
		args.n = part->first + first;
	}
	return BACKEND(ctx, rows->dtype, gemm_pack, &args);
}

static hec_status put_rows(hec_ctx *ctx, const hec_model *m, const weight_part *part, int64_t first,
                           const hec_tensor *rows)
{
	hec_tensor to;
	if (is_only_packed(m, part))
		return put_packed(ctx, m, part, first, rows);
	HEC_TRY(view_part(m, part, &to));
	HEC_TRY(hec_tensor_slice(&to, 0, first, rows->shape[0], &to));
	return hec_tensor_copy(ctx, rows, &to);
}

/* ---- and out of it ---- */

/* Rows at … at + n of W, in `taken`, to where they lie in rows of the file. */
static hec_status copy_taken(hec_ctx *ctx, const weight_part *part, int64_t first,
                             const hec_tensor *taken, int64_t at, const hec_tensor *rows)
{
	hec_tensor from = *taken, to;
	if (!part->transposed) {
		HEC_TRY(hec_tensor_slice(rows, 0, at, taken->shape[0], &to));
		return hec_tensor_copy(ctx, &from, &to);
	}
	HEC_TRY(hec_tensor_transpose(taken, 0, 1, &from));
	HEC_TRY(hec_tensor_slice(&from, 0, first, rows->shape[0], &from));
	HEC_TRY(hec_tensor_slice(rows, 1, at, taken->shape[0], &to));
	return hec_tensor_copy(ctx, &from, &to);
}

static hec_status get_packed(hec_ctx *ctx, const hec_model *m, const weight_part *part,
                             int64_t first, const hec_tensor *rows)
{
	const hec_linear *linear = m->places[part->param].linear;
	const int64_t in = linear->w_fwd.k;
	const int64_t begin = part->first + (part->transposed ? 0 : first),
		      n = part->transposed ? rows->shape[1] : rows->shape[0];
	size_t bytes;
	float *memory =
		size_mul((size_t)in, ROWS * sizeof *memory, &bytes) ? mem_alloc(bytes) : NULL;
	if (!memory)
		return fail(HEC_ERR_MEMORY, "model: no memory for rows of %lld numbers",
		            (long long)in);
	hec_status status = HEC_OK;
	for (int64_t at = 0; status == HEC_OK && at < n; at += ROWS) {
		const hec_tensor taken = hec_tensor_2d(memory, HEC_F32, min_i64(ROWS, n - at), in);
		status = packs_rows(ctx, linear, begin + at, &taken);
		if (status == HEC_OK)
			status = copy_taken(ctx, part, first, &taken, at, rows);
	}
	mem_free(memory);
	return status;
}

static hec_status get_rows(hec_ctx *ctx, const hec_model *m, const weight_part *part, int64_t first,
                           const hec_tensor *rows)
{
	hec_tensor from, to = *rows;
	if (is_only_packed(m, part))
		return get_packed(ctx, m, part, first, rows);
	HEC_TRY(view_part(m, part, &from));
	HEC_TRY(hec_tensor_slice(&from, 0, first, rows->shape[0], &from));
	return hec_tensor_copy(ctx, &from, &to);
}

/* ---- all parts of a tensor ---- */

/* Of each part those rows that lie in first … first + n − 1 of the tensor. */
static hec_status move_parts(hec_ctx *ctx, const hec_model *m, const weight *w, int64_t first,
                             const hec_tensor *rows, move_rows *move)
{
	const int64_t n = rows->shape[0];
	int64_t begin = 0;
	for (int i = 0; i < w->parts; i++) {
		const weight_part *part = &w->part[i];
		const int64_t end = begin + part->rows, low = max_i64(first, begin),
			      high = min_i64(first + n, end);
		hec_tensor own;
		if (w->axis != 0) {
			HEC_TRY(hec_tensor_slice(rows, w->axis, begin, part->rows, &own));
			HEC_TRY(move(ctx, m, part, first, &own));
		} else if (low < high) {
			HEC_TRY(hec_tensor_slice(rows, 0, low - first, high - low, &own));
			HEC_TRY(move(ctx, m, part, low - begin, &own));
		}
		begin = end;
	}
	return HEC_OK;
}

hec_status weight_put(hec_ctx *ctx, const hec_model *m, const weight *w, int64_t first,
                      const hec_tensor *rows)
{
	return move_parts(ctx, m, w, first, rows, put_rows);
}

hec_status weight_get(hec_ctx *ctx, const hec_model *m, const weight *w, int64_t first,
                      const hec_tensor *rows)
{
	hec_tensor zeros = *rows;
	return w->parts > 0 ? move_parts(ctx, m, w, first, rows, get_rows)
	                    : hec_tensor_fill(ctx, 0, &zeros);
}
