/* bleu.c — brevity penalty × geometric mean of the precisions of word n-grams, n = 1 … 4 (Papineni et
 * al. 2002), with sacrebleu's choices: 13a words, and the k-th precision that would be 0 counts as
 * 1/2^k of one n-gram (exponential smoothing). */
#include "text/bleu.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "text/characters.h"

/* Calls for the words between white space: counts them, or writes them where words is not NULL. */
static size_t split_words(const text_buffer *text, size_t first, bleu_word *words)
{
	const unsigned char *data = (const unsigned char *)text->data;
	size_t count = 0, begin = 0;
	bool inside = false;
	for (size_t i = 0, length; i <= text->size; i += length) {
		length = 1;
		bool space = i == text->size ||
		             character_is_space(character_read(data + i, text->size - i, &length));
		if (!space && !inside)
			begin = i;
		if (space && inside) {
			if (words)
				words[count] =
					(bleu_word){text->data + begin, i - begin, first + count};
			count++;
		}
		inside = !space;
	}
	return count;
}

static int compare_words(const void *x, const void *y)
{
	const bleu_word *a = x, *b = y;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return memcmp(a->text, b->text, a->size);
}

static hec_status make_room(bleu *b, size_t count)
{
	if (count <= b->capacity)
		return HEC_OK;
	size_t bytes;
	if (count > UINT32_MAX || !size_mul(count, sizeof(bleu_word), &bytes))
		return fail(HEC_ERR_MEMORY, "BLEU: %zu words are too many", count);
	bleu_word *words = realloc(b->words, bytes);
	if (words)
		b->words = words;
	uint32_t *symbols = realloc(b->symbols, count * sizeof(uint32_t));
	if (symbols)
		b->symbols = symbols;
	if (!words || !symbols)
		return fail(HEC_ERR_MEMORY, "BLEU: no memory for %zu words", count);
	b->capacity = count;
	return HEC_OK;
}

/* Equal words get equal numbers. */
static void number_words(bleu *b, size_t count)
{
	if (count > 1)
		qsort(b->words, count, sizeof(bleu_word), compare_words);
	uint32_t number = 0;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && compare_words(&b->words[i - 1], &b->words[i]) != 0)
			number++;
		b->symbols[b->words[i].place] = number;
	}
}

hec_status bleu_add(bleu *b, const char *hypothesis, const char *reference)
{
	HEC_TRY(tokenize_13a(hypothesis, &b->texts[0], &b->spare));
	HEC_TRY(tokenize_13a(reference, &b->texts[1], &b->spare));
	size_t n_h = split_words(&b->texts[0], 0, NULL);
	size_t n_r = split_words(&b->texts[1], 0, NULL), count;
	if (!size_add(n_h, n_r, &count))
		return fail(HEC_ERR_MEMORY, "BLEU: too many words");
	HEC_TRY(make_room(b, count));
	uint64_t shared[BLEU_ORDER] = {0};
	if (n_h > 0 && n_r > 0) {
		split_words(&b->texts[0], 0, b->words);
		split_words(&b->texts[1], n_h, b->words + n_h);
		number_words(b, count);
		HEC_TRY(ngram_shared(&b->room, b->symbols, n_h, b->symbols + n_h, n_r, BLEU_ORDER,
		                     shared));
	}
	b->hypothesis += n_h;
	b->reference += n_r;
	for (int n = 1; n <= BLEU_ORDER; n++) {
		b->total[n - 1] += ngram_total(n_h, n);
		b->shared[n - 1] += shared[n - 1];
	}
	return HEC_OK;
}

double bleu_score(const bleu *b)
{
	/* Without a shared word nothing is shared; without n-grams of some order the mean is 0. */
	if (b->shared[0] == 0 || b->total[BLEU_ORDER - 1] == 0)
		return 0;
	double logs = 0, smooth = 1;
	for (int i = 0; i < BLEU_ORDER; i++) {
		double matched = (double)b->shared[i];
		if (b->shared[i] == 0) {
			smooth *= 2;
			matched = 1 / smooth;
		}
		logs += log(100 * matched / (double)b->total[i]);
	}
	double brevity = 1;
	if (b->hypothesis < b->reference)
		brevity = exp(1 - (double)b->reference / (double)b->hypothesis);
	return brevity * exp(logs / BLEU_ORDER);
}

void bleu_free(bleu *b)
{
	text_buffer_free(&b->texts[0]);
	text_buffer_free(&b->texts[1]);
	text_buffer_free(&b->spare);
	free(b->words);
	free(b->symbols);
	ngram_room_free(&b->room);
	*b = (bleu){0};
}
