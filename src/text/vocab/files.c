/* files.c — the files of a vocabulary: finding, reading and keeping them, and what the small JSON
 * files beside them say about special tokens. */
#include "text/vocab/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"

/* ---- paths ---- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);
	return n >= k && strcmp(text + n - k, end) == 0;
}

static bool is_there(const char *path, bool folder, const char *name)
{
	struct stat info;
	char full[PATH_MOST];
	return (folder ? path_in : path_beside)(full, path, name) == HEC_OK &&
	       stat(full, &info) == 0;
}

bool vocab_file_is_there(const vocab_files *v, const char *name)
{
	return is_there(v->path, v->folder, name);
}

bool vocab_files_are_there(const char *path, bool folder)
{
	static const char *const names[] = {"vocab.txt",
	                                    "vocab.json",
	                                    "source.spm",
	                                    "spiece.model",
	                                    "sentencepiece.bpe.model",
	                                    "tokenizer.model",
	                                    "sentencepiece.model",
	                                    "spm.model"};
	const char *name = name_of(path);
	if (!folder)
		return ends_with(name, ".txt") || ends_with(name, ".model") ||
		       ends_with(name, ".spm") || strcmp(name, "vocab.json") == 0;
	if (is_there(path, true, "tokenizer.json"))
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (is_there(path, true, names[i]))
			return true;
	return false;
}

/* ---- reading ---- */

hec_status vocab_file_need(vocab_files *v, const char *name, size_t most, const vocab_file **out)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->kept[i].name, name) == 0) {
			*out = &v->kept[i];
			return HEC_OK;
		}
	char full[PATH_MOST];
	HEC_TRY((v->folder ? path_in : path_beside)(full, v->path, name));
	if (v->n == VOCAB_FILES)
		return fail(HEC_ERR_FORMAT, "%s: there are too many files", name);
	vocab_file *f = &v->kept[v->n];
	HEC_TRY(file_read(full, most, &f->data, &f->bytes));
	f->name = mem_alloc(strlen(name) + 1);
	if (!f->name) {
		mem_free(f->data);
		return fail(HEC_ERR_MEMORY, "%s: no memory for its name", name);
	}
	strcpy(f->name, name);
	*out = f;
	v->n++;
	return HEC_OK;
}

hec_status vocab_file_want(vocab_files *v, const char *name, size_t most, const vocab_file **out)
{
	*out = NULL;
	return vocab_file_is_there(v, name) ? vocab_file_need(v, name, most, out) : HEC_OK;
}

hec_status vocab_json_want(vocab_files *v, const char *name, bool keep, json_t **out)
{
	const vocab_file *f;
	*out = NULL;
	HEC_TRY(vocab_file_want(v, name, JSON_CONFIG_MOST, &f));
	if (!f)
		return HEC_OK;
	hec_status status = json_object_read(name, f->data, f->bytes, JSON_CONFIG_MOST, out);
	if (!keep) {
		v->n--;
		mem_free(v->kept[v->n].name);
		mem_free(v->kept[v->n].data);
	}
	return status;
}

/* special_tokens_map.json says what tokenizer_config.json leaves out. */
static hec_status read_config(vocab_files *v, const char *config, size_t bytes)
{
	json_t *map, *value;
	const char *key;
	if (config)
		HEC_TRY(json_object_read("tokenizer_config.json", config, bytes, JSON_CONFIG_MOST,
		                         &v->config));
	else
		v->config = json_object();
	HEC_TRY(vocab_json_want(v, "special_tokens_map.json", true, &map));
	hec_status status = v->config ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a config");
	if (map && v->config)
		json_object_foreach(map, key,
		                    value) if (status == HEC_OK && !json_object_get(v->config, key))
			status = json_put(v->config, key, json_incref(value));
	json_decref(map);
	return status;
}

hec_status vocab_files_read(const char *path, bool folder, const char *config, size_t bytes,
                            vocab_files **out)
{
	vocab_files *v = mem_zeros(1, sizeof *v);
	if (!v)
		return fail(HEC_ERR_MEMORY, "no memory for a tokenizer");
	v->path = path;
	v->folder = folder;
	v->root = json_object();
	v->roles = json_object();
	v->known = json_object();
	hec_status status = HEC_OK;
	if (!v->root || !v->roles || !v->known)
		status = fail(HEC_ERR_MEMORY, "no memory for a tokenizer");
	if (status == HEC_OK)
		status = read_config(v, config, bytes);
	if (status == HEC_OK)
		status = vocab_family_load(v, folder ? NULL : name_of(path));
	if (status != HEC_OK)
		vocab_files_free(v);
	else
		*out = v;
	return status;
}

void vocab_files_forget(vocab_files *v)
{
	json_t **all[] = {&v->root, &v->config, &v->roles, &v->known, &v->ids};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		json_decref(*all[i]);
		*all[i] = NULL;
	}
	sentencepiece_free(&v->pieces);
	mem_free(v->extra);
	v->extra = NULL;
	v->path = NULL;
}

void vocab_files_free(vocab_files *v)
{
	if (!v)
		return;
	vocab_files_forget(v);
	for (size_t i = 0; i < v->n; i++) {
		mem_free(v->kept[i].name);
		mem_free(v->kept[i].data);
	}
	mem_free(v);
}
