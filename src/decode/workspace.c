/* workspace.c — one allocation for all the arrays of a call.
 *
 * The same list of arrays runs twice: first to add up the sizes, then to hand out the addresses. */
#include "decode/workspace.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"

#define ALIGN 64

typedef struct layout {
	char *at; /* NULL: only measuring */
	size_t used;
	bool too_large;
} layout;

/* n · m elements. */
static void *take_array(layout *l, int64_t n, int64_t m, size_t element)
{
	size_t bytes;
	if (!size_mul((size_t)n, (size_t)m, &bytes) || !size_mul(bytes, element, &bytes) ||
	    !size_align(bytes, ALIGN, &bytes)) {
		l->too_large = true;
		return NULL;
	}
	char *start = l->at ? l->at + l->used : NULL;
	if (!size_add(l->used, bytes, &l->used))
		l->too_large = true;
	return start;
}

#define TAKE(l, array, n, m) ((array) = take_array(l, n, m, sizeof *(array)))

static void take_search(layout *l, const workspace *w, const plan *p, search *s)
{
	search own = {.capacity = w->capacity};
	int64_t beams = p->o.beams;
	TAKE(l, own.rows, beams, w->capacity);
	TAKE(l, own.moved, beams, w->capacity);
	TAKE(l, own.running, beams, 1);
	TAKE(l, own.results, beams, 1);
	TAKE(l, own.best, p->candidates, 1);
	TAKE(l, own.next, beams, 1);
	TAKE(l, own.from, beams, 1);
	for (int64_t b = 0; b < beams; b++) {
		int32_t *ids;
		TAKE(l, ids, w->capacity, 1);
		if (l->at)
			own.results[b].ids = ids;
	}
	if (l->at)
		*s = own;
}

static void take_row_scratch(layout *l, const workspace *w, const plan *p, row_scratch *b)
{
	row_scratch own;
	TAKE(l, own.before, w->capacity, 1);
	TAKE(l, own.top, p->o.sample && p->o.top_k < p->vocab ? p->o.top_k : 0, 1);
	TAKE(l, own.chances, p->o.sample ? p->vocab : 0, 1);
	if (l->at)
		*b = own;
}

static void take_all(layout *l, workspace *w, const plan *p, int threads)
{
	int64_t rows = w->places * p->o.beams;
	TAKE(l, w->searches, w->places, 1);
	TAKE(l, w->live, w->places, 1);
	TAKE(l, w->keep, w->places, 1);
	TAKE(l, w->ids, rows, w->feed);
	TAKE(l, w->count, rows, 1);
	TAKE(l, w->from, rows, 1);
	TAKE(l, w->lse, rows, 1);
	TAKE(l, w->lists, rows, p->candidates);
	TAKE(l, w->can, rows, 1);
	TAKE(l, w->row_scratches, threads, 1);
	TAKE(l, w->source_ids, w->places, w->width);
	TAKE(l, w->source_length, w->places, 1);
	for (int64_t i = 0; i < w->places; i++)
		take_search(l, w, p, l->at ? &w->searches[i] : NULL);
	for (int i = 0; i < threads; i++)
		take_row_scratch(l, w, p, l->at ? &w->row_scratches[i] : NULL);
}

hec_status workspace_open(workspace *w, const plan *p, int threads)
{
	layout measure = {NULL, 0, false};
	take_all(&measure, w, p, threads);
	if (measure.too_large || !(w->memory = mem_aligned(ALIGN, measure.used)))
		return fail(HEC_ERR_MEMORY,
		            "decode: no memory for %lld sources with %lld beams of %lld tokens",
		            (long long)w->places, (long long)p->o.beams, (long long)w->capacity);
	layout real = {w->memory, 0, false};
	take_all(&real, w, p, threads);
	for (int64_t i = 0; i < w->places; i++)
		w->live[i] = &w->searches[i];
	return HEC_OK;
}

void workspace_close(workspace *w)
{
	mem_free(w->memory);
}
