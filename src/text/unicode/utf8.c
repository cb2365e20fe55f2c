/* utf8.c — what is valid follows table 3-7 of the Unicode standard: the second byte decides. */
#include "text/unicode/utf8.h"

#include <string.h>

size_t utf8_put(uint32_t c, char to[UTF8_MOST])
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* How many bytes the character at s should have (0: none begins so), and how many of them are
 * there and right. */
static size_t check_character(const unsigned char *s, size_t bytes, size_t *right)
{
	unsigned char c = s[0], low = 0x80, high = 0xbf;
	size_t length = c < 0x80   ? 1
	                : c < 0xc2 ? 0
	                : c < 0xe0 ? 2
	                : c < 0xf0 ? 3
	                : c < 0xf5 ? 4
	                           : 0;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	*right = 1;
	while (*right < length && *right < bytes && s[*right] >= low && s[*right] <= high) {
		++*right;
		low = 0x80;
		high = 0xbf;
	}
	return length;
}

size_t utf8_valid(const char *text, size_t bytes)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = 0;
	while (at < bytes) {
		uint64_t eight;
		if (bytes - at >= sizeof eight) {
			memcpy(&eight, s + at, sizeof eight);
			if (!(eight & 0x8080808080808080u)) {
				at += sizeof eight;
				continue;
			}
		}
		size_t right;
		if (check_character(s + at, bytes - at, &right) != right)
			return at;
		at += right;
	}
	return bytes;
}

size_t utf8_ill(const char *text, size_t bytes)
{
	size_t right;
	check_character((const unsigned char *)text, bytes, &right);
	return right;
}

size_t utf8_count(const char *text, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++)
		n += !utf8_continues(text[i]);
	return n;
}
