/* bleu.c — brevity penalty × geometric mean of the precisions of word n-grams, n = 1 … 4 (Papineni et
 * al. 2002), with sacrebleu's choices: 13a words, and the k-th precision that would be 0 counts as
 * 1/2^k of one n-gram (exponential smoothing). */
#include <math.h>
#include <stdbool.h>

#include "text/unicode/characters.h"
#include "score/ngram.h"
#include "score/measure.h"
#include "score/words.h"
#include "score/tokenize_13a.h"

#define BLEU_ORDER 4

typedef struct bleu {
	uint64_t hypothesis, reference; /* words */
	uint64_t total[BLEU_ORDER], shared[BLEU_ORDER];
	/* Room for one pair, kept from one to the next. */
	text_buffer text, spare;
	score_words words;
	ngram_room room;
} bleu;

/* Words are what lies between white space. */
static hec_status add_words(score_words *words, const text_buffer *text)
{
	const unsigned char *data = (const unsigned char *)text->data;
	size_t begin = 0;
	bool inside = false;
	for (size_t i = 0, length; i <= text->size; i += length) {
		length = 1;
		bool space = i == text->size ||
		             character_is_space(character_read(data + i, text->size - i, &length));
		if (!space && !inside)
			begin = i;
		if (space && inside)
			HEC_TRY(score_words_add(words, text->data + begin, i - begin));
		inside = !space;
	}
	return HEC_OK;
}

static hec_status add_bleu(void *sums, score_text hypothesis, score_text reference)
{
	bleu *b = sums;
	uint64_t shared[BLEU_ORDER] = {0};
	score_words_clear(&b->words);
	HEC_TRY(tokenize_13a(hypothesis.data, hypothesis.bytes, &b->text, &b->spare));
	HEC_TRY(add_words(&b->words, &b->text));
	const size_t n_h = b->words.count;
	HEC_TRY(tokenize_13a(reference.data, reference.bytes, &b->text, &b->spare));
	HEC_TRY(add_words(&b->words, &b->text));
	const size_t n_r = b->words.count - n_h;
	if (n_h > 0 && n_r > 0)
		HEC_TRY(ngram_shared(&b->room, b->words.symbols, n_h, n_r, BLEU_ORDER, shared));
	b->hypothesis += n_h;
	b->reference += n_r;
	for (int n = 1; n <= BLEU_ORDER; n++) {
		b->total[n - 1] += ngram_total(n_h, n);
		b->shared[n - 1] += shared[n - 1];
	}
	return HEC_OK;
}

static double score_bleu(const void *sums)
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

static void free_bleu(void *sums)
{
	bleu *b = sums;
	text_buffer_free(&b->text);
	text_buffer_free(&b->spare);
	score_words_free(&b->words);
	ngram_room_free(&b->room);
}

const score_kind score_kind_bleu = {"BLEU", sizeof(bleu), add_bleu, score_bleu, free_bleu};
