/* bpe_long.c — joining a word of any length in time that grows with it.
 *
 * In a table that was learned, what a merge makes takes part only in merges that were learned later:
 * ranks ascend. Then the pairs of one rank can be joined in one sweep from left to right, and none of
 * a lower rank comes up meanwhile. So each rank has a bucket of places, a small heap holds the ranks
 * whose bucket is not empty, and each place is put into a bucket once for each time that it changes:
 * linear, and no heap of millions. A table that was not learned (ranks do not ascend) takes a heap of
 * places, which is slower by a logarithm and right for any table; so does a word that is only a little long. */
#include "text/model/bpe.h"

#include <string.h>

#define NONE (-1)
#define MANY 1024 /* symbols: for fewer the heap of places is small */
#define NO_RANK UINT32_MAX
#define AHEAD 12 /* places */

struct bpe_node {
	int32_t before, after;  /* neighbours in the word */
	uint32_t rank;          /* of the pair with the next one */
	int32_t earlier, later; /* in the bucket of that rank */
};

/* ---- a heap of numbers ---- */

static hec_status heap_push(bpe_work *w, size_t *n, uint64_t value)
{
	HEC_TRY(GROW(&w->heap, &w->heap_capacity, *n + 1));
	size_t i = (*n)++;
	for (; i > 0 && w->heap[(i - 1) / 2] > value; i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = value;
	return HEC_OK;
}

static uint64_t heap_pop(bpe_work *w, size_t *n)
{
	uint64_t least = w->heap[0], value = w->heap[--*n];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < *n; i = child) {
		if (child + 1 < *n && w->heap[child + 1] < w->heap[child])
			child++;
		if (w->heap[child] >= value)
			break;
		w->heap[i] = w->heap[child];
	}
	w->heap[i] = value;
	return least;
}

/* ---- the word as a list ---- */

static uint32_t rank_at(const bpe *b, const bpe_work *w, int32_t i)
{
	int32_t next = w->nodes[i].after;
	if (next == NONE)
		return NO_RANK;
	const pair_value *v = pairs_find(&b->merges, w->symbols[i].id, w->symbols[next].id);
	return v ? v->rank : NO_RANK;
}

static hec_status make_list(bpe_work *w, size_t n)
{
	HEC_TRY(GROW(&w->nodes, &w->node_capacity, n));
	for (size_t i = 0; i < n; i++)
		w->nodes[i] = (struct bpe_node){(int32_t)i - 1, i + 1 < n ? (int32_t)i + 1 : NONE,
		                                NO_RANK, NONE, NONE};
	return HEC_OK;
}

/* Joins i and the symbol after it, which leaves the list. */
static void join_with_next(const bpe *b, bpe_work *w, int32_t i)
{
	struct bpe_node *node = &w->nodes[i];
	int32_t gone = node->after;
	w->symbols[i].id = pairs_find(&b->merges, w->symbols[i].id, w->symbols[gone].id)->id;
	w->symbols[i].end = w->symbols[gone].end;
	node->after = w->nodes[gone].after;
	if (node->after != NONE)
		w->nodes[node->after].before = i;
}

static void collect_symbols(bpe_work *w, size_t *n)
{
	size_t count = 0;
	for (int32_t i = 0; i != NONE; i = w->nodes[i].after)
		w->symbols[count++] = w->symbols[i];
	*n = count;
}

/* ---- ranks that ascend: buckets ---- */

static void take_out_of_bucket(bpe_work *w, int32_t i)
{
	struct bpe_node *node = &w->nodes[i];
	if (node->rank == NO_RANK)
		return;
	if (node->earlier != NONE)
		w->nodes[node->earlier].later = node->later;
	else
		w->heads[node->rank] = node->later;
	if (node->later != NONE)
		w->nodes[node->later].earlier = node->earlier;
	else
		w->tails[node->rank] = node->earlier;
	node->rank = NO_RANK;
}

static hec_status put_in_bucket(const bpe *b, bpe_work *w, int32_t i, size_t *heap)
{
	struct bpe_node *node = &w->nodes[i];
	uint32_t rank = rank_at(b, w, i);
	if (rank == NO_RANK)
		return HEC_OK;
	if (w->heads[rank] == NONE)
		HEC_TRY(heap_push(w, heap, rank));
	node->rank = rank;
	node->later = NONE;
	node->earlier = w->tails[rank];
	if (node->earlier != NONE)
		w->nodes[node->earlier].later = i;
	else
		w->heads[rank] = i;
	w->tails[rank] = i;
	return HEC_OK;
}

static void sort_places(bpe_work *w, size_t n)
{
	for (int shift = 0; shift < 32; shift += 8) {
		size_t first[257] = {0};
		for (size_t i = 0; i < n; i++)
			first[(w->order[i] >> shift & 0xff) + 1]++;
		for (int i = 0; i < 256; i++)
			first[i + 1] += first[i];
		for (size_t i = 0; i < n; i++)
			w->spare[first[w->order[i] >> shift & 0xff]++] = w->order[i];
		uint32_t *swap = w->order;
		w->order = w->spare;
		w->spare = swap;
	}
}

/* The places of a bucket from left to right. */
static hec_status places_of(bpe_work *w, uint32_t rank, size_t *count)
{
	size_t n = 0;
	bool sorted = true;
	for (int32_t i = w->heads[rank]; i != NONE; i = w->nodes[i].later) {
		HEC_TRY(GROW(&w->order, &w->order_capacity, n + 1));
		sorted = sorted && (n == 0 || w->order[n - 1] < (uint32_t)i);
		w->order[n++] = (uint32_t)i;
	}
	/* Both of the larger size, since sorting makes them change places. */
	size_t most = w->order_capacity > w->spare_capacity ? w->order_capacity : w->spare_capacity;
	HEC_TRY(GROW(&w->order, &w->order_capacity, most));
	HEC_TRY(GROW(&w->spare, &w->spare_capacity, most));
	if (!sorted)
		sort_places(w, n);
	*count = n;
	return HEC_OK;
}

static hec_status join_at(const bpe *b, bpe_work *w, int32_t i, size_t *heap)
{
	take_out_of_bucket(w, i);
	take_out_of_bucket(w, w->nodes[i].after);
	join_with_next(b, w, i);
	int32_t before = w->nodes[i].before;
	if (before != NONE) {
		take_out_of_bucket(w, before);
		HEC_TRY(put_in_bucket(b, w, before, heap));
	}
	return put_in_bucket(b, w, i, heap);
}

/* Buckets are empty between words, so that a word pays for its own length only. */
static hec_status empty_buckets(bpe_work *w, size_t count)
{
	if (w->buckets >= count)
		return HEC_OK;
	HEC_TRY(GROW(&w->heads, &w->head_capacity, count));
	HEC_TRY(GROW(&w->tails, &w->tail_capacity, count));
	for (size_t i = 0; i < count; i++)
		w->heads[i] = w->tails[i] = NONE;
	w->buckets = count;
	return HEC_OK;
}

static hec_status join_same_rank(const bpe *b, bpe_work *w, size_t n)
{
	size_t heap = 0;
	for (size_t i = 0; i < n; i++)
		HEC_TRY(put_in_bucket(b, w, (int32_t)i, &heap));
	while (heap > 0) {
		uint32_t rank = (uint32_t)heap_pop(w, &heap);
		size_t count;
		HEC_TRY(places_of(w, rank, &count));
		for (size_t k = 0; k < count; k++) {
			if (k + AHEAD < count) { /* places lie far apart */
				__builtin_prefetch(&w->nodes[w->order[k + AHEAD]]);
				__builtin_prefetch(&w->symbols[w->order[k + AHEAD]]);
			}
			/* The one before may have taken this one's left half. */
			int32_t i = (int32_t)w->order[k];
			if (w->nodes[i].rank == rank)
				HEC_TRY(join_at(b, w, i, &heap));
		}
	}
	return HEC_OK;
}

static hec_status join_by_rank(const bpe *b, bpe_work *w, size_t n)
{
	HEC_TRY(empty_buckets(w, b->merge_count));
	hec_status status = join_same_rank(b, w, n);
	if (status != HEC_OK)
		w->buckets = 0; /* what was left in them is void */
	return status;
}

/* ---- any ranks: a heap of places ---- */

static hec_status push_place(const bpe *b, bpe_work *w, int32_t i, size_t *heap)
{
	uint32_t rank = rank_at(b, w, i);
	w->nodes[i].rank = rank;
	return rank == NO_RANK ? HEC_OK : heap_push(w, heap, (uint64_t)rank << 32 | (uint32_t)i);
}

static hec_status join_by_heap(const bpe *b, bpe_work *w, size_t n)
{
	size_t heap = 0;
	for (size_t i = 0; i < n; i++)
		HEC_TRY(push_place(b, w, (int32_t)i, &heap));
	while (heap > 0) {
		uint64_t top = heap_pop(w, &heap);
		int32_t i = (int32_t)(uint32_t)top;
		if (w->nodes[i].rank != (uint32_t)(top >> 32))
			continue; /* it has changed since */
		w->nodes[w->nodes[i].after].rank = NO_RANK;
		join_with_next(b, w, i);
		HEC_TRY(push_place(b, w, i, &heap));
		if (w->nodes[i].before != NONE)
			HEC_TRY(push_place(b, w, w->nodes[i].before, &heap));
	}
	return HEC_OK;
}

hec_status bpe_join_long(const bpe *b, bpe_work *w, size_t *n)
{
	HEC_TRY(make_list(w, *n));
	HEC_TRY(b->ascending && *n > MANY ? join_by_rank(b, w, *n) : join_by_heap(b, w, *n));
	collect_symbols(w, n);
	return HEC_OK;
}
