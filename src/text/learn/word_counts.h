/* word_counts.h — how often each word was seen. */
#ifndef TEXT_LEARN_WORD_COUNTS_H
#define TEXT_LEARN_WORD_COUNTS_H

#include "base/status.h"

typedef struct word_counts {
	char *text; /* the words one after the other */
	size_t used, text_capacity;
	struct word_count {
		size_t at; /* in text */
		uint32_t bytes, hash;
		int64_t count;
	} * words;
	size_t n, capacity;
	uint32_t *slots; /* word + 1; 0: free */
	size_t slot_count;
} word_counts;

/* *number (NULL: not asked for): of the different words, in the order in which they came. */
hec_status word_counts_add(word_counts *c, const char *word, size_t bytes, int64_t count,
                           size_t *number);
hec_status word_counts_merge(word_counts *to, const word_counts *from);
/* Forgets the words and keeps the memory; takes time by the words, not by the memory. */
void word_counts_clear(word_counts *c);
void word_counts_free(word_counts *c);

#endif
