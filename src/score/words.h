/* words.h — the words of a pair of texts, numbered so that equal ones have equal numbers. */
#ifndef SCORE_WORDS_H
#define SCORE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "text/learn/word_counts.h"

/* Starts as {0}; kept from one pair to the next. */
typedef struct score_words {
	uint32_t *symbols; /* [count], from 0 on */
	size_t count, capacity;
	word_counts known; /* known.n different ones */
} score_words;

void score_words_clear(score_words *w);
hec_status score_words_add(score_words *w, const char *text, size_t bytes);
void score_words_free(score_words *w);

#endif
