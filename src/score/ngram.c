/* ngram.c — the places of both sequences are sorted in place, by one symbol after the other (quicksort of
 * strings, Bentley and Sedgewick 1997): places with the same first n symbols come to stand together, are
 * counted, and only where both sequences have one are they sorted by the next symbol. Pivots are drawn from
 * a seed of this process, so that nobody can write a text that is slow to sort. */
#include "score/ngram.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/memory.h"

#define ENDED (-1) /* no symbol */

typedef struct count_run {
	const uint32_t *symbols;
	size_t length_a, length; /* of the first and of both */
	int orders;
	uint64_t *shared, random;
} count_run;

/* The symbol that many behind a place. */
static int64_t symbol_behind(const count_run *r, uint32_t place, int depth)
{
	const size_t end = place < r->length_a ? r->length_a : r->length,
		     at = place + (size_t)depth;
	return at < end ? (int64_t)r->symbols[at] : ENDED;
}

static uint32_t draw_place(count_run *r, const uint32_t *places, size_t n)
{
	r->random = r->random * 6364136223846793005u + 1442695040888963407u;
	return places[(r->random >> 32) % n];
}

static void swap_places(uint32_t *a, uint32_t *b)
{
	const uint32_t kept = *a;
	*a = *b;
	*b = kept;
}

static void count_places(count_run *r, uint32_t *places, size_t n, int depth);

/* Places that have depth + 1 symbols in common. */
static void count_equal(count_run *r, uint32_t *places, size_t n, int depth)
{
	size_t of_a = 0;
	for (size_t i = 0; i < n; i++)
		of_a += places[i] < r->length_a;
	const size_t shared = of_a < n - of_a ? of_a : n - of_a;
	r->shared[depth] += shared;
	if (shared > 0 && depth + 1 < r->orders)
		count_places(r, places, n, depth + 1);
}

/* Places that have depth symbols in common. */
static void count_places(count_run *r, uint32_t *places, size_t n, int depth)
{
	while (n > 1) {
		const int64_t pivot = symbol_behind(r, draw_place(r, places, n), depth);
		size_t less = 0, more = n;
		for (size_t i = 0; i < more;) {
			const int64_t symbol = symbol_behind(r, places[i], depth);
			if (symbol < pivot)
				swap_places(&places[i++], &places[less++]);
			else if (symbol > pivot)
				swap_places(&places[i], &places[--more]);
			else
				i++;
		}
		if (pivot != ENDED)
			count_equal(r, places + less, more - less, depth);
		/* The larger part goes on here: the stack stays small. */
		if (less < n - more) {
			count_places(r, places, less, depth);
			places += more;
			n -= more;
		} else {
			count_places(r, places + more, n - more, depth);
			n = less;
		}
	}
}

hec_status ngram_shared(ngram_room *room, const uint32_t *symbols, size_t length_a, size_t length_b,
                        int orders, uint64_t *shared)
{
	const size_t n = length_a + length_b;
	if (n > UINT32_MAX)
		return fail(HEC_ERR_MEMORY, "n-grams: %zu symbols are too many", n);
	HEC_TRY(GROW(&room->places, &room->capacity, n));
	for (size_t i = 0; i < n; i++)
		room->places[i] = (uint32_t)i;
	memset(shared, 0, (size_t)orders * sizeof *shared);
	count_run r = {symbols, length_a, n, orders, shared, hash_seed()};
	count_places(&r, room->places, n, 0);
	return HEC_OK;
}

void ngram_room_free(ngram_room *room)
{
	mem_free(room->places);
	*room = (ngram_room){0};
}
