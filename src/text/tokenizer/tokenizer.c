/* tokenizer.c — making a tokenizer from its files, asking it, writing it back. */
#include "text/tokenizer/tokenizer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/quote.h"
#include "text/split/byte_level.h"
#include "text/unicode/classes.h"
#include "text/vocab/files.h"

const char *const tokenizer_roles[TOKENIZER_ROLES] = {"pad", "eos", "bos", "unk",
                                                      "cls", "sep", "mask"};

/* ---- reading ---- */

/* ByteLevel just before BPE need not write its characters out: the model takes the bytes. */
static hec_status join_byte_level(hec_tokenizer *t)
{
	stages *s = &t->pre_tokenizers;
	if (s->n == 0 || s->at[s->n - 1].kind != &byte_level || t->model.kind != &model_bpe ||
	    !bpe_can_take_bytes(&t->model.bpe))
		return HEC_OK;
	((byte_level_state *)s->at[s->n - 1].state)->plain = true;
	return bpe_take_bytes(&t->model.bpe);
}

static hec_status load_model(hec_tokenizer *t, const json_scope *root)
{
	vocab_files *v = t->files;
	HEC_TRY(v && v->piece_file ? vocab_files_model(v, t)
	                           : model_load(root, t->serial, &t->vocab, &t->model));
	return v ? vocab_files_finish(v, &t->vocab) : HEC_OK;
}

static hec_status load_parts(hec_tokenizer *t, const json_scope *root)
{
	HEC_TRY(load_model(t, root));
	/* Unigram counts pieces that it has twice, too. */
	HEC_TRY(added_load(root, &t->vocab,
	                   t->model.kind == &model_unigram ? t->vocab.ids : t->vocab.n, &t->added));
	HEC_TRY(stages_load(root, STAGE_NORMALIZER, &t->normalizers));
	HEC_TRY(stages_load(root, STAGE_PRE_TOKENIZER, &t->pre_tokenizers));
	HEC_TRY(stages_load(root, STAGE_DECODER, &t->decoders));
	HEC_TRY(post_load(root, t, &t->post));
	HEC_TRY(limits_load(root, &t->limits));
	HEC_TRY(join_byte_level(t));
	return added_prepare(&t->added, &t->normalizers);
}

/* "pad_token": "<pad>", or {"content": "<pad>", …}. A token that is not in the vocabulary has no id:
 * such files exist. */
static int32_t role_of(const hec_tokenizer *t, const json_t *config, const char *role)
{
	char key[32];
	snprintf(key, sizeof key, "%s_token", role);
	const json_t *token = json_object_get(config, key);
	if (json_is_object(token))
		token = json_object_get(token, "content");
	return json_is_string(token) ? hec_tokenizer_id(t, json_string_value(token)) : VOCAB_NONE;
}

static hec_status load_config(hec_tokenizer *t)
{
	json_t *config = NULL;
	if (t->files) {
		config = json_incref(t->files->roles);
	} else if (t->config) {
		json_scope root;
		HEC_TRY(json_text_read("tokenizer_config.json", t->config, t->config_bytes,
		                       JSON_CONFIG_MOST, &config));
		hec_status status = json_scope_root("tokenizer_config.json", config, &root);
		if (status != HEC_OK) {
			json_decref(config);
			return status;
		}
	}
	for (int i = 0; i < TOKENIZER_ROLES; i++)
		t->role[i] = role_of(t, config, tokenizer_roles[i]);
	json_decref(config);
	return HEC_OK;
}

static hec_status check_version(const json_scope *s)
{
	const char *version = "1.0";
	char name[QUOTE_TEXT];
	HEC_TRY(json_want_string(s, "version", &version));
	return strcmp(version, "1.0") == 0
	               ? HEC_OK
	               : fail(HEC_ERR_UNSUPPORTED, "%s: 'version' is \"%s\"; \"1.0\" is known",
	                      s->file, quote(version, name));
}

static hec_status load_json(hec_tokenizer *t)
{
	json_t *root;
	json_scope s;
	if (t->files) {
		s = (json_scope){.file = "the vocabulary", .object = t->files->root};
		return load_parts(t, &s);
	}
	HEC_TRY(json_text_read("tokenizer.json", t->json, t->json_bytes, JSON_TOKENIZER_MOST,
	                       &root));
	hec_status status = json_scope_root("tokenizer.json", root, &s);
	if (status == HEC_OK)
		status = check_version(&s);
	if (status == HEC_OK)
		status = load_parts(t, &s);
	json_decref(root);
	return status;
}

/* Takes both texts over, also on failure. config NULL: none. Files NULL: json is tokenizer.json; else
 * it is NULL. */
static hec_status create_tokenizer(char *json, size_t bytes, char *config, size_t config_bytes,
                                   vocab_files *files, hec_tokenizer **out)
{
	static _Atomic uint64_t serial;
	classes_prepare();
	hec_tokenizer *t = mem_zeros(1, sizeof *t);
	if (!t) {
		mem_free(json);
		mem_free(config);
		vocab_files_free(files);
		return fail(HEC_ERR_MEMORY, "no memory for a tokenizer");
	}
	t->serial = atomic_fetch_add(&serial, 1u) + 1;
	t->json = json;
	t->json_bytes = bytes;
	t->config = config;
	t->config_bytes = config_bytes;
	t->files = files;
	hec_status status = load_json(t);
	if (status == HEC_OK)
		status = load_config(t);
	if (status == HEC_OK && files)
		vocab_files_forget(files);
	if (status != HEC_OK) {
		hec_tokenizer_destroy(t);
		return status;
	}
	*out = t;
	return HEC_OK;
}

static hec_status copy_text(const char *text, size_t bytes, char **out)
{
	*out = mem_copy_bytes(text, bytes);
	return *out ? HEC_OK
	            : fail(HEC_ERR_MEMORY, "no memory for the %zu bytes of a tokenizer", bytes);
}

hec_status hec_tokenizer_parse(const char *json, size_t bytes, const char *config,
                               size_t config_bytes, hec_tokenizer **out)
{
	if (out)
		*out = NULL;
	if (!json || !out)
		return fail(HEC_ERR_ARGUMENT, "hec_tokenizer_parse: %s is NULL",
		            json ? "out" : "json");
	if (bytes > JSON_TOKENIZER_MOST)
		return fail(HEC_ERR_FORMAT, "tokenizer.json: has %zu bytes; at most %zu are read",
		            bytes, JSON_TOKENIZER_MOST);
	if (config && config_bytes > JSON_CONFIG_MOST)
		return fail(HEC_ERR_FORMAT,
		            "tokenizer_config.json: has %zu bytes; at most %zu are read",
		            config_bytes, JSON_CONFIG_MOST);
	char *text, *more = NULL;
	HEC_TRY(copy_text(json, bytes, &text));
	hec_status status = config ? copy_text(config, config_bytes, &more) : HEC_OK;
	if (status != HEC_OK) {
		mem_free(text);
		return status;
	}
	return create_tokenizer(text, bytes, more, config_bytes, NULL, out);
}

static bool is_folder(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static hec_status read_config(const char *path, bool folder, char **config, size_t *bytes)
{
	char name[PATH_MOST];
	struct stat info;
	HEC_TRY((folder ? path_in : path_beside)(name, path, "tokenizer_config.json"));
	if (stat(name, &info) != 0 && errno == ENOENT)
		return HEC_OK;
	return file_read(name, JSON_CONFIG_MOST, config, bytes);
}

/* Without tokenizer.json. */
static hec_status load_files(const char *path, bool folder, hec_tokenizer **out)
{
	char *config = NULL;
	size_t bytes = 0;
	vocab_files *files = NULL;
	hec_status status = read_config(path, folder, &config, &bytes);
	if (status == HEC_OK)
		status = vocab_files_read(path, folder, config, bytes, &files);
	if (status != HEC_OK)
		mem_free(config);
	else
		status = create_tokenizer(NULL, 0, config, bytes, files, out);
	return status == HEC_OK ? HEC_OK : fail_in(status, "%s", path);
}

hec_status hec_tokenizer_load(const char *path, hec_tokenizer **out)
{
	if (out)
		*out = NULL;
	if (!path || !out)
		return fail(HEC_ERR_ARGUMENT, "hec_tokenizer_load: %s is NULL",
		            path ? "out" : "path");
	bool folder = is_folder(path);
	if (vocab_files_are_there(path, folder))
		return load_files(path, folder, out);
	char name[PATH_MOST], *json = NULL, *config = NULL;
	size_t bytes = 0, config_bytes = 0;
	HEC_TRY(path_in(name, path, folder ? "tokenizer.json" : ""));
	HEC_TRY(file_read(name, JSON_TOKENIZER_MOST, &json, &bytes));
	hec_status status = read_config(path, folder, &config, &config_bytes);
	if (status != HEC_OK) {
		mem_free(json);
		return status;
	}
	status = create_tokenizer(json, bytes, config, config_bytes, NULL, out);
	return status == HEC_OK ? HEC_OK : fail_in(status, "%s", path);
}

hec_status hec_tokenizer_load_target(const char *folder, hec_tokenizer **out)
{
	char path[PATH_MOST];
	if (out)
		*out = NULL;
	if (!folder || !out)
		return fail(HEC_ERR_ARGUMENT, "hec_tokenizer_load_target: %s is NULL",
		            folder ? "out" : "folder");
	HEC_TRY(path_in(path, folder, "tokenizer.json"));
	if (access(path, F_OK) == 0)
		return HEC_OK;
	HEC_TRY(path_in(path, folder, "target.spm"));
	return access(path, F_OK) == 0 ? hec_tokenizer_load(path, out) : HEC_OK;
}

void hec_tokenizer_destroy(hec_tokenizer *t)
{
	if (!t)
		return;
	added_free(&t->added);
	stages_free(&t->normalizers);
	stages_free(&t->pre_tokenizers);
	stages_free(&t->decoders);
	model_free(&t->model);
	vocab_free(&t->vocab);
	post_free(&t->post);
	vocab_files_free(t->files);
	mem_free(t->json);
	mem_free(t->config);
	mem_free(t);
}

/* ---- writing ---- */

static const char plain_config[] = "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\"\n}\n";

static hec_status save_file(const char *folder, const char *name, const char *text, size_t bytes)
{
	char path[PATH_MOST];
	HEC_TRY(path_in(path, folder, name));
	return file_replace(path, text, bytes);
}

hec_status hec_tokenizer_save(const hec_tokenizer *t, const char *folder)
{
	if (!t || !folder)
		return fail(HEC_ERR_ARGUMENT, "hec_tokenizer_save: %s is NULL",
		            t ? "folder" : "tokenizer");
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		return fail(HEC_ERR_IO, "%s: could not be made: %s", folder, strerror(errno));
	/* The one without which there is no tokenizer comes last: killed in between, we leave none
	 * rather than one that does not know its special tokens. */
	HEC_TRY(save_file(folder, "tokenizer_config.json", t->config ? t->config : plain_config,
	                  t->config ? t->config_bytes : sizeof plain_config - 1));
	for (size_t i = 0; t->files && i < t->files->n; i++) {
		const vocab_file *f = &t->files->kept[i];
		HEC_TRY(save_file(folder, f->name, f->data, f->bytes));
	}
	return t->files ? HEC_OK : save_file(folder, "tokenizer.json", t->json, t->json_bytes);
}

/* ---- asking ---- */

const char *hec_tokenizer_kind(const hec_tokenizer *t)
{
	return t->model.kind->type;
}

int64_t hec_tokenizer_vocab(const hec_tokenizer *t)
{
	if (!t)
		return 0;
	size_t model = t->vocab.ids, added = t->added.names.ids;
	return (int64_t)(model > added ? model : added);
}

const char *hec_tokenizer_token(const hec_tokenizer *t, int32_t id)
{
	if (!t)
		return NULL;
	const char *token = added_name(&t->added, id);
	return token ? token : vocab_token(&t->vocab, id, NULL);
}

int32_t hec_tokenizer_id(const hec_tokenizer *t, const char *token)
{
	if (!t || !token)
		return VOCAB_NONE;
	int32_t id = vocab_find(&t->added.names, token, strlen(token));
	return id != VOCAB_NONE ? id : vocab_find(&t->vocab, token, strlen(token));
}

int32_t hec_tokenizer_role(const hec_tokenizer *t, const char *role)
{
	for (int i = 0; t && role && i < TOKENIZER_ROLES; i++)
		if (strcmp(role, tokenizer_roles[i]) == 0)
			return t->role[i];
	return VOCAB_NONE;
}

bool hec_tokenizer_is_special(const hec_tokenizer *t, int32_t id)
{
	const added_token *token = t ? added_by_id(&t->added, id) : NULL;
	/* Unigram may have a piece twice, of which an added token is one: the name counts. */
	if (t && !token) {
		size_t bytes;
		const char *name = vocab_token(&t->vocab, id, &bytes);
		token = name ? added_by_id(&t->added, vocab_find(&t->added.names, name, bytes))
		             : NULL;
	}
	return token && token->special;
}
