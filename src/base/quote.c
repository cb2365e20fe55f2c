/* quote.c — what a file holds is shown, never obeyed. */
#include "base/quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char cut[] = "…";

/* The length of the UTF-8 character that s, of at most n bytes, begins with, and its number; 0 where
 * it begins with none. */
static size_t character(const unsigned char *s, size_t n, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = s[0] < 0x80             ? 1
	                : (s[0] & 0xe0) == 0xc0 ? 2
	                : (s[0] & 0xf0) == 0xe0 ? 3
	                : (s[0] & 0xf8) == 0xf0 ? 4
	                                        : 0;
	if (length == 0 || length > n)
		return 0;
	*code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3fu);
	}
	bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
	return *code < least[length] || *code > 0x10ffff || surrogate ? 0 : length;
}

static bool steers(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
	       (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

const char *quote_bytes(const char *text, size_t length, char out[QUOTE_TEXT])
{
	const unsigned char *s = (const unsigned char *)text;
	size_t to = 0, room = QUOTE_TEXT - sizeof cut;
	for (size_t i = 0; i < length;) {
		uint32_t code = 0;
		size_t n = character(s + i, length - i, &code);
		bool plain = n > 0 && !steers(code);
		size_t bytes = plain ? n : 1;
		if (to + bytes > room) {
			memcpy(out + to, cut, sizeof cut);
			return out;
		}
		if (plain)
			memcpy(out + to, s + i, n);
		else
			out[to] = '?';
		to += bytes;
		i += n > 0 ? n : 1;
	}
	out[to] = '\0';
	return out;
}

const char *quote(const char *text, char out[QUOTE_TEXT])
{
	return quote_bytes(text, strlen(text), out);
}
