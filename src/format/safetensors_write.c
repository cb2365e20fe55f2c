/* safetensors_write.c — the header first, which needs only sizes, then each tensor's bytes as they
 * come: nothing is held in memory but the header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/size.h"
#include "format/json.h"
#include "format/safetensors_file.h"

struct safetensors_sink {
	file_out *file;
	uint64_t left; /* bytes of the current tensor that are still to come */
};

typedef struct placed {
	const safetensors_item *item;
	size_t index; /* among the caller's items */
	uint64_t bytes;
} placed;

/* Larger types first, so that each begins at a multiple of its size; then by name. */
static int by_order(const void *a, const void *b)
{
	const safetensors_item *x = ((const placed *)a)->item, *y = ((const placed *)b)->item;
	int bits = safetensors_dtype_bits(y->dtype) - safetensors_dtype_bits(x->dtype);
	if (bits != 0)
		return bits;
	if (x->dtype != y->dtype)
		return x->dtype < y->dtype ? 1 : -1;
	return strcmp(x->name, y->name);
}

static hec_status place_items(const char *path, const safetensors_item *items, size_t count,
                              placed *to)
{
	uint64_t total = 0;
	for (size_t i = 0; i < count; i++) {
		safetensors_entry e = {
			.name = items[i].name, .dtype = items[i].dtype, .rank = items[i].rank};
		if (e.rank < 0 || e.rank > SAFETENSORS_RANK)
			return fail(HEC_ERR_ARGUMENT, "%s: tensor '%s' has %d axes", path, e.name,
			            e.rank);
		memcpy(e.shape, items[i].shape, sizeof e.shape);
		to[i] = (placed){.item = &items[i], .index = i};
		if (!safetensors_size(&e, &e.count, &to[i].bytes) ||
		    __builtin_add_overflow(total, to[i].bytes, &total) || total > INT64_MAX)
			return fail(HEC_ERR_ARGUMENT, "%s: tensor '%s' is too large to be written",
			            path, e.name);
	}
	if (count > 0)
		qsort(to, count, sizeof *to, by_order);
	return HEC_OK;
}

static hec_status put_item(json_t *root, const placed *p, uint64_t begin)
{
	json_t *shape = json_array(), *one = json_object();
	uint64_t end = begin + p->bytes;
	for (int i = 0; shape && i < p->item->rank; i++)
		if (json_array_append_new(shape, json_integer(p->item->shape[i])) != 0) {
			json_decref(shape);
			shape = NULL;
		}
	hec_status status =
		json_put(one, "dtype", json_string(safetensors_dtype_name(p->item->dtype)));
	if (status == HEC_OK)
		status = json_put(one, "shape", shape);
	else
		json_decref(shape);
	if (status == HEC_OK)
		status = json_put(one, "data_offsets",
		                  json_pack("[I, I]", (json_int_t)begin, (json_int_t)end));
	if (status != HEC_OK) {
		json_decref(one);
		return status;
	}
	if (json_object_get(root, p->item->name) || strcmp(p->item->name, "__metadata__") == 0) {
		json_decref(one);
		return fail(HEC_ERR_ARGUMENT, "tensor '%s' is there twice", p->item->name);
	}
	return json_put(root, p->item->name, one);
}

static hec_status fill_header(json_t *root, const placed *items, size_t count,
                              const char *const *metadata)
{
	static const char *const usual[] = {"format", "pt", NULL};
	json_t *texts = json_object();
	HEC_TRY(json_put(root, "__metadata__", texts));
	for (const char *const *pair = metadata ? metadata : usual; *pair; pair += 2)
		HEC_TRY(json_put(texts, pair[0], json_string(pair[1])));
	uint64_t begin = 0;
	for (size_t i = 0; i < count; i++) {
		HEC_TRY(put_item(root, &items[i], begin));
		begin += items[i].bytes;
	}
	return HEC_OK;
}

static hec_status write_header(file_out *f, const placed *items, size_t count,
                               const char *const *metadata)
{
	json_t *root = json_object();
	char *text = NULL;
	size_t size = 0;
	hec_status status = root ? fill_header(root, items, count, metadata)
	                         : fail(HEC_ERR_MEMORY, "no memory for the header");
	if (status == HEC_OK)
		status = json_text_make(root, false, &text, &size);
	json_decref(root);
	HEC_TRY(status);
	size_t padding = (8 - size % 8) % 8, n = size + padding;
	unsigned char length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)((uint64_t)n >> 8 * i);
	status = n > 100000000 ? fail(HEC_ERR_ARGUMENT, "its header would have %zu bytes", n)
	                       : file_out_write(f, length, sizeof length);
	if (status == HEC_OK)
		status = file_out_write(f, text, size);
	if (status == HEC_OK)
		status = file_out_write(f, "       ", padding);
	mem_free(text);
	return status;
}

hec_status safetensors_sink_write(safetensors_sink *sink, const void *bytes, size_t size)
{
	if (size > sink->left)
		return fail(HEC_ERR_INTERNAL, "%zu bytes for a tensor that has room for %llu", size,
		            (unsigned long long)sink->left);
	sink->left -= size;
	return file_out_write(sink->file, bytes, size);
}

static hec_status write_data(file_out *f, const placed *items, size_t count,
                             safetensors_source *source, void *arg)
{
	for (size_t i = 0; i < count; i++) {
		const safetensors_item *item = items[i].item;
		safetensors_sink sink = {.file = f, .left = items[i].bytes};
		if (item->data)
			HEC_TRY(safetensors_sink_write(&sink, item->data, (size_t)sink.left));
		else if (sink.left > 0 && source)
			HEC_TRY(source(arg, items[i].index, &sink));
		if (sink.left > 0)
			return fail(HEC_ERR_INTERNAL, "tensor '%s' lacks %llu bytes", item->name,
			            (unsigned long long)sink.left);
	}
	return HEC_OK;
}

hec_status safetensors_write(const char *path, const safetensors_item *items, size_t count,
                             const char *const *metadata, safetensors_source *source, void *arg)
{
	placed *order = mem_zeros(count + 1, sizeof *order);
	if (!order)
		return fail(HEC_ERR_MEMORY, "%s: no memory for its list of tensors", path);
	file_out *f = NULL;
	hec_status status = place_items(path, items, count, order);
	if (status == HEC_OK)
		status = file_out_open(path, &f);
	if (status == HEC_OK) {
		status = write_header(f, order, count, metadata);
		if (status == HEC_OK)
			status = write_data(f, order, count, source, arg);
		if (status != HEC_OK)
			file_out_abort(f);
		else
			status = file_out_commit(f);
	}
	mem_free(order);
	return status;
}
