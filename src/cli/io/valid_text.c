/* valid_text.c — what is well-formed follows table 3-7 of the Unicode standard. */
#include "cli/io/valid_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

size_t text_sequence(const char *text, size_t bytes, bool *good)
{
	const unsigned char *s = (const unsigned char *)text;
	const unsigned char c = s[0];
	const size_t want = c < 0x80               ? 1
	                    : c < 0xc2 || c > 0xf4 ? 0
	                    : c < 0xe0             ? 2
	                    : c < 0xf0             ? 3
	                                           : 4;
	unsigned char low = c == 0xe0   ? 0xa0
	                    : c == 0xf0 ? 0x90
	                                : 0x80,
		      high = c == 0xed   ? 0x9f
	                     : c == 0xf4 ? 0x8f
	                                 : 0xbf;
	size_t n = 1;
	for (; n < want && n < bytes && s[n] >= low && s[n] <= high; n++) {
		low = 0x80;
		high = 0xbf;
	}
	*good = n == want;
	return n;
}

char *valid_text(const char *text, size_t bytes, size_t *length)
{
	if (bytes > (SIZE_MAX - 1) / 3)
		return NULL;
	char *out = malloc(3 * bytes + 1), *cut;
	size_t n = 0;
	for (size_t at = 0; out && at < bytes;) {
		bool good;
		const size_t part = text_sequence(text + at, bytes - at, &good);
		const size_t put = good ? part : sizeof replacement - 1;
		memcpy(out + n, good ? text + at : replacement, put);
		n += put;
		at += part;
	}
	if (!out)
		return NULL;
	out[n] = '\0';
	*length = n;
	cut = realloc(out, n + 1);
	return cut ? cut : out;
}
