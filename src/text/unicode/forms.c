/* forms.c — NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, with where each character came from.
 *
 * `tokenizers` says of each character that comes out whether it stands for one that went in (0), was
 * put in besides (+1), or stands for n more (−n); from this follows the place that it came from. The
 * same is done here, so that offsets are the same. Decompositions are utf8proc's. */
#include "text/unicode/forms.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "text/unicode/classes.h"
#include "base/grow.h"
#include "text/unicode/utf8.h"

#define MARKS_MOST 1024    /* behind one another */
#define DECOMPOSED_MOST 32 /* characters; U+FDFA has 18 */

typedef struct changed {
	uint32_t c;
	int32_t change;
	uint8_t order; /* canonical combining class */
} changed;

/* A piece as it is rewritten. */
typedef struct rewriting {
	flow *f;
	flow_cursor from; /* what is not consumed yet */
	bool compat, compose;
	changed list[MARKS_MOST]; /* characters that may still change places or join */
	changed spare[MARKS_MOST];
	size_t n;
} rewriting;

typedef struct range {
	uint32_t first, last;
	int32_t lower; /* from a capital letter to its small one */
} range;

/* The pinned `tokenizers` decomposes by Unicode 11 and lowers by Unicode 17; utf8proc knows 15. What
 * the first does not know, and the third does not yet; found by showing both every character
 * (tools/parity_tokenizers.py). */
static const range not_decomposed[] = {
	{0x32ff, 0x32ff, 0},   {0xa7f2, 0xa7f4, 0},   {0xab69, 0xab69, 0},   {0x10781, 0x10785, 0},
	{0x10787, 0x107b0, 0}, {0x107b2, 0x107ba, 0}, {0x11938, 0x11938, 0}, {0x1e030, 0x1e06d, 0},
	{0x1f16c, 0x1f16c, 0}, {0x1fbf0, 0x1fbf9, 0}};
/* Marks since Unicode 10 do not change places there: these of 15, and what 16 and 17 have added. */
static const range not_ordered[] = {
	{0x7fd, 0x7fd, 0},     {0x897, 0x89f, 0},     {0x8ca, 0x8d3, 0},     {0x9fe, 0x9fe, 0},
	{0xc3c, 0xc3c, 0},     {0xd3b, 0xd3c, 0},     {0xeba, 0xeba, 0},     {0x1715, 0x1715, 0},
	{0x1abf, 0x1aff, 0},   {0x1df6, 0x1dfa, 0},   {0xa82c, 0xa82c, 0},   {0x10d24, 0x10d27, 0},
	{0x10d69, 0x10d6d, 0}, {0x10eab, 0x10eac, 0}, {0x10efa, 0x10eff, 0}, {0x10f46, 0x10f50, 0},
	{0x10f82, 0x10f85, 0}, {0x11070, 0x11070, 0}, {0x1133b, 0x1133b, 0}, {0x113ce, 0x113d0, 0},
	{0x1145e, 0x1145e, 0}, {0x11839, 0x1183a, 0}, {0x1193d, 0x1193e, 0}, {0x11943, 0x11943, 0},
	{0x119e0, 0x119e0, 0}, {0x11a34, 0x11a34, 0}, {0x11a47, 0x11a47, 0}, {0x11a99, 0x11a99, 0},
	{0x11d42, 0x11d45, 0}, {0x11d97, 0x11d97, 0}, {0x11f41, 0x11f42, 0}, {0x1612f, 0x1612f, 0},
	{0x16ff0, 0x16ff1, 0}, {0x1e08f, 0x1e08f, 0}, {0x1e130, 0x1e136, 0}, {0x1e2ae, 0x1e2ae, 0},
	{0x1e2ec, 0x1e2ef, 0}, {0x1e4ec, 0x1e4ef, 0}, {0x1e5ee, 0x1e5ef, 0}, {0x1e6e3, 0x1e6f5, 0}};
static const range new_capitals[] = {{0x1c89, 0x1c89, 1},      {0xa7cb, 0xa7cb, 0x264 - 0xa7cb},
                                     {0xa7cc, 0xa7cc, 1},      {0xa7ce, 0xa7ce, 1},
                                     {0xa7d2, 0xa7d2, 1},      {0xa7d4, 0xa7d4, 1},
                                     {0xa7da, 0xa7da, 1},      {0xa7dc, 0xa7dc, 0x19b - 0xa7dc},
                                     {0x10d50, 0x10d65, 0x20}, {0x16ea0, 0x16eb8, 0x1b}};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const range *range_of(const range *list, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n && c >= list[i].first; i++)
		if (c <= list[i].last)
			return &list[i];
	return NULL;
}

static uint8_t order_of(uint32_t c)
{
	uint8_t order =
		c < 0x300 ? 0
			  : (uint8_t)utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
	return order && range_of(not_ordered, COUNT(not_ordered), c) ? 0 : order;
}

/* ---- composing ---- */

/* The character that the two make together; 0: none. */
static uint32_t compose_pair(uint32_t a, uint32_t b)
{
	if (b < 0x300)
		return 0;
	utf8proc_int32_t pair[2] = {(utf8proc_int32_t)a, (utf8proc_int32_t)b};
	utf8proc_ssize_t n = utf8proc_normalize_utf32(pair, 2, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
	bool known = n == 1 && !range_of(not_decomposed, COUNT(not_decomposed), (uint32_t)pair[0]);
	return known ? (uint32_t)pair[0] : 0;
}

/* Joins what follows the starter at the front of the list, as far as nothing blocks it. */
static void compose_list(changed *list, size_t *n)
{
	size_t starter = 0, kept = 1;
	bool has_starter = list[0].order == 0;
	uint8_t last = 0; /* the order of the one kept before; 0: the starter itself */
	for (size_t i = 1; i < *n; i++) {
		changed c = list[i];
		bool blocked = kept - 1 != starter && (last >= c.order);
		uint32_t joined = has_starter && !blocked ? compose_pair(list[starter].c, c.c) : 0;
		if (joined) {
			list[starter].c = joined;
			list[starter].change += c.change - 1;
			continue;
		}
		if (c.order == 0) {
			starter = kept;
			has_starter = true;
		}
		last = c.order;
		list[kept++] = c;
	}
	*n = kept;
}

/* Marks in the order of their classes, equal ones as they stood; the starter before them stays. */
static void sort_marks(changed *list, changed *spare, size_t n)
{
	bool sorted = true;
	for (size_t i = 1; i < n && sorted; i++)
		sorted = list[i - 1].order <= list[i].order;
	if (sorted)
		return;
	size_t first[257] = {0};
	for (size_t i = 0; i < n; i++)
		first[list[i].order + 1]++;
	for (int i = 0; i < 256; i++)
		first[i + 1] += first[i];
	memcpy(spare, list, n * sizeof *list);
	for (size_t i = 0; i < n; i++)
		list[first[spare[i].order]++] = spare[i];
}

/* Writes the list out: a starter and the marks behind it. */
static hec_status write_list(rewriting *r)
{
	sort_marks(r->list, r->spare, r->n);
	if (r->compose && r->n > 0)
		compose_list(r->list, &r->n);
	for (size_t i = 0; i < r->n; i++)
		HEC_TRY(flow_change(r->f, &r->from, r->list[i].c, r->list[i].change));
	r->n = 0;
	return HEC_OK;
}

/* ---- decomposing ---- */

static size_t decompose(uint32_t c, bool compat, changed out[DECOMPOSED_MOST])
{
	utf8proc_int32_t list[DECOMPOSED_MOST];
	utf8proc_ssize_t n =
		utf8proc_decompose_char((utf8proc_int32_t)c, list, DECOMPOSED_MOST,
	                                UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0), NULL);
	if (n < 1 || n > DECOMPOSED_MOST || range_of(not_decomposed, COUNT(not_decomposed), c)) {
		list[0] = (utf8proc_int32_t)c;
		n = 1;
	}
	for (utf8proc_ssize_t i = 0; i < n; i++)
		out[i] = (changed){(uint32_t)list[i], i > 0, order_of((uint32_t)list[i])};
	return (size_t)n;
}

/* One more character behind the list. A starter begins a new one, unless it joins the starter just
 * before it, as vowels of Hangul and of a few Indian scripts do. A run of marks without end is cut. */
static hec_status take_character(rewriting *r, changed c)
{
	changed *last = r->n ? &r->list[r->n - 1] : NULL;
	uint32_t joined = 0;
	if (r->compose && last && c.order == 0 && last->order == 0)
		joined = compose_pair(last->c, c.c);
	if (joined) {
		last->c = joined;
		last->change += c.change - 1;
		return HEC_OK;
	}
	if (c.order == 0 || r->n == MARKS_MOST)
		HEC_TRY(write_list(r));
	r->list[r->n++] = c;
	return HEC_OK;
}

static hec_status rewrite_text(rewriting *r, size_t begin, size_t end)
{
	for (size_t i = begin, length; i < end; i += length) {
		changed parts[DECOMPOSED_MOST];
		size_t n = decompose(utf8_get(r->f->text + i, &length), r->compat, parts);
		for (size_t k = 0; k < n; k++)
			HEC_TRY(take_character(r, parts[k]));
	}
	return write_list(r);
}

hec_status unicode_form(flow *f, size_t begin, size_t end, bool compat, bool compose_too)
{
	rewriting r;
	r.f = f;
	r.from = (flow_cursor){begin, end};
	r.compat = compat;
	r.compose = compose_too;
	r.n = 0;
	return rewrite_text(&r, begin, end);
}

typedef struct form {
	bool compat, compose;
} form;

/* Characters below these have no decomposition, and none follows that could join them. */
static bool is_plain(const flow *f, piece p)
{
	for (size_t i = p.begin; i < p.end; i++)
		if ((unsigned char)f->text[i] >= 0x80)
			return false;
	return true;
}

static hec_status write_form(const void *state, flow *f, piece p)
{
	const form *how = state;
	if (is_plain(f, p))
		return flow_keep(f, p.begin, p.end);
	return unicode_form(f, p.begin, p.end, how->compat, how->compose);
}

static bool all_plain(const flow *f)
{
	return is_plain(f, (piece){0, (uint32_t)f->bytes, -1});
}

#define FORM(name, type, compat, compose)                                                          \
	static hec_status run_##name(const void *state, flow *f)                                   \
	{                                                                                          \
		static const form how = {compat, compose};                                         \
		(void)state;                                                                       \
		return all_plain(f) ? HEC_OK : flow_write(f, write_form, &how);                    \
	}                                                                                          \
	const stage_kind name = {type, NULL, run_##name, NULL, NULL};
FORM(nfc, "NFC", false, true)
FORM(nfd, "NFD", false, false)
FORM(nfkc, "NFKC", true, true)
FORM(nfkd, "NFKD", true, false)

/* ---- Lowercase, StripAccents ---- */

static uint32_t lower_of(uint32_t c)
{
	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c + 32 : c;
	if (c == 0x130)
		return 'i';
	const range *r = range_of(new_capitals, COUNT(new_capitals), c);
	return r ? (uint32_t)((int32_t)c + r->lower)
	         : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}

hec_status unicode_lowercase(const void *state, flow *f, piece p)
{
	(void)state;
	for (size_t i = p.begin, length; i < p.end; i += length) {
		uint32_t c = utf8_get(f->text + i, &length);
		origin from = flow_origin(f, i, i + length);
		char bytes[UTF8_MOST];
		c = lower_of(c);
		HEC_TRY(flow_put(f, bytes, utf8_put(c, bytes), from));
		if (c == 'i' && length == 2) /* İ is i and a dot */
			HEC_TRY(flow_put(f, "\xcc\x87", 2, from));
	}
	return HEC_OK;
}

static hec_status run_lowercase(const void *state, flow *f)
{
	return flow_write(f, unicode_lowercase, state);
}

const stage_kind lowercase = {"Lowercase", NULL, run_lowercase, NULL, NULL};

hec_status unicode_strip(const void *state, flow *f, piece p)
{
	const unsigned *classes = state;
	for (size_t i = p.begin, length; i < p.end; i += length)
		if (!(class_of(utf8_get(f->text + i, &length)) & *classes))
			HEC_TRY(flow_keep(f, i, i + length));
	return HEC_OK;
}

static hec_status run_strip_accents(const void *state, flow *f)
{
	static const unsigned accents = CLASS_ACCENT;
	(void)state;
	return flow_write(f, unicode_strip, &accents);
}

const stage_kind strip_accents = {"StripAccents", NULL, run_strip_accents, NULL, NULL};
