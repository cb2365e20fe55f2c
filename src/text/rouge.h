/* rouge.h — ROUGE-L of a corpus, gathered text by text. Starts as {0}. */
#ifndef TEXT_ROUGE_H
#define TEXT_ROUGE_H

#include "text/score_words.h"

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

hec_status rouge_add(rouge *r, const char *hypothesis, const char *reference);
double rouge_score(const rouge *r); /* 0 … 100 */
void rouge_free(rouge *r);

#endif
