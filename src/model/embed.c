/* embed.c — from ids (or frames) to the first hidden states, forward and backward. Backward needs the sum before
 * the norm; dropout makes its mask again. */
#include <string.h>

#include <hecate/ops.h>

#include "base/status.h"
#include "model/stack.h"
#include "nn/dropout.h"
#include "tensor/check.h"
#include "tensor/view.h"

hec_status norm_rows_fwd(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *x,
                         const hec_tensor *y, hec_norm_kept *kept)
{
	hec_tensor xr, yr;
	HEC_TRY(view_rows("model: x", x, &xr));
	HEC_TRY(view_rows("model: y", y, &yr));
	return hec_norm_fwd(ctx, norm, &xr, &yr, kept);
}

hec_status norm_rows_bwd(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *dy,
                         const hec_tensor *x, const hec_norm_kept *kept, const hec_tensor *dx,
                         hec_norm *grad)
{
	hec_tensor dyr, xr, dxr;
	HEC_TRY(view_rows("model: dy", dy, &dyr));
	HEC_TRY(view_rows("model: x", x, &xr));
	HEC_TRY(view_rows("model: dx", dx, &dxr));
	return hec_norm_bwd(ctx, norm, &dyr, &xr, kept, &dxr, grad);
}

hec_status norm_keep(hec_arena *arena, hec_dtype dtype, int64_t rows, hec_norm_kept *kept)
{
	HEC_TRY(hec_arena_tensor(arena, dtype, 1, &rows, &kept->mean));
	return hec_arena_tensor(arena, dtype, 1, &rows, &kept->rstd);
}

static hec_status as_line(const hec_tensor *ids, hec_tensor *line)
{
	int64_t n = hec_tensor_count(ids);
	return hec_tensor_reshape(ids, 1, &n, line);
}

/* rows [N, C] += table[ids]. */
static hec_status add_gathered(const stack_call *call, const hec_embedding *table,
                               const hec_tensor *ids, hec_tensor *rows)
{
	size_t mark = hec_arena_used(call->arena);
	hec_tensor gathered;
	HEC_TRY(hec_arena_tensor(call->arena, rows->dtype, 2, rows->shape, &gathered));
	HEC_TRY(hec_embedding_fwd(call->ctx, table, ids, &gathered));
	HEC_TRY(hec_tensor_add(call->ctx, 1, rows, 1, &gathered, rows));
	hec_arena_rewind(call->arena, mark);
	return HEC_OK;
}

static hec_status add_types(const stack_call *call, const model_stack *s, hec_tensor *rows)
{
	if (!is_present(&s->types.table))
		return HEC_OK;
	hec_tensor line;
	if (is_present(&call->types)) {
		HEC_TRY(as_line(&call->types, &line));
		return add_gathered(call, &s->types, &line, rows);
	}
	HEC_TRY(hec_tensor_slice(&s->types.table, 0, 0, 1, &line));
	return hec_tensor_add(call->ctx, 1, rows, 1, &line, rows);
}

/* Where padding is not counted: pad_id stands at row offset − 1, the others follow it. */
static hec_status count_positions(const stack_call *call, const model_stack *s, hec_tensor *rows)
{
	*rows = (hec_tensor)HEC_TENSOR_NONE;
	if (!s->config->position.skip_padding)
		return HEC_OK;
	const int64_t B = call->ids.shape[0], T = call->ids.shape[1], n = B * T;
	const int32_t before = (int32_t)s->config->position.offset - 1;
	HEC_TRY(hec_arena_tensor(call->arena, HEC_I32, 1, &n, rows));
	const int32_t *ids = call->ids.data;
	int32_t *to = rows->data;
	for (int64_t b = 0; b < B; b++) {
		int32_t counted = 0;
		for (int64_t t = 0; t < T; t++) {
			const bool pad = ids[b * T + t] == s->pad_id;
			counted += !pad;
			to[b * T + t] = before + (pad ? 0 : counted);
		}
	}
	return HEC_OK;
}

/* The table of positions as one of rows, from `first` on. */
static hec_status position_table(const model_stack *s, int64_t first, hec_embedding *table)
{
	*table = (hec_embedding){.scale = 1, .padding_id = -1};
	return hec_tensor_slice(&s->positions, 0, first, s->positions.shape[0] - first,
	                        &table->table);
}

static hec_status add_positions(const stack_call *call, const model_stack *s,
                                const hec_tensor *positions, int64_t first, hec_tensor *rows,
                                hec_tensor *x)
{
	if (!is_present(&s->positions))
		return HEC_OK;
	if (!is_present(positions))
		return hec_position_add_fwd(call->ctx, &s->positions, first, x, x);
	hec_embedding table;
	HEC_TRY(position_table(s, first, &table));
	return add_gathered(call, &table, positions, rows);
}

static hec_status add_all(const stack_call *call, const model_stack *s, const hec_tensor *positions,
                          int64_t first, hec_tensor *x)
{
	hec_tensor ids, rows;
	HEC_TRY(as_line(&call->ids, &ids));
	HEC_TRY(view_rows("model: embeddings", x, &rows));
	HEC_TRY(hec_embedding_fwd(call->ctx, &s->embedding, &ids, &rows));
	HEC_TRY(add_types(call, s, &rows));
	return add_positions(call, s, positions, first, &rows, x);
}

hec_status embed_at(const stack_call *call, const model_stack *s, const hec_tensor *positions,
                    hec_tensor *x)
{
	return add_all(call, s, positions, s->config->position.offset, x);
}

static hec_status embed_add(const stack_call *call, const model_stack *s, hec_tensor *x,
                            embed_kept *kept)
{
	if (is_present(&call->features)) {
		HEC_TRY(front_fwd(call, s, x, kept ? &kept->front : NULL));
		return is_present(&s->positions)
		               ? hec_position_add_fwd(call->ctx, &s->positions,
		                                      s->config->position.offset, x, x)
		               : HEC_OK;
	}
	size_t mark = hec_arena_used(call->arena);
	hec_tensor rows;
	HEC_TRY(count_positions(call, s, &rows));
	HEC_TRY(add_all(call, s, &rows, is_present(&rows) ? 0 : s->config->position.offset, x));
	if (kept)
		kept->rows = rows;
	else
		hec_arena_rewind(call->arena, mark);
	return HEC_OK;
}

hec_status embed_fwd(const stack_call *call, const model_stack *s, hec_tensor *x, embed_kept *kept)
{
	hec_tensor sum = *x;
	hec_norm_kept *norm = NULL;
	if (kept && s->config->embedding_norm) {
		norm = &kept->norm;
		HEC_TRY(norm_keep(call->arena, x->dtype, x->shape[0] * x->shape[1], norm));
		HEC_TRY(hec_arena_tensor(call->arena, x->dtype, 3, x->shape, &sum));
		kept->sum = sum;
	}
	HEC_TRY(embed_add(call, s, &sum, kept));
	if (s->config->embedding_norm)
		HEC_TRY(norm_rows_fwd(call->ctx, &s->embedding_norm, &sum, x, norm));
	hec_dropout dropout = dropout_at(s->config->dropout, s->site, call->key);
	return dropout.p > 0 ? hec_dropout_apply(call->ctx, &dropout, x, x) : HEC_OK;
}

/* dtable[0] += Σ rows where every type is 0, else each row to its own. */
static hec_status types_bwd(const stack_call *call, const model_stack *s, const hec_tensor *drows,
                            model_stack *grad)
{
	if (!is_present(&s->types.table))
		return HEC_OK;
	hec_tensor line;
	size_t mark = hec_arena_used(call->arena);
	if (is_present(&call->types)) {
		HEC_TRY(as_line(&call->types, &line));
	} else {
		HEC_TRY(hec_arena_tensor(call->arena, HEC_I32, 1, drows->shape, &line));
		/* Ids are looked at in a dry run too, where hec_fill writes nothing. */
		memset(line.data, 0, (size_t)line.shape[0] * sizeof(int32_t));
	}
	HEC_TRY(hec_embedding_bwd(call->ctx, &s->types, drows, &line, &grad->types.table));
	hec_arena_rewind(call->arena, mark);
	return HEC_OK;
}

static hec_status positions_bwd(const stack_call *call, const model_stack *s,
                                const embed_kept *kept, const hec_tensor *dsum,
                                const hec_tensor *drows, model_stack *grad)
{
	if (s->config->position.kind != HEC_POSITION_LEARNED || s->config->position.fixed)
		return HEC_OK;
	if (!is_present(&kept->rows))
		return hec_position_add_bwd(call->ctx, dsum, s->config->position.offset,
		                            &grad->positions);
	hec_embedding table;
	HEC_TRY(position_table(s, 0, &table));
	return hec_embedding_bwd(call->ctx, &table, drows, &kept->rows, &grad->positions);
}

hec_status embed_bwd(const stack_call *call, const model_stack *s, const embed_kept *kept,
                     hec_tensor *dx, model_stack *grad)
{
	hec_tensor dsum = *dx, drows, ids;
	hec_dropout dropout = dropout_at(s->config->dropout, s->site, call->key);
	if (dropout.p > 0)
		HEC_TRY(hec_dropout_apply(call->ctx, &dropout, dx, dx));
	if (s->config->embedding_norm) {
		HEC_TRY(hec_arena_tensor(call->arena, dx->dtype, 3, dx->shape, &dsum));
		HEC_TRY(hec_tensor_fill(call->ctx, 0, &dsum));
		HEC_TRY(norm_rows_bwd(call->ctx, &s->embedding_norm, dx, &kept->sum, &kept->norm,
		                      &dsum, &grad->embedding_norm));
	}
	HEC_TRY(view_rows("model: gradient of the embeddings", &dsum, &drows));
	HEC_TRY(positions_bwd(call, s, kept, &dsum, &drows, grad));
	if (is_present(&call->features))
		return front_bwd(call, s, &kept->front, &dsum, grad);
	HEC_TRY(types_bwd(call, s, &drows, grad));
	HEC_TRY(as_line(&call->ids, &ids));
	return hec_embedding_bwd(call->ctx, &s->embedding, &drows, &ids, &grad->embedding.table);
}
