/* valid_text.h — UTF-8 of any bytes. */
#ifndef CLI_IO_VALID_TEXT_H
#define CLI_IO_VALID_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* How many bytes at s (of `bytes`, at least one) belong together, and whether they are a character: where they are not,
 * as many as could begin one. */
size_t text_sequence(const char *s, size_t bytes, bool *good);

/* A copy in which each ill-formed sequence is U+FFFD, as --lossy takes it; NUL bytes stay. To free; NULL:
 * no memory. */
char *valid_text(const char *text, size_t bytes, size_t *length);

#endif
