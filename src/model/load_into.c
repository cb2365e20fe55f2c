/* load_into.c — the weights of a folder, or the mean of several, into the block of a model that is there. */
#include <string.h>

#include <hecate/ops.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "model/config_file.h"
#include "model/model.h"
#include "model/read_weights.h"

static hec_status no_memory(void)
{
	return fail(HEC_ERR_MEMORY, "no memory to load a model");
}

/* A folder whose model is that of the one that is there, and which of its tensors go where in that. */
typedef struct source {
	config_file config;
	safetensors *files;
	matching matching;
} source;

static void close_source(source *s)
{
	mem_free(s->matching.list);
	safetensors_close(s->files);
	config_file_close(&s->config);
}

static hec_status match_source(const char *dir, const hec_model *model, source *s)
{
	const family *f = s->config.family;
	hec_model_config *c = &s->config.config;
	char difference[FAMILY_DIFFERENCE];
	HEC_TRY(safetensors_open_folder(dir, &s->files));
	if (f->look)
		HEC_TRY(f->look(s->files, c));
	/* A bias that is zero throughout does not show in such files. */
	if (f->look && model->config.output_bias)
		c->output_bias = true;
	HEC_TRY(family_difference(c, &model->config, difference));
	if (difference[0])
		return fail(HEC_ERR_FORMAT, "%s: holds another model: %s", dir, difference);
	s->matching = (matching){.dir = dir, .files = s->files, .family = f};
	HEC_TRY(weights_list(f, model, &s->matching.list, &s->matching.count));
	return match_weights(&s->matching, MATCH_ALL);
}

static hec_status open_source(const char *dir, const hec_model *model, source *s)
{
	const hec_model_load_options as_it_is = {.size = sizeof as_it_is};
	*s = (source){0};
	HEC_TRY(config_file_open(dir, &as_it_is, &s->config));
	hec_status status = match_source(dir, model, s);
	if (status != HEC_OK)
		close_source(s);
	return status;
}

/* Its block, all zero: what no file holds is. */
static hec_status clear_block(hec_ctx *ctx, hec_model *model)
{
	HEC_TRY(hec_model_unpack(ctx, model));
	hec_tensor block = hec_model_block(model);
	return hec_tensor_fill(ctx, 0, &block);
}

hec_status model_read_into(hec_ctx *ctx, const char *dir, hec_model *model)
{
	source s;
	HEC_TRY(open_source(dir, model, &s));
	hec_status status = clear_block(ctx, model);
	if (status == HEC_OK)
		status = weights_read(ctx, &s.matching, model);
	close_source(&s);
	return status;
}

/* ---- the mean of several ---- */

/* Numbers at … at + n of tensor i, from every folder, become their mean in `piece`. */
static hec_status mean_piece(const source *sources, size_t count, size_t i, int64_t at, int64_t n,
                             float *piece, double *sum)
{
	memset(sum, 0, (size_t)n * sizeof *sum);
	for (size_t k = 0; k < count; k++) {
		const matching *m = &sources[k].matching;
		const safetensors_entry *e = m->list[i].entry;
		if (m->family != sources->matching.family || !e || e->dtype != ST_F32)
			return fail(HEC_ERR_FORMAT, "%s: tensor '%s' is not as in %s", m->dir,
			            m->list[i].name, sources->matching.dir);
		HEC_TRY(safetensors_read(m->files, e, (uint64_t)at, (uint64_t)n, piece));
		for (int64_t j = 0; j < n; j++)
			sum[j] += (double)piece[j];
	}
	for (int64_t j = 0; j < n; j++)
		piece[j] = (float)(sum[j] / (double)count);
	return HEC_OK;
}

static hec_status mean_weight(hec_ctx *ctx, const hec_model *model, const source *sources,
                              size_t count, size_t i, size_t bytes, float *piece, double *sum)
{
	const weight *w = &sources->matching.list[i];
	const int64_t rows = w->rows_read, row = weights_row(w),
		      step = weight_rows_at_once(w, HEC_F32, bytes);
	for (int64_t at = 0; at < rows && row > 0; at += step) {
		int64_t n = min_i64(step, rows - at);
		const hec_tensor from = weight_rows(w, piece, HEC_F32, n);
		HEC_TRY(mean_piece(sources, count, i, at * row, n * row, piece, sum));
		HEC_TRY(weight_put(ctx, model, w, at, &from));
	}
	return HEC_OK;
}

static hec_status mean_all(hec_ctx *ctx, const source *sources, size_t count, hec_model *model)
{
	const matching *m = &sources->matching;
	const size_t bytes = weights_piece(m->list, m->count);
	float *piece = mem_alloc(bytes);
	double *sum = mem_alloc(bytes / sizeof *piece * sizeof *sum);
	hec_status status = piece && sum ? clear_block(ctx, model) : no_memory();
	for (size_t i = 0; status == HEC_OK && i < m->count; i++)
		if (m->list[i].entry)
			status = mean_weight(ctx, model, sources, count, i, bytes, piece, sum);
	mem_free(piece);
	mem_free(sum);
	return status;
}

hec_status model_read_mean(hec_ctx *ctx, const char *const *dirs, size_t count, hec_model *model)
{
	source *sources = mem_zeros(count + 1, sizeof *sources);
	size_t opened = 0;
	hec_status status = sources ? HEC_OK : no_memory();
	while (status == HEC_OK && opened < count) {
		status = open_source(dirs[opened], model, &sources[opened]);
		opened += status == HEC_OK;
	}
	if (status == HEC_OK && count > 0)
		status = mean_all(ctx, sources, count, model);
	for (size_t i = 0; i < opened; i++)
		close_source(&sources[i]);
	mem_free(sources);
	return status;
}
