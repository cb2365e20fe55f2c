/* save.c — a model becomes a Hugging Face directory: of the family that can say it, else of our own.
 *
 * Each file replaces its predecessor whole. The weights come before the words about them: where
 * writing fails in between, an old config.json still stands beside weights of the same shapes, or
 * loading says which tensor does not fit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hecate/ops.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "model/family.h"
#include "model/labels.h"
#include "model/model.h"
#include "tensor/check.h"

typedef struct saving {
	hec_ctx *ctx;
	const hec_model *model;
	const weight *list;
	hec_dtype dtype;
	size_t bytes; /* written at a time */
	void *memory; /* bytes */
} saving;

/* A number that 16 bits cannot hold would be saved as infinity, and found out much later. */
static hec_status check_range(const saving *s, const weight *w, size_t count)
{
	const uint16_t *code = s->memory;
	uint16_t infinity = s->dtype == HEC_F16 ? 0x7c00 : 0x7f80;
	if (s->dtype != HEC_F16 && s->dtype != HEC_BF16)
		return HEC_OK;
	for (size_t i = 0; i < count; i++)
		if ((code[i] & infinity) == infinity)
			return fail(
				HEC_ERR_ARGUMENT,
				"tensor '%s' holds a number that %s cannot hold: save it in f32",
				w->name, hec_dtype_name(s->dtype));
	return HEC_OK;
}

static hec_status write_weight(void *arg, size_t item, safetensors_sink *sink)
{
	const saving *s = arg;
	const weight *w = &s->list[item];
	const size_t size = hec_dtype_size(s->dtype), row = (size_t)weights_row(w);
	const int64_t step = (int64_t)(s->bytes / (size * (row > 0 ? row : 1)));
	for (int64_t at = 0; at < w->shape[0]; at += step) {
		int64_t n = min_i64(step, w->shape[0] - at);
		int64_t shape[HEC_MAX_RANK];
		memcpy(shape, w->shape, sizeof shape);
		shape[0] = n;
		hec_tensor piece = hec_tensor_1d(s->memory, s->dtype, n * (int64_t)row);
		HEC_TRY(hec_tensor_reshape(&piece, w->rank, shape, &piece));
		HEC_TRY(weight_get(s->ctx, s->model, w, at, &piece));
		HEC_TRY(check_range(s, w, (size_t)n * row));
		HEC_TRY(safetensors_sink_write(sink, s->memory, (size_t)n * row * size));
	}
	return HEC_OK;
}

static hec_status write_weights(saving *s, size_t count, const char *path)
{
	safetensors_item *items = mem_zeros(count + 1, sizeof *items);
	s->bytes = weights_piece(s->list, count);
	s->memory = mem_alloc(s->bytes);
	hec_status status = items && s->memory
	                            ? HEC_OK
	                            : fail(HEC_ERR_MEMORY, "%s: no memory to write it", path);
	for (size_t i = 0; status == HEC_OK && i < count; i++) {
		items[i].name = s->list[i].name;
		items[i].dtype = safetensors_dtype_of(s->dtype);
		items[i].rank = weights_file_shape(&s->list[i], items[i].shape);
	}
	if (status == HEC_OK)
		status = safetensors_write(path, items, count, NULL, write_weight, s);
	mem_free(s->memory);
	mem_free(items);
	return status;
}

static hec_status save_weights(hec_ctx *ctx, const hec_model *m, const family *f, hec_dtype dtype,
                               const char *path)
{
	weight *list;
	size_t count;
	HEC_TRY(weights_list(f, m, &list, &count));
	saving s = {.ctx = ctx, .model = m, .list = list, .dtype = dtype};
	hec_status status = write_weights(&s, count, path);
	mem_free(list);
	/* What concerns the file names it already; what concerns a tensor does not. */
	return status == HEC_OK ? status : fail_in(status, "%s", path);
}

static hec_status save_config(const hec_model *m, const family *f, hec_dtype dtype,
                              const char *path)
{
	json_t *config;
	const char *name = dtype == HEC_BF16  ? "bfloat16"
	                   : dtype == HEC_F16 ? "float16"
	                                      : "float32";
	HEC_TRY(family_write(f, &m->config, &config));
	hec_status status = json_put(config, "dtype", json_string(name));
	if (status == HEC_OK)
		status = labels_write(m, config);
	if (status == HEC_OK)
		status = json_file_write(path, config);
	json_decref(config);
	return status;
}

static hec_status save_generation(const hec_model *m, const family *f, const char *path)
{
	bool writes = m->config.decoder.layers > 0 && m->config.head == HEC_HEAD_LM;
	if (!f->generation || !writes)
		return HEC_OK;
	json_t *config = json_object();
	if (!config)
		return fail(HEC_ERR_MEMORY, "%s: no memory to write it", path);
	hec_status status = f->generation(&m->config, config);
	if (status == HEC_OK)
		status = json_file_write(path, config);
	json_decref(config);
	return status;
}

hec_status hec_model_save(hec_ctx *ctx, const hec_model *model, hec_dtype dtype, const char *dir)
{
	HEC_TRY(CHECK_GIVEN("model", ctx));
	HEC_TRY(CHECK_GIVEN("model", model));
	HEC_TRY(CHECK_GIVEN("model", dir));
	if (dtype != HEC_F32 && dtype != HEC_BF16 && dtype != HEC_F16)
		return fail(HEC_ERR_ARGUMENT, "model: it is saved in f32, bf16 or f16, not in %s",
		            hec_dtype_name(dtype));
	const family *f;
	HEC_TRY(family_for(&model->config, model->family, &f));
	size_t bytes = strlen(dir) + sizeof "/generation_config.json";
	char *path = mem_alloc(bytes);
	if (!path)
		return fail(HEC_ERR_MEMORY, "%s: no memory to save a model", dir);
	(void)mkdir(dir, 0777); /* whether it is there, writing into it shows */
	snprintf(path, bytes, "%s/model.safetensors", dir);
	hec_status status = save_weights(ctx, model, f, dtype, path);
	snprintf(path, bytes, "%s/generation_config.json", dir);
	if (status == HEC_OK)
		status = save_generation(model, f, path);
	snprintf(path, bytes, "%s/config.json", dir);
	if (status == HEC_OK)
		status = save_config(model, f, dtype, path);
	if (status == HEC_OK)
		log_line(HEC_LOG_INFO, "model: %s: saved in %s as %s", dir, hec_dtype_name(dtype),
		         f->model_type);
	mem_free(path);
	return status;
}
