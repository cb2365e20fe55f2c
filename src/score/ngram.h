/* ngram.h — n-grams that two sequences of symbols share, each counted as often as both have it. */
#ifndef SCORE_NGRAM_H
#define SCORE_NGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Memory that is kept from one call to the next: 4 bytes a symbol. */
typedef struct ngram_room {
	uint32_t *places;
	size_t capacity;
} ngram_room;

/* The first sequence is symbols[0 … length_a − 1], the second follows it. shared[n − 1] is the number of
 * n-grams in common for n = 1 … orders. */
hec_status ngram_shared(ngram_room *room, const uint32_t *symbols, size_t length_a, size_t length_b,
                        int orders, uint64_t *shared /* [orders] written */);

/* How many n-grams a sequence has. */
static inline uint64_t ngram_total(size_t length, int n)
{
	return length >= (size_t)n ? length - (size_t)n + 1 : 0;
}

void ngram_room_free(ngram_room *room);

#endif
