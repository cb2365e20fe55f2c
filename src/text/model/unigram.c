/* unigram.c — Viterbi's search over the places of a word: from each place, every piece that begins
 * there may improve the best way to the place where it ends. Pieces are limited in length, so the time
 * grows with the word. Scores are added from left to right in double, as `tokenizers` adds them, and
 * of equal ways the first stays: the same sums, the same choices. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/model/model.h"
#include "text/unicode/utf8.h"

#define PIECE_MOST 4096 /* bytes */
#define UNK_PENALTY 10.0

/* `tokenizers` reads a number as its digits over a power of ten, in double, which can miss the nearest
 * double by one step; where two ways to cut a word are equally good, that step decides. So the digits
 * (the fewest that give the number) are put through the same division. */
static double as_read_by_tokenizers(double x)
{
	char text[40];
	int precision = 15;
	do
		snprintf(text, sizeof text, "%.*e", precision - 1, x);
	while (strtod(text, NULL) != x && ++precision <= 17);
	uint64_t digits = 0;
	int after = 0, zeros = 0;
	const char *p = text + (*text == '-');
	for (bool point = false; *p && *p != 'e'; p++) {
		if (*p < '0' || *p > '9') {
			point = true;
			continue;
		}
		digits = digits * 10 + (uint64_t)(*p - '0');
		after += point;
		zeros = *p == '0' ? zeros + 1 : 0;
	}
	for (; zeros > 0 && digits > 0; zeros--, after--)
		digits /= 10;
	int exponent = (*p ? atoi(p + 1) : 0) - after;
	if (exponent > 0 || exponent < -22 - 300)
		return x;
	double f = (double)digits / pow(10, -exponent);
	return x < 0 ? -f : f;
}

static hec_status load_piece(const json_scope *s, model *m, size_t id, const json_t *item)
{
	const json_t *name = json_array_get(item, 0), *score = json_array_get(item, 1);
	char key[48];
	snprintf(key, sizeof key, "vocab[%zu]", id);
	if (json_array_size(item) != 2 || !json_is_string(name) || !json_is_number(score))
		return json_wrong(s, key, item, "[piece, score]");
	size_t n = json_string_length(name);
	if (n > PIECE_MOST)
		return fail(HEC_ERR_FORMAT, "%s: '%s%s' has %zu bytes, at most %d are taken",
		            s->file, s->path, key, n, PIECE_MOST);
	m->unigram.score[id] = as_read_by_tokenizers(json_number_value(score));
	return vocab_add(m->vocab, json_string_value(name), n, (int64_t)id);
}

static hec_status load_pieces(const json_scope *s, model *m)
{
	unigram *u = &m->unigram;
	json_t *list, *item;
	size_t i, bytes = 0;
	HEC_TRY(json_need_array(s, "vocab", &list));
	u->ids = json_array_size(list);
	HEC_TRY(vocab_init(m->vocab, u->ids));
	u->score = mem_zeros(u->ids + 1, sizeof *u->score);
	if (!u->score)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %zu pieces", s->file, u->ids);
	double least = DBL_MAX;
	json_array_foreach(list, i, item)
	{
		HEC_TRY(load_piece(s, m, i, item));
		least = u->score[i] < least ? u->score[i] : least;
	}
	u->unk_score = least - UNK_PENALTY;
	for (i = 0; i < m->vocab->n; i++)
		bytes += m->vocab->entries[i].size;
	HEC_TRY(byte_tree_init(&u->tree, bytes));
	for (i = 0; i < m->vocab->n; i++) {
		const struct vocab_entry *e = &m->vocab->entries[i];
		if (e->size > 0)
			byte_tree_add(&u->tree, m->vocab->text + e->at, e->size, e->id);
	}
	return HEC_OK;
}

static hec_status load_unigram(const json_scope *s, model *m)
{
	unigram *u = &m->unigram;
	int64_t unk = -1;
	HEC_TRY(load_pieces(s, m));
	HEC_TRY(json_want_int(s, "unk_id", 0, INT32_MAX, &unk));
	if (unk >= (int64_t)u->ids)
		return fail(HEC_ERR_FORMAT, "%s: '%sunk_id' is %lld in a vocabulary of %zu",
		            s->file, s->path, (long long)unk, u->ids);
	u->unk = (int32_t)unk;
	HEC_TRY(json_want_bool(s, "byte_fallback", &u->byte_fallback));
	unigram_find_bytes(m);
	return HEC_OK;
}

void unigram_find_bytes(model *m)
{
	for (int i = 0; i < 256; i++) {
		char name[8];
		snprintf(name, sizeof name, "<0x%02X>", (unsigned)i & 0xff);
		m->unigram.fallback[i] = vocab_find(m->vocab, name, 6);
	}
}

static void free_unigram(model *m)
{
	mem_free(m->unigram.score);
	mem_free(m->unigram.map);
	byte_tree_free(&m->unigram.tree);
}

/* ---- the search ---- */

static void offer_way(bool exact, unigram_place *to, double score, size_t from, int32_t id)
{
	if (exact)
		score = (float)score;
	if (to->from == UNIGRAM_NONE || score > to->score)
		*to = (unigram_place){score, (uint32_t)from, id};
}

static hec_status find_ways(const unigram *u, const char *word, size_t n, unigram_place *at)
{
	for (size_t i = 0; i <= n; i++)
		at[i] = (unigram_place){0, UNIGRAM_NONE, -1};
	for (size_t i = 0, length; i < n; i += length) {
		uint32_t node = BYTE_TREE_ROOT;
		bool single = false;
		length = utf8_length(word[i]);
		for (size_t k = i;
		     k < n && (node = byte_tree_step(&u->tree, node, (unsigned char)word[k]));
		     k++) {
			int32_t id = u->tree.value[node];
			if (id < 0)
				continue;
			offer_way(u->exact, &at[k + 1], u->score[id] + at[i].score, i, id);
			single = single || k + 1 - i == length;
		}
		if (single)
			continue;
		if (u->unk < 0)
			return fail(HEC_ERR_FORMAT,
			            "tokenizer.json: a character is in no piece, and "
			            "there is no 'unk_id'");
		offer_way(u->exact, &at[i + length], u->unk_score + at[i].score, i, u->unk);
	}
	return HEC_OK;
}

static int32_t map_id(const unigram *u, int32_t id)
{
	return u->map ? u->map[id] : id;
}

/* SentencePiece: the bytes of each character, which spans them; without fallback, one unknown. Where
 * the ids are another vocabulary's, that one may know the text. */
static hec_status add_exact(const model *m, const char *text, size_t begin, size_t end, tokens *out)
{
	const unigram *u = &m->unigram;
	if (!u->byte_fallback) {
		int32_t id = u->map ? vocab_find(m->vocab, text + begin, end - begin) : VOCAB_NONE;
		return tokens_add(out, id != VOCAB_NONE ? id : map_id(u, u->unk), begin, end);
	}
	for (size_t at = begin, stop; at < end; at = stop) {
		stop = at + utf8_length(text[at]);
		for (size_t i = at; i < stop; i++)
			HEC_TRY(tokens_add(out, u->fallback[(unsigned char)text[i]], at, stop));
	}
	return HEC_OK;
}

/* A part that no piece has: as its bytes where the vocabulary has them all, else unknown. */
static hec_status add_part(const model *m, const char *text, size_t begin, size_t end, tokens *out)
{
	const unigram *u = &m->unigram;
	int32_t id = vocab_find(m->vocab, text + begin, end - begin);
	bool all = u->byte_fallback;
	if (id != VOCAB_NONE)
		return tokens_add(out, id, begin, end);
	for (size_t i = begin; i < end && all; i++)
		all = u->fallback[(unsigned char)text[i]] != VOCAB_NONE;
	if (!all)
		return tokens_add(out, u->unk, begin, end);
	for (size_t i = begin; i < end; i++)
		HEC_TRY(tokens_add(out, u->fallback[(unsigned char)text[i]], begin, end));
	return HEC_OK;
}

static hec_status encode_unigram(const model *m, const char *text, size_t begin, size_t end,
                                 model_work *work, tokens *out)
{
	const unigram *u = &m->unigram;
	size_t n = end - begin, pieces = 0;
	HEC_TRY(GROW(&work->places, &work->places_capacity, n + 1));
	unigram_place *at = work->places;
	HEC_TRY(find_ways(u, text + begin, n, at));
	/* The way is known from its end. */
	HEC_TRY(GROW(&work->cuts, &work->cuts_capacity, n + 1));
	for (size_t i = n; i > 0; i = at[i].from)
		work->cuts[pieces++] = (uint32_t)i;
	size_t from = 0;
	while (pieces > 0) {
		size_t stop = work->cuts[--pieces];
		int32_t id = at[stop].id;
		if (id != u->unk) {
			HEC_TRY(tokens_add(out, map_id(u, id), begin + from, begin + stop));
		} else { /* unknown neighbours are one part */
			while (pieces > 0 && at[work->cuts[pieces - 1]].id == u->unk)
				stop = work->cuts[--pieces];
			HEC_TRY((u->exact ? add_exact : add_part)(m, text, begin + from,
			                                          begin + stop, out));
		}
		from = stop;
	}
	return HEC_OK;
}

const model_kind model_unigram = {"Unigram", load_unigram, encode_unigram, free_unigram};
