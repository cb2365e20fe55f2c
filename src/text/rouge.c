/* rouge.c — how much of a summary and of its reference their longest common subsequence of words is (Lin
 * 2004): the mean over the pairs of F1 = 2 P R / (P + R), with the choices of the rouge-score package: words are
 * runs of a … z and 0 … 9 in small letters, not stemmed.
 *
 * The subsequence is found for 64 words of the reference at a time (Hyyrö 2004): bit j of V is 0 where a
 * subsequence gets longer at word j. A symbol's places in the reference are a row of bits. Symbols that are
 * there often keep their row; there are at most 64 of those, so that no symbol costs more than the row itself. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "text/score_kind.h"
#include "text/score_words.h"

#define NO_ROW UINT32_MAX

typedef struct rouge {
	double sum; /* of the scores of the pairs */
	size_t pairs;
	/* Room for one pair, kept from one to the next. */
	char *text; /* both in small letters */
	size_t text_capacity;
	score_words words;
	uint32_t *table; /* of symbols */
	size_t table_capacity;
	uint64_t *bits;
	size_t bits_capacity;
} rouge;

/* Where the words of a symbol that stand in the reference begin and end in the sorted list, and its row. */
enum { TABLE_BEGIN, TABLE_END, TABLE_ROW, TABLE_WIDTH };

/* Small letters as Python has them; these two characters are the only others that become one of a … z. */
static const char *lower(const char *at, char *to, size_t *written)
{
	unsigned char c = (unsigned char)*at;
	*written = 1;
	if (c == 0xc4 &&
	    (unsigned char)at[1] == 0xb0) { /* I with a dot: i, and the dot by itself */
		to[0] = 'i';
		to[1] = ' ';
		*written = 2;
		return at + 2;
	}
	if (c == 0xe2 && (unsigned char)at[1] == 0x84 &&
	    (unsigned char)at[2] == 0xaa) { /* kelvin */
		*to = 'k';
		return at + 3;
	}
	*to = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	return at + 1;
}

/* Writes text in small letters to to, which has room for as many bytes; how many there are. */
static size_t lower_text(const char *text, char *to)
{
	size_t size = 0, written;
	while (*text) {
		text = lower(text, to + size, &written);
		size += written;
	}
	return size;
}

static bool in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Counts the words of a text, or writes them where words is not NULL. */
static size_t split_words(const char *text, size_t size, size_t first, score_word *words)
{
	size_t count = 0;
	for (size_t i = 0; i < size;) {
		if (!in_word(text[i])) {
			i++;
			continue;
		}
		size_t begin = i;
		while (i < size && in_word(text[i]))
			i++;
		if (words)
			words[count] = (score_word){text + begin, i - begin, first + count};
		count++;
	}
	return count;
}

/* data with room for count items of item_size; NULL: there is none, and data stays. */
static void *make_room(void *data, size_t *capacity, size_t count, size_t item_size)
{
	if (count <= *capacity)
		return data;
	size_t bytes;
	void *grown = size_mul(count, item_size, &bytes) ? realloc(data, bytes) : NULL;
	if (grown)
		*capacity = count;
	return grown;
}

static hec_status no_memory(size_t count)
{
	return fail(HEC_ERR_MEMORY, "ROUGE: no memory for a text of %zu words", count);
}

/* Fills the table of symbols; how many of them get a row of their own: those with more places than a row
 * has words. */
static uint32_t fill_table(rouge *r, size_t n_h, size_t count, uint32_t symbols, size_t row)
{
	uint32_t rows = 0;
	size_t i = 0;
	for (uint32_t s = 0; s < symbols; s++) {
		uint32_t *at = &r->table[(size_t)s * TABLE_WIDTH];
		while (i < count && r->words.symbols[r->words.items[i].place] == s &&
		       r->words.items[i].place < n_h)
			i++;
		at[TABLE_BEGIN] = (uint32_t)i;
		while (i < count && r->words.symbols[r->words.items[i].place] == s)
			i++;
		at[TABLE_END] = (uint32_t)i;
		at[TABLE_ROW] = i - at[TABLE_BEGIN] > row ? rows++ : NO_ROW;
	}
	return rows;
}

static void flip_places(const rouge *r, const uint32_t *symbol, size_t n_h, uint64_t *row)
{
	for (uint32_t i = symbol[TABLE_BEGIN]; i < symbol[TABLE_END]; i++) {
		size_t place = r->words.items[i].place - n_h;
		row[place / 64] ^= (uint64_t)1 << place % 64;
	}
}

/* One more word of the hypothesis: V = (V + (V & M)) | (V & ~M), carrying from word to word. */
static void step(uint64_t *v, const uint64_t *m, size_t row)
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

/* The length of the longest common subsequence of the words of a pair, which are numbered. */
static hec_status common(rouge *r, size_t n_h, size_t n_r, uint32_t symbols, size_t *length)
{
	size_t row = (n_r + 63) / 64, entries;
	uint32_t *table = size_mul(symbols, TABLE_WIDTH, &entries)
	                          ? make_room(r->table, &r->table_capacity, entries, sizeof *table)
	                          : NULL;
	if (!table)
		return no_memory(n_h + n_r);
	r->table = table;
	/* V, a row to work in, and those that are kept. */
	size_t bits = (fill_table(r, n_h, n_h + n_r, symbols, row) + (size_t)2) * row;
	uint64_t *v = make_room(r->bits, &r->bits_capacity, bits, sizeof *v);
	if (!v)
		return no_memory(n_h + n_r);
	r->bits = v;
	uint64_t *work = v + row, *kept = work + row;
	memset(v, 0xff, row * sizeof *v);
	memset(work, 0, (bits - row) * sizeof *work);
	for (uint32_t s = 0; s < symbols; s++) {
		const uint32_t *symbol = &r->table[(size_t)s * TABLE_WIDTH];
		if (symbol[TABLE_ROW] != NO_ROW)
			flip_places(r, symbol, n_h, kept + symbol[TABLE_ROW] * row);
	}
	for (size_t i = 0; i < n_h; i++) {
		const uint32_t *symbol = &r->table[(size_t)r->words.symbols[i] * TABLE_WIDTH];
		if (symbol[TABLE_ROW] != NO_ROW) {
			step(v, kept + symbol[TABLE_ROW] * row, row);
		} else if (symbol[TABLE_BEGIN] < symbol[TABLE_END]) {
			flip_places(r, symbol, n_h, work);
			step(v, work, row);
			flip_places(r, symbol, n_h, work);
		}
	}
	*length = count_zeros(v, n_r);
	return HEC_OK;
}

static hec_status add(void *sums, const char *hypothesis, const char *reference)
{
	rouge *r = sums;
	size_t size_h = strlen(hypothesis), size;
	char *text = size_add(size_h, strlen(reference), &size) && size_add(size, 1, &size)
	                     ? make_room(r->text, &r->text_capacity, size, 1)
	                     : NULL;
	if (!text)
		return fail(HEC_ERR_MEMORY, "ROUGE: no memory for a text of %zu bytes", size_h);
	r->text = text;
	size_h = lower_text(hypothesis, text);
	size_t size_r = lower_text(reference, r->text + size_h);
	size_t n_h = split_words(r->text, size_h, 0, NULL);
	size_t n_r = split_words(r->text + size_h, size_r, 0, NULL);
	if (n_h > 0 && n_r > 0) {
		size_t length = 0;
		HEC_TRY(score_words_room(&r->words, n_h + n_r, "ROUGE"));
		split_words(r->text, size_h, 0, r->words.items);
		split_words(r->text + size_h, size_r, n_h, r->words.items + n_h);
		uint32_t symbols = score_words_number(&r->words, n_h + n_r);
		HEC_TRY(common(r, n_h, n_r, symbols, &length));
		double precision = (double)length / (double)n_h;
		double recall = (double)length / (double)n_r;
		if (length > 0)
			r->sum += 2 * precision * recall / (precision + recall);
	}
	r->pairs++;
	return HEC_OK;
}

static double score(const void *sums)
{
	const rouge *r = sums;
	return r->pairs ? 100 * r->sum / (double)r->pairs : 0;
}

static void end(void *sums)
{
	rouge *r = sums;
	free(r->text);
	free(r->table);
	free(r->bits);
	score_words_free(&r->words);
}

const score_kind score_kind_rouge = {"hec_score_rouge", sizeof(rouge), add, score, end};
