/* charsmap.c — looking up in SentencePiece's table of replacements. */
#include "text/normalize/charsmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/unicode/utf8.h"

/* A hostile tree can be a ring, and a replacement as long as the file: each character would take as
 * long as the text. Real ones have a few dozen bytes. */
#define KEY_MOST 256
#define TEXT_MOST ((size_t)4096)

static uint32_t read32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

hec_status charsmap_take(const char *what, unsigned char *bytes, size_t n, charsmap *out)
{
	if (n < 4 || read32(bytes) > n - 4 || read32(bytes) % 4 != 0) {
		mem_free(bytes);
		return fail(HEC_ERR_FORMAT, "%s is not such a table", what);
	}
	*out = (charsmap){bytes, read32(bytes) / 4, n - 4 - read32(bytes)};
	return HEC_OK;
}

hec_status charsmap_copy(const char *what, const char *bytes, size_t n, charsmap *out)
{
	unsigned char *copy = mem_alloc(n + 1);
	if (!copy)
		return fail(HEC_ERR_MEMORY, "no memory for %zu bytes of replacements", n);
	memcpy(copy, bytes, n);
	return charsmap_take(what, copy, n, out);
}

void charsmap_free(charsmap *m)
{
	mem_free(m->bytes);
	memset(m, 0, sizeof *m);
}

static bool unit_at(const charsmap *m, size_t i, uint32_t *unit)
{
	if (i >= m->units)
		return false;
	*unit = read32(m->bytes + 4 + 4 * i);
	return true;
}

static size_t offset_of(uint32_t unit)
{
	return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

static const char *text_at(const charsmap *m, size_t at, size_t *length)
{
	if (at >= m->texts)
		return NULL;
	const char *text = (const char *)m->bytes + 4 + 4 * m->units + at;
	size_t most = m->texts - at < TEXT_MOST ? m->texts - at : TEXT_MOST;
	const char *zero = memchr(text, 0, most);
	if (!zero && most == TEXT_MOST)
		return NULL;
	*length = zero ? (size_t)(zero - text) : most;
	return utf8_valid(text, *length) == *length ? text : NULL;
}

const char *charsmap_find(const charsmap *m, charsmap_match match, const char *key, size_t n,
                          size_t *length, size_t *matched)
{
	uint32_t unit;
	size_t at = SIZE_MAX; /* of the replacement */
	if (!unit_at(m, 0, &unit))
		return NULL;
	size_t node = offset_of(unit);
	for (size_t i = 0; i < n && i < KEY_MOST && key[i]; i++) {
		unsigned char byte = (unsigned char)key[i];
		node ^= byte;
		if (!unit_at(m, node, &unit) || (unit & (1u << 31 | 0xffu)) != byte)
			break;
		node ^= offset_of(unit);
		if (!(unit >> 8 & 1u))
			continue;
		if (!unit_at(m, node, &unit))
			break;
		at = unit & 0x7fffffffu;
		*matched = i + 1;
		if (match == CHARSMAP_SHORTEST)
			break;
	}
	return at == SIZE_MAX ? NULL : text_at(m, at, length);
}
