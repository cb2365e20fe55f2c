/* written_text.c — ids to text. A stream decodes the tokens since the last two places where a piece ended,
 * once without and once with what is new: the difference is the next piece. */
#include "task/written_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

#define REPLACEMENT "\xEF\xBF\xBD"

hec_status written_text(const hec_tokenizer *tokenizer, const int32_t *ids, int64_t n, char **text,
                        size_t *bytes)
{
	int32_t *known = mem_alloc((size_t)(n + 1) * sizeof *known);
	if (!known)
		return fail(HEC_ERR_MEMORY, "no memory for a text of %lld tokens", (long long)n);
	size_t count = 0;
	for (int64_t i = 0; i < n; i++) {
		if (hec_tokenizer_token(tokenizer, ids[i]))
			known[count++] = ids[i];
	}
	hec_status status = hec_tokenizer_decode(tokenizer, known, count, true, text, bytes);
	mem_free(known);
	return status;
}

static hec_status keep(text_stream *s, int32_t id)
{
	if (s->n == s->capacity) {
		int64_t capacity = s->capacity ? 2 * s->capacity : 64;
		int32_t *ids = mem_resize(s->ids, (size_t)capacity * sizeof *ids);
		if (!ids)
			return fail(HEC_ERR_MEMORY, "no memory for %lld tokens",
			            (long long)capacity);
		s->ids = ids;
		s->capacity = capacity;
	}
	s->ids[s->n++] = id;
	return HEC_OK;
}

static bool is_whole(const char *text, size_t length)
{
	const size_t mark = sizeof REPLACEMENT - 1;
	return length < mark || memcmp(text + length - mark, REPLACEMENT, mark) != 0;
}

hec_status text_stream_add(text_stream *s, int32_t id, bool last, char **text, size_t *bytes)
{
	*bytes = 0;
	if (id >= 0)
		HEC_TRY(keep(s, id));
	char *before = NULL, *after = NULL;
	size_t old, now;
	if (s->n == 0) {
		*text = mem_zeros(1, 1);
		return *text ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a text");
	}
	HEC_TRY(written_text(s->tokenizer, s->ids + s->from, s->given - s->from, &before, &old));
	hec_status status =
		written_text(s->tokenizer, s->ids + s->from, s->n - s->from, &after, &now);
	mem_free(before);
	if (status != HEC_OK)
		return status;
	/* Bytes of a character that others behind them make no text of, after all. */
	while (old < now && ((unsigned char)after[old] & 0xC0) == 0x80)
		old++;
	if (now > old && (last || is_whole(after, now))) {
		*bytes = now - old;
		memmove(after, after + old, *bytes + 1);
		s->from = s->given;
		s->given = s->n;
	} else {
		after[0] = '\0';
	}
	*text = after;
	return HEC_OK;
}

void text_stream_free(text_stream *s)
{
	mem_free(s->ids);
	*s = (text_stream){0};
}
