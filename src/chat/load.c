/* load.c — loads the chat template of a model's directory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "chat/tree.h"

#define MAX_TEMPLATE ((size_t)4 << 20) /* bytes */

static hec_status read_beside(const char *path, const char *name, char **text, size_t *bytes)
{
	struct stat info;
	char full[PATH_MOST];
	*text = NULL;
	HEC_TRY(path_in(full, path, name));
	return stat(full, &info) == 0 ? file_read(full, MAX_TEMPLATE, text, bytes) : HEC_OK;
}

/* A text, or [{"name": "default", "template": "…"}, …]. */
static const json_t *template_of(const json_t *config)
{
	const json_t *t = json_object_get(config, "chat_template"), *one;
	size_t i;
	json_array_foreach(t, i, one)
	{
		const char *name = json_string_value(json_object_get(one, "name"));
		if (name && strcmp(name, "default") == 0)
			return json_object_get(one, "template");
	}
	return t;
}

/* bos_token and so on: a text, or an object with "content". */
static hec_status read_special_tokens(const json_t *config, hec_chat_template *t)
{
	const char *key;
	json_t *value;
	t->tokens = json_object();
	if (!t->tokens)
		return fail(HEC_ERR_MEMORY, "no memory for special tokens");
	json_object_foreach((json_t *)config, key, value)
	{
		size_t n = strlen(key);
		if (n <= 6 || strcmp(key + n - 6, "_token") != 0)
			continue;
		if (json_is_object(value))
			value = json_object_get(value, "content");
		if (json_is_string(value))
			HEC_TRY(json_put(t->tokens, key, json_incref(value)));
	}
	return HEC_OK;
}

/* jinja NULL: the template is in config. config NULL: no special tokens. */
static hec_status create_template(const char *path, const char *jinja, size_t bytes,
                                  const json_t *config, hec_chat_template **out)
{
	const json_t *text = jinja ? NULL : template_of(config);
	hec_chat_template *t = NULL;
	if (!jinja && !json_is_string(text))
		return fail(HEC_ERR_FORMAT,
		            "%s: has no chat template: neither chat_template.jinja nor "
		            "'chat_template' in tokenizer_config.json",
		            path);
	HEC_TRY(hec_chat_template_parse(jinja ? jinja : json_string_value(text),
	                                jinja ? bytes : json_string_length(text), &t));
	hec_status status = config ? read_special_tokens(config, t) : HEC_OK;
	if (status != HEC_OK)
		hec_chat_template_destroy(t);
	else
		*out = t;
	return status;
}

hec_status hec_chat_template_load(const char *path, hec_chat_template **out)
{
	struct stat info;
	char *jinja = NULL, *config_text = NULL;
	size_t bytes = 0, config_bytes = 0;
	json_t *config = NULL;
	if (out)
		*out = NULL;
	if (!path || !out)
		return fail(HEC_ERR_ARGUMENT, "hec_chat_template_load: %s is NULL",
		            path ? "out" : "path");
	bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
	size_t n = strlen(path);
	bool json = !folder && n > 5 && strcmp(path + n - 5, ".json") == 0;
	hec_status status;
	if (folder) {
		status = read_beside(path, "chat_template.jinja", &jinja, &bytes);
		if (status == HEC_OK)
			status = read_beside(path, "tokenizer_config.json", &config_text,
			                     &config_bytes);
	} else {
		status = file_read(path, MAX_TEMPLATE, json ? &config_text : &jinja,
		                   json ? &config_bytes : &bytes);
	}
	if (status == HEC_OK && config_text)
		status = json_object_read("tokenizer_config.json", config_text, config_bytes,
		                          JSON_CONFIG_MOST, &config);
	if (status == HEC_OK)
		status = create_template(path, jinja, bytes, config, out);
	json_decref(config);
	mem_free(jinja);
	mem_free(config_text);
	return status == HEC_OK ? HEC_OK : fail_in(status, "%s", path);
}
