/* metaspace.c — the pre-tokenizer and decoder Metaspace, as SentencePiece marks spaces: "▁" for each,
 * and one more before the text, so that a word looks the same at its start. */
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "text/tokenizer/stage.h"
#include "text/unicode/utf8.h"

typedef enum prepend_scheme { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER } prepend_scheme;

typedef struct metaspace_state {
	char mark[UTF8_MOST];
	size_t bytes;
	prepend_scheme scheme;
	bool split;
} metaspace_state;

static hec_status load_scheme(const json_scope *s, prepend_scheme *scheme)
{
	static const char *const names[] = {"always", "first", "never"};
	const char *name = NULL;
	bool prefix = true;
	HEC_TRY(json_want_bool(s, "add_prefix_space", &prefix)); /* of older files */
	*scheme = prefix ? PREPEND_ALWAYS : PREPEND_NEVER;
	HEC_TRY(json_want_string(s, "prepend_scheme", &name));
	if (!name)
		return HEC_OK;
	for (int i = 0; i < 3; i++)
		if (strcmp(name, names[i]) == 0) {
			*scheme = (prepend_scheme)i;
			return HEC_OK;
		}
	char text[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED,
	            "%s: '%sprepend_scheme' is \"%s\"; there are: always, first, never", s->file,
	            s->path, quote(name, text));
}

static hec_status load_metaspace(const json_scope *s, void **state)
{
	HEC_TRY(stage_state(sizeof(metaspace_state), state));
	metaspace_state *m = *state;
	const char *mark = "\xe2\x96\x81";
	m->split = true;
	HEC_TRY(json_want_string(s, "replacement", &mark));
	size_t n = strlen(mark), length = 0;
	if (n > 0)
		utf8_get(mark, &length);
	if (n == 0 || n != length)
		return fail(HEC_ERR_FORMAT, "%s: '%sreplacement' is not one character", s->file,
		            s->path);
	memcpy(m->mark, mark, n);
	m->bytes = n;
	HEC_TRY(load_scheme(s, &m->scheme));
	return json_want_bool(s, "split", &m->split);
}

static bool is_mark(const metaspace_state *m, const char *text, size_t at, size_t end)
{
	return end - at >= m->bytes && memcmp(text + at, m->mark, m->bytes) == 0;
}

static hec_status mark_spaces(const void *state, flow *f, piece p)
{
	const metaspace_state *m = state;
	bool marked = f->text[p.begin] == ' ' || is_mark(m, f->text, p.begin, p.end);
	bool wanted = m->scheme == PREPEND_ALWAYS ||
	              (m->scheme == PREPEND_FIRST && flow_origin(f, p.begin, p.end).begin == 0);
	if (wanted && !marked)
		HEC_TRY(flow_put(f, m->mark, m->bytes, flow_first(f, p)));
	for (size_t at = p.begin; at < p.end;) {
		const char *space = memchr(f->text + at, ' ', p.end - at);
		size_t stop = space ? (size_t)(space - f->text) : p.end;
		HEC_TRY(flow_keep(f, at, stop));
		if (space)
			HEC_TRY(flow_put(f, m->mark, m->bytes, flow_origin(f, stop, stop + 1)));
		at = stop + (space != NULL);
	}
	return HEC_OK;
}

static hec_status cut_at_marks(const void *state, flow *f, piece p)
{
	const metaspace_state *m = state;
	size_t begin = p.begin;
	for (size_t at = p.begin; at < p.end; at += utf8_length(f->text[at]))
		if (at > begin && is_mark(m, f->text, at, p.end)) {
			HEC_TRY(flow_add(f, begin, at, -1));
			begin = at;
		}
	return flow_add(f, begin, p.end, -1);
}

static hec_status run_metaspace(const void *state, flow *f)
{
	const metaspace_state *m = state;
	HEC_TRY(flow_write(f, mark_spaces, m));
	return m->split ? flow_cut(f, cut_at_marks, m) : HEC_OK;
}

const stage_kind metaspace = {"Metaspace", load_metaspace, run_metaspace, NULL, NULL};

static hec_status replace_marks(const void *state, strings *s)
{
	const metaspace_state *m = state;
	strings_start(s);
	for (size_t i = 0; i < s->now.n; i++) {
		size_t begin = string_begin(&s->now, i), end = s->now.end[i];
		const char *text = s->now.bytes;
		for (size_t at = begin, n; at < end; at += n) {
			n = utf8_length(text[at]);
			if (!is_mark(m, text, at, end))
				HEC_TRY(string_put(&s->next, text + at, n));
			else if (i > 0 || m->scheme == PREPEND_NEVER)
				HEC_TRY(string_put(&s->next, " ", 1));
		}
		HEC_TRY(string_close(&s->next));
	}
	strings_swap(s);
	return HEC_OK;
}

const stage_kind metaspace_decoder = {"Metaspace", load_metaspace, NULL, replace_marks, NULL};
