/* bleu.c — brevity penalty × geometric mean of the precisions of word n-grams, n = 1 … 4 (Papineni et
 * al. 2002), with sacrebleu's choices: 13a words, and the k-th precision that would be 0 counts as
 * 1/2^k of one n-gram (exponential smoothing). */
#include <math.h>
#include <stdbool.h>

#include "base/size.h"
#include "text/characters.h"
#include "text/ngram.h"
#include "text/score_kind.h"
#include "text/score_words.h"
#include "text/tokenize_13a.h"

#define BLEU_ORDER 4

typedef struct bleu {
	uint64_t hypothesis, reference; /* words */
	uint64_t total[BLEU_ORDER], shared[BLEU_ORDER];
	/* Room for one pair, kept from one to the next. */
	text_buffer texts[2], spare;
	score_words words;
	ngram_room room;
} bleu;

/* Calls for the words between white space: counts them, or writes them where words is not NULL. */
static size_t split_words(const text_buffer *text, size_t first, score_word *words)
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
					(score_word){text->data + begin, i - begin, first + count};
			count++;
		}
		inside = !space;
	}
	return count;
}

static hec_status add(void *sums, const char *hypothesis, const char *reference)
{
	bleu *b = sums;
	HEC_TRY(tokenize_13a(hypothesis, &b->texts[0], &b->spare));
	HEC_TRY(tokenize_13a(reference, &b->texts[1], &b->spare));
	size_t n_h = split_words(&b->texts[0], 0, NULL);
	size_t n_r = split_words(&b->texts[1], 0, NULL), count;
	if (!size_add(n_h, n_r, &count))
		return fail(HEC_ERR_MEMORY, "BLEU: too many words");
	HEC_TRY(score_words_room(&b->words, count, "BLEU"));
	uint64_t shared[BLEU_ORDER] = {0};
	if (n_h > 0 && n_r > 0) {
		split_words(&b->texts[0], 0, b->words.items);
		split_words(&b->texts[1], n_h, b->words.items + n_h);
		score_words_number(&b->words, count);
		HEC_TRY(ngram_shared(&b->room, b->words.symbols, n_h, b->words.symbols + n_h, n_r,
		                     BLEU_ORDER, shared));
	}
	b->hypothesis += n_h;
	b->reference += n_r;
	for (int n = 1; n <= BLEU_ORDER; n++) {
		b->total[n - 1] += ngram_total(n_h, n);
		b->shared[n - 1] += shared[n - 1];
	}
	return HEC_OK;
}

static double score(const void *sums)
{
	const bleu *b = sums;
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

static void end(void *sums)
{
	bleu *b = sums;
	text_buffer_free(&b->texts[0]);
	text_buffer_free(&b->texts[1]);
	text_buffer_free(&b->spare);
	score_words_free(&b->words);
	ngram_room_free(&b->room);
}

const score_kind score_kind_bleu = {"hec_score_bleu", sizeof(bleu), add, score, end};
