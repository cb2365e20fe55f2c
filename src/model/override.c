/* override.c — "num_hidden_layers=2" and another head: changes to what was read of a config.json, before
 * the family reads it. Everything after that is as for any config.json. */
#include "model/override.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"

#define VALUE_MOST ((size_t)1 << 20)
#define KEY_MOST 96

/* Keys that every family reads. */
static const char *const every_family[] = {"model_type", "architectures", "id2label", NULL};

/* The names that most families have, for those that call it otherwise: the keys of these fields. */
static const struct {
	const char *key;
	size_t field[2];
} usual[] = {
	{"num_hidden_layers", {FIELD(encoder.layers), FIELD(decoder.layers)}},
	{"num_attention_heads", {FIELD(encoder.attention.heads), FIELD(decoder.attention.heads)}},
	{"intermediate_size",
         {FIELD(encoder.feed_forward.hidden), FIELD(decoder.feed_forward.hidden)}},
	{"max_position_embeddings", {FIELD(encoder.position.max), FIELD(decoder.position.max)}},
	{"hidden_size", {FIELD(width), FIELD(width)}},
};

bool override_any(const hec_model_load_options *o)
{
	return o->override_count > 0 || o->head || o->labels > 0;
}

/* ---- one key ---- */

/* root.a.b = value; objects on the way are made. */
static hec_status set_path(const char *file, json_t *root, const char *key, json_t *value)
{
	json_t *at = root;
	char part[KEY_MOST], name[QUOTE_TEXT];
	for (const char *dot; (dot = strchr(key, '.')); key = dot + 1) {
		snprintf(part, sizeof part, "%.*s", (int)(dot - key), key);
		json_t *inner = json_object_get(at, part);
		if (inner && !json_is_null(inner) && !json_is_object(inner))
			return fail(HEC_ERR_ARGUMENT, "%s: '%s' is no object: it has no '%s'",
			            quote(file, name), part, dot + 1);
		if (!json_is_object(inner))
			HEC_TRY(json_put(at, part, json_object()));
		at = json_object_get(at, part);
	}
	json_incref(value);
	return json_put(at, key, value);
}

/* As JSON where it is some, else a text. */
static hec_status read_value(const char *text, json_t **out)
{
	hec_status status = json_text_read("override", text, strlen(text), VALUE_MOST, out);
	if (status != HEC_ERR_MEMORY && status != HEC_OK) {
		*out = json_string(text);
		status = *out ? HEC_OK
		              : fail(HEC_ERR_ARGUMENT, "override: the value '%.40s' is not UTF-8",
		                     text);
	}
	return status;
}

static bool is_in_list(const char *const *list, const char *key, size_t n)
{
	while (*list && (strlen(*list) != n || strncmp(*list, key, n) != 0))
		list++;
	return *list != NULL;
}

/* "a" is the key "a.b", too. */
static bool is_key_of(const family *f, const char *key)
{
	const size_t n = strcspn(key, ".");
	for (const family_key *k = f->keys; k->key; k++)
		if (strncmp(k->key, key, n) == 0 &&
		    (k->key[n] == '\0' || (k->key[n] == '.' && !key[n]) ||
		     strcmp(k->key, key) == 0))
			return true;
	return is_in_list(every_family, key, n) ||
	       (f->read_keys && is_in_list(f->read_keys, key, n));
}

/* Under the names that this family has for it; *found: it has some. */
static hec_status set_usual(const char *file, const family *f, json_t *root, const char *key,
                            json_t *value, bool *found)
{
	*found = false;
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		if (strcmp(usual[i].key, key) != 0)
			continue;
		for (const family_key *k = f->keys; k->key; k++) {
			if (k->offset != usual[i].field[0] && k->offset != usual[i].field[1])
				continue;
			HEC_TRY(set_path(file, root, k->key, value));
			*found = true;
		}
	}
	return HEC_OK;
}

static hec_status unknown_key(const family *f, const char *key)
{
	char known[700] = "", word[QUOTE_TEXT];
	size_t n = 0;
	for (const family_key *k = f->keys; k->key; k++) {
		if (k > f->keys && strcmp(k->key, k[-1].key) == 0)
			continue;
		if (n + strlen(k->key) + 6 > sizeof known) {
			snprintf(known + n, sizeof known - n, ", …");
			break;
		}
		n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", k->key);
	}
	return fail(HEC_ERR_ARGUMENT, "override: %s has no key '%s'; it has: %s", f->model_type,
	            quote(key, word), known);
}

/* ---- the head ---- */

static hec_status set_head(const char *file, const family *f, hec_head head, json_t *root)
{
	char known[400] = "", name[QUOTE_TEXT];
	const char *first =
		json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
	const family_architecture *found = NULL;
	for (const family_architecture *a = f->architectures; a->name; a++) {
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", a->name);
		/* The one that the files are of is kept. */
		if (a->head == head && (!found || (first && strcmp(first, a->name) == 0)))
			found = a;
	}
	if (!found)
		return fail(HEC_ERR_UNSUPPORTED, "%s: %s has no such head; it has: %s",
		            quote(file, name), f->model_type, known);
	return json_put(root, "architectures", json_pack("[s]", found->name));
}

static hec_status set_labels(const hec_model_load_options *o, const family *f, int64_t n,
                             json_t *root)
{
	if (n < 1 || n > INT32_MAX / 64)
		return fail(HEC_ERR_ARGUMENT, "override: %lld labels", (long long)n);
	if (is_key_of(f, "labels"))
		HEC_TRY(json_put(root, "labels", json_integer(n)));
	json_t *old = json_incref(json_object_get(root, "id2label"));
	hec_status status = json_put(root, "id2label", json_object());
	for (int64_t i = 0; status == HEC_OK && i < n; i++) {
		char id[24], plain[32];
		(void)snprintf(id, sizeof id, "%lld", (long long)i);
		(void)snprintf(plain, sizeof plain, "LABEL_%lld", (long long)i);
		const char *was = (int64_t)json_object_size(old) == n
		                          ? json_string_value(json_object_get(old, id))
		                          : NULL;
		const char *name = o->label_names ? o->label_names[i] : was ? was : plain;
		status = name ? json_put(json_object_get(root, "id2label"), id, json_string(name))
		              : fail(HEC_ERR_ARGUMENT, "override: label %lld has no name",
		                     (long long)i);
	}
	json_decref(old);
	return status;
}

/* ---- all of them ---- */

static hec_status split_override(const char *text, char key[KEY_MOST], const char **value)
{
	const char *equals = text ? strchr(text, '=') : NULL;
	char word[QUOTE_TEXT];
	if (!equals || equals == text || equals - text >= KEY_MOST)
		return fail(HEC_ERR_ARGUMENT,
		            "override '%s': KEY=VALUE is needed, e.g. num_hidden_layers=2",
		            quote(text ? text : "", word));
	snprintf(key, KEY_MOST, "%.*s", (int)(equals - text), text);
	*value = equals + 1;
	return HEC_OK;
}

/* What turns positions stands in rope_parameters since Transformers 5, in rope_scaling and rope_theta before,
 * or in both: a change under either name is one of all that are there. */
static hec_status set_rope(const char *file, json_t *root, const char *key, json_t *value)
{
	static const char *const objects[] = {"rope_scaling", "rope_parameters"};
	const bool theta = strcmp(key, "rope_theta") == 0;
	const char *inner = theta ? key : strchr(key, '.') + 1;
	bool found = false;
	for (int i = theta; i < 2; i++) {
		char path[2 * KEY_MOST];
		if (!json_is_object(json_object_get(root, objects[i])))
			continue;
		snprintf(path, sizeof path, "%s.%s", objects[i], inner);
		HEC_TRY(set_path(file, root, path, value));
		found = true;
	}
	return found && !theta ? HEC_OK : set_path(file, root, key, value);
}

static bool is_rope(const char *key)
{
	return strcmp(key, "rope_theta") == 0 || strncmp(key, "rope_scaling.", 13) == 0 ||
	       strncmp(key, "rope_parameters.", 16) == 0;
}

/* num_labels is how many names id2label has, where a file has that. */
static hec_status apply_value(const char *file, const hec_model_load_options *o, const family *f,
                              json_t *root, const char *key, json_t *value)
{
	bool found;
	int64_t n = 0;
	if (strcmp(key, "num_labels") == 0)
		return json_whole(value, &n)
		               ? set_labels(o, f, n, root)
		               : fail(HEC_ERR_ARGUMENT, "override: num_labels is no whole number");
	if (is_key_of(f, key))
		return (is_rope(key) ? set_rope : set_path)(file, root, key, value);
	HEC_TRY(set_usual(file, f, root, key, value, &found));
	if (found)
		return HEC_OK;
	char outer[KEY_MOST];
	snprintf(outer, sizeof outer, "%.*s", (int)strcspn(key, "."), key);
	return json_object_get(root, outer) ? set_path(file, root, key, value)
	                                    : unknown_key(f, key);
}

static hec_status apply_one(const char *file, const hec_model_load_options *o, const family *f,
                            json_t *root, const char *text)
{
	char key[KEY_MOST];
	const char *words;
	json_t *value = NULL;
	HEC_TRY(split_override(text, key, &words));
	HEC_TRY(read_value(words, &value));
	hec_status status = apply_value(file, o, f, root, key, value);
	json_decref(value);
	return status;
}

/* Those that say which family it is come first. */
static hec_status apply_family(const hec_model_load_options *o, json_t *root)
{
	for (size_t i = 0; i < o->override_count; i++) {
		char key[KEY_MOST];
		const char *words;
		HEC_TRY(split_override(o->overrides[i], key, &words));
		if (strcmp(key, "model_type") == 0)
			HEC_TRY(json_put(root, key, json_string(words)));
	}
	return HEC_OK;
}

hec_status override_apply(const char *file, const hec_model_load_options *o, json_t *root,
                          const family **out)
{
	json_scope scope;
	HEC_TRY(json_scope_root(file, root, &scope));
	HEC_TRY(apply_family(o, root));
	HEC_TRY(family_find(&scope, out));
	for (size_t i = 0; i < o->override_count; i++)
		HEC_TRY(apply_one(file, o, *out, root, o->overrides[i]));
	if (o->head)
		HEC_TRY(set_head(file, *out, *o->head, root));
	return o->labels > 0 ? set_labels(o, *out, o->labels, root) : HEC_OK;
}
