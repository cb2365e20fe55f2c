/* ngram.c — all places of both sequences are sorted by the symbols that follow, so that equal n-grams
 * stand together for every n at once: one sort, then one walk for each order. No hashing, so no
 * input is slower than another by more than the sort's log. */
#include "text/ngram.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/size.h"

static int compare_places(const void *x, const void *y)
{
	const ngram_place *a = x, *b = y;
	size_t left = a->left < b->left ? a->left : b->left;
	if (left > NGRAM_MOST)
		left = NGRAM_MOST;
	for (size_t i = 0; i < left; i++)
		if (a->at[i] != b->at[i])
			return a->at[i] < b->at[i] ? -1 : 1;
	if (left == NGRAM_MOST || a->left == b->left)
		return 0;
	return a->left < b->left ? -1 : 1;
}

static bool same(const ngram_place *a, const ngram_place *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a->at[i] != b->at[i])
			return false;
	return true;
}

/* Places too near the end for an n-gram stand before those they are a prefix of: they are passed
 * over without ending the run of equal ones. */
static uint64_t count_shared(const ngram_place *places, size_t count, size_t n)
{
	uint64_t shared = 0, of[2] = {0, 0};
	const ngram_place *run = NULL;
	for (size_t i = 0; i < count; i++) {
		const ngram_place *p = &places[i];
		if (p->left < n)
			continue;
		if (!run || !same(run, p, n)) {
			shared += of[0] < of[1] ? of[0] : of[1];
			of[0] = of[1] = 0;
			run = p;
		}
		of[p->side]++;
	}
	return shared + (of[0] < of[1] ? of[0] : of[1]);
}

static hec_status make_room(ngram_room *room, size_t count)
{
	if (count <= room->capacity)
		return HEC_OK;
	size_t bytes;
	if (!size_mul(count, sizeof(ngram_place), &bytes))
		return fail(HEC_ERR_MEMORY, "n-grams: %zu symbols are too many", count);
	ngram_place *places = realloc(room->places, bytes);
	if (!places)
		return fail(HEC_ERR_MEMORY, "n-grams: no memory for %zu symbols", count);
	room->places = places;
	room->capacity = count;
	return HEC_OK;
}

hec_status ngram_shared(ngram_room *room, const uint32_t *a, size_t length_a, const uint32_t *b,
                        size_t length_b, int orders, uint64_t *shared)
{
	size_t count;
	if (!size_add(length_a, length_b, &count))
		return fail(HEC_ERR_MEMORY, "n-grams: too many symbols");
	HEC_TRY(make_room(room, count));
	for (size_t i = 0; i < length_a; i++)
		room->places[i] = (ngram_place){a + i, length_a - i, 0};
	for (size_t i = 0; i < length_b; i++)
		room->places[length_a + i] = (ngram_place){b + i, length_b - i, 1};
	if (count > 1)
		qsort(room->places, count, sizeof(ngram_place), compare_places);
	for (int n = 1; n <= orders; n++)
		shared[n - 1] = count_shared(room->places, count, (size_t)n);
	return HEC_OK;
}

void ngram_room_free(ngram_room *room)
{
	free(room->places);
	*room = (ngram_room){0};
}
