/* width.c — display width by Unicode's own tables. */
#include "base/width.h"

#include <string.h>

typedef struct range {
	uint32_t first, last;
} range;

#include "base/width_table.h"

static bool is_in(const range *table, size_t count, uint32_t rune)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (rune > table[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && rune >= table[low].first;
}

int rune_width(uint32_t rune)
{
	if (rune < 0x300)
		return 1;
	if (is_in(none, sizeof none / sizeof none[0], rune))
		return 0;
	return is_in(wide, sizeof wide / sizeof wide[0], rune) ? 2 : 1;
}

uint32_t rune_decode(const char *from, size_t left, size_t *bytes)
{
	const unsigned char *text = (const unsigned char *)from;
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	*bytes = 1;
	if (text[0] < 0x80)
		return text[0];
	size_t n = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
	if (text[0] < 0xC2 || text[0] > 0xF4 || n > left)
		return NOT_A_RUNE;
	uint32_t rune = text[0] & (0x7Fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xC0) != 0x80)
			return NOT_A_RUNE;
		rune = rune << 6 | (text[i] & 0x3F);
	}
	if (rune < smallest[n] || rune > 0x10FFFF || (rune >= 0xD800 && rune <= 0xDFFF))
		return NOT_A_RUNE;
	*bytes = n;
	return rune;
}

int hec_display_width(const char *text, size_t length)
{
	int columns = 0;
	for (size_t i = 0, bytes; i < length; i += bytes) {
		if (text[i] == '\x1b') {
			const char *end = memchr(text + i, 'm', length - i);
			bytes = end ? (size_t)(end - text) - i + 1 : length - i;
			continue;
		}
		uint32_t rune = rune_decode(text + i, length - i, &bytes);
		columns += rune == NOT_A_RUNE ? 1 : rune_width(rune);
	}
	return columns;
}

bool rune_steers_terminal(uint32_t rune)
{
	return rune == NOT_A_RUNE || rune < 0x20 || (rune >= 0x7F && rune < 0xA0) ||
	       rune == 0x061C || rune == 0x200E || rune == 0x200F ||
	       (rune >= 0x2028 && rune <= 0x202E) || (rune >= 0x2066 && rune <= 0x206F) ||
	       (rune >= 0xFFF9 && rune <= 0xFFFB) || (rune >= 0xE0000 && rune <= 0xE007F);
}

int hec_text_clean(const char *text, int columns, char *out, size_t size)
{
	static const char unknown[] = "\xEF\xBF\xBD", more[] = "…";
	size_t length = strlen(text), used = 0, cut = 0;
	int width = 0, cut_width = 0; /* the longest piece that leaves room for … */
	for (size_t i = 0, bytes; i < length; i += bytes) {
		uint32_t rune = rune_decode(text + i, length - i, &bytes);
		bool bad = rune_steers_terminal(rune);
		int w = bad ? 1 : rune_width(rune);
		size_t n = bad ? sizeof unknown - 1 : bytes;
		if (width + w > columns || used + n + sizeof more > size) {
			memcpy(out + cut, more, sizeof more);
			return cut_width + 1;
		}
		memcpy(out + used, bad ? unknown : text + i, n);
		used += n;
		width += w;
		if (width < columns) {
			cut = used;
			cut_width = width;
		}
	}
	out[used] = '\0';
	return width;
}
