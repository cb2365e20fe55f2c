/* chrf.h — chrF2 of a corpus, gathered sentence by sentence. Starts as {0}. */
#ifndef TEXT_CHRF_H
#define TEXT_CHRF_H

#include "text/ngram.h"

#define CHRF_ORDER 6

typedef struct chrf {
	uint64_t hypothesis[CHRF_ORDER], reference[CHRF_ORDER], shared[CHRF_ORDER];
	uint32_t *symbols; /* room for the characters of a pair, and how many fit */
	size_t capacity;
	ngram_room room;
} chrf;

hec_status chrf_add(chrf *c, const char *hypothesis, const char *reference);
double chrf_score(const chrf *c); /* 0 … 100 */
void chrf_free(chrf *c);

#endif
