/* quote.h — words of a foreign file in a message: short, and unable to steer a terminal. */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include <stddef.h>

#define QUOTE_TEXT 160

/* The first bytes of text, as many as fit, into out; what follows is cut at a whole character and
 * said by "…". Control characters, those that turn the direction of writing, and bytes that are no
 * UTF-8 become '?'. Returns out. */
const char *quote_bytes(const char *text, size_t length, char out[QUOTE_TEXT]);
const char *quote(const char *text, char out[QUOTE_TEXT]);

#endif
