/* sentence_files.c — modules.json lists what a text goes through, each with a folder of its own; of these
 * Transformer, Pooling and Normalize are known. */
#include "task/sentence_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "task/folder.h"

#define LONGEST_MOST 1000000000

static const struct {
	const char *key;  /* of older files */
	const char *name; /* in newer ones, "pooling_mode" */
	hec_pooling pooling;
} modes[] = {
	{"pooling_mode_cls_token", "cls", HEC_POOL_FIRST},
	{"pooling_mode_max_tokens", "max", HEC_POOL_MAX},
	{"pooling_mode_mean_tokens", "mean", HEC_POOL_MEAN},
	{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", HEC_POOL_MEAN_SQRT},
	{"pooling_mode_weightedmean_tokens", "weightedmean", HEC_POOL_WEIGHTED},
	{"pooling_mode_lasttoken", "lasttoken", HEC_POOL_LAST},
};
#define MODES (sizeof modes / sizeof *modes)

/* ---- the pooling's config.json ---- */

static hec_status add(const json_scope *s, hec_pooling pooling, sentence_files *out)
{
	if (out->poolings == SENTENCE_POOLINGS)
		return fail(HEC_ERR_UNSUPPORTED, "%s: 'pooling_mode' has more than %d ways",
		            s->file, SENTENCE_POOLINGS);
	out->pooling[out->poolings++] = pooling;
	return HEC_OK;
}

static hec_status add_named(const json_scope *s, const json_t *name, sentence_files *out)
{
	for (size_t i = 0; json_is_string(name) && i < MODES; i++)
		if (strcmp(json_string_value(name), modes[i].name) == 0)
			return add(s, modes[i].pooling, out);
	return json_wrong(s, "pooling_mode", name,
	                  "cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken");
}

/* Where the newer key is, the older ones say nothing; where none of them is on, the mean is meant. */
static hec_status take_pooling(const json_scope *s, sentence_files *out)
{
	const json_t *named = json_object_get(s->object, "pooling_mode");
	const bool said = named && !json_is_null(named);
	out->poolings = 0;
	for (size_t i = 0; json_is_array(named) && i < json_array_size(named); i++)
		HEC_TRY(add_named(s, json_array_get(named, i), out));
	if (said && !json_is_array(named))
		HEC_TRY(add_named(s, named, out));
	for (size_t i = 0; !said && i < MODES; i++) {
		bool on = false;
		HEC_TRY(json_want_bool(s, modes[i].key, &on));
		if (on)
			HEC_TRY(add(s, modes[i].pooling, out));
	}
	if (!said && out->poolings == 0)
		HEC_TRY(add(s, HEC_POOL_MEAN, out));
	return out->poolings > 0 ? HEC_OK
	                         : fail(HEC_ERR_FORMAT, "%s: no pooling is chosen", s->file);
}

static hec_status read_pooling(const char *folder, sentence_files *out)
{
	char path[PATH_MOST];
	json_t *root;
	json_scope scope;
	HEC_TRY(folder_json(folder, "config.json", path, &root));
	hec_status status = json_scope_root(path, root, &scope);
	if (status == HEC_OK)
		status = take_pooling(&scope, out);
	json_decref(root);
	return status;
}

/* ---- the model's own settings ---- */

static hec_status take_settings(const char *file, const json_t *root, sentence_files *out)
{
	json_scope scope;
	bool lower = false;
	HEC_TRY(json_scope_root(file, root, &scope));
	HEC_TRY(json_want_int(&scope, "max_seq_length", 1, LONGEST_MOST, &out->longest));
	HEC_TRY(json_want_bool(&scope, "do_lower_case", &lower));
	if (lower)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: do_lower_case, before the tokenizer, is not known here", file);
	return HEC_OK;
}

/* Where the settings do not say it; a number without bounds (1e30) says nothing. */
static hec_status read_tokenizer(const char *folder, sentence_files *out)
{
	char path[PATH_MOST];
	json_t *root = NULL;
	json_scope scope;
	double longest = 0;
	HEC_TRY(folder_json_if(folder, "tokenizer_config.json", path, &root));
	if (!root)
		return HEC_OK;
	hec_status status = json_scope_root(path, root, &scope);
	if (status == HEC_OK)
		status =
			json_want_double(&scope, "model_max_length", -INFINITY, INFINITY, &longest);
	if (status == HEC_OK && longest >= 1 && longest <= LONGEST_MOST)
		out->longest = (int64_t)longest;
	json_decref(root);
	return status;
}

static hec_status read_settings(const char *folder, sentence_files *out)
{
	static const char *const names[] = {
		"sentence_bert_config.json", "sentence_roberta_config.json",
		"sentence_distilbert_config.json", "sentence_xlm-roberta_config.json"};
	char path[PATH_MOST];
	json_t *root = NULL;
	for (size_t i = 0; !root && i < sizeof names / sizeof *names; i++)
		HEC_TRY(folder_json_if(folder, names[i], path, &root));
	hec_status status = root ? take_settings(path, root, out) : HEC_OK;
	json_decref(root);
	return status == HEC_OK && out->longest == 0 ? read_tokenizer(folder, out) : status;
}

/* ---- modules.json ---- */

static hec_status keep_model(const char *folder, sentence_files *out)
{
	const size_t bytes = strlen(folder) + 1;
	out->model = mem_alloc(bytes);
	if (!out->model)
		return fail(HEC_ERR_MEMORY, "embed: no memory for a path");
	memcpy(out->model, folder, bytes);
	return HEC_OK;
}

/* A folder inside, by its name alone, which can stand in a message as it is. */
static bool is_inside(const char *path)
{
	char shown[QUOTE_TEXT];
	return strcmp(path, "..") != 0 && !strchr(path, '/') &&
	       strcmp(quote(path, shown), path) == 0;
}

static hec_status take_module(const char *dir, int64_t i, const json_t *value, sentence_files *out)
{
	json_scope s;
	const char *type, *path = "";
	char shown[QUOTE_TEXT];
	HEC_TRY(json_scope_root("modules.json", value, &s));
	HEC_TRY(json_need_string(&s, "type", &type));
	HEC_TRY(json_want_string(&s, "path", &path));
	const char *dot = strrchr(type, '.'), *kind = dot ? dot + 1 : type;
	const bool first = i == 0, known = strcmp(kind, first ? "Transformer" : "Pooling") == 0;
	if (!is_inside(path))
		return fail(HEC_ERR_FORMAT, "modules.json: path '%s' is no folder inside",
		            quote(path, shown));
	if (i > 1 && strcmp(kind, "Normalize") == 0) {
		out->normalize = true;
		return HEC_OK;
	}
	if (i > 1 || !known)
		return fail(HEC_ERR_UNSUPPORTED,
		            "modules.json: module %lld is '%s'; known are a Transformer, a "
		            "Pooling and a Normalize, in this order",
		            (long long)i, quote(kind, shown));
	char folder[PATH_MOST];
	HEC_TRY(path_in(folder, dir, path));
	if (!first)
		return read_pooling(folder, out);
	HEC_TRY(read_settings(folder, out));
	return keep_model(folder, out);
}

static hec_status take_modules(const char *dir, const json_t *root, sentence_files *out)
{
	if (!json_is_array(root) || json_array_size(root) < 2)
		return fail(HEC_ERR_FORMAT, "modules.json: a list of a Transformer, a Pooling and "
		                            "what follows is needed");
	for (size_t i = 0; i < json_array_size(root); i++)
		HEC_TRY(take_module(dir, (int64_t)i, json_array_get(root, i), out));
	return HEC_OK;
}

/* A text that is put before every other, unless the caller says another one. */
static hec_status check_prompt(const char *dir)
{
	static const char file[] = "config_sentence_transformers.json";
	char path[PATH_MOST];
	json_t *root;
	HEC_TRY(folder_json_if(dir, file, path, &root));
	const char *name = json_string_value(json_object_get(root, "default_prompt_name"));
	char shown[QUOTE_TEXT];
	hec_status status = HEC_OK;
	if (name)
		status = fail(HEC_ERR_UNSUPPORTED,
		              "%s: the prompt '%s' before every text is not known here", file,
		              quote(name, shown));
	json_decref(root);
	return status;
}

static hec_status read_all(const char *dir, sentence_files *out)
{
	char path[PATH_MOST];
	json_t *root;
	HEC_TRY(folder_json_if(dir, "modules.json", path, &root));
	if (!root) {
		HEC_TRY(read_tokenizer(dir, out));
		return keep_model(dir, out);
	}
	hec_status status = take_modules(dir, root, out);
	json_decref(root);
	return status == HEC_OK ? check_prompt(dir) : status;
}

hec_status sentence_files_read(const char *dir, sentence_files *out)
{
	*out = (sentence_files){.pooling = {HEC_POOL_MEAN}, .poolings = 1};
	hec_status status = read_all(dir, out);
	if (status != HEC_OK)
		sentence_files_free(out);
	return status;
}

void sentence_files_free(sentence_files *s)
{
	mem_free(s->model);
	*s = (sentence_files){0};
}
