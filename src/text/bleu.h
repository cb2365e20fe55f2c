/* bleu.h — BLEU of a corpus, gathered sentence by sentence. Starts as {0}. */
#ifndef TEXT_BLEU_H
#define TEXT_BLEU_H

#include "text/ngram.h"
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

hec_status bleu_add(bleu *b, const char *hypothesis, const char *reference);
double bleu_score(const bleu *b); /* 0 … 100 */
void bleu_free(bleu *b);

#endif
