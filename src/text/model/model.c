/* model.c — the kinds of models that there are, and what they share. */
#include "text/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"

static const model_kind *const kinds[] = {&model_bpe, &model_wordpiece, &model_word_level,
                                          &model_unigram, NULL};

/* Older files leave the type out; what else is there tells. */
static const char *guess_type(const json_scope *s)
{
	if (json_object_get(s->object, "merges"))
		return "BPE";
	if (json_is_array(json_object_get(s->object, "vocab")))
		return "Unigram";
	return json_object_get(s->object, "max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

hec_status model_load(const json_scope *root, uint64_t serial, vocab *v, model *m)
{
	json_scope s;
	HEC_TRY(json_need_object(root, "model", &s));
	const char *type = guess_type(&s);
	HEC_TRY(json_want_string(&s, "type", &type));
	m->vocab = v;
	m->serial = serial;
	char known[256] = "", name[QUOTE_TEXT];
	for (const model_kind *const *k = kinds; *k; k++) {
		if (strcmp((*k)->type, type) == 0) {
			m->kind = *k;
			return (*k)->load(&s, m);
		}
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", (*k)->type);
	}
	return fail(HEC_ERR_UNSUPPORTED, "%s: '%stype': no model \"%s\" is known; there are: %s",
	            s.file, s.path, quote(type, name), known);
}

void model_free(model *m)
{
	if (m->kind)
		m->kind->free(m);
	m->kind = NULL;
}

void model_work_free(model_work *w)
{
	bpe_work_free(&w->bpe);
	mem_free(w->name);
	mem_free(w->places);
	mem_free(w->cuts);
}

hec_status model_load_vocab(const json_scope *s, vocab *v)
{
	json_scope words;
	HEC_TRY(json_need_object(s, "vocab", &words));
	json_t *object = (json_t *)words.object, *value;
	const char *token;
	HEC_TRY(vocab_init(v, json_object_size(object)));
	json_object_foreach(object, token, value)
	{
		int64_t id;
		char name[QUOTE_TEXT];
		if (!json_whole(value, &id) || id < 0 || id > INT32_MAX)
			return json_wrong(&words, quote(token, name), value, "an id from 0 up");
		hec_status status = vocab_add(v, token, strlen(token), id);
		if (status != HEC_OK)
			return fail_in(status, "%s", s->file);
	}
	return HEC_OK;
}

hec_status model_load_token(const json_scope *s, const char *key, const vocab *v, int32_t *id)
{
	const char *token = NULL;
	*id = VOCAB_NONE;
	HEC_TRY(json_want_string(s, key, &token));
	if (!token)
		return HEC_OK;
	*id = vocab_find(v, token, strlen(token));
	char name[QUOTE_TEXT];
	return *id != VOCAB_NONE ? HEC_OK
	                         : fail(HEC_ERR_FORMAT,
	                                "%s: '%s%s' is \"%s\", which is not in the vocabulary",
	                                s->file, s->path, key, quote(token, name));
}
