/* safetensors_folder.c — the weights of a Hugging Face directory: one file, or shards and an index
 * {"weight_map": {"name": "model-00001-of-00002.safetensors", …}}. The index says which shard a
 * tensor is taken from; what a shard holds beyond that is not looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/size.h"
#include "format/json.h"
#include "format/safetensors_file.h"

#define INDEX_MOST ((size_t)64 << 20)
#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"

/* One shard while the index is read. */
typedef struct shard {
	const char *name; /* the index's */
	safetensors *file;
} shard;

typedef struct shards {
	shard *list;
	size_t count, room;
	const char *folder;
} shards;

static hec_status no_memory(const char *folder)
{
	char name[QUOTE_TEXT];
	return fail(HEC_ERR_MEMORY, "%s: no memory for its list of tensors", quote(folder, name));
}

/* Whether the folder holds it; its path. */
static hec_status look_for(const char *folder, const char *name, char path[PATH_MOST], bool *there)
{
	struct stat info;
	HEC_TRY(path_in(path, folder, name));
	*there = stat(path, &info) == 0;
	return HEC_OK;
}

/* A shard lies in the folder itself: anything that could lead elsewhere is refused, and so is a name that
 * cannot stand in a message as it is. */
static bool stays_inside(const char *name)
{
	char shown[QUOTE_TEXT];
	return *name && *name != '.' && !strchr(name, '/') && !strchr(name, '\\') &&
	       strcmp(quote(name, shown), name) == 0;
}

static hec_status open_shard(shards *all, const char *name)
{
	if (all->count == all->room) {
		size_t room = all->room ? all->room * 2 : 8, bytes;
		shard *bigger = size_mul(room, sizeof *bigger, &bytes)
		                        ? mem_resize(all->list, bytes)
		                        : NULL;
		if (!bigger)
			return no_memory(all->folder);
		all->list = bigger;
		all->room = room;
	}
	char path[PATH_MOST];
	shard next = {.name = name};
	HEC_TRY(path_in(path, all->folder, name));
	HEC_TRY(safetensors_open(path, &next.file));
	all->list[all->count++] = next;
	return HEC_OK;
}

static hec_status find_shard(shards *all, const json_scope *map, const char *key,
                             const json_t *file, size_t *out)
{
	if (!json_is_string(file) || !stays_inside(json_string_value(file)))
		return json_wrong(map, key, file, "the name of a file in the same folder");
	const char *name = json_string_value(file);
	for (size_t i = all->count; i-- > 0;) {
		if (strcmp(all->list[i].name, name) == 0) {
			*out = i;
			return HEC_OK;
		}
	}
	*out = all->count;
	return open_shard(all, name);
}

static hec_status add_mapped(safetensors *s, shards *all, const json_scope *map, const char *key,
                             const json_t *file)
{
	size_t at = 0;
	HEC_TRY(find_shard(all, map, key, file, &at));
	const safetensors_entry *found = safetensors_find(all->list[at].file, key);
	if (!found) {
		char index[QUOTE_TEXT], name[QUOTE_TEXT], other[QUOTE_TEXT];
		return fail(HEC_ERR_FORMAT, "%s: tensor '%s' is not in %s", quote(map->file, index),
		            quote(key, name), quote(json_string_value(file), other));
	}
	safetensors_entry e = *found;
	char *name = mem_alloc(strlen(key) + 1);
	if (!name)
		return no_memory(all->folder);
	memcpy(name, key, strlen(key) + 1);
	e.name = name;
	e.shard = (int)at;
	hec_status status = safetensors_add(s, &e);
	if (status != HEC_OK)
		mem_free(name);
	return status;
}

/* The open files of the shards become those of s. */
static hec_status take_files(safetensors *s, shards *all)
{
	s->files = mem_zeros(all->count + 1, sizeof *s->files);
	if (!s->files)
		return no_memory(all->folder);
	for (size_t i = 0; i < all->count; i++) {
		s->files[i] = all->list[i].file->files[0];
		all->list[i].file->file_count = 0;
	}
	s->file_count = all->count;
	return HEC_OK;
}

static hec_status read_index(const char *path, const json_t *root, shards *all, safetensors *s)
{
	json_scope top, map;
	HEC_TRY(json_scope_root(path, root, &top));
	HEC_TRY(json_need_object(&top, "weight_map", &map));
	for (void *i = json_object_iter((json_t *)map.object); i;
	     i = json_object_iter_next((json_t *)map.object, i))
		HEC_TRY(add_mapped(s, all, &map, json_object_iter_key(i),
		                   json_object_iter_value(i)));
	HEC_TRY(take_files(s, all));
	safetensors_sort(s);
	return HEC_OK;
}

static hec_status open_index(const char *folder, const char *path, safetensors **out)
{
	json_t *root;
	HEC_TRY(json_file_read(path, INDEX_MOST, &root));
	shards all = {.folder = folder};
	safetensors *s = mem_zeros(1, sizeof *s);
	hec_status status = s ? read_index(path, root, &all, s) : no_memory(folder);
	for (size_t i = 0; i < all.count; i++)
		safetensors_close(all.list[i].file);
	mem_free(all.list);
	json_decref(root);
	if (status != HEC_OK) {
		safetensors_close(s);
		return status;
	}
	*out = s;
	return HEC_OK;
}

static hec_status nothing_there(const char *folder)
{
	static const char *const pickles[] = {"pytorch_model.bin", "pytorch_model.bin.index.json",
	                                      "pytorch_model.pt", "model.pt", "model.bin"};
	char name[QUOTE_TEXT], path[PATH_MOST];
	bool there = false;
	quote(folder, name);
	size_t i = 0;
	while (i < sizeof pickles / sizeof *pickles && !there)
		HEC_TRY(look_for(folder, pickles[i++], path, &there));
	if (!there)
		return fail(HEC_ERR_IO, "%s: holds neither " SINGLE " nor " INDEX, name);
	return fail(
		HEC_ERR_UNSUPPORTED,
		"%s: holds %s, a pickle, which can run any program when it is read and is never "
		"read here; to convert it: python3 -c \"import torch, safetensors.torch as s; d = "
		"torch.load('%s', weights_only=True); s.save_file({k: v.clone().contiguous() for "
		"k, v in d.items()}, '" SINGLE "', {'format': 'pt'})\"",
		name, pickles[i - 1], pickles[i - 1]);
}

hec_status safetensors_open_folder(const char *folder, safetensors **out)
{
	char path[PATH_MOST];
	bool there;
	HEC_TRY(look_for(folder, SINGLE, path, &there));
	if (there)
		return safetensors_open(path, out);
	HEC_TRY(look_for(folder, INDEX, path, &there));
	return there ? open_index(folder, path, out) : nothing_there(folder);
}
