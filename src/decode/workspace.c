/* workspace.c — one allocation, cut into the arrays of a call.
 *
 * The same list of cuts runs twice: first to add up the sizes, then to hand out the addresses. */
#include "decode/workspace.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"

#define ALIGN 64

typedef struct knife {
	char *at; /* NULL: only measuring */
	size_t used;
	bool too_large;
} knife;

/* n · m elements. */
static void *cut(knife *k, int64_t n, int64_t m, size_t element)
{
	size_t bytes;
	if (!size_mul((size_t)n, (size_t)m, &bytes) || !size_mul(bytes, element, &bytes) ||
	    !size_align(bytes, ALIGN, &bytes)) {
		k->too_large = true;
		return NULL;
	}
	char *start = k->at ? k->at + k->used : NULL;
	if (!size_add(k->used, bytes, &k->used))
		k->too_large = true;
	return start;
}

#define CUT(k, array, n, m) ((array) = cut(k, n, m, sizeof *(array)))

static void cut_search(knife *k, const workspace *w, const plan *p, search *s)
{
	search own = {.capacity = w->capacity};
	int64_t beams = p->o.beams;
	CUT(k, own.rows, beams, w->capacity);
	CUT(k, own.moved, beams, w->capacity);
	CUT(k, own.running, beams, 1);
	CUT(k, own.results, beams, 1);
	CUT(k, own.best, p->candidates, 1);
	CUT(k, own.next, beams, 1);
	CUT(k, own.from, beams, 1);
	for (int64_t b = 0; b < beams; b++) {
		int32_t *ids;
		CUT(k, ids, w->capacity, 1);
		if (k->at)
			own.results[b].ids = ids;
	}
	if (k->at)
		*s = own;
}

static void cut_bench(knife *k, const workspace *w, const plan *p, bench *b)
{
	bench own;
	CUT(k, own.before, w->capacity, 1);
	CUT(k, own.top, p->o.sample ? min_i64(p->o.top_k, p->vocab) : 0, 1);
	CUT(k, own.chances, p->o.sample ? p->vocab : 0, 1);
	if (k->at)
		*b = own;
}

static void cut_all(knife *k, workspace *w, const plan *p, int threads)
{
	int64_t rows = w->places * p->o.beams;
	CUT(k, w->searches, w->places, 1);
	CUT(k, w->live, w->places, 1);
	CUT(k, w->keep, w->places, 1);
	CUT(k, w->ids, rows, w->feed);
	CUT(k, w->count, rows, 1);
	CUT(k, w->from, rows, 1);
	CUT(k, w->lse, rows, 1);
	CUT(k, w->lists, rows, p->candidates);
	CUT(k, w->can, rows, 1);
	CUT(k, w->benches, threads, 1);
	CUT(k, w->source_ids, w->places, w->width);
	CUT(k, w->source_length, w->places, 1);
	for (int64_t i = 0; i < w->places; i++)
		cut_search(k, w, p, k->at ? &w->searches[i] : NULL);
	for (int i = 0; i < threads; i++)
		cut_bench(k, w, p, k->at ? &w->benches[i] : NULL);
}

hec_status workspace_open(workspace *w, const plan *p, int threads)
{
	knife measure = {NULL, 0, false};
	cut_all(&measure, w, p, threads);
	if (measure.too_large || !(w->memory = mem_aligned(ALIGN, measure.used)))
		return fail(HEC_ERR_MEMORY,
		            "decode: no memory for %lld sources with %lld beams of %lld tokens",
		            (long long)w->places, (long long)p->o.beams, (long long)w->capacity);
	knife real = {w->memory, 0, false};
	cut_all(&real, w, p, threads);
	for (int64_t i = 0; i < w->places; i++)
		w->live[i] = &w->searches[i];
	return HEC_OK;
}

void workspace_close(workspace *w)
{
	mem_free(w->memory);
}
