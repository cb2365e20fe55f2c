/* post.c — every post-processor is a template: a list of texts and special tokens with their types.
 * BertProcessing and RobertaProcessing are written down as the templates that they are. */
#include "text/post.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "text/byte_level.h"
#include "text/classes.h"
#include "text/grow.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

#define NESTED_MOST 8
#define ITEMS_MOST 4096 /* of a template: a name can stand for many ids, and many times */
#define TEXTS_MOST 16   /* times that a template names a text */

void post_free(post *p)
{
	free(p->single.at);
	free(p->pair.at);
	memset(p, 0, sizeof *p);
}

static hec_status put(post_template *t, int32_t id, int32_t sequence, int64_t type_id)
{
	t->texts += id < 0;
	if (t->n == ITEMS_MOST || t->texts > TEXTS_MOST)
		return fail(HEC_ERR_FORMAT,
		            "tokenizer.json: a template of the post_processor has more than %d "
		            "ids, or names a text more than %d times",
		            ITEMS_MOST, TEXTS_MOST);
	HEC_TRY(GROW(&t->at, &t->capacity, t->n + 1));
	t->at[t->n++] = (post_item){id, sequence, (int32_t)type_id};
	return HEC_OK;
}

/* ---- TemplateProcessing ---- */

/* The ids behind the name of a special token, from "special_tokens". */
static hec_status put_special(const json_scope *s, const char *name, int64_t type,
                              post_template *to)
{
	json_scope all, one;
	json_t *ids, *id;
	size_t i;
	HEC_TRY(json_need_object(s, "special_tokens", &all));
	HEC_TRY(json_need_object(&all, name, &one));
	HEC_TRY(json_need_array(&one, "ids", &ids));
	json_array_foreach(ids, i, id)
	{
		int64_t n;
		if (!json_whole(id, &n) || n < 0 || n > INT32_MAX)
			return json_wrong(&one, "ids", id, "ids from 0 up");
		HEC_TRY(put(to, (int32_t)n, 0, type));
	}
	return HEC_OK;
}

static hec_status load_item(const json_scope *s, const json_scope *item, post_template *to)
{
	json_scope inner;
	bool found = false;
	int64_t type = 0;
	const char *id;
	HEC_TRY(json_want_object(item, "Sequence", &inner, &found));
	if (found) {
		HEC_TRY(json_need_string(&inner, "id", &id));
		HEC_TRY(json_want_int(&inner, "type_id", 0, INT32_MAX, &type));
		if (strcmp(id, "A") != 0 && strcmp(id, "B") != 0)
			return fail(HEC_ERR_FORMAT, "%s: '%sid' is neither \"A\" nor \"B\"",
			            inner.file, inner.path);
		return put(to, -1, id[0] == 'B', type);
	}
	HEC_TRY(json_need_object(item, "SpecialToken", &inner));
	HEC_TRY(json_need_string(&inner, "id", &id));
	HEC_TRY(json_want_int(&inner, "type_id", 0, INT32_MAX, &type));
	return put_special(s, id, type, to);
}

static hec_status load_list(const json_scope *s, const char *key, post_template *to)
{
	json_t *list, *value;
	size_t i;
	to->n = to->texts = 0;
	HEC_TRY(json_need_array(s, key, &list));
	json_array_foreach(list, i, value)
	{
		json_scope item = {.file = s->file, .object = value};
		snprintf(item.path, sizeof item.path, "%.40s%s[%zu].", s->path, key, i);
		if (!json_is_object(value))
			return json_wrong(s, key, value, "a list of objects");
		HEC_TRY(load_item(s, &item, to));
	}
	return HEC_OK;
}

static hec_status load_template(const json_scope *s, post *p)
{
	HEC_TRY(load_list(s, "single", &p->single));
	HEC_TRY(load_list(s, "pair", &p->pair));
	p->has_template = true;
	return HEC_OK;
}

/* ---- the others ---- */

/* ["[SEP]", 102] */
static hec_status load_named(const json_scope *s, const char *key, int32_t *id)
{
	json_t *pair;
	int64_t n;
	HEC_TRY(json_need_array(s, key, &pair));
	if (json_array_size(pair) != 2 || !json_whole(json_array_get(pair, 1), &n) || n < 0 ||
	    n > INT32_MAX)
		return json_wrong(s, key, pair, "[token, id]");
	*id = (int32_t)n;
	return HEC_OK;
}

static hec_status load_around(const json_scope *s, post *p, bool roberta)
{
	int32_t cls, sep;
	HEC_TRY(load_named(s, "cls", &cls));
	HEC_TRY(load_named(s, "sep", &sep));
	p->single.n = p->single.texts = p->pair.n = p->pair.texts = 0;
	for (int i = 0; i < 2; i++) {
		post_template *t = i ? &p->pair : &p->single;
		HEC_TRY(put(t, cls, 0, 0));
		HEC_TRY(put(t, -1, 0, 0));
		HEC_TRY(put(t, sep, 0, 0));
	}
	if (roberta)
		HEC_TRY(put(&p->pair, sep, 0, 0));
	HEC_TRY(put(&p->pair, -1, 1, !roberta));
	HEC_TRY(put(&p->pair, sep, 0, !roberta));
	p->has_template = true;
	p->plain_without_special = !roberta;
	return HEC_OK;
}

static hec_status load_trim(const json_scope *s, post *p)
{
	bool trim = true, prefix = true;
	HEC_TRY(json_want_bool(s, "trim_offsets", &trim));
	HEC_TRY(json_want_bool(s, "add_prefix_space", &prefix));
	if (trim) {
		p->trim = true;
		p->trim_prefix = prefix;
	}
	return HEC_OK;
}

static hec_status load_object(const json_scope *s, post *p, int depth)
{
	const char *type;
	HEC_TRY(json_need_string(s, "type", &type));
	if (strcmp(type, "TemplateProcessing") == 0)
		return load_template(s, p);
	if (strcmp(type, "BertProcessing") == 0)
		return load_around(s, p, false);
	if (strcmp(type, "ByteLevel") == 0)
		return load_trim(s, p);
	if (strcmp(type, "RobertaProcessing") == 0) {
		HEC_TRY(load_trim(s, p));
		return load_around(s, p, true);
	}
	char name[QUOTE_TEXT];
	if (strcmp(type, "Sequence") != 0 || depth >= NESTED_MOST)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: '%stype': no post_processor \"%s\" is known here; there are: "
		            "Sequence, TemplateProcessing, BertProcessing, RobertaProcessing, "
		            "ByteLevel",
		            s->file, s->path, quote(type, name));
	json_t *list, *item;
	size_t i;
	HEC_TRY(json_need_array(s, "processors", &list));
	json_array_foreach(list, i, item)
	{
		json_scope part = {.file = s->file, .object = item};
		snprintf(part.path, sizeof part.path, "%.40sprocessors[%zu].", s->path, i);
		if (!json_is_object(item))
			return json_wrong(s, "processors", item, "a list of objects");
		HEC_TRY(load_object(&part, p, depth + 1));
	}
	return HEC_OK;
}

static hec_status check_ids(const json_scope *s, const hec_tokenizer *t, const post_template *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].id >= 0 && !hec_tokenizer_token(t, list->at[i].id))
			return fail(HEC_ERR_FORMAT,
			            "%s: the post_processor adds id %d, which no token has",
			            s->file, list->at[i].id);
	return HEC_OK;
}

hec_status post_load(const json_scope *root, const hec_tokenizer *t, post *p)
{
	json_scope s;
	bool found = false;
	HEC_TRY(json_want_object(root, "post_processor", &s, &found));
	if (found)
		HEC_TRY(load_object(&s, p, 0));
	HEC_TRY(check_ids(root, t, &p->single));
	return check_ids(root, t, &p->pair);
}

/* ---- running ---- */

hec_status post_room(hec_encoding *out, size_t n)
{
	if (n <= out->capacity)
		return HEC_OK;
	size_t c[4] = {out->capacity, out->capacity, out->capacity, out->capacity};
	HEC_TRY(GROW(&out->ids, &c[0], n));
	HEC_TRY(GROW(&out->offsets, &c[1], n));
	HEC_TRY(GROW(&out->type_ids, &c[2], n));
	HEC_TRY(GROW(&out->sequence, &c[3], n));
	out->capacity = c[0];
	return HEC_OK;
}

size_t post_added(const post *p, bool pair)
{
	const post_template *list = pair ? &p->pair : &p->single;
	return p->has_template ? list->n - list->texts : 0;
}

static void add_text(const encoded *e, int sequence, int32_t type_id, hec_encoding *out)
{
	if (e->n == 0)
		return;
	memcpy(out->ids + out->n, e->ids, e->n * sizeof *e->ids);
	memcpy(out->offsets + out->n, e->offsets, e->n * sizeof *e->offsets);
	for (size_t i = out->n; i < out->n + e->n; i++) {
		out->type_ids[i] = type_id;
		out->sequence[i] = (int8_t)sequence;
	}
	out->n += e->n;
}

hec_status post_run(const post *p, const encoded *text, const encoded *pair, bool special,
                    hec_encoding *out)
{
	const encoded *parts[2] = {text, pair};
	const post_template *list = pair ? &p->pair : &p->single;
	if (!p->has_template || (!special && p->plain_without_special)) {
		HEC_TRY(post_room(out, text->n + (pair ? pair->n : 0)));
		for (int i = 0; i < 2 && parts[i]; i++)
			add_text(parts[i], i, i, out);
		return HEC_OK;
	}
	/* A template may name a text twice. */
	size_t total = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].id >= 0)
			total += special;
		else if (parts[list->at[i].sequence])
			total += parts[list->at[i].sequence]->n;
	HEC_TRY(post_room(out, total));
	for (size_t i = 0; i < list->n; i++) {
		const post_item *item = &list->at[i];
		if (item->id < 0 && parts[item->sequence]) {
			add_text(parts[item->sequence], item->sequence, item->type_id, out);
		} else if (item->id >= 0 && special) {
			out->ids[out->n] = item->id;
			out->offsets[out->n] = (hec_span){0, 0};
			out->type_ids[out->n] = item->type_id;
			out->sequence[out->n++] = -1;
		}
	}
	return HEC_OK;
}

/* ---- offsets without spaces ---- */

static bool is_blank(uint32_t c)
{
	return c == byte_level_char(' ') || (class_of(c) & CLASS_SPACE);
}

/* How many characters at the token's start, and at its end, are spaces. */
static void blanks_of(const char *token, size_t bytes, size_t *before, size_t *after)
{
	*before = *after = 0;
	bool begun = false;
	for (size_t i = 0, length; i < bytes; i += length) {
		bool blank = is_blank(utf8_get(token + i, &length));
		begun = begun || !blank;
		*before += !begun;
		*after = blank ? *after + 1 : 0;
	}
}

static void trim_one(const post *p, bool first, const char *text, size_t before, size_t after,
                     hec_span *span)
{
	/* A single space at the start may be the one that was put there: it took no place. */
	if (before == 1 && (first || span->begin == 0) && p->trim_prefix)
		before = 0;
	for (; before > 0 && span->begin < span->end; before--)
		span->begin += utf8_length(text[span->begin]);
	for (; after > 0 && span->end > span->begin; after--)
		span->end = utf8_before(text, span->end);
}

void post_trim(const post *p, const hec_tokenizer *t, const char *text, encoded *e)
{
	for (size_t i = 0; p->trim && i < e->n; i++) {
		size_t before, after;
		hec_span o = e->offsets[i];
		/* An added token may have taken spaces of the text, and what is unknown to Unigram
		 * may hold some; the name does not show them. */
		bool shown =
			!(t->added.n && added_by_id(&t->added, e->ids[i])) &&
			!(t->model.kind == &model_unigram && e->ids[i] == t->model.unigram.unk);
		const char *token = shown ? hec_tokenizer_token(t, e->ids[i]) : text + o.begin;
		blanks_of(token, shown ? strlen(token) : o.end - o.begin, &before, &after);
		if (before || after)
			trim_one(p, i == 0, text, before, after, &e->offsets[i]);
	}
}
