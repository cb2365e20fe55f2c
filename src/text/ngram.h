/* ngram.h — n-grams that two sequences of symbols share, each counted as often as both have it. */
#ifndef TEXT_NGRAM_H
#define TEXT_NGRAM_H

#include <stdint.h>

#include "base/status.h"

#define NGRAM_MOST 6

/* A place in one of the two sequences. */
typedef struct ngram_place {
	const uint32_t *at;
	size_t left; /* symbols from here to the end of its sequence */
	int side;    /* 0: hypothesis, 1: reference */
} ngram_place;

/* Memory that is kept from one call to the next. */
typedef struct ngram_room {
	ngram_place *places;
	size_t capacity;
} ngram_room;

/* shared[n − 1] is the number of n-grams in common for n = 1 … orders (at most NGRAM_MOST). */
hec_status ngram_shared(ngram_room *room, const uint32_t *a, size_t length_a, const uint32_t *b,
                        size_t length_b, int orders, uint64_t *shared /* [orders] written */);

/* How many n-grams a sequence has. */
static inline uint64_t ngram_total(size_t length, int n)
{
	return length >= (size_t)n ? length - (size_t)n + 1 : 0;
}

void ngram_room_free(ngram_room *room);

#endif
