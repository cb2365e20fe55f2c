/* post.c — post-processors, one after the other, as a list of special tokens and texts with their types.
 *
 * Each turns a list of parts into another, which begins as the text, or as both. BertProcessing and
 * RobertaProcessing put special tokens around each part; TemplateProcessing makes a part of each thing
 * that it names, and takes its template for pairs wherever it is given two parts, whatever they are. None
 * looks at the texts: so all is worked out when the file is read, and running is one walk over a list. */
#include "text/tokenizer/post.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "text/split/byte_level.h"
#include "text/unicode/classes.h"
#include "base/grow.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode/utf8.h"

#define NESTED_MOST 8
#define ITEMS_MOST 4096 /* of a template: a name can stand for many ids, and many times */
#define TEXTS_MOST 16   /* times that a template names a text */

void post_free(post *p)
{
	for (int i = 0; i < 4; i++)
		mem_free(p->form[i / 2][i % 2].at);
	memset(p, 0, sizeof *p);
}

static hec_status put_item(post_form *f, post_item item)
{
	f->texts += item.id < 0;
	if (f->n == ITEMS_MOST || f->texts > TEXTS_MOST)
		return fail(HEC_ERR_FORMAT,
		            "tokenizer.json: the post_processor puts more than %d "
		            "ids around a text, or names it more than %d times",
		            ITEMS_MOST, TEXTS_MOST);
	HEC_TRY(GROW(&f->at, &f->capacity, f->n + 1));
	item.part = f->parts;
	f->at[f->n++] = item;
	return HEC_OK;
}

static hec_status put_id(post_form *f, int32_t id, int64_t type_id)
{
	return put_item(f, (post_item){.id = id, .type_id = (int32_t)type_id});
}

static hec_status put_text(post_form *f, int32_t sequence, int64_t type_id)
{
	return put_item(f,
	                (post_item){.id = -1, .sequence = sequence, .type_id = (int32_t)type_id});
}

static hec_status end_part(post_form *f)
{
	if (f->parts == ITEMS_MOST)
		return fail(HEC_ERR_FORMAT,
		            "tokenizer.json: the post_processor makes more than %d parts",
		            ITEMS_MOST);
	f->parts++;
	return HEC_OK;
}

/* The items of a part; type NULL: with the types that they have. */
static hec_status put_part(post_form *to, const post_form *from, uint32_t part, const int32_t *type)
{
	for (size_t i = 0; i < from->n; i++) {
		post_item item = from->at[i];
		if (type)
			item.type_id = *type;
		if (item.part == part)
			HEC_TRY(put_item(to, item));
	}
	return HEC_OK;
}

/* ---- TemplateProcessing ---- */

/* The ids behind the name of a special token, from "special_tokens". */
static hec_status put_special(const json_scope *s, const char *name, int64_t type, post_form *to)
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
		HEC_TRY(put_id(to, (int32_t)n, type));
	}
	return HEC_OK;
}

static hec_status load_item(const json_scope *s, const json_scope *item, post_form *to)
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
		return put_text(to, id[0] == 'B', type);
	}
	HEC_TRY(json_need_object(item, "SpecialToken", &inner));
	HEC_TRY(json_need_string(&inner, "id", &id));
	HEC_TRY(json_want_int(&inner, "type_id", 0, INT32_MAX, &type));
	return put_special(s, id, type, to);
}

/* Each item of the template is a part. */
static hec_status load_list(const json_scope *s, const char *key, post_form *to)
{
	json_t *list, *value;
	size_t i;
	HEC_TRY(json_need_array(s, key, &list));
	json_array_foreach(list, i, value)
	{
		json_scope item = {.file = s->file, .object = value};
		snprintf(item.path, sizeof item.path, "%.40s%s[%zu].", s->path, key, i);
		if (!json_is_object(value))
			return json_wrong(s, key, value, "a list of objects");
		HEC_TRY(load_item(s, &item, to));
		HEC_TRY(end_part(to));
	}
	return HEC_OK;
}

static hec_status fill_template(const post_form *plan, bool special, const post_form *from,
                                post_form *to)
{
	size_t k = 0;
	for (uint32_t part = 0; part < plan->parts; part++) {
		bool text = k < plan->n && plan->at[k].part == part && plan->at[k].id < 0;
		if (text)
			HEC_TRY(put_part(to, from, (uint32_t)plan->at[k].sequence,
			                 &plan->at[k].type_id));
		for (; k < plan->n && plan->at[k].part == part; k++)
			if (!text && special)
				HEC_TRY(put_id(to, plan->at[k].id, plan->at[k].type_id));
		if (text || special)
			HEC_TRY(end_part(to));
	}
	return HEC_OK;
}

static hec_status load_plans(const json_scope *s, post *p, post_form plan[2])
{
	HEC_TRY(load_list(s, "single", &plan[0]));
	HEC_TRY(load_list(s, "pair", &plan[1]));
	for (int i = 0; i < 4; i++) {
		post_form *f = &p->form[i / 2][i % 2], next = {0};
		f->undefined = f->undefined || f->parts < 1 || f->parts > 2;
		if (f->undefined)
			continue;
		hec_status status = fill_template(&plan[f->parts - 1], i % 2, f, &next);
		mem_free(status == HEC_OK ? f->at : next.at);
		if (status != HEC_OK)
			return status;
		*f = next;
	}
	return HEC_OK;
}

static hec_status load_template(const json_scope *s, post *p)
{
	post_form plan[2] = {{0}, {0}};
	hec_status status = load_plans(s, p, plan);
	mem_free(plan[0].at);
	mem_free(plan[1].at);
	return status;
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

/* RobertaProcessing gives every token type 0, and puts one more before each part but the first. */
static hec_status put_around(const post_form *from, bool roberta, int32_t cls, int32_t sep,
                             post_form *to)
{
	const int32_t zero = 0;
	for (uint32_t part = 0; part < from->parts; part++) {
		if (part == 0 || roberta)
			HEC_TRY(put_id(to, part ? sep : cls, 0));
		HEC_TRY(put_part(to, from, part, roberta ? &zero : NULL));
		HEC_TRY(put_id(to, sep, part > 0 && !roberta));
		HEC_TRY(end_part(to));
	}
	return HEC_OK;
}

static hec_status load_around(const json_scope *s, post *p, bool roberta)
{
	int32_t cls, sep;
	HEC_TRY(load_named(s, "cls", &cls));
	HEC_TRY(load_named(s, "sep", &sep));
	for (int pair = 0; pair < 2; pair++) {
		post_form *plain = &p->form[pair][0], *f = &p->form[pair][1], next = {0};
		for (size_t i = 0; roberta && i < plain->n; i++)
			plain->at[i].type_id = 0;
		hec_status status = put_around(f, roberta, cls, sep, &next);
		next.undefined = f->undefined;
		mem_free(status == HEC_OK ? f->at : next.at);
		if (status != HEC_OK)
			return status;
		*f = next;
	}
	return HEC_OK;
}

static hec_status load_trim(const json_scope *s, post *p)
{
	bool trim = true, prefix = true;
	HEC_TRY(json_want_bool(s, "trim_offsets", &trim));
	HEC_TRY(json_want_bool(s, "add_prefix_space", &prefix));
	if (!trim)
		return HEC_OK;
	if (p->trims == POST_TRIMS_MOST)
		return fail(HEC_ERR_FORMAT,
		            "%s: the post_processor trims offsets more than %d times", s->file,
		            POST_TRIMS_MOST);
	for (int i = 0; i < 4; i++) {
		post_form *f = &p->form[i / 2][i % 2];
		for (size_t k = 0; k < f->n; k++)
			if (k == 0 || f->at[k - 1].part != f->at[k].part)
				f->at[k].first |= (uint8_t)(1 << p->trims);
	}
	p->trim_prefix[p->trims++] = prefix;
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

static hec_status check_ids(const json_scope *s, const hec_tokenizer *t, const post_form *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].id >= 0 && !hec_tokenizer_token(t, f->at[i].id))
			return fail(HEC_ERR_FORMAT,
			            "%s: the post_processor adds id %d, which no token has",
			            s->file, f->at[i].id);
	return HEC_OK;
}

hec_status post_load(const json_scope *root, const hec_tokenizer *t, post *p)
{
	json_scope s;
	bool found = false;
	for (int i = 0; i < 4; i++)
		for (int32_t text = 0; text <= i / 2; text++) {
			HEC_TRY(put_text(&p->form[i / 2][i % 2], text, text));
			HEC_TRY(end_part(&p->form[i / 2][i % 2]));
		}
	HEC_TRY(json_want_object(root, "post_processor", &s, &found));
	if (found)
		HEC_TRY(load_object(&s, p, 0));
	HEC_TRY(check_ids(root, t, &p->form[0][1]));
	return check_ids(root, t, &p->form[1][1]);
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
	return p->form[pair][1].n - p->form[pair][1].texts;
}

static void add_text(const encoded *e, bool trimmed, int sequence, int32_t type_id,
                     hec_encoding *out)
{
	if (e->n == 0)
		return;
	memcpy(out->ids + out->n, e->ids, e->n * sizeof *e->ids);
	memcpy(out->offsets + out->n, e->offsets, e->n * sizeof *e->offsets);
	if (trimmed)
		out->offsets[out->n] = e->first[0];
	for (size_t i = out->n; i < out->n + e->n; i++) {
		out->type_ids[i] = type_id;
		out->sequence[i] = (int8_t)sequence;
	}
	out->n += e->n;
}

hec_status post_run(const post *p, const encoded *text, const encoded *pair, bool special,
                    hec_encoding *out)
{
	const encoded *texts[2] = {text, pair};
	const post_form *f = &p->form[pair != NULL][special];
	if (f->undefined)
		return fail(HEC_ERR_UNSUPPORTED,
		            "tokenizer.json: the post_processor has a TemplateProcessing behind "
		            "one that makes neither 1 nor 2 parts of %s",
		            pair ? "a pair of texts" : "a text");
	/* A template may name a text twice. */
	size_t total = 0;
	for (size_t i = 0; i < f->n; i++)
		total += f->at[i].id >= 0 ? 1 : texts[f->at[i].sequence]->n;
	HEC_TRY(post_room(out, total));
	for (size_t i = 0; i < f->n; i++) {
		const post_item *item = &f->at[i];
		if (item->id < 0) {
			add_text(texts[item->sequence], p->trims > 0, item->sequence, item->type_id,
			         out);
			continue;
		}
		out->ids[out->n] = item->id;
		out->offsets[out->n] = (hec_span){0, 0};
		out->type_ids[out->n] = item->type_id;
		out->sequence[out->n++] = -1;
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

static void trim_one(bool prefix, bool first, const char *text, size_t before, size_t after,
                     hec_span *span)
{
	/* A single space at the start may be the one that was put there: it took no place. */
	if (before == 1 && (first || span->begin == 0) && prefix)
		before = 0;
	for (; before > 0 && span->begin < span->end; before--)
		span->begin += utf8_length(text[span->begin]);
	for (; after > 0 && span->end > span->begin; after--)
		span->end = utf8_before(text, span->end);
}

uint8_t post_first(const post *p, bool pair, bool special, int sequence)
{
	const post_form *f = &p->form[pair][special];
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].id < 0 && f->at[i].sequence == sequence)
			return f->at[i].first;
	return 0;
}

hec_status post_trim(const post *p, uint8_t first, const hec_tokenizer *t, const flow *f,
                     const tokens *from, encoded *e)
{
	if (p->trims == 0)
		return HEC_OK;
	HEC_TRY(GROW(&e->first, &e->first_capacity, e->n));
	for (size_t i = 0; i < e->n; i++) {
		const token *one = &from->at[i];
		size_t before, after;
		/* What was found in the text, and what is unknown to Unigram, is called as it stands
		 * there: it may have spaces that the vocabulary's word for it does not show. */
		bool shown = one->id < 0 ||
		             (t->model.kind == &model_unigram && one->id == t->model.unigram.unk);
		const char *name =
			shown ? f->text + one->begin : vocab_token(&t->vocab, one->id, NULL);
		blanks_of(name, shown ? one->end - one->begin : strlen(name), &before, &after);
		e->first[i] = e->offsets[i];
		for (size_t k = 0; (before || after) && k < p->trims; k++) {
			const bool prefix = p->trim_prefix[k];
			trim_one(prefix, false, f->given, before, after, &e->offsets[i]);
			trim_one(prefix, first >> k & 1, f->given, before, after, &e->first[i]);
		}
	}
	return HEC_OK;
}
