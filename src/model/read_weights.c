/* read_weights.c — from the files into the parameters, through a piece of memory: of 1 MiB, or of a row that is
 * longer. From there a matrix goes into the pack of the kernels, and exists whole in no other form. */
#include <stdlib.h>

#include <hecate/ops.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "model/read_weights.h"

#define WHOLE_ROWS 64 /* at a time where there are so many: a panel of a pack */

static hec_status no_memory(void)
{
	return fail(HEC_ERR_MEMORY, "no memory to load a model");
}

int64_t weight_rows_at_once(const weight *w, hec_dtype dtype, size_t bytes)
{
	const int64_t room = (int64_t)(bytes / hec_dtype_size(dtype)),
		      step = room / max_i64(weights_row(w), 1);
	return step > WHOLE_ROWS ? step - step % WHOLE_ROWS : step;
}

hec_tensor weight_rows(const weight *w, void *data, hec_dtype dtype, int64_t n)
{
	return w->rank == 1   ? hec_tensor_1d(data, dtype, n)
	       : w->rank == 2 ? hec_tensor_2d(data, dtype, n, w->shape[1])
	                      : hec_tensor_3d(data, dtype, n, w->shape[1], w->shape[2]);
}

/* Memory for a piece as the file has it, and in f32. */
typedef struct pieces {
	size_t bytes;
	void *raw;     /* bytes */
	float *floats; /* twice that: from 16 bits to 32 */
} pieces;

/* Rows as a pack takes them: in f32. */
static hec_status widen_for_pack(hec_ctx *ctx, const hec_model *m, const weight *w,
                                 const pieces *memory, hec_tensor *piece)
{
	if (piece->dtype == HEC_F32 || !weight_is_packed(m, w))
		return HEC_OK;
	hec_tensor wide = hec_tensor_2d(memory->floats, HEC_F32, piece->shape[0], piece->shape[1]);
	HEC_TRY(hec_tensor_copy(ctx, piece, &wide));
	*piece = wide;
	return HEC_OK;
}

static hec_status read_weight(hec_ctx *ctx, const hec_model *m, const safetensors *files,
                              const weight *w, const pieces *memory)
{
	hec_dtype dtype = HEC_F32;
	(void)safetensors_dtype_known(w->entry->dtype, &dtype);
	const int64_t row = weights_row(w), step = weight_rows_at_once(w, dtype, memory->bytes);
	for (int64_t at = 0; at < w->rows_read && row > 0; at += step) {
		const int64_t n = min_i64(step, w->rows_read - at);
		hec_tensor piece = weight_rows(w, memory->raw, dtype, n);
		HEC_TRY(safetensors_read(files, w->entry, (uint64_t)(at * row), (uint64_t)(n * row),
		                         memory->raw));
		HEC_TRY(widen_for_pack(ctx, m, w, memory, &piece));
		HEC_TRY(weight_put(ctx, m, w, at, &piece));
	}
	return HEC_OK;
}

/* By their place in the files: those are then read from begin to end, as the system reads ahead. */
static int by_place(const void *a, const void *b)
{
	const safetensors_entry *x = (*(const weight *const *)a)->entry,
				*y = (*(const weight *const *)b)->entry;
	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

hec_status weights_read(hec_ctx *ctx, const matching *m, const hec_model *model)
{
	const size_t bytes = weights_piece(m->list, m->count);
	pieces memory = {bytes, mem_alloc(bytes), mem_alloc(2 * bytes)};
	const weight **order = mem_zeros(m->count + 1, sizeof *order);
	size_t n = 0;
	hec_status status = memory.raw && memory.floats && order ? HEC_OK : no_memory();
	for (size_t i = 0; order && i < m->count; i++)
		if (m->list[i].entry)
			order[n++] = &m->list[i];
	if (status == HEC_OK)
		qsort(order, n, sizeof *order, by_place);
	for (size_t i = 0; status == HEC_OK && i < n; i++)
		status = read_weight(ctx, model, m->files, order[i], &memory);
	mem_free(order);
	mem_free(memory.raw);
	mem_free(memory.floats);
	return status;
}
