/* carry.c — what a pretrained directory says besides weights, architecture and vocabulary goes along with
 * what is learned from it: keys that are not ours to know, and a few files that Transformers reads. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hecate/train.h>

#include "format/json.h"
#include "tensor/check.h"
#include "train/folder.h"

/* Read by Transformers beside the tokenizer. */
static const char *const files[] = {"special_tokens_map.json", "added_tokens.json",
                                    "chat_template.jinja", "chat_template.json"};

/* About the weights, labels or rates as they were, or about code that does not come along. */
static const char *const stale[] = {
	"id2label",           "label2id", "num_labels",    "torch_dtype",     "quantization_config",
	"classifier_dropout", "auto_map", "_name_or_path", "finetuning_task", "architectures"};

/* A classifier of ours gives one label of several, whatever was learned before. */
static bool holds(const char *key, const json_t *value, const json_t *now)
{
	for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
		if (strcmp(key, stale[i]) == 0)
			return false;
	if (strcmp(key, "problem_type") != 0 || !json_object_get(now, "id2label"))
		return true;
	const char *kind = json_string_value(value);
	return kind && strcmp(kind, "single_label_classification") == 0;
}

static hec_status add_keys(json_t *to, const json_t *from, bool *changed)
{
	for (void *i = json_object_iter((json_t *)from); i;
	     i = json_object_iter_next((json_t *)from, i)) {
		const char *key = json_object_iter_key(i);
		json_t *value = json_object_iter_value(i);
		if (json_object_get(to, key) || !holds(key, value, to))
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

static hec_status carry(const char *from_dir, const char *to_dir, const char *name,
                        hec_status how(const char *from, const char *to))
{
	char *from, *to = NULL;
	HEC_TRY(path_make(&from, "%s/%s", from_dir, name));
	hec_status status = path_make(&to, "%s/%s", to_dir, name);
	if (status == HEC_OK)
		status = how(from, to);
	free(from);
	free(to);
	return status;
}

static hec_status carry_file(const char *from, const char *to)
{
	return access(from, F_OK) == 0 && access(to, F_OK) != 0 ? file_copy(from, to) : HEC_OK;
}

hec_status hec_train_carry(const char *from, const char *to)
{
	HEC_TRY(CHECK_GIVEN("train", from));
	HEC_TRY(CHECK_GIVEN("train", to));
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		HEC_TRY(carry(from, to, files[i], carry_file));
	HEC_TRY(carry(from, to, "generation_config.json", carry_keys));
	return carry(from, to, "config.json", carry_keys);
}
