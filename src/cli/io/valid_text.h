/* valid_text.h — UTF-8 of any bytes. */
#ifndef CLI_IO_VALID_TEXT_H
#define CLI_IO_VALID_TEXT_H

#include <stddef.h>

/* A copy in which each ill-formed sequence is U+FFFD, as --lossy takes it; NUL bytes stay. To free; NULL:
 * no memory. */
char *valid_text(const char *text, size_t bytes, size_t *length);

#endif
