/* utf8.h — walking text that is known to be valid UTF-8, and finding out whether it is. */
#ifndef TEXT_UNICODE_UTF8_H
#define TEXT_UNICODE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_MOST 4 /* bytes of one character */

/* The character at p of valid text; *length its bytes. */
static inline uint32_t utf8_get(const char *p, size_t *length)
{
	const unsigned char *s = (const unsigned char *)p;
	if (s[0] < 0x80) {
		*length = 1;
		return s[0];
	}
	if (s[0] < 0xe0) {
		*length = 2;
		return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
	}
	if (s[0] < 0xf0) {
		*length = 3;
		return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
	}
	*length = 4;
	return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
}

/* Bytes of the character that begins with this byte. */
static inline size_t utf8_length(char lead)
{
	unsigned char c = (unsigned char)lead;
	return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static inline bool utf8_continues(char c)
{
	return ((unsigned char)c & 0xc0u) == 0x80u;
}

/* Where the character before end begins; end > begin of valid text. */
static inline size_t utf8_before(const char *text, size_t end)
{
	do
		end--;
	while (utf8_continues(text[end]));
	return end;
}

/* Writes the character; returns its bytes. */
size_t utf8_put(uint32_t c, char to[UTF8_MOST]);

/* How many bytes from the start are valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF);
 * bytes where all are. */
size_t utf8_valid(const char *text, size_t bytes);

/* At an invalid place: the bytes that one U+FFFD stands for, the longest start of a character that
 * is there (at least 1), as Unicode recommends and Python and Rust do. */
size_t utf8_ill(const char *text, size_t bytes);

size_t utf8_count(const char *text, size_t bytes); /* characters of valid text */

#endif
