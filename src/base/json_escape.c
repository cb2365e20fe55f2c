/* json_escape.c — see json_escape.h. */
#include "base/json_escape.h"

#include <stdio.h>

size_t json_escape(uint32_t rune, char out[JSON_ESCAPE])
{
	static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	for (size_t i = 0; named[i]; i++)
		if (rune == (unsigned char)named[i])
			return (size_t)snprintf(out, JSON_ESCAPE, "\\%c", letters[i]);
	if (rune <= 0xFFFF)
		return (size_t)snprintf(out, JSON_ESCAPE, "\\u%04x", (unsigned)rune);
	return (size_t)snprintf(out, JSON_ESCAPE, "\\u%04x\\u%04x",
	                        (unsigned)(0xD7C0 + (rune >> 10)),
	                        (unsigned)(0xDC00 | (rune & 0x3FF)));
}
