/* prepend_replace_strip.c — the normalizers that need no table of Unicode. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/unicode/classes.h"
#include "text/pattern/pattern.h"
#include "text/tokenizer/stage.h"
#include "text/unicode/utf8.h"

typedef struct text_state {
	pattern pattern;
	char *text;
	size_t bytes;
} text_state;

static void free_text(void *state)
{
	text_state *t = state;
	if (t) {
		pattern_free(&t->pattern);
		mem_free(t->text);
	}
	mem_free(t);
}

static hec_status load_text(const json_scope *s, const char *key, void **state)
{
	HEC_TRY(stage_state(sizeof(text_state), state));
	text_state *t = *state;
	const char *text;
	HEC_TRY(json_need_string(s, key, &text));
	t->bytes = strlen(text);
	t->text = mem_alloc(t->bytes + 1);
	if (!t->text)
		return fail(HEC_ERR_MEMORY, "%s: no memory for '%s%s'", s->file, s->path, key);
	memcpy(t->text, text, t->bytes + 1);
	return HEC_OK;
}

/* ---- Prepend ---- */

static hec_status load_prepend(const json_scope *s, void **state)
{
	return load_text(s, "prepend", state);
}

/* What is put in comes from the character before its end: the last that it replaces, or the one that
 * it is put behind; at the front of a piece, from where the piece begins in the given text. */
static origin origin_before(const flow *f, piece p, size_t stop)
{
	if (stop > p.begin)
		return flow_origin(f, utf8_before(f->text, stop), stop);
	uint32_t first = p.begin ? flow_origin(f, utf8_before(f->text, p.begin), p.begin).end : 0;
	return (origin){first, first};
}

static hec_status write_prepend(const void *state, flow *f, piece p)
{
	const text_state *t = state;
	if (t->bytes == 0) { /* the first character is put in besides, before nothing */
		size_t first = utf8_length(f->text[p.begin]);
		HEC_TRY(flow_put(f, f->text + p.begin, first, origin_before(f, p, p.begin)));
		return flow_keep(f, p.begin + first, p.end);
	}
	HEC_TRY(flow_put(f, t->text, t->bytes, flow_first(f, p)));
	return flow_keep(f, p.begin, p.end);
}

static hec_status run_prepend(const void *state, flow *f)
{
	return flow_write(f, write_prepend, state);
}

const stage_kind prepend = {"Prepend", load_prepend, run_prepend, NULL, free_text};

/* ---- Replace ---- */

static hec_status load_replace(const json_scope *s, void **state)
{
	HEC_TRY(load_text(s, "content", state));
	return pattern_load(s, "pattern", &((text_state *)*state)->pattern);
}

static hec_status write_replace(const void *state, flow *f, piece p)
{
	const text_state *t = state;
	size_t done = p.begin;
	for (pattern_walk w = {.from = p.begin};; done = w.stop) {
		HEC_TRY(pattern_next(&t->pattern, &f->pattern, f->text, p.begin, p.end, &w));
		if (!w.found)
			return flow_keep(f, done, p.end);
		HEC_TRY(flow_keep(f, done, w.start));
		HEC_TRY(flow_put(f, t->text, t->bytes, origin_before(f, p, w.stop)));
	}
}

static hec_status run_replace(const void *state, flow *f)
{
	return flow_write(f, write_replace, state);
}

const stage_kind replace = {"Replace", load_replace, run_replace, NULL, free_text};

/* The same on a token. */
static hec_status replace_in_token(const text_state *t, pattern_work **work, const char *text,
                                   size_t begin, size_t end, string_list *to)
{
	size_t done = begin;
	for (pattern_walk w = {.from = begin}; begin < end; done = w.stop) {
		HEC_TRY(pattern_next(&t->pattern, work, text, begin, end, &w));
		if (!w.found)
			break;
		HEC_TRY(string_put(to, text + done, w.start - done));
		HEC_TRY(string_put(to, t->text, t->bytes));
	}
	HEC_TRY(string_put(to, text + done, end - done));
	return string_close(to);
}

static hec_status replace_in_tokens(const void *state, strings *s)
{
	pattern_work *work = NULL;
	hec_status status = HEC_OK;
	strings_start(s);
	for (size_t i = 0; i < s->now.n && status == HEC_OK; i++)
		status = replace_in_token(state, &work, s->now.bytes, string_begin(&s->now, i),
		                          s->now.end[i], &s->next);
	pattern_work_free(work);
	strings_swap(s);
	return status;
}

const stage_kind replace_decoder = {"Replace", load_replace, NULL, replace_in_tokens, free_text};

/* ---- Strip ---- */

typedef struct strip_state {
	bool left, right;
} strip_state;

static hec_status load_strip(const json_scope *s, void **state)
{
	HEC_TRY(stage_state(sizeof(strip_state), state));
	strip_state *t = *state;
	t->left = t->right = true;
	HEC_TRY(json_want_bool(s, "strip_left", &t->left));
	return json_want_bool(s, "strip_right", &t->right);
}

static bool is_space(const char *text, size_t at)
{
	size_t length;
	return class_of(utf8_get(text + at, &length)) & CLASS_SPACE;
}

static hec_status write_strip(const void *state, flow *f, piece p)
{
	const strip_state *s = state;
	size_t begin = p.begin, end = p.end;
	while (s->left && begin < end && is_space(f->text, begin))
		begin += utf8_length(f->text[begin]);
	while (s->right && end > begin && is_space(f->text, utf8_before(f->text, end)))
		end = utf8_before(f->text, end);
	return flow_keep(f, begin, end);
}

static hec_status run_strip(const void *state, flow *f)
{
	return flow_write(f, write_strip, state);
}

const stage_kind strip = {"Strip", load_strip, run_strip, NULL, NULL};
