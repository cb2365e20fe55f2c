/* bpe_write.c — the files of a learned tokenizer, such that other libraries read them as they are.
 *
 * Bytes: a space is put before the text, words are cut by a pattern, ByteLevel writes them as
 * characters; back, the bytes are joined and the one space is taken off. Every text comes back as it
 * was. Unicode: Metaspace marks the spaces; a character that is not in the vocabulary is written as
 * its bytes. */
#include "text/learn/bpe_write.h"

#include <stdio.h>
#include <string.h>

#include "format/json.h"
#include "text/split/words.h"

#define MARK "\xe2\x96\x81"

/* Objects by json_pack; NULL (no memory) is turned into an error by json_put. */

static hec_status put_list(json_t *object, const char *key, json_t *a, json_t *b, json_t *c)
{
	json_t *list = json_array(), *items[3] = {a, b, c};
	bool good = list != NULL && a != NULL;
	for (int i = 0; i < 3; i++)
		if (items[i])
			good = json_array_append_new(list, items[i]) == 0 && good;
	if (good)
		return json_put(object, key, list);
	json_decref(list);
	return fail(HEC_ERR_MEMORY, "tokenizer.json: no memory for '%s'", key);
}

static json_t *make_split(const char *pattern)
{
	return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern,
	                 "behavior", "Isolated", "invert", 0);
}

static json_t *make_byte_level(void)
{
	return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
	                 "trim_offsets", 0, "use_regex", 0);
}

static json_t *make_metaspace(void)
{
	return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", MARK,
	                 "prepend_scheme", "always", "split", 1);
}

static json_t *make_strip(void)
{
	return json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content", " ", "start", 1,
	                 "stop", 0);
}

static json_t *make_sequence(const char *key, json_t *a, json_t *b, json_t *c)
{
	json_t *s = json_pack("{s:s}", "type", "Sequence");
	if (s && put_list(s, key, a, b, c) == HEC_OK)
		return s;
	json_decref(s);
	return NULL;
}

static hec_status put_stages(json_t *root, bool unicode)
{
	if (unicode) {
		HEC_TRY(json_put(root, "normalizer", json_null()));
		HEC_TRY(json_put(root, "pre_tokenizer",
		                 make_sequence("pretokenizers", make_metaspace(),
		                               make_split(words_marked.pattern), NULL)));
		return json_put(root, "decoder",
		                make_sequence("decoders",
		                              json_pack("{s:s}", "type", "ByteFallback"),
		                              make_metaspace(), NULL));
	}
	HEC_TRY(json_put(root, "normalizer",
	                 json_pack("{s:s, s:s}", "type", "Prepend", "prepend", " ")));
	HEC_TRY(json_put(root, "pre_tokenizer",
	                 make_sequence("pretokenizers", make_split(words_learned.pattern),
	                               make_byte_level(), NULL)));
	return json_put(root, "decoder",
	                make_sequence("decoders", make_byte_level(), make_strip(), NULL));
}

static int32_t id_of(const vocab *v, const char *token)
{
	return vocab_find(v, token, strlen(token));
}

static hec_status put_added(json_t *root, const hec_bpe_train_options *o, const vocab *v)
{
	json_t *list = json_array();
	hec_status status = json_put(root, "added_tokens", list);
	for (int last = 0; last < 2; last++)
		for (size_t i = 0; i < o->specials && status == HEC_OK; i++) {
			const hec_special *s = &o->special[i];
			if (s->last != (last != 0))
				continue;
			json_t *t = json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
			                      (int)id_of(v, s->text), "content", s->text,
			                      "single_word", 0, "lstrip", 0, "rstrip", 0,
			                      "normalized", 0, "special", 1);
			if (json_array_append_new(list, t) != 0)
				status = fail(HEC_ERR_MEMORY, "tokenizer.json: no memory for '%s'",
				              s->text);
		}
	return status;
}

/* ---- the post-processor ---- */

static hec_status put_token(json_t *list, const char *kind, const char *id, int type)
{
	json_t *item = json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type);
	return json_array_append_new(list, item) == 0
	               ? HEC_OK
	               : fail(HEC_ERR_MEMORY, "tokenizer.json: no memory for its template");
}

static hec_status put_template(json_t *post, const char *key, const hec_bpe_train_options *o,
                               bool pair)
{
	json_t *list = json_array();
	HEC_TRY(json_put(post, key, list));
	if (o->begin)
		HEC_TRY(put_token(list, "SpecialToken", o->begin, 0));
	for (int i = 0; i < 1 + pair; i++) {
		HEC_TRY(put_token(list, "Sequence", i ? "B" : "A", i));
		if (o->end)
			HEC_TRY(put_token(list, "SpecialToken", o->end, i));
	}
	return HEC_OK;
}

static hec_status put_post(json_t *root, const hec_bpe_train_options *o, const vocab *v)
{
	const char *around[2] = {o->begin, o->end};
	if (!o->begin && !o->end)
		return json_put(root, "post_processor", json_null());
	json_t *post = json_pack("{s:s}", "type", "TemplateProcessing"), *tokens = json_object();
	hec_status status = json_put(root, "post_processor", post);
	if (status == HEC_OK)
		status = put_template(post, "single", o, false);
	if (status == HEC_OK)
		status = put_template(post, "pair", o, true);
	if (status != HEC_OK) {
		json_decref(tokens);
		return status;
	}
	HEC_TRY(json_put(post, "special_tokens", tokens));
	for (int i = 0; i < 2; i++)
		if (around[i] && (i == 0 || !o->begin || strcmp(o->begin, o->end) != 0))
			HEC_TRY(json_put(tokens, around[i],
			                 json_pack("{s:s, s:[i], s:[s]}", "id", around[i], "ids",
			                           (int)id_of(v, around[i]), "tokens", around[i])));
	return HEC_OK;
}

/* ---- the model ---- */

static hec_status put_vocab(json_t *bpe, const vocab *v)
{
	json_t *words = json_object();
	HEC_TRY(json_put(bpe, "vocab", words));
	for (size_t id = 0; id < v->ids; id++) {
		const char *token = vocab_token(v, (int32_t)id, NULL);
		if (token)
			HEC_TRY(json_put(words, token, json_integer((json_int_t)id)));
	}
	return HEC_OK;
}

static hec_status put_merges(json_t *bpe, const vocab *v, const bpe_merges *merges)
{
	json_t *list = json_array();
	HEC_TRY(json_put(bpe, "merges", list));
	for (size_t i = 0; i < merges->n; i++) {
		json_t *pair = json_pack("[s, s]", vocab_token(v, merges->at[i].left, NULL),
		                         vocab_token(v, merges->at[i].right, NULL));
		if (json_array_append_new(list, pair) != 0)
			return fail(HEC_ERR_MEMORY, "tokenizer.json: no memory for %zu merges",
			            merges->n);
	}
	return HEC_OK;
}

static const char *text_of_role(const hec_bpe_train_options *o, const char *role)
{
	for (size_t i = 0; i < o->specials; i++)
		if (o->special[i].role && strcmp(o->special[i].role, role) == 0)
			return o->special[i].text;
	return NULL;
}

static hec_status put_model(json_t *root, const hec_bpe_train_options *o, const vocab *v,
                            const bpe_merges *merges)
{
	/* Every text has ids without <unk>, which is there for those who ask for one by role. */
	json_t *bpe = json_pack("{s:s, s:n, s:s?, s:n, s:n, s:b, s:b, s:b}", "type", "BPE",
	                        "dropout", "unk_token", text_of_role(o, "unk"),
	                        "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0,
	                        "byte_fallback", (int)o->unicode, "ignore_merges", 0);
	HEC_TRY(json_put(root, "model", bpe));
	HEC_TRY(put_vocab(bpe, v));
	return put_merges(bpe, v, merges);
}

static hec_status build_tokenizer(json_t *root, const hec_bpe_train_options *o, const vocab *v,
                                  const bpe_merges *merges)
{
	HEC_TRY(json_put(root, "version", json_string("1.0")));
	HEC_TRY(json_put(root, "truncation", json_null()));
	HEC_TRY(json_put(root, "padding", json_null()));
	HEC_TRY(put_added(root, o, v));
	HEC_TRY(put_stages(root, o->unicode));
	HEC_TRY(put_post(root, o, v));
	return put_model(root, o, v, merges);
}

hec_status bpe_write_json(const hec_bpe_train_options *o, const vocab *v, const bpe_merges *merges,
                          char **out, size_t *bytes)
{
	json_t *root = json_object();
	if (!root)
		return fail(HEC_ERR_MEMORY, "tokenizer.json: no memory to write it");
	hec_status status = build_tokenizer(root, o, v, merges);
	if (status == HEC_OK)
		status = json_text_make(root, true, out, bytes);
	json_decref(root);
	return status;
}

static hec_status build_config(json_t *root, const hec_bpe_train_options *o)
{
	HEC_TRY(json_put(root, "tokenizer_class", json_string("PreTrainedTokenizerFast")));
	HEC_TRY(json_put(root, "clean_up_tokenization_spaces", json_false()));
	for (size_t i = 0; i < o->specials; i++) {
		char key[32];
		if (!o->special[i].role)
			continue;
		snprintf(key, sizeof key, "%s_token", o->special[i].role);
		HEC_TRY(json_put(root, key, json_string(o->special[i].text)));
	}
	return HEC_OK;
}

hec_status bpe_write_config(const hec_bpe_train_options *o, char **out, size_t *bytes)
{
	json_t *root = json_object();
	if (!root)
		return fail(HEC_ERR_MEMORY, "tokenizer_config.json: no memory to write it");
	hec_status status = build_config(root, o);
	if (status == HEC_OK)
		status = json_text_make(root, true, out, bytes);
	json_decref(root);
	return status;
}
