/* chrf.c — F2 of the mean precision and recall of character n-grams, n = 1 … 6 (Popović 2015), with
 * sacrebleu's choices: white space is left out; an order that the reference lacks counts nothing of
 * the hypothesis; orders that either side lacks in the whole corpus are left out of the mean. */
#include <stdlib.h>

#include "base/memory.h"
#include "text/unicode/characters.h"
#include "base/grow.h"
#include "score/ngram.h"
#include "score/measure.h"

#define BETA2 4.0 /* β² */
#define CHRF_ORDER 6

typedef struct chrf {
	uint64_t hypothesis[CHRF_ORDER], reference[CHRF_ORDER], shared[CHRF_ORDER];
	uint32_t *symbols; /* room for the characters of a pair, and how many fit */
	size_t capacity;
	ngram_room room;
} chrf;

/* Counts the characters of a text that are not white space, or writes them where to is not NULL. */
static size_t read_symbols(score_text text, uint32_t *to)
{
	const unsigned char *at = (const unsigned char *)text.data;
	size_t n = 0, left = text.bytes;
	for (size_t length; left > 0; at += length, left -= length) {
		uint32_t c = character_read(at, left, &length);
		if (character_is_space(c))
			continue;
		if (to)
			to[n] = c;
		n++;
	}
	return n;
}

static hec_status add_chrf(void *sums, score_text hypothesis, score_text reference)
{
	chrf *c = sums;
	const size_t n_h = read_symbols(hypothesis, NULL), n_r = read_symbols(reference, NULL);
	uint64_t shared[CHRF_ORDER] = {0};
	if (n_h > 0 && n_r > 0) {
		HEC_TRY(GROW(&c->symbols, &c->capacity, n_h + n_r));
		read_symbols(hypothesis, c->symbols);
		read_symbols(reference, c->symbols + n_h);
		HEC_TRY(ngram_shared(&c->room, c->symbols, n_h, n_r, CHRF_ORDER, shared));
	}
	for (int n = 1; n <= CHRF_ORDER; n++) {
		uint64_t reference_total = ngram_total(n_r, n);
		c->hypothesis[n - 1] += reference_total ? ngram_total(n_h, n) : 0;
		c->reference[n - 1] += reference_total;
		c->shared[n - 1] += shared[n - 1];
	}
	return HEC_OK;
}

static double score_chrf(const void *sums)
{
	const chrf *c = sums;
	double precision = 0, recall = 0;
	int orders = 0;
	for (int i = 0; i < CHRF_ORDER; i++) {
		if (c->hypothesis[i] == 0 || c->reference[i] == 0)
			continue;
		precision += (double)c->shared[i] / (double)c->hypothesis[i];
		recall += (double)c->shared[i] / (double)c->reference[i];
		orders++;
	}
	if (orders == 0 || precision + recall == 0)
		return 0;
	precision /= orders;
	recall /= orders;
	return 100 * ((1 + BETA2) * precision * recall / (BETA2 * precision + recall));
}

static void free_chrf(void *sums)
{
	chrf *c = sums;
	mem_free(c->symbols);
	ngram_room_free(&c->room);
}

const score_kind score_kind_chrf = {"chrF", sizeof(chrf), add_chrf, score_chrf, free_chrf};
