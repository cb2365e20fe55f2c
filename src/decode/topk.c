/* topk.c — one pass over x beside a heap of the best k so far.
 *
 * The worst of the best stands at the root. Once k are found, hardly any number beats it, so blocks
 * of x are first asked whether any does: a loop without branches that becomes a few vector
 * instructions. The expected work is n comparisons and k·ln(n/k) pushes. */
#include "decode/topk.h"

#include <math.h>
#include <stdbool.h>

#define BLOCK 64

/* a comes after b in the result. */
static bool worse(scored a, scored b)
{
	return a.score < b.score || (a.score == b.score && a.id > b.id);
}

static void sink(scored *heap, int64_t n, int64_t i)
{
	scored s = heap[i];
	for (int64_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && worse(heap[child + 1], heap[child]))
			child++;
		if (!worse(heap[child], s))
			break;
		heap[i] = heap[child];
	}
	heap[i] = s;
}

static void rise(scored *heap, int64_t i)
{
	scored s = heap[i];
	for (int64_t parent; i > 0; i = parent) {
		parent = (i - 1) / 2;
		if (!worse(s, heap[parent]))
			break;
		heap[i] = heap[parent];
	}
	heap[i] = s;
}

/* Fills the heap with the first k that are not NaN; returns where it stopped. */
static int64_t fill(const float *x, int64_t n, int64_t k, scored *heap, int64_t *held)
{
	int64_t i = 0, h = 0;
	for (; i < n && h < k; i++) {
		if (isnan(x[i]))
			continue;
		heap[h] = (scored){x[i], (int32_t)i};
		rise(heap, h++);
	}
	*held = h;
	return i;
}

static bool any_above(const float *x, float bar)
{
	int32_t hits = 0;
	for (int i = 0; i < BLOCK; i++)
		hits |= x[i] > bar;
	return hits != 0;
}

int64_t topk(const float *x, int64_t n, int64_t k, scored *out)
{
	int64_t held;
	int64_t i = fill(x, n, k, out, &held);
	if (held == 0)
		return 0;
	while (i < n) {
		/* Later ids lose a tie, so only what is strictly greater comes in. */
		if (i + BLOCK <= n && !any_above(x + i, out[0].score)) {
			i += BLOCK;
			continue;
		}
		int64_t end = i + BLOCK < n ? i + BLOCK : n;
		for (; i < end; i++) {
			if (x[i] > out[0].score) {
				out[0] = (scored){x[i], (int32_t)i};
				sink(out, held, 0);
			}
		}
	}
	/* The root, the worst of what is left, goes to the end of it. */
	for (int64_t last = held - 1; last > 0; last--) {
		scored worst = out[0];
		out[0] = out[last];
		out[last] = worst;
		sink(out, last, 0);
	}
	return held;
}
