/* carry.c — what a pretrained directory says besides weights, architecture and vocabulary goes along with
 * what is learned from it: keys that are not ours to know, and a few files that Transformers reads. */
#include "train/carry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hecate/train.h>

#include "base/memory.h"
#include "base/quote.h"
#include "format/json.h"
#include "tensor/check.h"
#include "train/folder.h"

/* What Transformers and sentence-transformers read besides: of the tokenizer, of what is made of sound, of
 * vectors of texts. */
static const char *const files[] = {
	"special_tokens_map.json",
	"added_tokens.json",
	"chat_template.jinja",
	"chat_template.json",
	"preprocessor_config.json",
	"processor_config.json",
	"normalizer.json",
	"config_sentence_transformers.json",
	"sentence_bert_config.json",
	"sentence_roberta_config.json",
	"sentence_distilbert_config.json",
	"sentence_xlm-roberta_config.json",
};

/* About the weights, labels or rates as they were, or about code that does not come along. */
static const char *const stale[] = {
	"id2label",           "label2id", "num_labels",    "torch_dtype",     "quantization_config",
	"classifier_dropout", "auto_map", "_name_or_path", "finetuning_task", "architectures"};

/* We train classifiers of one label alone: another problem_type no longer holds. */
static bool still_holds(const char *key, const json_t *value, const json_t *now)
{
	for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
		if (strcmp(key, stale[i]) == 0)
			return false;
	if (strcmp(key, "problem_type") != 0 || !json_object_get(now, "id2label"))
		return true;
	const char *kind = json_string_value(value);
	return kind && strcmp(kind, "single_label_classification") == 0;
}

/* We write one id for each role; the directory may list several (the end of a chat's turn), and then keeps its list. */
static bool says_more(const char *key, const json_t *value)
{
	const char *id = strstr(key, "_token_id");
	return id && strcmp(id, "_token_id") == 0 && json_is_array(value);
}

static hec_status add_keys(json_t *to, const json_t *from, bool *changed)
{
	for (void *i = json_object_iter((json_t *)from); i;
	     i = json_object_iter_next((json_t *)from, i)) {
		const char *key = json_object_iter_key(i);
		json_t *value = json_object_iter_value(i);
		bool more = says_more(key, value) || !json_object_get(to, key);
		if (!more || !still_holds(key, value, to))
			continue;
		HEC_TRY(json_put(to, key, json_incref(value)));
		*changed = true;
	}
	return HEC_OK;
}

/* Into a file that is there, from one that may be. */
static hec_status carry_keys(const char *from, const char *to)
{
	json_t *was = NULL, *is = NULL;
	bool changed = false;
	if (access(from, F_OK) != 0 || access(to, F_OK) != 0)
		return HEC_OK;
	hec_status status = json_file_read(from, JSON_CONFIG_MOST, &was);
	if (status == HEC_OK)
		status = json_file_read(to, JSON_CONFIG_MOST, &is);
	if (status == HEC_OK)
		status = add_keys(is, was, &changed);
	if (status == HEC_OK && changed)
		status = json_file_write(to, is);
	json_decref(was);
	json_decref(is);
	return status;
}

static hec_status carry_one(const char *from_dir, const char *to_dir, const char *name,
                            hec_status how(const char *from, const char *to))
{
	char *from, *to = NULL;
	HEC_TRY(path_make(&from, "%s/%s", from_dir, name));
	hec_status status = path_make(&to, "%s/%s", to_dir, name);
	if (status == HEC_OK)
		status = how(from, to);
	mem_free(from);
	mem_free(to);
	return status;
}

static hec_status carry_file(const char *from, const char *to)
{
	return access(from, F_OK) == 0 && access(to, F_OK) != 0 ? file_copy(from, to) : HEC_OK;
}

/* What an older config.json says of writing, where there is no other file for it. */
static const char *const generation_keys[] = {"max_length",
                                              "max_new_tokens",
                                              "min_length",
                                              "min_new_tokens",
                                              "early_stopping",
                                              "num_beams",
                                              "num_beam_groups",
                                              "do_sample",
                                              "temperature",
                                              "top_k",
                                              "top_p",
                                              "min_p",
                                              "typical_p",
                                              "repetition_penalty",
                                              "encoder_no_repeat_ngram_size",
                                              "length_penalty",
                                              "no_repeat_ngram_size",
                                              "bad_words_ids",
                                              "suppress_tokens",
                                              "renormalize_logits",
                                              "begin_suppress_tokens",
                                              "forced_decoder_ids",
                                              "forced_bos_token_id",
                                              "forced_eos_token_id",
                                              "bos_token_id",
                                              "eos_token_id",
                                              "pad_token_id",
                                              "diversity_penalty",
                                              "num_return_sequences",
                                              "decoder_start_token_id",
                                              "remove_invalid_values"};

static hec_status add_writing(json_t *to, const json_t *config)
{
	for (size_t i = 0; i < sizeof generation_keys / sizeof *generation_keys; i++) {
		json_t *value = json_object_get(config, generation_keys[i]);
		if (value)
			HEC_TRY(json_put(to, generation_keys[i], json_incref(value)));
	}
	return HEC_OK;
}

/* Training does not change how a model writes, so its settings of generation are kept. */
static hec_status carry_generation(const char *from, const char *config, const char *to)
{
	json_t *was = NULL, *is = NULL;
	bool changed = false, own = access(from, F_OK) == 0;
	if (access(to, F_OK) != 0)
		return HEC_OK;
	hec_status status = json_file_read(own ? from : config, JSON_CONFIG_MOST, &was);
	/* Without a file of its own, what is known of the model holds where config.json is silent. */
	if (status == HEC_OK && !own)
		status = json_file_read(to, JSON_CONFIG_MOST, &is);
	if (status == HEC_OK && own && !(is = json_object()))
		status = fail(HEC_ERR_MEMORY, "%s: no memory to write it", to);
	if (status == HEC_OK)
		status = own ? add_keys(is, was, &changed) : add_writing(is, was);
	if (status == HEC_OK)
		status = json_file_write(to, is);
	json_decref(was);
	json_decref(is);
	return status;
}

static hec_status carry_writing(const char *from_dir, const char *to_dir)
{
	static const char name[] = "generation_config.json";
	char *from = NULL, *config = NULL, *to = NULL;
	hec_status status = path_make(&from, "%s/%s", from_dir, name);
	if (status == HEC_OK)
		status = path_make(&config, "%s/config.json", from_dir);
	if (status == HEC_OK)
		status = path_make(&to, "%s/%s", to_dir, name);
	if (status == HEC_OK)
		status = carry_generation(from, config, to);
	mem_free(from);
	mem_free(config);
	mem_free(to);
	return status;
}

/* ---- modules ---- */

static bool is_inside(const char *name)
{
	char shown[QUOTE_TEXT];
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/') &&
	       strcmp(quote(name, shown), name) == 0;
}

/* *folder: what holds its settings; NULL: the directory itself. */
static bool is_known(const json_t *module, const char **folder)
{
	const char *type = json_string_value(json_object_get(module, "type"));
	const char *path = json_string_value(json_object_get(module, "path"));
	const char *dot = type ? strrchr(type, '.') : NULL, *kind = dot ? dot + 1 : type;
	*folder = path && *path ? path : NULL;
	if (!kind || (*folder && !is_inside(*folder)))
		return false;
	return strcmp(kind, "Transformer") == 0
	               ? !*folder
	               : strcmp(kind, "Pooling") == 0 || strcmp(kind, "Normalize") == 0;
}

static hec_status carry_module(const char *from_dir, const char *to_dir, const char *folder)
{
	char *from, *to = NULL;
	HEC_TRY(path_make(&from, "%s/%s", from_dir, folder));
	hec_status status = path_make(&to, "%s/%s", to_dir, folder);
	/* A module without settings often has no folder. */
	if (status == HEC_OK && access(from, F_OK) == 0) {
		status = folder_make(to);
		if (status == HEC_OK)
			status = carry_one(from, to, "config.json", carry_file);
	}
	mem_free(from);
	mem_free(to);
	return status;
}

/* The list comes last: it is there once all that it names is. */
static hec_status carry_listed(const char *from, const char *to, const json_t *list)
{
	const char *folder;
	size_t n = json_array_size(list);
	bool known = n > 0;
	for (size_t i = 0; i < n; i++)
		known = known && is_known(json_array_get(list, i), &folder);
	if (!known)
		return HEC_OK;
	for (size_t i = 0; i < n; i++)
		if (is_known(json_array_get(list, i), &folder) && folder)
			HEC_TRY(carry_module(from, to, folder));
	return carry_one(from, to, "modules.json", carry_file);
}

hec_status carry_modules(const char *from, const char *to)
{
	char *path;
	json_t *list = NULL;
	HEC_TRY(path_make(&path, "%s/modules.json", from));
	hec_status status = HEC_OK;
	if (access(path, F_OK) == 0)
		status = json_file_read(path, JSON_CONFIG_MOST, &list);
	if (status == HEC_OK && list)
		status = carry_listed(from, to, list);
	json_decref(list);
	mem_free(path);
	return status;
}

hec_status hec_train_carry(const char *from, const char *to)
{
	HEC_TRY(CHECK_GIVEN("train", from));
	HEC_TRY(CHECK_GIVEN("train", to));
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		HEC_TRY(carry_one(from, to, files[i], carry_file));
	HEC_TRY(carry_modules(from, to));
	HEC_TRY(carry_writing(from, to));
	return carry_one(from, to, "config.json", carry_keys);
}
