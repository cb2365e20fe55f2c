/* characters.c — UTF-8 without overlong forms and surrogates. */
#include "text/unicode/characters.h"

#define STRAY 0x110000u /* + byte: above every code point */

static bool is_continuation(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

uint32_t character_read(const unsigned char *text, size_t left, size_t *length)
{
	unsigned char c = text[0];
	*length = 1;
	if (c < 0x80)
		return c;
	size_t n = c >= 0xC2 && c <= 0xDF   ? 2
	           : c >= 0xE0 && c <= 0xEF ? 3
	           : c >= 0xF0 && c <= 0xF4 ? 4
	                                    : 0;
	if (n == 0 || n > left)
		return STRAY + c;
	uint32_t value = c & (0xFFu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if (!is_continuation(text[i]))
			return STRAY + c;
		value = value << 6 | (text[i] & 0x3Fu);
	}
	bool overlong = (n == 3 && value < 0x800) || (n == 4 && value < 0x10000);
	if (overlong || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
		return STRAY + c;
	*length = n;
	return value;
}

bool character_is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202F || c == 0x205F || c == 0x3000;
}
