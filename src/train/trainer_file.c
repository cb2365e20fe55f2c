/* trainer_file.c — a trainer as a folder: the model, and its moments in optimizer.safetensors.
 *
 * Each parameter has its two moments by name, so that a file says itself whom it belongs to. Sums
 * over all three blocks stand beside them: weights of one step and moments of another, each whole in
 * itself, are found out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/quote.h"
#include "format/safetensors.h"
#include "tensor/check.h"
#include "train/corpus.h"
#include "train/trainer.h"

#define FORMAT "hecate optimizer 1"
#define NAME_MOST 256

static uint32_t sum_of(const hec_model *m)
{
	hec_tensor block = hec_model_block(m);
	const unsigned char *at = block.data;
	uint64_t left = (uint64_t)block.shape[0] * sizeof(float);
	uint32_t crc = 0;
	while (left > 0) {
		uInt n = left > (1u << 30) ? 1u << 30 : (uInt)left;
		crc = (uint32_t)crc32(crc, at, n);
		at += n;
		left -= n;
	}
	return crc;
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
	safetensors_item *items = calloc(n, sizeof *items);
	char(*names)[NAME_MOST] = malloc(n * sizeof *names);
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
	free(items);
	free(names);
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
	free(path);
	return status;
}

/* ---- reading ---- */

/* The same parameters by name and shape, in the same places. */
static hec_status check_same_model(const char *dir, const hec_model *mine, const hec_model *its)
{
	size_t n = hec_model_param_count(mine), m = hec_model_param_count(its);
	if (n != m)
		return fail(HEC_ERR_FORMAT, "%s: holds a model of %zu tensors, this one has %zu",
		            dir, m, n);
	for (size_t i = 0; i < n; i++) {
		const hec_model_param *a = hec_model_param_at(mine, i);
		const hec_model_param *b = hec_model_param_at(its, i);
		char left[SHAPE_TEXT], right[SHAPE_TEXT];
		hec_tensor x = hec_model_tensor(mine, i), y = hec_model_tensor(its, i);
		if (strcmp(a->name, b->name) != 0 || a->offset != b->offset ||
		    strcmp(shape_text(&x, left), shape_text(&y, right)) != 0)
			return fail(HEC_ERR_FORMAT,
			            "%s: holds %s of shape %s where this model has %s of shape %s",
			            dir, b->name, right, a->name, left);
	}
	return HEC_OK;
}

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

static hec_status read_optimizer(const safetensors *file, const char *path, const hec_model *model,
                                 hec_model *first, hec_model *second, int64_t counts[2])
{
	const char *format = safetensors_metadata(file, "format");
	const char *sums = safetensors_metadata(file, "sums");
	char quoted[QUOTE_TEXT];
	if (!format || strcmp(format, FORMAT) != 0)
		return fail(HEC_ERR_FORMAT, "%s: its format is '%s', not '%s'", path,
		            quote(format ? format : "", quoted), FORMAT);
	if (!read_count(file, "step", &counts[0]) || !read_count(file, "skips", &counts[1]) ||
	    counts[1] > counts[0])
		return fail(HEC_ERR_FORMAT, "%s: it does not say how many steps were taken", path);
	size_t n = hec_model_param_count(model);
	if (safetensors_count(file) != 2 * n)
		return fail(HEC_ERR_FORMAT, "%s: holds %zu tensors, a model of %zu has %zu", path,
		            safetensors_count(file), n, 2 * n);
	for (size_t i = 0; i < n; i++) {
		HEC_TRY(read_moment(file, path, 'm', first, i));
		HEC_TRY(read_moment(file, path, 'v', second, i));
	}
	char want[32];
	snprintf(want, sizeof want, "%08x %08x %08x", sum_of(model), sum_of(first), sum_of(second));
	if (!sums || strcmp(sums, want) != 0)
		return fail(HEC_ERR_FORMAT,
		            "%s: weights and moments are not those that were saved together", path);
	return HEC_OK;
}

static hec_status load(hec_trainer *t, const char *dir, hec_model **model, hec_model **first,
                       hec_model **second, int64_t counts[2])
{
	safetensors *file = NULL;
	HEC_TRY(hec_model_load(t->ctx, dir, model));
	HEC_TRY(hec_model_unpack(t->ctx, *model));
	HEC_TRY(check_same_model(dir, t->model, *model));
	HEC_TRY(hec_model_like(t->model, first));
	HEC_TRY(hec_model_like(t->model, second));
	char *path = path_join(dir, "/optimizer.safetensors");
	if (!path)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a name", dir);
	hec_status status = safetensors_open(path, &file);
	if (status == HEC_OK)
		status = read_optimizer(file, path, *model, *first, *second, counts);
	safetensors_close(file);
	free(path);
	return status;
}

hec_status hec_trainer_load(hec_trainer *t, const char *dir)
{
	HEC_TRY(CHECK_GIVEN("trainer", t));
	HEC_TRY(CHECK_GIVEN("trainer", dir));
	hec_model *model = NULL, *first = NULL, *second = NULL;
	int64_t counts[2];
	hec_status status = load(t, dir, &model, &first, &second, counts);
	if (status == HEC_OK) {
		hec_tensor from = hec_model_block(model), to = hec_model_block(t->model);
		memcpy(to.data, from.data, (size_t)to.shape[0] * sizeof(float));
		hec_model *old[2] = {t->first, t->second};
		t->first = first;
		t->second = second;
		first = old[0];
		second = old[1];
		t->step = counts[0];
		t->skips = counts[1];
		t->batches = 0;
		status = hec_model_pack(t->ctx, t->model, true);
	}
	hec_model_destroy(model);
	hec_model_destroy(first);
	hec_model_destroy(second);
	return status;
}
