/* trainer_file.c — a trainer as a folder: the model, and its moments in optimizer.safetensors.
 *
 * Each parameter has its two moments by name, so that a file says itself whom it belongs to. Sums
 * over all three blocks stand beside them: weights of one step and moments of another, each whole in
 * itself, are found out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "format/safetensors.h"
#include "model/model.h"
#include "tensor/check.h"
#include "train/corpus.h"
#include "train/sums.h"
#include "train/trainer.h"

#define FORMAT "hecate optimizer 1"
#define NAME_MOST 256

static uint32_t sum_of(const hec_model *m)
{
	hec_tensor block = hec_model_block(m);
	return sum_of_bytes(block.data, (uint64_t)block.shape[0] * sizeof(float));
}

/* ---- writing ---- */

/* "m." or "v." before each parameter's name. */
static hec_status fill_items(const hec_trainer *t, safetensors_item *items,
                             char (*names)[NAME_MOST])
{
	size_t n = hec_model_param_count(t->model);
	for (size_t i = 0; i < 2 * n; i++) {
		const hec_model *from = i < n ? t->first : t->second;
		const hec_model_param *p = hec_model_param_at(from, i % n);
		int length = snprintf(names[i], NAME_MOST, "%c.%s", i < n ? 'm' : 'v', p->name);
		if (length >= NAME_MOST)
			return fail(HEC_ERR_INTERNAL, "parameter %s: its name is too long",
			            p->name);
		hec_tensor tensor = hec_model_tensor(from, i % n);
		items[i] = (safetensors_item){
			.name = names[i], .dtype = ST_F32, .rank = p->rank, .data = tensor.data};
		memcpy(items[i].shape, p->shape, (size_t)p->rank * sizeof *p->shape);
	}
	return HEC_OK;
}

static hec_status write_optimizer(const hec_trainer *t, const char *path)
{
	size_t n = 2 * hec_model_param_count(t->model);
	safetensors_item *items = mem_zeros(n, sizeof *items);
	char(*names)[NAME_MOST] = mem_alloc(n * sizeof *names);
	char step[24], skips[24], sums[32];
	const char *metadata[] = {"format", FORMAT, "step", step, "skips",
	                          skips,    "sums", sums,   NULL};
	snprintf(step, sizeof step, "%lld", (long long)t->step);
	snprintf(skips, sizeof skips, "%lld", (long long)t->skips);
	snprintf(sums, sizeof sums, "%08x %08x %08x", sum_of(t->model), sum_of(t->first),
	         sum_of(t->second));
	hec_status status = HEC_OK;
	if (!items || !names)
		status = fail(HEC_ERR_MEMORY, "%s: no memory for %zu names", path, n);
	if (status == HEC_OK)
		status = fill_items(t, items, names);
	if (status == HEC_OK)
		status = safetensors_write(path, items, n, metadata, NULL, NULL);
	mem_free(items);
	mem_free(names);
	return status;
}

hec_status hec_trainer_save(hec_trainer *t, const char *dir)
{
	HEC_TRY(CHECK_GIVEN("trainer", t));
	HEC_TRY(CHECK_GIVEN("trainer", dir));
	if (t->batches > 0)
		return fail(HEC_ERR_ARGUMENT, "trainer: a step is under way; save between steps");
	HEC_TRY(hec_model_save(t->ctx, t->model, HEC_F32, dir));
	char *path = path_join(dir, "/optimizer.safetensors");
	if (!path)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a name", dir);
	hec_status status = write_optimizer(t, path);
	mem_free(path);
	return status;
}

/* ---- reading ---- */

static hec_status read_moment(const safetensors *file, const char *path, char which, hec_model *to,
                              size_t i)
{
	const hec_model_param *p = hec_model_param_at(to, i);
	char name[NAME_MOST], text[SAFETENSORS_SHAPE_TEXT], own[SHAPE_TEXT];
	snprintf(name, sizeof name, "%c.%s", which, p->name);
	const safetensors_entry *e = safetensors_find(file, name);
	if (!e)
		return fail(HEC_ERR_FORMAT, "%s: tensor '%s' is missing", path, name);
	hec_tensor tensor = hec_model_tensor(to, i);
	bool same = e->dtype == ST_F32 && e->rank == p->rank;
	for (int axis = 0; same && axis < p->rank; axis++)
		same = e->shape[axis] == p->shape[axis];
	if (!same)
		return fail(HEC_ERR_FORMAT, "%s: tensor '%s' is %s %s, the model has f32 %s", path,
		            name, safetensors_dtype_name(e->dtype), safetensors_shape_text(e, text),
		            shape_text(&tensor, own));
	return safetensors_read(file, e, 0, (uint64_t)p->count, tensor.data);
}

static bool read_count(const safetensors *file, const char *key, int64_t *out)
{
	const char *text = safetensors_metadata(file, key);
	char *end = NULL;
	if (!text || !*text || strlen(text) > 18 || strspn(text, "0123456789") != strlen(text))
		return false;
	*out = strtoll(text, &end, 10);
	return true;
}

static hec_status read_moments(const safetensors *file, const char *path, char which, hec_model *to)
{
	size_t n = hec_model_param_count(to);
	hec_tensor block = hec_model_block(to);
	memset(block.data, 0, (size_t)block.shape[0] * sizeof(float));
	for (size_t i = 0; i < n; i++)
		HEC_TRY(read_moment(file, path, which, to, i));
	return HEC_OK;
}

static hec_status read_counts(const safetensors *file, const char *path, size_t n,
                              int64_t counts[2])
{
	const char *format = safetensors_metadata(file, "format");
	char quoted[QUOTE_TEXT];
	if (!format || strcmp(format, FORMAT) != 0)
		return fail(HEC_ERR_FORMAT, "%s: its format is '%s', not '%s'", path,
		            quote(format ? format : "", quoted), FORMAT);
	if (!read_count(file, "step", &counts[0]) || !read_count(file, "skips", &counts[1]) ||
	    counts[1] > counts[0])
		return fail(HEC_ERR_FORMAT, "%s: it does not say how many steps were taken", path);
	if (safetensors_count(file) != 2 * n)
		return fail(HEC_ERR_FORMAT, "%s: holds %zu tensors, a model of %zu has %zu", path,
		            safetensors_count(file), n, 2 * n);
	return HEC_OK;
}

/* Weights and moments, each into its block; three times the same block: only to see that they are whole
 * and belong together. */
static hec_status read_blocks(const hec_trainer *t, const char *dir, const safetensors *file,
                              const char *path, hec_model *const to[3])
{
	uint32_t sums[3];
	char have[32];
	HEC_TRY(model_read_into(t->ctx, dir, to[0]));
	sums[0] = sum_of(to[0]);
	HEC_TRY(read_moments(file, path, 'm', to[1]));
	sums[1] = sum_of(to[1]);
	HEC_TRY(read_moments(file, path, 'v', to[2]));
	sums[2] = sum_of(to[2]);
	snprintf(have, sizeof have, "%08x %08x %08x", sums[0], sums[1], sums[2]);
	const char *said = safetensors_metadata(file, "sums");
	if (!said || strcmp(said, have) != 0)
		return fail(HEC_ERR_FORMAT,
		            "%s: weights and moments are not those that were saved together", path);
	return HEC_OK;
}

/* No memory for a second trainer: all is read twice, first to where gradients are between steps. */
static hec_status read_trainer(hec_trainer *t, const char *dir, const safetensors *file,
                               const char *path)
{
	int64_t counts[2];
	hec_model *const nowhere[3] = {t->grad, t->grad, t->grad};
	hec_model *const places[3] = {t->model, t->first, t->second};
	t->batches = 0; /* the gradients of a step under way are gone */
	HEC_TRY(read_blocks(t, dir, file, path, nowhere));
	HEC_TRY(read_counts(file, path, hec_model_param_count(t->model), counts));
	HEC_TRY(read_blocks(t, dir, file, path, places));
	t->step = counts[0];
	t->skips = counts[1];
	return hec_model_pack(t->ctx, t->model, true);
}

hec_status hec_trainer_load(hec_trainer *t, const char *dir)
{
	HEC_TRY(CHECK_GIVEN("trainer", t));
	HEC_TRY(CHECK_GIVEN("trainer", dir));
	safetensors *file = NULL;
	char *path = path_join(dir, "/optimizer.safetensors");
	if (!path)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a name", dir);
	hec_status status = safetensors_open(path, &file);
	if (status == HEC_OK)
		status = read_trainer(t, dir, file, path);
	safetensors_close(file);
	mem_free(path);
	return status;
}
