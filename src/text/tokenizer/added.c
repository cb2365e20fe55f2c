/* added.c — added tokens: reading them, and cutting them out of a text: at each place the longest, from left to
 * right. */
#include "text/tokenizer/added.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/unicode/classes.h"
#include "base/grow.h"
#include "text/unicode/utf8.h"

#define TOKEN_MOST 1024 /* bytes of an added token */
/* What normalizers may make of one on the way, and of all together by 4 times and so much in the end. */
#define NORMAL_TIMES 16
#define NORMAL_PLUS 256
#define ALL_PLUS ((size_t)16 << 10)

/* ---- reading ---- */

static int32_t id_of(const char *content, size_t bytes, const vocab *model, size_t tokens, added *a)
{
	int32_t id = vocab_find(&a->names, content, bytes);
	if (id == VOCAB_NONE)
		id = vocab_find(model, content, bytes);
	return id != VOCAB_NONE ? id : (int32_t)(tokens + a->fresh++);
}

static hec_status load_token(const json_scope *s, const vocab *model, size_t tokens, added *a)
{
	added_token t = {.place = (uint32_t)a->n};
	const char *content;
	int64_t id;
	HEC_TRY(json_need_string(s, "content", &content));
	HEC_TRY(json_need_int(s, "id", 0, UINT32_MAX, &id));
	HEC_TRY(json_want_bool(s, "single_word", &t.single_word));
	HEC_TRY(json_want_bool(s, "lstrip", &t.left_strip));
	HEC_TRY(json_want_bool(s, "rstrip", &t.right_strip));
	HEC_TRY(json_want_bool(s, "special", &t.special));
	t.normalized = !t.special;
	HEC_TRY(json_want_bool(s, "normalized", &t.normalized));
	size_t bytes = strlen(content);
	if (bytes == 0)
		return HEC_OK;
	if (bytes > TOKEN_MOST)
		return fail(HEC_ERR_FORMAT, "%s: '%scontent' has %zu bytes, at most %d are taken",
		            s->file, s->path, bytes, TOKEN_MOST);
	t.again = vocab_find(&a->names, content, bytes) != VOCAB_NONE;
	t.id = id_of(content, bytes, model, tokens, a);
	HEC_TRY(vocab_add(&a->names, content, bytes, t.id));
	HEC_TRY(GROW(&a->at, &a->capacity, a->n + 1));
	a->at[a->n++] = t;
	return HEC_OK;
}

static int by_id(const void *a, const void *b)
{
	int32_t x = ((const added_token *)a)->id, y = ((const added_token *)b)->id;
	return (x > y) - (x < y);
}

static int by_id_and_place(const void *a, const void *b)
{
	uint32_t x = ((const added_token *)a)->place, y = ((const added_token *)b)->place;
	int order = by_id(a, b);
	return order ? order : (x > y) - (x < y);
}

hec_status added_load(const json_scope *root, const vocab *model, size_t tokens, added *a)
{
	json_t *list = NULL, *item;
	size_t i;
	HEC_TRY(json_want_array(root, "added_tokens", &list));
	HEC_TRY(vocab_init(&a->names, model->ids + json_array_size(list)));
	json_array_foreach(list, i, item)
	{
		json_scope s = {.file = root->file, .object = item};
		snprintf(s.path, sizeof s.path, "added_tokens[%zu].", i);
		if (!json_is_object(item))
			return json_wrong(root, "added_tokens", item, "a list of objects");
		HEC_TRY(load_token(&s, model, tokens, a));
	}
	/* Of two with the same id the later one counts; but a token stays special that was it once. */
	if (a->n > 0)
		qsort(a->at, a->n, sizeof *a->at, by_id_and_place);
	size_t n = 0;
	for (i = 0; i < a->n; i++) {
		if (n > 0 && a->at[n - 1].id == a->at[i].id) {
			n--;
			a->at[i].special = a->at[i].special || (a->at[i].again && a->at[n].special);
		}
		a->at[n++] = a->at[i];
	}
	a->n = n;
	return HEC_OK;
}

/* The name as the normalizers make it, where it is searched in normalized text. */
static hec_status normalize_name(const char *name, size_t bytes, const stages *normalizers, flow *f,
                                 string_list *to)
{
	HEC_TRY(flow_begin(f, name, bytes));
	f->most = NORMAL_TIMES * bytes + NORMAL_PLUS;
	hec_status status = stages_run(normalizers, f);
	if (status == HEC_OK)
		status = string_put(to, f->text, f->bytes);
	if (status == HEC_OK)
		status = string_put(to, "", 1); /* with its zero byte */
	if (status != HEC_OK)
		return fail_in(status, "an added token of %zu bytes", bytes);
	return string_close(to);
}

/* The names that are searched in normalized text, in the order of the tokens. */
static hec_status normalize_all(const added *a, const stages *normalizers, string_list *to)
{
	flow f = {0};
	hec_status status = HEC_OK;
	to->most = ALL_PLUS;
	for (size_t i = 0; i < a->n; i++)
		if (a->at[i].normalized) {
			size_t bytes;
			vocab_token(&a->names, a->at[i].id, &bytes);
			to->most += 4 * bytes + 1;
		}
	for (size_t i = 0; i < a->n && status == HEC_OK; i++) {
		size_t bytes;
		const char *name = vocab_token(&a->names, a->at[i].id, &bytes);
		if (a->at[i].normalized)
			status = normalize_name(name, bytes, normalizers, &f, to);
	}
	flow_free(&f);
	return status;
}

static hec_status build_finders(added *a, const string_list *normal)
{
	size_t given = 0, k = 0;
	for (size_t i = 0; i < a->n; i++) {
		size_t bytes;
		vocab_token(&a->names, a->at[i].id, &bytes);
		given += a->at[i].normalized ? 0 : bytes;
	}
	HEC_TRY(finder_init(&a->given, given));
	HEC_TRY(finder_init(&a->normal, normal->used));
	for (size_t i = 0; i < a->n; i++) {
		size_t bytes, begin;
		const char *name = vocab_token(&a->names, a->at[i].id, &bytes);
		if (!a->at[i].normalized) {
			finder_add(&a->given, name, bytes, (int32_t)i);
			continue;
		}
		begin = string_begin(normal, k);
		const char *normal_name = normal->bytes + begin;
		size_t normal_bytes = normal->end[k++] - begin - 1;
		if (normal_bytes == 0)
			continue;
		finder_add(&a->normal, normal_name, normal_bytes, (int32_t)i);
		if (!a->at[i].special &&
		    (normal_bytes != bytes || memcmp(normal_name, name, bytes) != 0))
			a->at[i].written = begin + 1;
	}
	HEC_TRY(finder_finish(&a->given));
	return finder_finish(&a->normal);
}

hec_status added_prepare(added *a, const stages *normalizers)
{
	strings s = {0};
	hec_status status = normalize_all(a, normalizers, &s.now);
	if (status == HEC_OK)
		status = build_finders(a, &s.now);
	a->normal_names = s.now.bytes;
	s.now.bytes = NULL;
	strings_free(&s);
	return status;
}

void added_free(added *a)
{
	mem_free(a->at);
	mem_free(a->normal_names);
	vocab_free(&a->names);
	finder_free(&a->given);
	finder_free(&a->normal);
	memset(a, 0, sizeof *a);
}

const added_token *added_by_id(const added *a, int32_t id)
{
	added_token key = {.id = id};
	return a->n ? bsearch(&key, a->at, a->n, sizeof *a->at, by_id) : NULL;
}

const char *added_name(const added *a, int32_t id)
{
	const char *name = vocab_token(&a->names, id, NULL);
	const added_token *t = name ? added_by_id(a, id) : NULL;
	return t && t->written ? a->normal_names + t->written - 1 : name;
}

/* ---- cutting ---- */

typedef struct cutter {
	const added *a;
	const finder *finder;
	size_t *again; /* bytes of white space that were taken in more than once */
} cutter;

static bool has_class(const char *text, size_t at, unsigned classes)
{
	size_t length;
	return class_of(utf8_get(text + at, &length)) & classes;
}

static bool is_single_word(const char *text, piece p, piece m)
{
	return (m.begin == p.begin || !has_class(text, utf8_before(text, m.begin), CLASS_WORD)) &&
	       (m.end == p.end || !has_class(text, m.end, CLASS_WORD));
}

static void widen_left(const char *text, size_t done, piece *m)
{
	if (m->begin < done)
		m->begin = (uint32_t)done;
	while (m->begin > done && has_class(text, utf8_before(text, m->begin), CLASS_SPACE))
		m->begin = (uint32_t)utf8_before(text, m->begin);
}

/* blank: the white space that was walked over last; a token of white space within it takes the rest of it. */
static hec_status widen_right(const cutter *c, const flow *f, size_t end, piece *blank, piece *m)
{
	if (m->end > blank->begin && m->end <= blank->end) {
		*c->again += blank->end - m->end;
		m->end = blank->end;
		return *c->again <= f->most
		               ? HEC_OK
		               : fail(HEC_ERR_FORMAT,
		                      "tokenizer.json: added tokens with rstrip take white space "
		                      "of "
		                      "a text of %zu bytes again and again, more than %zu together",
		                      f->given_bytes, f->most);
	}
	blank->begin = m->end;
	while (m->end < end && has_class(f->text, m->end, CLASS_SPACE))
		m->end += (uint32_t)utf8_length(f->text[m->end]);
	blank->end = m->end;
	return HEC_OK;
}

/* As `tokenizers` does it: what is found does not depend on what the ones before took in. So a token that is
 * white space is still one behind a token that took it in, and what follows goes on behind it. */
static hec_status cut_added_tokens(const void *state, flow *f, piece p)
{
	const cutter *c = state;
	size_t at = p.begin, done = p.begin; /* where the search, and the piece being made, go on */
	piece blank = {0};
	f->found.n = 0;
	HEC_TRY(finder_find(c->finder, f->text, p.begin, p.end, &f->found));
	for (size_t i = f->found.n; i-- > 0;) {
		piece m = f->found.at[i];
		if (m.begin < at)
			continue;
		at = m.end;
		const added_token *t = &c->a->at[m.id];
		if (t->single_word && !is_single_word(f->text, p, m))
			continue;
		if (t->left_strip)
			widen_left(f->text, done, &m);
		if (t->right_strip)
			HEC_TRY(widen_right(c, f, p.end, &blank, &m));
		if (m.begin >= m.end) /* all of it was taken in */
			continue;
		if (done < m.begin)
			HEC_TRY(flow_add(f, done, m.begin, -1));
		HEC_TRY(flow_add(f, m.begin, m.end, t->id));
		done = m.end;
	}
	return flow_add(f, done, p.end, -1);
}

hec_status added_cut(const added *a, const finder *finder, flow *f)
{
	size_t again = 0;
	cutter c = {a, finder, &again};
	return finder->tree.nodes <= 1 ? HEC_OK : flow_cut(f, cut_added_tokens, &c);
}
