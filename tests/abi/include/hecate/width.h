/* width.h — how many columns of a terminal a text takes, and texts that are safe to print there. */
#ifndef HECATE_WIDTH_H
#define HECATE_WIDTH_H

#include <hecate/api.h>

HEC_BEGIN

/* Columns of `length` bytes of UTF-8: 2 for wide characters (CJK, emoji), 0 for marks that join the
 * one before. Colour sequences take none; a byte that is not UTF-8 is 1. */
HEC_API int hec_display_width(const char *text, size_t length);

/* Copies text so that it cannot steer a terminal: control characters (line ends and tabs, too), line
 * separators, marks and overrides of direction, tags and bytes that are not UTF-8 become U+FFFD. This costs
 * right texts their marks of direction, and three flags that are written with tags. At most `columns` wide,
 * with … at the end where it was cut. Always ends with NUL (size is at least 4); returns its width. */
HEC_API int hec_text_clean(const char *text, int columns, char *out, size_t size);

HEC_END

#endif
