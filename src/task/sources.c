/* sources.c — prefix + text → ids, whole or in windows. */
#include "task/sources.h"

#include "task/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/size.h"
#include "base/status.h"
#include "text/vocab/language.h"

#define OVERLAP_PART 8  /* of a window is in the one before, too */
#define WINDOW_SPARE 8  /* tokens: a piece may be cut otherwise than it was within its text */
#define WINDOW_LEAST 16 /* tokens of the text itself */

/* ---- one source ---- */

static bool is_blank(const char *text, size_t bytes)
{
	while (bytes > 0 && *text && strchr(" \t\r\n\f\v", *text))
		text++, bytes--;
	return bytes == 0;
}

static hec_status grow(sources *s)
{
	int64_t capacity = s->capacity ? 2 * s->capacity : 16;
	const size_t n = (size_t)capacity;
	int32_t **ids = mem_resize(s->ids, n * sizeof *ids);
	if (ids)
		s->ids = ids;
	int64_t *lengths = mem_resize(s->lengths, n * sizeof *lengths);
	if (lengths)
		s->lengths = lengths;
	int64_t *which = mem_resize(s->which, n * sizeof *which);
	if (which)
		s->which = which;
	if (!ids || !lengths || !which)
		return fail(HEC_ERR_MEMORY, "translate: no memory for %lld texts",
		            (long long)capacity);
	s->capacity = capacity;
	return HEC_OK;
}

static hec_status keep(sources *s, int64_t which)
{
	const hec_encoding *e = &s->encoding;
	if (s->n == s->capacity)
		HEC_TRY(grow(s));
	int32_t *ids = mem_alloc(e->n * sizeof *ids);
	if (!ids)
		return fail(HEC_ERR_MEMORY, "translate: no memory for %zu tokens", e->n);
	memcpy(ids, e->ids, e->n * sizeof *ids);
	s->ids[s->n] = ids;
	s->lengths[s->n] = (int64_t)e->n;
	s->which[s->n++] = which;
	return HEC_OK;
}

/* With the prefix before it. An invalid byte is told by its place in the text itself, which is why that is
 * looked at alone then. */
static hec_status encode(const source_rules *r, const char *text, size_t bytes, hec_encoding *e)
{
	const char *prefix = r->prefix ? r->prefix : "";
	size_t before = strlen(prefix), all;
	task_text t = {.text = text,
	               .bytes = bytes,
	               .longest = r->longest,
	               .truncate = r->truncate,
	               .lossy = r->lossy};
	if (before == 0)
		return task_encode(r->model, &t, e);
	char *whole = size_add(before, bytes, &all) && all < SIZE_MAX ? mem_alloc(all + 1) : NULL;
	if (!whole)
		return fail(HEC_ERR_MEMORY, "translate: no memory for a text of %zu bytes", bytes);
	memcpy(whole, prefix, before + 1);
	memcpy(whole + before, text, bytes);
	t.text = whole;
	t.bytes = all;
	hec_status status = task_encode(r->model, &t, e);
	mem_free(whole);
	t.text = text;
	t.bytes = bytes;
	if (status == HEC_ERR_FORMAT)
		HEC_TRY(task_encode(r->model, &t, e));
	return status;
}

static hec_status add_one(sources *s, const source_rules *r, int64_t which, const char *text,
                          size_t bytes)
{
	hec_encoding *e = &s->encoding;
	if (r->prefix && is_blank(text, bytes))
		return HEC_OK;
	HEC_TRY(encode(r, text, bytes, e));
	if (!task_has_words(e))
		return HEC_OK;
	if (r->language >= 0) {
		size_t at;
		HEC_TRY(language_place(r->model->tokenizer, e, &at));
		e->ids[at] = r->language;
	}
	return keep(s, which);
}

/* ---- windows ---- */

/* Bytes of the text that the encoding's tokens come from. */
static hec_span span_of(const hec_encoding *e)
{
	hec_span span = {SIZE_MAX, 0};
	for (size_t i = 0; i < e->n; i++) {
		if (e->sequence[i] < 0)
			continue;
		if (e->offsets[i].begin < span.begin)
			span.begin = e->offsets[i].begin;
		if (e->offsets[i].end > span.end)
			span.end = e->offsets[i].end;
	}
	return span;
}

static hec_status count_tokens(const source_rules *r, const char *text, size_t bytes,
                               hec_encoding *e, int64_t *n)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = r->lossy;
	HEC_TRY(hec_tokenizer_encode(r->model->tokenizer, text, bytes, &o, e));
	*n = (int64_t)e->n;
	return HEC_OK;
}

static hec_status add_windows(sources *s, const source_rules *r, int64_t which, const char *text,
                              size_t bytes, int64_t window)
{
	hec_encoding walk = HEC_ENCODING_INIT;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = r->lossy;
	o.max_length = window;
	o.stride = window / OVERLAP_PART;
	hec_status status = hec_tokenizer_encode(r->model->tokenizer, text, bytes, &o, &walk);
	for (bool more = true; status == HEC_OK && more;) {
		hec_span span = span_of(&walk);
		if (span.begin < span.end)
			status = add_one(s, r, which, text + span.begin, span.end - span.begin);
		if (status == HEC_OK)
			status = hec_tokenizer_next_window(r->model->tokenizer, &walk, &more);
	}
	hec_encoding_free(&walk);
	return status;
}

hec_status sources_add(sources *s, const source_rules *rules, int64_t which, const char *text,
                       size_t bytes)
{
	if (!rules->windows)
		return add_one(s, rules, which, text, bytes);
	int64_t n = 0, before = 0;
	const char *prefix = rules->prefix ? rules->prefix : "";
	HEC_TRY(count_tokens(rules, prefix, strlen(prefix), &s->encoding, &before));
	HEC_TRY(count_tokens(rules, text, bytes, &s->encoding, &n));
	if (n + before <= rules->longest)
		return add_one(s, rules, which, text, bytes);
	int64_t window = rules->longest - before - WINDOW_SPARE;
	if (window < WINDOW_LEAST)
		return fail(HEC_ERR_SHAPE,
		            "the text has %lld tokens; the model takes %lld, which are too few for "
		            "windows",
		            (long long)n, (long long)rules->longest);
	return add_windows(s, rules, which, text, bytes, window);
}

void sources_free(sources *s)
{
	for (int64_t i = 0; i < s->n; i++)
		mem_free(s->ids[i]);
	mem_free(s->ids);
	mem_free(s->lengths);
	mem_free(s->which);
	hec_encoding_free(&s->encoding);
	*s = (sources){0};
}
