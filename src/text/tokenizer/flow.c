/* flow.c — the two buffers and the two lists of pieces that stages work between. */
#include "text/tokenizer/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"
#include "text/pattern/pattern.h"
#include "text/unicode/utf8.h"

void flow_free(flow *f)
{
	mem_free(f->now.at);
	mem_free(f->next.at);
	mem_free(f->found.at);
	pattern_work_free(f->pattern);
	for (int i = 0; i < 2; i++) {
		buffer *b = i ? &f->older : &f->newest;
		mem_free(b->bytes);
		mem_free(b->from);
	}
	memset(f, 0, sizeof *f);
}

static hec_status add_piece(pieces *list, size_t begin, size_t end, int32_t id)
{
	HEC_TRY(GROW(&list->at, &list->capacity, list->n + 1));
	list->at[list->n++] = (piece){(uint32_t)begin, (uint32_t)end, id};
	return HEC_OK;
}

hec_status flow_begin(flow *f, const char *given, size_t bytes)
{
	if (bytes > FLOW_MOST)
		return fail(HEC_ERR_ARGUMENT, "a text of %zu bytes; at most %zu go at once", bytes,
		            FLOW_MOST);
	f->given = f->text = given;
	f->given_bytes = f->bytes = bytes;
	f->most = FLOW_TIMES * bytes + FLOW_PLUS;
	if (f->most > INT32_MAX)
		f->most = INT32_MAX;
	pattern_work_reset(f->pattern);
	f->from = NULL;
	f->now.n = 0;
	return bytes ? add_piece(&f->now, 0, bytes, -1) : HEC_OK;
}

static void swap_pieces(flow *f)
{
	pieces p = f->now;
	f->now = f->next;
	f->next = p;
}

hec_status flow_add(flow *f, size_t begin, size_t end, int32_t id)
{
	return begin == end ? HEC_OK : add_piece(&f->next, begin, end, id);
}

hec_status flow_cut(flow *f, flow_cut_fn *cut, const void *state)
{
	f->next.n = 0;
	for (size_t i = 0; i < f->now.n; i++) {
		piece p = f->now.at[i];
		HEC_TRY(p.id < 0 ? cut(state, f, p) : add_piece(&f->next, p.begin, p.end, p.id));
	}
	swap_pieces(f);
	return HEC_OK;
}

/* Room for n more bytes of new text. */
static hec_status make_room(flow *f, size_t n)
{
	buffer *b = &f->older;
	if (n > f->most || b->n > f->most - n)
		return fail(HEC_ERR_FORMAT,
		            "tokenizer.json: a text of %zu bytes becomes more than %zu on its way",
		            f->given_bytes, f->most);
	HEC_TRY(GROW(&b->bytes, &b->bytes_capacity, b->n + n));
	return GROW(&b->from, &b->from_capacity, b->n + n);
}

hec_status flow_put(flow *f, const char *bytes, size_t n, origin from)
{
	buffer *b = &f->older;
	HEC_TRY(make_room(f, n));
	for (size_t i = 0; i < n; i++) {
		b->bytes[b->n + i] = bytes[i];
		b->from[b->n + i] = from;
	}
	b->n += n;
	return HEC_OK;
}

/* Each byte of the given text maps to its whole character, so that a part of one spans it. */
static void map_given(const char *text, size_t begin, size_t end, origin *to)
{
	for (size_t i = begin; i < end;) {
		size_t stop = i + utf8_length(text[i]);
		origin whole = {(uint32_t)i, (uint32_t)stop};
		for (; i < stop; i++)
			*to++ = whole;
	}
}

hec_status flow_keep(flow *f, size_t begin, size_t end)
{
	buffer *b = &f->older;
	size_t n = end - begin;
	if (n == 0)
		return HEC_OK;
	HEC_TRY(make_room(f, n));
	memcpy(b->bytes + b->n, f->text + begin, n);
	if (f->from)
		memcpy(b->from + b->n, f->from + begin, n * sizeof *b->from);
	else
		map_given(f->text, begin, end, b->from + b->n);
	b->n += n;
	return HEC_OK;
}

hec_status flow_change(flow *f, flow_cursor *from, uint32_t c, int64_t change)
{
	char bytes[UTF8_MOST];
	origin o = {0, 0};
	bool besides = change > 0 || from->at == from->end;
	if (!besides)
		o = flow_origin(f, from->at, from->at + utf8_length(f->text[from->at]));
	else if (from->at > 0) /* from where the one before came */
		o = flow_origin(f, utf8_before(f->text, from->at), from->at);
	for (; change <= 0 && from->at < from->end; change++)
		from->at += utf8_length(f->text[from->at]);
	return flow_put(f, bytes, utf8_put(c, bytes), o);
}

origin flow_first(const flow *f, piece p)
{
	return flow_origin(f, p.begin, p.begin + utf8_length(f->text[p.begin]));
}

hec_status flow_write(flow *f, flow_write_fn *write, const void *state)
{
	f->next.n = 0;
	f->older.n = 0;
	for (size_t i = 0; i < f->now.n; i++) {
		piece p = f->now.at[i];
		size_t begin = f->older.n;
		HEC_TRY(p.id < 0 ? write(state, f, p) : flow_keep(f, p.begin, p.end));
		HEC_TRY(flow_add(f, begin, f->older.n, p.id));
	}
	buffer b = f->newest;
	f->newest = f->older;
	f->older = b;
	f->text = f->newest.bytes;
	f->from = f->newest.from;
	f->bytes = f->newest.n;
	swap_pieces(f);
	return HEC_OK;
}
