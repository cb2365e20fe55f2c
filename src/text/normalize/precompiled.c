/* precompiled.c — the normalizer Precompiled: SentencePiece's own table of replacements, in base64; and
 * Nmt, which takes control characters out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/memory.h"
#include "text/normalize/precompiled.h"
#include "text/unicode/utf8.h"

#define WHOLE_MOST 6 /* bytes: longer groups of characters are replaced one by one */

/* ---- reading ---- */

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Base64 in place of text of n characters; false where it is none. */
static bool decode_base64(const char *text, size_t n, unsigned char *out, size_t *bytes)
{
	while (n > 0 && text[n - 1] == '=')
		n--;
	*bytes = 0;
	uint32_t bits = 0;
	for (size_t i = 0; i < n; i++) {
		int digit = digit_of(text[i]);
		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4 != 0)
			out[(*bytes)++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
	}
	return n % 4 != 1;
}

static hec_status load_precompiled(const json_scope *s, void **state)
{
	HEC_TRY(stage_state(sizeof(charsmap), state));
	const char *text;
	HEC_TRY(json_need_string(s, "precompiled_charsmap", &text));
	size_t n = strlen(text), bytes;
	unsigned char *table = mem_alloc(n + 1);
	if (!table)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %zu characters of base64", s->file,
		            n);
	char what[160];
	snprintf(what, sizeof what, "%.40s: '%sprecompiled_charsmap'", s->file, s->path);
	if (!decode_base64(text, n, table, &bytes))
		bytes = 0;
	return charsmap_take(what, table, bytes, *state);
}

hec_status precompiled_make(const char *what, const char *bytes, size_t n, void **state)
{
	HEC_TRY(stage_state(sizeof(charsmap), state));
	return charsmap_copy(what, bytes, n, *state);
}

static void free_precompiled(void *state)
{
	if (state)
		charsmap_free(state);
	mem_free(state);
}

/* ---- replacing ---- */

/* One character waits: what is taken out behind it counts as its change. */
typedef struct changes {
	flow *f;
	flow_cursor from;
	uint32_t c;
	int64_t change;
	bool waiting;
} changes;

static hec_status put_character(changes *l, uint32_t c, int64_t change)
{
	if (l->waiting)
		HEC_TRY(flow_change(l->f, &l->from, l->c, l->change));
	l->c = c;
	l->change = change;
	l->waiting = true;
	return HEC_OK;
}

static hec_status put_replaced(changes *l, size_t old, const char *text, size_t bytes)
{
	size_t made = utf8_count(text, bytes), k = 0;
	for (size_t i = 0, length; i < bytes; i += length, k++)
		HEC_TRY(put_character(l, utf8_get(text + i, &length), k >= old));
	if (made < old && l->waiting)
		l->change -= (int64_t)(old - made);
	return HEC_OK;
}

static size_t group_end(const flow *f, size_t at, size_t end)
{
	utf8proc_int32_t state = 0;
	size_t length;
	uint32_t before = utf8_get(f->text + at, &length);
	for (at += length; at < end; at += length) {
		uint32_t c = utf8_get(f->text + at, &length);
		if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)c,
		                                     &state))
			break;
		before = c;
	}
	return at;
}

static hec_status write_group(const charsmap *p, changes *l, size_t at, size_t end)
{
	const char *text = l->f->text;
	size_t n, matched;
	const char *found = NULL;
	if (end - at < WHOLE_MOST)
		found = charsmap_find(p, CHARSMAP_SHORTEST, text + at, end - at, &n, &matched);
	if (found)
		return put_replaced(l, utf8_count(text + at, end - at), found, n);
	for (size_t length; at < end; at += length) {
		uint32_t c = utf8_get(text + at, &length);
		found = charsmap_find(p, CHARSMAP_SHORTEST, text + at, length, &n, &matched);
		HEC_TRY(found ? put_replaced(l, 1, found, n) : put_character(l, c, 0));
	}
	return HEC_OK;
}

static hec_status write_precompiled(const void *state, flow *f, piece p)
{
	changes l = {.f = f, .from = {p.begin, p.end}};
	for (size_t at = p.begin, stop; at < p.end; at = stop) {
		stop = group_end(f, at, p.end);
		HEC_TRY(write_group(state, &l, at, stop));
	}
	return l.waiting ? flow_change(f, &l.from, l.c, l.change) : HEC_OK;
}

static hec_status run_precompiled(const void *state, flow *f)
{
	return flow_write(f, write_precompiled, state);
}

const stage_kind precompiled = {"Precompiled", load_precompiled, run_precompiled, NULL,
                                free_precompiled};

/* ---- Nmt ---- */

static bool is_control(uint32_t c)
{
	return (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f ||
	       c == 0x8f || c == 0x9f;
}

static bool is_blank(uint32_t c)
{
	return c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
	       (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
	       c == 0xfeff || c == 0xfffd;
}

static hec_status write_nmt(const void *state, flow *f, piece p)
{
	(void)state;
	for (size_t at = p.begin, length; at < p.end; at += length) {
		uint32_t c = utf8_get(f->text + at, &length);
		if (is_blank(c))
			HEC_TRY(flow_put(f, " ", 1, flow_origin(f, at, at + length)));
		else if (!is_control(c))
			HEC_TRY(flow_keep(f, at, at + length));
	}
	return HEC_OK;
}

static hec_status run_nmt(const void *state, flow *f)
{
	return flow_write(f, write_nmt, state);
}

const stage_kind nmt = {"Nmt", NULL, run_nmt, NULL, NULL};
