/* warp.c — which tokens are left, and one of them.
 *
 * Transformers sorts the vocabulary for top_p. Here only what can survive is sorted: tokens with at
 * most (1 − top_p)/n of the probability cannot weigh more than 1 − top_p together, so they all go. */
#include "decode/warp.h"

#include <math.h>

#include "base/random.h"
#include "base/size.h"

/* The least score that top_k leaves; what equals it stays too. */
static float bar_of_top_k(const plan *p, const float *x, scored *best)
{
	int64_t k = p->o.top_k;
	if (k >= p->vocab)
		return -INFINITY;
	int64_t n = topk(x, p->vocab, k, best);
	return n == k ? best[k - 1].score : -INFINITY;
}

static int64_t weigh_tokens(const plan *p, const float *x, float bar, chance *out)
{
	float max = -INFINITY;
	for (int64_t v = 0; v < p->vocab; v++) {
		if (x[v] > max)
			max = x[v];
	}
	int64_t n = 0;
	for (int64_t v = 0; v < p->vocab; v++) {
		if (x[v] >= bar && x[v] > -INFINITY)
			out[n++] =
				(chance){exp(((double)x[v] - max) / p->o.temperature), (int32_t)v};
	}
	return n;
}

/* a goes before b where the least likely go first; of equals the lower id. */
static bool goes_first(chance a, chance b)
{
	return a.weight < b.weight || (a.weight == b.weight && a.id < b.id);
}

/* A heap whose root goes first. */
static void sink(chance *heap, int64_t n, int64_t i)
{
	chance c = heap[i];
	for (int64_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && goes_first(heap[child + 1], heap[child]))
			child++;
		if (!goes_first(heap[child], c))
			break;
		heap[i] = heap[child];
	}
	heap[i] = c;
}

/* Finds the last one that top_p takes away: everything up to it goes. False: nothing does. */
static bool cut_of_top_p(double top_p, chance *c, int64_t n, chance *cut)
{
	double total = 0, gone = 0;
	for (int64_t i = 0; i < n; i++)
		total += c[i].weight;
	double least = (1 - top_p) / (double)n * total;
	bool any = false;
	int64_t kept = 0;
	for (int64_t i = 0; i < n; i++) {
		if (c[i].weight > least) {
			c[kept++] = c[i];
			continue;
		}
		gone += c[i].weight;
		if (!any || goes_first(*cut, c[i]))
			*cut = c[i];
		any = true;
	}
	for (int64_t i = kept / 2; i-- > 0;)
		sink(c, kept, i);
	while (kept > 1 && gone + c[0].weight <= (1 - top_p) * total) {
		gone += c[0].weight;
		*cut = c[0];
		any = true;
		c[0] = c[--kept];
		sink(c, kept, 0);
	}
	return any;
}

int64_t warp(const plan *p, const float *x, scored *best, chance *out)
{
	float bar = bar_of_top_k(p, x, best);
	int64_t n = weigh_tokens(p, x, bar, out);
	if (n == 0)
		return 0;
	chance cut = {0, -1};
	bool is_cut = false;
	if (p->o.top_p < 1) {
		is_cut = cut_of_top_p(p->o.top_p, out, n, &cut);
		n = weigh_tokens(p, x, bar, out); /* by id again */
	}
	int64_t kept = 0, likeliest = 0;
	for (int64_t i = 1; i < n; i++) {
		if (!goes_first(out[i], out[likeliest]))
			likeliest = i;
	}
	for (int64_t i = 0; i < n; i++) {
		bool goes = (is_cut && !goes_first(cut, out[i])) || out[i].weight < p->o.min_p;
		if (!goes || i == likeliest)
			out[kept++] = out[i];
	}
	return kept;
}

int32_t warp_draw(uint64_t seed, uint64_t stream, uint64_t position, const chance *of, int64_t n)
{
	const uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32),
	                             (uint32_t)stream, (uint32_t)(stream >> 32)};
	const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
	uint32_t word[4];
	philox(counter, key, word);
	/* 53 bits: in [0, 1). */
	double u = ((double)(word[0] >> 5) * 0x1p26 + (double)(word[1] >> 6)) * 0x1p-53;
	double total = 0, sum = 0;
	for (int64_t i = 0; i < n; i++)
		total += of[i].weight;
	for (int64_t i = 0; i < n - 1; i++) {
		sum += of[i].weight;
		if (sum > u * total)
			return of[i].id;
	}
	return of[n - 1].id;
}
