/* special.c — the tokens that a vocabulary has beside those of its files, and which of them are put
 * around a text; as Transformers does for each family. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "text/vocab/family.h"

/* ---- added tokens ---- */

typedef struct adder {
	vocab_files *v;
	const vocab *words;
	json_t *list;
	int64_t next; /* the first id that is free */
} adder;

static const char *content_of(const json_t *token)
{
	if (json_is_object(token))
		token = json_object_get(token, "content");
	return json_string_value(token);
}

/* token: its text, or an object as tokenizer_config.json has them. id −1: the next. */
static hec_status add_token(adder *a, const json_t *token, int64_t id, bool special)
{
	static const char *const flags[] = {"single_word", "lstrip", "rstrip"};
	const char *content = content_of(token);
	if (!content || !*content)
		return HEC_OK;
	json_t *made = json_object_get(a->v->known, content);
	if (made)
		return special ? json_put(made, "special", json_true()) : HEC_OK;
	int32_t known = vocab_find(a->words, content, strlen(content));
	if (known != VOCAB_NONE)
		id = known;
	else if (id < 0)
		id = a->next;
	a->next = id >= a->next ? id + 1 : a->next;
	made = json_object();
	if (json_object_set_new(a->v->known, content, made) != 0 ||
	    json_array_append(a->list, made) != 0)
		return fail(HEC_ERR_MEMORY, "no memory for an added token");
	special = special || json_is_true(json_object_get(token, "special"));
	HEC_TRY(json_put(made, "id", json_integer(id)));
	HEC_TRY(json_put(made, "content", json_string(content)));
	for (int i = 0; i < 3; i++)
		HEC_TRY(json_put(made, flags[i],
		                 json_boolean(json_is_true(json_object_get(token, flags[i])))));
	HEC_TRY(json_put(made, "normalized",
	                 json_boolean(json_is_true(json_object_get(token, "normalized")))));
	return json_put(made, "special", json_boolean(special));
}

typedef struct numbered {
	int64_t id;
	const json_t *token;
} numbered;

static int by_number(const void *a, const void *b)
{
	int64_t x = ((const numbered *)a)->id, y = ((const numbered *)b)->id;
	return (x > y) - (x < y);
}

/* "added_tokens_decoder": {"32000": {"content": "<pad>", …}, …} */
static hec_status add_numbered(adder *a, const json_t *tokens)
{
	const char *key;
	json_t *value;
	size_t n = 0;
	numbered *list = mem_zeros(json_object_size(tokens) + 1, sizeof *list);
	if (!list)
		return fail(HEC_ERR_MEMORY, "no memory for added tokens");
	hec_status status = HEC_OK;
	json_object_foreach((json_t *)tokens, key, value)
	{
		char *end;
		long long id = strtoll(key, &end, 10);
		if (*end || end == key || id < 0 || id > INT32_MAX)
			status = fail(HEC_ERR_FORMAT,
			              "tokenizer_config.json: 'added_tokens_decoder' has a key "
			              "that is no id");
		list[n++] = (numbered){id, value};
	}
	qsort(list, n, sizeof *list, by_number);
	for (size_t i = 0; i < n && status == HEC_OK; i++)
		status = add_token(a, list[i].token, list[i].id, false);
	mem_free(list);
	return status;
}

/* added_tokens.json: {"<pad>": 32000, …} */
static hec_status add_file(adder *a)
{
	json_t *file, *value;
	const char *key;
	HEC_TRY(vocab_json_want(a->v, "added_tokens.json", true, &file));
	hec_status status = HEC_OK;
	json_object_foreach(file, key, value)
	{
		int64_t id;
		json_t *token = json_string(key);
		if (!json_whole(value, &id) || id < 0 || id > INT32_MAX)
			status = fail(HEC_ERR_FORMAT,
			              "added_tokens.json: a value that is no id from 0 up");
		else if (status == HEC_OK)
			status = add_token(a, token, id, false);
		json_decref(token);
	}
	json_decref(file);
	return status;
}

/* What SentencePiece never finds in text, or always: Transformers looks for both. */
static hec_status add_pieces(adder *a)
{
	const vocab_files *v = a->v;
	for (size_t i = 0; i < v->pieces.n; i++) {
		const sp_piece *p = &v->pieces.pieces[i];
		bool user = p->kind == SP_USER && !v->family->exact;
		if (v->ids || (p->kind != SP_CONTROL && !user))
			continue;
		json_t *name = json_stringn(p->text, p->bytes);
		hec_status status = add_token(a, name, -1, p->kind == SP_CONTROL);
		json_decref(name);
		HEC_TRY(status);
	}
	for (size_t i = 0; v->extra && v->extra[i][0]; i++) {
		json_t *name = json_string(v->extra[i]);
		hec_status status = add_token(a, name, -1, true);
		json_decref(name);
		HEC_TRY(status);
	}
	return HEC_OK;
}

/* Marian's ">>fra<<". */
static hec_status add_languages(adder *a)
{
	const char *key;
	json_t *value;
	hec_status status = HEC_OK;
	json_object_foreach(a->v->ids, key, value)
	{
		size_t n = strlen(key);
		if (n < 5 || strncmp(key, ">>", 2) != 0 || strcmp(key + n - 2, "<<") != 0)
			continue;
		json_t *name = json_string(key);
		status = status == HEC_OK ? add_token(a, name, -1, false) : status;
		json_decref(name);
	}
	return status;
}

static hec_status add_roles(adder *a)
{
	static const int order[] = {2, 1, 3, 5, 0, 4, 6}; /* bos, eos, unk, sep, pad, cls, mask */
	static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};
	json_t *token;
	size_t k;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		char key[32];
		snprintf(key, sizeof key, "%s_token", tokenizer_roles[order[i]]);
		const json_t *token_of = json_object_get(a->v->roles, key);
		const char *name = content_of(token_of);
		/* SentencePiece alone has what its pieces are, and no more. */
		if (a->v->family == &vocab_plain && name && !json_object_get(a->v->config, key) &&
		    vocab_find(a->words, name, strlen(name)) == VOCAB_NONE)
			continue;
		HEC_TRY(add_token(a, token_of, -1, true));
	}
	for (size_t i = 0; i < 2; i++) {
		json_t *list = json_object_get(a->v->config, lists[i]);
		const char *name;
		json_array_foreach(list, k, token) HEC_TRY(add_token(a, token, -1, true));
		json_object_foreach(list, name, token) /* {"image_token": "<image>"} */
			HEC_TRY(add_token(a, token, -1, true));
	}
	return HEC_OK;
}

/* ---- what is put around ---- */

static int64_t id_of(const vocab_files *v, const vocab *words, const char *token)
{
	const json_t *made = json_object_get(v->known, token);
	if (made)
		return json_integer_value(json_object_get(made, "id"));
	return vocab_find(words, token, strlen(token));
}

/* One word of a template: A, B, a role or a token; ":1" behind it is its type. */
static hec_status put_word(vocab_files *v, const vocab *words, const char *word, size_t n,
                           json_t *list, json_t *specials)
{
	char name[64], key[80];
	int type = n > 2 && word[n - 2] == ':' ? word[n - 1] - '0' : 0;
	snprintf(name, sizeof name, "%.*s", (int)(type ? n - 2 : n), word);
	if (strcmp(name, "A") == 0 || strcmp(name, "B") == 0) {
		json_t *item = json_pack("{s:{s:s, s:i}}", "Sequence", "id", name, "type_id", type);
		return json_array_append_new(list, item) == 0
		               ? HEC_OK
		               : fail(HEC_ERR_MEMORY, "no memory for a template");
	}
	snprintf(key, sizeof key, "%s_token", name);
	const char *token = content_of(json_object_get(v->roles, key));
	token = token ? token : name;
	int64_t id = id_of(v, words, token);
	if (id < 0) {
		char shown[QUOTE_TEXT];
		return fail(HEC_ERR_FORMAT,
		            "the vocabulary has no \"%s\", which its %s puts around a text",
		            quote(token, shown), v->family->name);
	}
	json_t *item = json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", token, "type_id", type);
	json_t *special = json_pack("{s:s, s:[I], s:[s]}", "id", token, "ids", (json_int_t)id,
	                            "tokens", token);
	if (json_array_append_new(list, item) != 0) {
		json_decref(special);
		return fail(HEC_ERR_MEMORY, "no memory for a template");
	}
	return json_put(specials, token, special);
}

static hec_status put_template(vocab_files *v, const vocab *words, const char *text, json_t *list,
                               json_t *specials)
{
	while (*text) {
		size_t n = strcspn(text, " ");
		HEC_TRY(put_word(v, words, text, n, list, specials));
		text += n + (text[n] == ' ');
	}
	return HEC_OK;
}

static hec_status put_around(vocab_files *v, const vocab *words)
{
	char single[64], pair[128];
	bool bos = json_is_true(json_object_get(v->config, "add_bos_token"));
	bool eos = json_is_true(json_object_get(v->config, "add_eos_token"));
	bos = bos && json_object_get(v->roles, "bos_token");
	eos = eos && json_object_get(v->roles, "eos_token");
	snprintf(single, sizeof single, "%sA%s", bos ? "bos " : "", eos ? " eos" : "");
	snprintf(pair, sizeof pair, "%s%s B:1%s", single, bos ? " bos:1" : "", eos ? " eos:1" : "");
	const char *texts[2] = {v->family->single ? v->family->single : single,
	                        v->family->pair ? v->family->pair : pair};
	json_t *post = json_pack("{s:s, s:[], s:[], s:{}}", "type", "TemplateProcessing", "single",
	                         "pair", "special_tokens");
	HEC_TRY(json_put(v->root, "post_processor", post));
	for (int i = 0; i < 2; i++)
		HEC_TRY(put_template(v, words, texts[i],
		                     json_object_get(post, i ? "pair" : "single"),
		                     json_object_get(post, "special_tokens")));
	return HEC_OK;
}

/* RobertaProcessing is no template: it takes the spaces off the offsets too. */
static hec_status put_roberta(vocab_files *v, const vocab *words, json_t *post)
{
	static const char *const keys[] = {"sep", "cls"};
	for (int i = 0; i < 2; i++) {
		const char *token =
			content_of(json_object_get(v->roles, i ? "cls_token" : "sep_token"));
		int64_t id = token ? id_of(v, words, token) : -1;
		if (id < 0) {
			char shown[QUOTE_TEXT];
			return fail(HEC_ERR_FORMAT, "the vocabulary has no \"%s\"",
			            quote(token ? token : keys[i], shown));
		}
		HEC_TRY(json_put(post, keys[i], json_pack("[s, I]", token, (json_int_t)id)));
	}
	return HEC_OK;
}

hec_status vocab_files_finish(vocab_files *v, const vocab *words)
{
	adder a = {v, words, json_array(), (int64_t)words->ids};
	HEC_TRY(json_put(v->root, "added_tokens", a.list));
	HEC_TRY(add_pieces(&a));
	const json_t *decoder = json_object_get(v->config, "added_tokens_decoder");
	if (json_is_object(decoder))
		HEC_TRY(add_numbered(&a, decoder));
	else
		HEC_TRY(add_file(&a));
	HEC_TRY(add_roles(&a));
	HEC_TRY(add_languages(&a));
	json_t *post = json_object_get(v->root, "post_processor");
	return post ? put_roberta(v, words, post) : put_around(v, words);
}
