/* rouge.c — how much of a summary and of its reference their longest common subsequence of words is (Lin
 * 2004): the mean over the pairs of F1 = 2 P R / (P + R), with the choices of the rouge-score package: words are
 * runs of a … z and 0 … 9 in small letters, not stemmed.
 *
 * Words that only one text has, and those that both begin and end with, need no search. The subsequence of the
 * rest is found for 64 words of the reference at a time (Hyyrö 2004): bit j of V is 0 where a subsequence gets
 * longer at word j. A symbol's places in the reference are a row of bits. Symbols that are there often keep their
 * row; there are at most 64 of those, so that no symbol costs more than the row itself. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"
#include "score/measure.h"
#include "score/words.h"

#define NO_ROW UINT32_MAX
#define STEPS_MOST ((size_t)1 << 33) /* of 64 words each: about ten seconds */

/* Of each symbol: where its places in the reference begin and end, and its row. */
enum { TABLE_BEGIN, TABLE_END, TABLE_ROW, TABLE_WIDTH };

typedef struct rouge {
	double sum; /* of the scores of the pairs */
	size_t pairs;
	/* Room for one pair, kept from one to the next. */
	char *text; /* one of the two in small letters */
	size_t text_capacity;
	score_words words;
	uint32_t *table; /* [symbols, TABLE_WIDTH] */
	size_t table_capacity;
	uint32_t *places; /* in the reference, by symbol */
	size_t places_capacity;
	uint64_t *bits;
	size_t bits_capacity;
} rouge;

/* Small letters as Python has them: these two characters are the only others that become one of a … z. */
static const char dotted[] = "\xc4\xb0"; /* I with a dot: i, and the dot by itself */
static const char kelvin[] = "\xe2\x84\xaa";

/* Writes text in small letters to to, which has room for as many bytes; how many there are. */
static size_t lower_text(score_text text, char *to)
{
	size_t n = 0;
	for (size_t i = 0; i < text.bytes; i++) {
		const char *at = text.data + i, c = *at;
		const size_t left = text.bytes - i;
		if (left >= 2 && memcmp(at, dotted, 2) == 0) {
			to[n++] = 'i';
			to[n++] = ' ';
			i += 1;
		} else if (left >= 3 && memcmp(at, kelvin, 3) == 0) {
			to[n++] = 'k';
			i += 2;
		} else {
			to[n++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
		}
	}
	return n;
}

static bool in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static hec_status add_words(rouge *r, score_text text)
{
	HEC_TRY(GROW(&r->text, &r->text_capacity, text.bytes));
	const size_t size = lower_text(text, r->text);
	for (size_t i = 0, begin; i < size; i++) {
		for (begin = i; i < size && in_word(r->text[i]);)
			i++;
		if (i > begin)
			HEC_TRY(score_words_add(&r->words, r->text + begin, i - begin));
	}
	return HEC_OK;
}

/* ---- the words of a pair, as numbers ---- */

typedef struct sequence {
	uint32_t *at;
	size_t n;
} sequence;

static void mark_symbols(const rouge *r, sequence s, uint32_t column)
{
	for (size_t i = 0; i < s.n; i++)
		r->table[(size_t)s.at[i] * TABLE_WIDTH + column] = 1;
}

/* Leaves those of the symbols that are marked in this column. */
static void keep_marked(const rouge *r, sequence *s, uint32_t column)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (r->table[(size_t)s->at[i] * TABLE_WIDTH + column])
			s->at[n++] = s->at[i];
	s->n = n;
}

/* Leaves out what only one has, then what both begin and end with; how many words these are. */
static size_t narrow_pair(const rouge *r, sequence *h, sequence *ref)
{
	size_t same = 0;
	mark_symbols(r, *h, 0);
	mark_symbols(r, *ref, 1);
	keep_marked(r, h, 1);
	keep_marked(r, ref, 0);
	for (; h->n > 0 && ref->n > 0 && h->at[0] == ref->at[0]; same++)
		h->at++, h->n--, ref->at++, ref->n--;
	for (; h->n > 0 && ref->n > 0 && h->at[h->n - 1] == ref->at[ref->n - 1]; same++)
		h->n--, ref->n--;
	return same;
}

/* Fills the table, and places by symbol; how many symbols get a row of their own: those with more places than a
 * row has words. */
static uint32_t fill_table(rouge *r, sequence ref, size_t symbols, size_t row)
{
	uint32_t rows = 0, begin = 0;
	memset(r->table, 0, symbols * TABLE_WIDTH * sizeof *r->table);
	for (size_t i = 0; i < ref.n; i++)
		r->table[(size_t)ref.at[i] * TABLE_WIDTH + TABLE_END]++;
	for (size_t s = 0; s < symbols; s++) {
		uint32_t *at = &r->table[s * TABLE_WIDTH], n = at[TABLE_END];
		at[TABLE_BEGIN] = at[TABLE_END] = begin;
		at[TABLE_ROW] = n > row ? rows++ : NO_ROW;
		begin += n;
	}
	for (size_t i = 0; i < ref.n; i++)
		r->places[r->table[(size_t)ref.at[i] * TABLE_WIDTH + TABLE_END]++] = (uint32_t)i;
	return rows;
}

/* ---- the longest common subsequence ---- */

static void flip_places(const rouge *r, const uint32_t *symbol, uint64_t *row)
{
	for (uint32_t i = symbol[TABLE_BEGIN]; i < symbol[TABLE_END]; i++)
		row[r->places[i] / 64] ^= (uint64_t)1 << r->places[i] % 64;
}

/* One more word of the hypothesis: V = (V + (V & M)) | (V & ~M), carrying from word to word. */
static void step_row(uint64_t *v, const uint64_t *m, size_t row)
{
	uint64_t carry = 0;
	for (size_t w = 0; w < row; w++) {
		uint64_t both = v[w] & m[w], sum = v[w] + both, all = sum + carry;
		carry = (uint64_t)(sum < both) | (uint64_t)(all < carry);
		v[w] = all | (v[w] & ~m[w]);
	}
}

static size_t count_zeros(const uint64_t *v, size_t n)
{
	size_t zeros = 0;
	for (size_t j = 0; j < n; j++)
		zeros += !(v[j / 64] >> j % 64 & 1);
	return zeros;
}

static hec_status count_longest(rouge *r, sequence h, sequence ref, size_t symbols, size_t *length)
{
	const size_t row = (ref.n + 63) / 64;
	if (h.n > STEPS_MOST / row)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%zu and %zu words that both texts have take %.3g steps; up to %.3g "
		            "are done",
		            h.n, ref.n, (double)h.n * (double)row, (double)STEPS_MOST);
	HEC_TRY(GROW(&r->places, &r->places_capacity, ref.n));
	/* V, a row to work in, and those that are kept. */
	const size_t bits = (fill_table(r, ref, symbols, row) + (size_t)2) * row;
	HEC_TRY(GROW(&r->bits, &r->bits_capacity, bits));
	uint64_t *v = r->bits, *work = v + row, *kept = work + row;
	memset(v, 0xff, row * sizeof *v);
	memset(work, 0, (bits - row) * sizeof *work);
	for (size_t s = 0; s < symbols; s++) {
		const uint32_t *symbol = &r->table[s * TABLE_WIDTH];
		if (symbol[TABLE_ROW] != NO_ROW)
			flip_places(r, symbol, kept + symbol[TABLE_ROW] * row);
	}
	for (size_t i = 0; i < h.n; i++) {
		const uint32_t *symbol = &r->table[(size_t)h.at[i] * TABLE_WIDTH];
		if (symbol[TABLE_ROW] != NO_ROW) {
			step_row(v, kept + symbol[TABLE_ROW] * row, row);
		} else {
			flip_places(r, symbol, work);
			step_row(v, work, row);
			flip_places(r, symbol, work);
		}
	}
	*length = count_zeros(v, ref.n);
	return HEC_OK;
}

/* The words of a pair that both have in the same order. */
static hec_status count_common(rouge *r, size_t n_h, size_t n_r, size_t *length)
{
	const size_t symbols = r->words.known.n;
	HEC_TRY(GROW(&r->table, &r->table_capacity, symbols * TABLE_WIDTH));
	memset(r->table, 0, symbols * TABLE_WIDTH * sizeof *r->table);
	sequence h = {r->words.symbols, n_h}, ref = {r->words.symbols + n_h, n_r};
	size_t between = 0, same = narrow_pair(r, &h, &ref);
	if (h.n > 0 && ref.n > 0)
		HEC_TRY(count_longest(r, h, ref, symbols, &between));
	*length = same + between;
	return HEC_OK;
}

static hec_status add_rouge(void *sums, score_text hypothesis, score_text reference)
{
	rouge *r = sums;
	score_words_clear(&r->words);
	HEC_TRY(add_words(r, hypothesis));
	const size_t n_h = r->words.count;
	HEC_TRY(add_words(r, reference));
	const size_t n_r = r->words.count - n_h;
	if (r->words.count > UINT32_MAX)
		return fail(HEC_ERR_MEMORY, "%zu words are too many", r->words.count);
	if (n_h > 0 && n_r > 0) {
		size_t length;
		HEC_TRY(count_common(r, n_h, n_r, &length));
		double precision = (double)length / (double)n_h;
		double recall = (double)length / (double)n_r;
		if (length > 0)
			r->sum += 2 * precision * recall / (precision + recall);
	}
	r->pairs++;
	return HEC_OK;
}

static double score_rouge(const void *sums)
{
	const rouge *r = sums;
	return r->pairs ? 100 * r->sum / (double)r->pairs : 0;
}

static void free_rouge(void *sums)
{
	rouge *r = sums;
	mem_free(r->text);
	mem_free(r->table);
	mem_free(r->places);
	mem_free(r->bits);
	score_words_free(&r->words);
}

const score_kind score_kind_rouge = {"ROUGE-L", sizeof(rouge), add_rouge, score_rouge, free_rouge};
