/* quote.h — words of a foreign file in a message: short, and unable to steer a terminal. */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include <stddef.h>

#define QUOTE_TEXT 160

/* The first bytes of text, as many as fit, into out; what follows is cut at a whole character and
 * said by "…". What could steer a terminal (base/width.h) becomes '?'. out may be text itself: it never
 * grows. */
void clean_bytes(const char *text, size_t length, char *out, size_t size);

/* The same, short enough to leave room for the rest of a message. Returns out. A message needs it only for
 * that: fail() cleans the whole of it. */
const char *quote_bytes(const char *text, size_t length, char out[QUOTE_TEXT]);
const char *quote(const char *text, char out[QUOTE_TEXT]);

#endif
