/* width.h — how many columns of a terminal a text takes, and texts that are safe to print there. */
#ifndef CLI_WIDTH_H
#define CLI_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* 2 for wide characters (CJK, emoji), 0 for marks that join the one before, else 1. */
int rune_width(uint32_t rune);

/* Columns of `length` bytes of UTF-8. Colour sequences take none; a byte that is not UTF-8 is 1. */
int display_width(const char *text, size_t length);

/* Copies text so that it cannot steer a terminal: control characters, direction marks and bytes that
 * are not UTF-8 become U+FFFD. At most `columns` wide, with … at the end where it was cut. Always
 * ends with NUL; returns its width. */
int text_clean(const char *text, int columns, char *out, size_t size);

#endif
