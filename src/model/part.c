/* part.c — pieces of a file's tensor into parameters and back, also where these exist only packed.
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

static hec_status put_packed(hec_ctx *ctx, const weight_part *part, int64_t first,
                             const hec_tensor *rows)
{
	hec_tensor b = *rows;
	gemm_pack_args args = {.b = &b, .into = &part->linear->w_fwd};
	if (part->transposed) {
		args.k = first;
		args.n = part->first;
	} else {
		HEC_TRY(hec_tensor_transpose(rows, 0, 1, &b));
		args.n = part->first + first;
	}
	return BACKEND(ctx, rows->dtype, gemm_pack, &args);
}

hec_status part_put(hec_ctx *ctx, const weight_part *part, int64_t first, const hec_tensor *rows)
{
	hec_tensor to;
	if (!part->view.data)
		return put_packed(ctx, part, first, rows);
	HEC_TRY(hec_tensor_slice(&part->view, 0, first, rows->shape[0], &to));
	return hec_copy(ctx, rows, &to);
}

/* Rows at … at + n of W, in `taken`, to where they lie in rows of the file. */
static hec_status copy_taken(hec_ctx *ctx, const weight_part *part, int64_t first,
                             const hec_tensor *taken, int64_t at, const hec_tensor *rows)
{
	hec_tensor from = *taken, to;
	if (!part->transposed) {
		HEC_TRY(hec_tensor_slice(rows, 0, at, taken->shape[0], &to));
		return hec_copy(ctx, &from, &to);
	}
	HEC_TRY(hec_tensor_transpose(taken, 0, 1, &from));
	HEC_TRY(hec_tensor_slice(&from, 0, first, rows->shape[0], &from));
	HEC_TRY(hec_tensor_slice(rows, 1, at, taken->shape[0], &to));
	return hec_copy(ctx, &from, &to);
}

static hec_status get_packed(hec_ctx *ctx, const weight_part *part, int64_t first,
                             const hec_tensor *rows)
{
	const int64_t in = part->linear->w_fwd.k;
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
		status = packs_rows(ctx, part->linear, begin + at, &taken);
		if (status == HEC_OK)
			status = copy_taken(ctx, part, first, &taken, at, rows);
	}
	mem_free(memory);
	return status;
}

hec_status part_get(hec_ctx *ctx, const weight_part *part, int64_t first, const hec_tensor *rows)
{
	hec_tensor from, to = *rows;
	if (!part->view.data)
		return get_packed(ctx, part, first, rows);
	HEC_TRY(hec_tensor_slice(&part->view, 0, first, rows->shape[0], &from));
	return hec_copy(ctx, &from, &to);
}
