/* split.c — a piece becomes a list of parts that were found or not; the behaviour joins some. */
#include "text/split/split.h"

#include <string.h>

#include "base/quote.h"
#include "base/grow.h"

enum { BETWEEN = 0, FOUND = 1 }; /* the id of a part in the list */

hec_status split_load_behavior(const json_scope *s, split_behavior *out)
{
	static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious",
	                                    "MergedWithNext", "Contiguous"};
	const char *name;
	HEC_TRY(json_need_string(s, "behavior", &name));
	for (int i = 0; i < 5; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (split_behavior)i;
			return HEC_OK;
		}
	char text[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED,
	            "%s: '%sbehavior' is \"%s\"; there are: Removed, Isolated, "
	            "MergedWithPrevious, MergedWithNext, Contiguous",
	            s->file, s->path, quote(name, text));
}

static hec_status add_part(flow *f, size_t begin, size_t end, int32_t kind)
{
	pieces *l = &f->found;
	HEC_TRY(GROW(&l->at, &l->capacity, l->n + 1));
	l->at[l->n++] = (piece){(uint32_t)begin, (uint32_t)end, kind};
	return HEC_OK;
}

hec_status split_found(flow *f, size_t begin, size_t end)
{
	size_t last = f->found.at[f->found.n - 1].end;
	if (last < begin)
		HEC_TRY(add_part(f, last, begin, BETWEEN));
	return add_part(f, begin, end, FOUND);
}

/* Parts that go together get the end of the last and the beginning of the first. */
static void join_parts(pieces *l, split_behavior behavior)
{
	size_t n = 0;
	if (behavior == SPLIT_WITH_NEXT) {
		/* From the right: what was found goes to the part behind it, unless that was found
		 * itself. */
		bool before = false;
		size_t to = l->n;
		for (size_t i = l->n; i-- > 0;) {
			bool found = l->at[i].id == FOUND;
			if (found && !before && to < l->n)
				l->at[to].begin = l->at[i].begin;
			else
				l->at[--to] = l->at[i];
			before = found;
		}
		n = l->n - to;
		memmove(l->at, l->at + to, n * sizeof *l->at);
	} else {
		bool before = false;
		for (size_t i = 0; i < l->n; i++) {
			bool found = l->at[i].id == FOUND;
			bool join = behavior == SPLIT_CONTIGUOUS ? n > 0 && found == before
			                                         : n > 0 && found && !before;
			if (join)
				l->at[n - 1].end = l->at[i].end;
			else
				l->at[n++] = l->at[i];
			before = found;
		}
	}
	l->n = n;
}

static hec_status cut_piece(const void *state, flow *f, piece p)
{
	const splitter *s = state;
	pieces *l = &f->found;
	l->n = 0;
	HEC_TRY(add_part(f, p.begin, p.begin, BETWEEN)); /* where the first part begins */
	HEC_TRY(s->find(s->state, f, p));
	size_t last = l->at[l->n - 1].end;
	if (last < p.end)
		HEC_TRY(add_part(f, last, p.end, BETWEEN));
	l->n--;
	memmove(l->at, l->at + 1, l->n * sizeof *l->at);
	for (size_t i = 0; s->invert && i < l->n; i++)
		l->at[i].id = l->at[i].id == FOUND ? BETWEEN : FOUND;
	if (s->behavior != SPLIT_REMOVED && s->behavior != SPLIT_ISOLATED)
		join_parts(l, s->behavior);
	for (size_t i = 0; i < l->n; i++)
		if (s->behavior != SPLIT_REMOVED || l->at[i].id != FOUND)
			HEC_TRY(flow_add(f, l->at[i].begin, l->at[i].end, -1));
	return HEC_OK;
}

hec_status split_run(const splitter *s, flow *f)
{
	return flow_cut(f, cut_piece, s);
}
