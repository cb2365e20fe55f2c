/* bpe.c — words into symbols, short words into tokens, and a cache of words.
 *
 * A short word is joined by looking for the lowest rank over and over: a few dozen comparisons in one
 * cache line beat any queue. Most words of a text were seen a moment ago; the caller's memory holds a
 * small table of them, of which a newer word takes an older one's place. */
#include "text/model/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/unicode/utf8.h"

#define SHORT 48 /* symbols */
#define NO_RANK UINT32_MAX

#define CACHE_SLOTS 8192
#define CACHE_BYTES 24
#define CACHE_TOKENS 6

struct bpe_cached {
	char word[CACHE_BYTES];
	uint8_t bytes, n; /* bytes 0: free */
	uint8_t end[CACHE_TOKENS];
	int32_t id[CACHE_TOKENS];
};

void bpe_free(bpe *b)
{
	pairs_free(&b->merges);
	vocab_free(&b->whole);
	mem_free(b->prefix);
	mem_free(b->suffix);
	memset(b, 0, sizeof *b);
}

void bpe_work_free(bpe_work *w)
{
	mem_free(w->symbols);
	mem_free(w->nodes);
	mem_free(w->heads);
	mem_free(w->tails);
	mem_free(w->heap);
	mem_free(w->order);
	mem_free(w->spare);
	mem_free(w->cache);
	memset(w, 0, sizeof *w);
}

/* ---- a word as symbols ---- */

static hec_status add_symbol(bpe_work *w, size_t *n, int32_t id, size_t begin, size_t end)
{
	HEC_TRY(GROW(&w->symbols, &w->capacity, *n + 1));
	w->symbols[(*n)++] = (symbol){id, (uint32_t)begin, (uint32_t)end};
	return HEC_OK;
}

static hec_status symbols_of_bytes(const bpe *b, const char *text, size_t begin, size_t end,
                                   bpe_work *w, size_t *n)
{
	HEC_TRY(GROW(&w->symbols, &w->capacity, end - begin));
	size_t count = 0;
	bool unknown = false;
	for (size_t i = begin; i < end; i++) {
		int32_t id = b->byte_id[(unsigned char)text[i]];
		bool fuse = id == VOCAB_NONE && unknown && b->fuse_unk;
		unknown = id == VOCAB_NONE;
		if (unknown)
			id = b->unk;
		if (fuse)
			w->symbols[count - 1].end = (uint32_t)i + 1;
		else if (id != VOCAB_NONE)
			w->symbols[count++] = (symbol){id, (uint32_t)i, (uint32_t)i + 1};
		else
			unknown = false;
	}
	*n = count;
	return HEC_OK;
}

/* The id of the character, with what the first and the last of a word are decorated with. */
static int32_t id_of_character(const bpe *b, const char *c, size_t bytes, bool first, bool last)
{
	size_t before = !first && b->prefix ? strlen(b->prefix) : 0;
	size_t after = last && b->suffix ? strlen(b->suffix) : 0;
	if (before + after == 0)
		return vocab_find(b->words, c, bytes);
	char name[256];
	if (before + bytes + after > sizeof name)
		return VOCAB_NONE;
	if (before)
		memcpy(name, b->prefix, before);
	memcpy(name + before, c, bytes);
	if (after)
		memcpy(name + before + bytes, b->suffix, after);
	return vocab_find(b->words, name, before + bytes + after);
}

static bool has_fallback(const bpe *b, const char *c, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (b->fallback[(unsigned char)c[i]] == VOCAB_NONE)
			return false;
	return b->byte_fallback;
}

static hec_status symbols_of_characters(const bpe *b, const char *text, size_t begin, size_t end,
                                        bpe_work *w, size_t *n)
{
	*n = 0;
	bool unknown = false; /* the symbol before is one that a further unknown joins */
	for (size_t i = begin, length; i < end; i += length) {
		length = utf8_length(text[i]);
		const char *c = text + i;
		int32_t id = id_of_character(b, c, length, i == begin, i + length == end);
		if (id != VOCAB_NONE) {
			unknown = false;
			HEC_TRY(add_symbol(w, n, id, i, i + length));
		} else if (has_fallback(b, c, length)) {
			unknown = false;
			for (size_t k = 0; k < length; k++)
				HEC_TRY(add_symbol(w, n, b->fallback[(unsigned char)c[k]], i + k,
				                   i + k + 1));
		} else if (unknown && b->fuse_unk) {
			w->symbols[*n - 1].end = (uint32_t)(i + length);
		} else if (b->unk != VOCAB_NONE) {
			unknown = true;
			HEC_TRY(add_symbol(w, n, b->unk, i, i + length));
		}
	}
	return HEC_OK;
}

/* ---- joining ---- */

static uint32_t rank_of(const bpe *b, const symbol *s)
{
	const pair_value *v = pairs_find(&b->merges, s[0].id, s[1].id);
	return v ? v->rank : NO_RANK;
}

static void join_short(const bpe *b, symbol *s, size_t *n)
{
	uint32_t rank[SHORT];
	size_t count = *n;
	for (size_t i = 0; i + 1 < count; i++)
		rank[i] = rank_of(b, s + i);
	while (count > 1) {
		size_t best = 0;
		for (size_t i = 1; i + 1 < count; i++)
			if (rank[i] < rank[best])
				best = i;
		if (rank[best] == NO_RANK)
			break;
		s[best].id = pairs_find(&b->merges, s[best].id, s[best + 1].id)->id;
		s[best].end = s[best + 1].end;
		count--;
		memmove(s + best + 1, s + best + 2, (count - best - 1) * sizeof *s);
		memmove(rank + best, rank + best + 1, (count - best) * sizeof *rank);
		if (best > 0)
			rank[best - 1] = rank_of(b, s + best - 1);
		if (best + 1 < count)
			rank[best] = rank_of(b, s + best);
	}
	*n = count;
}

static hec_status encode_word(const bpe *b, const char *text, size_t begin, size_t end, bpe_work *w,
                              tokens *out)
{
	if (b->ignore_merges) {
		int32_t id = vocab_find(b->bytes ? &b->whole : b->words, text + begin, end - begin);
		if (id != VOCAB_NONE)
			return tokens_add(out, id, begin, end);
	}
	size_t n;
	HEC_TRY(b->bytes ? symbols_of_bytes(b, text, begin, end, w, &n)
	                 : symbols_of_characters(b, text, begin, end, w, &n));
	if (n > SHORT)
		HEC_TRY(bpe_join_long(b, w, &n));
	else
		join_short(b, w->symbols, &n);
	HEC_TRY(GROW(&out->at, &out->capacity, out->n + n));
	for (size_t i = 0; i < n; i++)
		out->at[out->n++] =
			(token){w->symbols[i].id, w->symbols[i].begin, w->symbols[i].end};
	return HEC_OK;
}

/* ---- the cache ---- */

static hec_status cache_of(bpe_work *w, uint64_t serial)
{
	if (w->cache_of == serial)
		return HEC_OK;
	if (!w->cache)
		w->cache = mem_alloc(CACHE_SLOTS * sizeof *w->cache);
	if (!w->cache)
		return fail(HEC_ERR_MEMORY, "no memory for a cache of %d words", CACHE_SLOTS);
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		w->cache[i].bytes = 0;
	w->cache_of = serial;
	return HEC_OK;
}

hec_status bpe_encode(const bpe *b, uint64_t serial, const char *text, size_t begin, size_t end,
                      bpe_work *w, tokens *out)
{
	size_t bytes = end - begin;
	if (bytes > CACHE_BYTES)
		return encode_word(b, text, begin, end, w, out);
	HEC_TRY(cache_of(w, serial));
	uint64_t hash = hash_bytes(b->merges.seed, text + begin, bytes);
	struct bpe_cached *c = &w->cache[hash % CACHE_SLOTS];
	if (c->bytes == bytes && memcmp(c->word, text + begin, bytes) == 0) {
		HEC_TRY(GROW(&out->at, &out->capacity, out->n + CACHE_TOKENS));
		size_t from = begin;
		for (int i = 0; i < c->n; i++) {
			out->at[out->n++] =
				(token){c->id[i], (uint32_t)from, (uint32_t)(begin + c->end[i])};
			from = begin + c->end[i];
		}
		return HEC_OK;
	}
	size_t first = out->n;
	HEC_TRY(encode_word(b, text, begin, end, w, out));
	size_t n = out->n - first;
	size_t covered =
		begin; /* characters without a token leave gaps that the cache cannot say */
	for (size_t i = first; i < out->n && out->at[i].begin == covered; i++)
		covered = out->at[i].end;
	if (n > CACHE_TOKENS || covered != end)
		return HEC_OK;
	memcpy(c->word, text + begin, bytes);
	c->bytes = (uint8_t)bytes;
	c->n = (uint8_t)n;
	for (size_t i = 0; i < n; i++) {
		c->id[i] = out->at[first + i].id;
		c->end[i] = (uint8_t)(out->at[first + i].end - begin);
	}
	return HEC_OK;
}
