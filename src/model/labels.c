/* labels.c — what the labels of a classifying model are called: id2label of config.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "model/family.h"
#include "model/labels.h"
#include "model/model.h"
#include "tensor/check.h"
#include "text/unicode/utf8.h"

static hec_status no_memory(int64_t n)
{
	return fail(HEC_ERR_MEMORY, "model: no memory for the names of %lld labels", (long long)n);
}

/* One block: n pointers, then the texts. */
hec_status hec_model_set_labels(hec_model *model, const char *const *names, int64_t n)
{
	HEC_TRY(CHECK_GIVEN("model", model));
	HEC_TRY(CHECK_GIVEN("model", names));
	if (n != model->config.labels || n < 1)
		return fail(HEC_ERR_ARGUMENT, "model: %lld names for %lld labels", (long long)n,
		            (long long)model->config.labels);
	size_t bytes;
	if (!size_mul((size_t)n, sizeof(char *), &bytes))
		return no_memory(n);
	for (int64_t i = 0; i < n; i++) {
		HEC_TRY(check_given("model", "a label's name", names[i]));
		if (utf8_valid(names[i], strlen(names[i])) != strlen(names[i]))
			return fail(HEC_ERR_ARGUMENT, "model: the name of label %lld is not UTF-8",
			            (long long)i);
		if (!size_add(bytes, strlen(names[i]) + 1, &bytes))
			return no_memory(n);
	}
	char **block = mem_alloc(bytes);
	if (!block)
		return no_memory(n);
	char *text = (char *)(block + n);
	for (int64_t i = 0; i < n; i++) {
		size_t length = strlen(names[i]) + 1;
		block[i] = memcpy(text, names[i], length);
		text += length;
	}
	mem_free(model->label_names);
	model->label_names = block;
	return HEC_OK;
}

const char *hec_model_label(const hec_model *model, int64_t i)
{
	return model->label_names && i >= 0 && i < model->config.labels ? model->label_names[i]
	                                                                : NULL;
}

static bool has_labels(const hec_model_config *c)
{
	return c->head == HEC_HEAD_CLASSIFY || c->head == HEC_HEAD_TOKENS;
}

hec_status labels_count(const json_scope *config, hec_model_config *c)
{
	json_scope names;
	bool named;
	if (!has_labels(c))
		return HEC_OK;
	c->labels = 2;
	HEC_TRY(json_want_int(config, "num_labels", 1, INT32_MAX, &c->labels));
	HEC_TRY(json_want_object(config, "id2label", &names, &named));
	if (named)
		c->labels = (int64_t)json_object_size(names.object);
	return HEC_OK;
}

static hec_status put_label(json_t *config, int64_t i, const char *name)
{
	char id[24];
	(void)snprintf(id, sizeof id, "%lld", (long long)i);
	HEC_TRY(json_put(json_object_get(config, "id2label"), id, json_string(name)));
	return json_put(json_object_get(config, "label2id"), name, json_integer(i));
}

hec_status labels_plain(const hec_model_config *c, json_t *config)
{
	if (!has_labels(c))
		return HEC_OK;
	HEC_TRY(json_put(config, "id2label", json_object()));
	HEC_TRY(json_put(config, "label2id", json_object()));
	for (int64_t i = 0; i < c->labels; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "LABEL_%lld", (long long)i);
		HEC_TRY(put_label(config, i, name));
	}
	return HEC_OK;
}

hec_status labels_read(const json_scope *config, hec_model *model)
{
	json_scope names;
	bool found;
	int64_t n = model->config.labels;
	HEC_TRY(json_want_object(config, "id2label", &names, &found));
	if (!found || !has_labels(&model->config) || n < 1)
		return HEC_OK;
	const char **list = mem_zeros((size_t)n, sizeof *list);
	if (!list)
		return no_memory(n);
	hec_status status = HEC_OK;
	for (int64_t i = 0; status == HEC_OK && i < n; i++) {
		char id[24];
		(void)snprintf(id, sizeof id, "%lld", (long long)i);
		status = json_need_string(&names, id, &list[i]);
	}
	if (status == HEC_OK)
		status = hec_model_set_labels(model, list, n);
	mem_free(list);
	return status;
}

hec_status labels_write(const hec_model *model, json_t *config)
{
	if (!model->label_names)
		return HEC_OK;
	HEC_TRY(json_put(config, "id2label", json_object()));
	HEC_TRY(json_put(config, "label2id", json_object()));
	for (int64_t i = 0; i < model->config.labels; i++)
		HEC_TRY(put_label(config, i, model->label_names[i]));
	return HEC_OK;
}
