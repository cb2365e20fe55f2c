/* embedding.c — rows of a table by id; backward adds the rows of dy to the rows they came from, in
 * the order of the tokens. */
#include <hecate/embedding.h>

#include "backend/backend.h"
#include "base/status.h"
#include "nn/linear.h"
#include "tensor/check.h"

/* rows: what is gathered or scattered, by its name. The ids are read last, once their number fits. */
static hec_status check_ids(hec_ctx *ctx, const hec_embedding *embedding, const hec_tensor *ids,
                            const hec_tensor *table, const char *name, const hec_tensor *rows)
{
	HEC_TRY(CHECK_GIVEN("embedding", ctx));
	HEC_TRY(CHECK_GIVEN("embedding", embedding));
	HEC_TRY(check_real("embedding: table", table));
	HEC_TRY(CHECK_2D("embedding: table", table, table->dtype, ANY, ANY));
	HEC_TRY(CHECK_1D("embedding: ids", ids, HEC_I32, ANY));
	HEC_TRY(CHECK_2D(name, rows, table->dtype, ids->shape[0], table->shape[1]));
	const int32_t *id = ids->data;
	for (int64_t n = 0; n < ids->shape[0]; n++) {
		int32_t i = id[n * ids->stride[0]];
		if (i < 0 || i >= table->shape[0])
			return fail(
				HEC_ERR_ARGUMENT,
				"embedding: id %d at position %lld is not in a table of %lld rows",
				(int)i, (long long)n, (long long)table->shape[0]);
	}
	return HEC_OK;
}

hec_status hec_embedding_fwd(hec_ctx *ctx, const hec_embedding *embedding, const hec_tensor *ids,
                             hec_tensor *y)
{
	HEC_TRY(CHECK_GIVEN("embedding", embedding));
	const hec_packed *packed = &embedding->packed;
	hec_tensor table = embedding->table;
	const bool packed_only = !table.data && packed->data;
	if (packed_only)
		table.data = (void *)(uintptr_t)packed->data; /* for the checks alone */
	HEC_TRY(check_ids(ctx, embedding, ids, &table, "embedding: y", y));
	if (packed_only)
		HEC_TRY(packed_fits("embedding: table", &table, packed));
	embedding_args args = {.scale = embedding->scale != 0 ? embedding->scale : 1,
	                       .padding_id = embedding->padding_id,
	                       .ids = ids,
	                       .table = &embedding->table,
	                       .packed = packed_only ? packed : NULL,
	                       .y = y};
	return BACKEND(ctx, table.dtype, embedding_gather, &args);
}

hec_status hec_embedding_bwd(hec_ctx *ctx, const hec_embedding *embedding, const hec_tensor *dy,
                             const hec_tensor *ids, hec_tensor *dtable)
{
	HEC_TRY(check_ids(ctx, embedding, ids, dtable, "embedding: dy", dy));
	embedding_args args = {.scale = embedding->scale != 0 ? embedding->scale : 1,
	                       .padding_id = embedding->padding_id,
	                       .ids = ids,
	                       .table = dtable,
	                       .y = dy};
	return BACKEND(ctx, dtable->dtype, embedding_scatter, &args);
}
