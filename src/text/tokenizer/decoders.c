/* decoders.c — those that work on the tokens one by one: ByteFallback, Fuse, Strip, WordPiece, BPE. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "text/tokenizer/stage.h"
#include "text/unicode/utf8.h"

/* ---- ByteFallback ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	                              : -1;
}

/* "<0x41>" → 0x41; −1: another token. */
static int byte_of(const char *token, size_t n)
{
	if (n != 6 || memcmp(token, "<0x", 3) != 0 || token[5] != '>')
		return -1;
	int high = hex_digit(token[3]), low = hex_digit(token[4]);
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* The bytes from `first` on as text: as they are where they are UTF-8, else U+FFFD for each. */
static hec_status close_bytes(string_list *l, size_t first)
{
	size_t n = l->used - first;
	if (n == 0)
		return HEC_OK;
	if (utf8_valid(l->bytes + first, n) != n) {
		l->used = first;
		for (size_t i = 0; i < n; i++) {
			HEC_TRY(string_put(l, "\xef\xbf\xbd", 3));
			HEC_TRY(string_close(l));
		}
		return HEC_OK;
	}
	return string_close(l);
}

static hec_status join_fallback(const void *state, strings *s)
{
	(void)state;
	size_t first = 0;
	strings_start(s);
	for (size_t i = 0; i < s->now.n; i++) {
		size_t begin = string_begin(&s->now, i), n = s->now.end[i] - begin;
		int byte = byte_of(s->now.bytes + begin, n);
		if (byte >= 0) {
			char c = (char)byte;
			HEC_TRY(string_put(&s->next, &c, 1));
			continue;
		}
		HEC_TRY(close_bytes(&s->next, first));
		HEC_TRY(string_put(&s->next, s->now.bytes + begin, n));
		HEC_TRY(string_close(&s->next));
		first = s->next.used;
	}
	HEC_TRY(close_bytes(&s->next, first));
	strings_swap(s);
	return HEC_OK;
}

const stage_kind byte_fallback = {"ByteFallback", NULL, NULL, join_fallback, NULL};

/* ---- Fuse ---- */

static hec_status fuse_all(const void *state, strings *s)
{
	(void)state;
	s->now.n = 0;
	return string_close(&s->now);
}

const stage_kind fuse = {"Fuse", NULL, NULL, fuse_all, NULL};

/* ---- Strip ---- */

typedef struct strip_state {
	char content[UTF8_MOST];
	size_t bytes;
	int64_t start, stop; /* at most so many at each end of each token */
} strip_state;

static hec_status load_strip(const json_scope *s, void **state)
{
	HEC_TRY(stage_state(sizeof(strip_state), state));
	strip_state *t = *state;
	const char *content;
	size_t length = 0;
	HEC_TRY(json_need_string(s, "content", &content));
	if (*content)
		utf8_get(content, &length);
	if (length == 0 || strlen(content) != length)
		return fail(HEC_ERR_FORMAT, "%s: '%scontent' is not one character", s->file,
		            s->path);
	memcpy(t->content, content, length);
	t->bytes = length;
	HEC_TRY(json_need_int(s, "start", 0, INT64_MAX, &t->start));
	return json_need_int(s, "stop", 0, INT64_MAX, &t->stop);
}

static hec_status strip_tokens(const void *state, strings *s)
{
	const strip_state *t = state;
	strings_start(s);
	for (size_t i = 0; i < s->now.n; i++) {
		size_t begin = string_begin(&s->now, i), end = s->now.end[i], n = t->bytes;
		const char *text = s->now.bytes;
		for (int64_t k = 0;
		     k < t->start && end - begin >= n && memcmp(text + begin, t->content, n) == 0;
		     k++)
			begin += n;
		for (int64_t k = 0;
		     k < t->stop && end - begin >= n && memcmp(text + end - n, t->content, n) == 0;
		     k++)
			end -= n;
		HEC_TRY(string_put(&s->next, text + begin, end - begin));
		HEC_TRY(string_close(&s->next));
	}
	strings_swap(s);
	return HEC_OK;
}

const stage_kind strip_decoder = {"Strip", load_strip, NULL, strip_tokens, NULL};
