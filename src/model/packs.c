/* packs.c — the weights as the kernels want them.
 *
 * A model that learns has its parameters in one block, and packs beside it. One that was loaded to run
 * has each matrix once: in its pack. What else reads a matrix reads the pack, too: an embedding that
 * is tied to the output takes rows out of it, saving walks over them, and hec_model_unpack makes the
 * block again. */
#include <string.h>

#include "backend/backend.h"
#include "base/size.h"
#include "base/status.h"
#include "model/model.h"
#include "tensor/check.h"

#define ALIGN_BYTES 64 /* of a tensor in an arena */
#define ROWS 64        /* taken out of a pack at a time */

static bool is_tied(const hec_model *m)
{
	return head_is_vocabulary(m->config.head) && !m->config.separate_output;
}

hec_linear *packs_linear(hec_model *m, const hec_param *p)
{
	const bool shared =
		!m->config.separate_embeddings && p->tensor == &m->encoder.embedding.table;
	if (p->linear)
		return p->linear;
	return is_tied(m) && (shared || p->tensor == &model_last_stack(m)->embedding.table)
	               ? &m->output
	               : NULL;
}

/* ---- places ---- */

size_t packs_bytes(const hec_ctx *ctx, const hec_model *m, bool with_bwd)
{
	const backend_ops *ops = &ctx_backend(ctx)->ops[m->dtype];
	size_t bytes = 0;
	for (size_t i = 0; ops->gemm_pack_size && i < m->count; i++) {
		const int64_t *shape = m->params[i].shape;
		if (!m->places[i].linear)
			continue;
		size_t fwd = ops->gemm_pack_size(shape[1], shape[0]),
		       bwd = with_bwd ? ops->gemm_pack_size(shape[0], shape[1]) : 0;
		if (!size_align(fwd, ALIGN_BYTES, &fwd) || !size_align(bwd, ALIGN_BYTES, &bwd) ||
		    !size_add(bytes, fwd, &bytes) || !size_add(bytes, bwd, &bytes))
			return SIZE_MAX;
	}
	return bytes;
}

static bool is_packed_for(const hec_ctx *ctx, const hec_model *m)
{
	return m->layout == ctx_backend(ctx)->ops[m->dtype].gemm_layout;
}

static hec_status make_packs(hec_ctx *ctx, hec_model *m, bool with_bwd)
{
	if (m->packs && is_packed_for(ctx, m) && (m->packed_bwd || !with_bwd))
		return HEC_OK;
	hec_arena_destroy(m->packs);
	m->packs = NULL;
	for (size_t i = 0; i < m->count; i++) {
		hec_linear *linear = m->places[i].linear;
		if (linear) /* what was packed before is gone */
			linear->w_fwd = linear->w_bwd = (hec_packed){0};
	}
	HEC_TRY(hec_arena_create(packs_bytes(ctx, m, with_bwd), &m->packs));
	m->layout = ctx_backend(ctx)->ops[m->dtype].gemm_layout;
	m->packed_bwd = with_bwd;
	return HEC_OK;
}

/* A table that only the output's pack holds is read there. */
static void tie_packs(hec_model *m)
{
	hec_embedding *tables[2] = {&m->encoder.embedding, &m->decoder.embedding};
	for (int i = 0; i < 2; i++)
		tables[i]->packed = is_present(&tables[i]->table) && !tables[i]->table.data
		                            ? m->output.w_fwd
		                            : (hec_packed){0};
}

hec_status packs_place(hec_ctx *ctx, hec_model *m)
{
	const backend_ops *ops = &ctx_backend(ctx)->ops[m->dtype];
	HEC_TRY(make_packs(ctx, m, false));
	for (size_t i = 0; i < m->count; i++) {
		const int64_t out = m->params[i].shape[0], in = m->params[i].shape[1];
		hec_packed pack = {.k = in, .n = out, .layout = ops->gemm_layout};
		void *data;
		if (!m->places[i].linear)
			continue;
		pack.bytes = ops->gemm_pack_size(in, out);
		HEC_TRY(hec_arena_alloc(m->packs, pack.bytes, &data));
		pack.data = data;
		m->places[i].linear->w_fwd = pack;
	}
	tie_packs(m);
	return HEC_OK;
}

/* ---- packing ---- */

hec_status hec_model_pack(hec_ctx *ctx, hec_model *m, bool with_bwd)
{
	HEC_TRY(CHECK_GIVEN("model", ctx));
	HEC_TRY(CHECK_GIVEN("model", m));
	if (m->packed_only && !with_bwd && is_packed_for(ctx, m))
		return HEC_OK;
	HEC_TRY(hec_model_unpack(ctx, m));
	HEC_TRY(make_packs(ctx, m, with_bwd));
	hec_param_alloc alloc = {
		.size = sizeof alloc, .ctx = ctx, .arena = m->packs, .with_bwd = with_bwd};
	HEC_TRY(model_walk(m, hec_param_pack, &alloc));
	return is_tied(m) ? hec_linear_pack(ctx, m->packs, with_bwd, &m->output) : HEC_OK;
}

/* ---- and back again ---- */

hec_status packs_rows(hec_ctx *ctx, const hec_linear *linear, int64_t first, const hec_tensor *rows)
{
	const hec_packed *p = &linear->w_fwd;
	int32_t ids[ROWS];
	for (int64_t at = 0; at < rows->shape[0]; at += ROWS) {
		const int64_t n = min_i64(ROWS, rows->shape[0] - at);
		for (int64_t i = 0; i < n; i++)
			ids[i] = (int32_t)(first + at + i);
		hec_tensor y, which = hec_tensor_1d(ids, HEC_I32, n);
		HEC_TRY(hec_tensor_slice(rows, 0, at, n, &y));
		embedding_args args = {
			.scale = 1, .padding_id = -1, .ids = &which, .packed = p, .y = &y};
		HEC_TRY(BACKEND(ctx, rows->dtype, embedding_gather, &args));
	}
	return HEC_OK;
}

/* The whole block of a model that has parts of it. */
static hec_status fill_block(hec_ctx *ctx, const hec_model *m, const hec_tensor *block)
{
	const size_t size = hec_dtype_size(m->dtype);
	memset(block->data, 0, (size_t)block->shape[0] * size);
	for (size_t i = 0; i < m->count; i++) {
		const hec_model_param *p = &m->params[i];
		char *data = (char *)block->data + (size_t)p->offset * size;
		if (m->places[i].data) {
			memcpy(data, m->places[i].data, (size_t)p->count * size);
			continue;
		}
		const hec_tensor rows = hec_tensor_2d(data, m->dtype, p->shape[0], p->shape[1]);
		HEC_TRY(packs_rows(ctx, m->places[i].linear, 0, &rows));
	}
	return HEC_OK;
}

hec_status hec_model_unpack(hec_ctx *ctx, hec_model *m)
{
	HEC_TRY(CHECK_GIVEN("model", ctx));
	HEC_TRY(CHECK_GIVEN("model", m));
	if (!m->packed_only)
		return HEC_OK;
	if (ctx_backend(ctx)->dry)
		return fail(HEC_ERR_ARGUMENT, "model: its weights exist only packed, and a dry "
		                              "context would lose them: it copies no number");
	hec_arena *memory;
	hec_tensor block;
	HEC_TRY(hec_arena_create((size_t)m->block.shape[0] * hec_dtype_size(m->dtype), &memory));
	hec_status status = hec_arena_tensor(memory, m->dtype, 1, m->block.shape, &block);
	if (status == HEC_OK)
		status = fill_block(ctx, m, &block);
	if (status != HEC_OK) {
		hec_arena_destroy(memory);
		return status;
	}
	hec_arena_destroy(m->memory);
	m->memory = memory;
	m->block = block;
	m->packed_only = false;
	for (size_t i = 0; i < m->count; i++)
		m->places[i].data =
			(char *)block.data + (size_t)m->params[i].offset * hec_dtype_size(m->dtype);
	HEC_TRY(model_set_tensors(m)); /* only walks: nothing in it can fail */
	tie_packs(m);
	return HEC_OK;
}
