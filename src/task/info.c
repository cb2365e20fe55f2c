/* info.c — config.json's own words, the headers of the weights, and the kind of tokenizer. */
#include <hecate/info.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/width.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "task/folder.h"
#include "tensor/check.h"

/* As much as fits, cut between characters. */
static void keep(char out[HEC_INFO_TEXT], const char *text)
{
	hec_text_clean(text, HEC_INFO_TEXT, out, HEC_INFO_TEXT);
}

/* ---- config.json ---- */

static hec_status take_config(const char *path, const json_t *root, hec_info *info)
{
	json_scope scope;
	const char *family = NULL;
	json_t *architectures = NULL;
	HEC_TRY(json_scope_root(path, root, &scope));
	HEC_TRY(json_need_string(&scope, "model_type", &family));
	HEC_TRY(json_want_array(&scope, "architectures", &architectures));
	keep(info->family, family);
	const char *first = json_string_value(json_array_get(architectures, 0));
	if (first)
		keep(info->architecture, first);
	return HEC_OK;
}

static hec_status read_config(const char *folder, hec_info *info)
{
	char path[PATH_MOST];
	json_t *root;
	HEC_TRY(folder_json(folder, "config.json", path, &root));
	hec_status status = take_config(path, root, info);
	json_decref(root);
	return status;
}

/* ---- weights ---- */

static void add_dtype(char names[HEC_INFO_TEXT], const char *name)
{
	size_t length = strlen(name), used = strlen(names);
	for (const char *at = names; (at = strstr(at, name)); at++)
		if ((at == names || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
			return;
	if (used + length + 3 <= HEC_INFO_TEXT)
		snprintf(names + used, HEC_INFO_TEXT - used, "%s%s", used > 0 ? ", " : "", name);
}

static hec_status read_weights(const char *folder, hec_info *info)
{
	safetensors *s = NULL;
	HEC_TRY(safetensors_open_folder(folder, &s));
	int last = -1;
	info->tensors = (int64_t)safetensors_count(s);
	for (size_t i = 0; i < safetensors_count(s); i++) {
		const safetensors_entry *e = safetensors_at(s, i);
		add_dtype(info->dtype, safetensors_dtype_name(e->dtype));
		info->numbers += (int64_t)e->count;
		info->file_bytes += (int64_t)e->bytes;
		last = e->shard > last ? e->shard : last;
	}
	info->files = last + 1;
	safetensors_close(s);
	return HEC_OK;
}

/* ---- tokenizer.json ---- */

static const char *type_of(const json_t *part)
{
	const char *type = json_string_value(json_object_get(part, "type"));
	return type ? type : "";
}

/* Of a sequence, the last one: that is what the model sees. */
static const json_t *last_part(const json_t *part)
{
	const json_t *list = json_object_get(part, "pretokenizers");
	return json_array_size(list) > 0 ? json_array_get(list, json_array_size(list) - 1) : part;
}

static hec_status read_tokenizer(const char *folder, hec_info *info)
{
	char path[PATH_MOST];
	json_t *root = NULL;
	struct stat found;
	HEC_TRY(path_in(path, folder, "tokenizer.json"));
	hec_status status = HEC_OK;
	if (stat(path, &found) == 0)
		status = json_file_read(path, JSON_TOKENIZER_MOST, &root);
	keep(info->tokenizer, type_of(json_object_get(root, "model")));
	keep(info->pre_tokenizer, type_of(last_part(json_object_get(root, "pre_tokenizer"))));
	json_decref(root);
	return status;
}

static hec_status read_folder(const char *folder, hec_info *info)
{
	HEC_TRY(read_config(folder, info));
	HEC_TRY(read_weights(folder, info));
	return read_tokenizer(folder, info);
}

hec_status hec_info_read(const char *folder, hec_info **out)
{
	HEC_TRY(CHECK_GIVEN("info", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("info", folder));
	hec_info *info = mem_zeros(1, sizeof *info);
	if (!info)
		return fail(HEC_ERR_MEMORY, "info: no memory for %zu bytes", sizeof *info);
	hec_status status = read_folder(folder, info);
	if (status == HEC_OK)
		*out = info;
	else
		hec_info_free(info);
	return status;
}

void hec_info_free(hec_info *info)
{
	mem_free(info);
}
