/* quote.c — what a file holds is shown, never obeyed. */
#include "base/quote.h"

#include <string.h>

#include "base/width.h"

static const char cut[] = "…";

void clean_bytes(const char *text, size_t length, char *out, size_t size)
{
	size_t to = 0, room = size - sizeof cut;
	for (size_t i = 0, bytes; i < length; i += bytes) {
		bool steers = rune_steers_terminal(rune_decode(text + i, length - i, &bytes));
		size_t n = steers ? 1 : bytes;
		if (to + n > room) {
			memcpy(out + to, cut, sizeof cut);
			return;
		}
		memmove(out + to, steers ? "?" : text + i, n);
		to += n;
	}
	out[to] = '\0';
}

const char *quote_bytes(const char *text, size_t length, char out[QUOTE_TEXT])
{
	clean_bytes(text, length, out, QUOTE_TEXT);
	return out;
}

const char *quote(const char *text, char out[QUOTE_TEXT])
{
	return quote_bytes(text, strlen(text), out);
}
