/* strings.c — see strings.h. */
#include "text/tokenizer/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"
#include "text/unicode/utf8.h"

void strings_free(strings *s)
{
	mem_free(s->now.bytes);
	mem_free(s->now.end);
	mem_free(s->next.bytes);
	mem_free(s->next.end);
	memset(s, 0, sizeof *s);
}

hec_status string_put(string_list *l, const char *bytes, size_t n)
{
	if (n > l->most || l->used > l->most - n)
		return fail(HEC_ERR_FORMAT,
		            "tokenizer.json: the decoders make a text of more than %zu bytes",
		            l->most);
	HEC_TRY(GROW(&l->bytes, &l->bytes_capacity, l->used + n + 1));
	if (n > 0)
		memcpy(l->bytes + l->used, bytes, n);
	l->used += n;
	return HEC_OK;
}

hec_status string_close(string_list *l)
{
	HEC_TRY(GROW(&l->end, &l->end_capacity, l->n + 1));
	l->end[l->n++] = l->used;
	return HEC_OK;
}

void strings_start(strings *s)
{
	s->next.used = s->next.n = 0;
}

void strings_swap(strings *s)
{
	string_list l = s->now;
	s->now = s->next;
	s->next = l;
}

static hec_status put_mended(string_list *to, const char *bytes, size_t n)
{
	for (size_t at = 0;;) {
		size_t good = utf8_valid(bytes + at, n - at);
		HEC_TRY(string_put(to, bytes + at, good));
		at += good;
		if (at == n)
			return HEC_OK;
		HEC_TRY(string_put(to, "\xef\xbf\xbd", 3));
		at += utf8_ill(bytes + at, n - at);
	}
}

hec_status strings_mend(strings *s)
{
	bool bad = false;
	for (size_t i = 0; i < s->now.n && !bad; i++) {
		size_t begin = string_begin(&s->now, i), n = s->now.end[i] - begin;
		bad = n && utf8_valid(s->now.bytes + begin, n) != n;
	}
	if (!bad)
		return HEC_OK;
	strings_start(s);
	for (size_t i = 0; i < s->now.n; i++) {
		size_t begin = string_begin(&s->now, i);
		HEC_TRY(put_mended(&s->next, s->now.bytes + begin, s->now.end[i] - begin));
		HEC_TRY(string_close(&s->next));
	}
	strings_swap(s);
	return HEC_OK;
}
