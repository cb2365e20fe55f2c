/* options.h — option structs that start with their size, so that a program built against an older
 * header keeps working with a newer library. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/status.h"

/* Copies the struct at `from` (NULL: nothing) over the defaults at `to`, of which size bytes are
 * known here. A shorter struct leaves the later defaults; a longer one is accepted where what this
 * library does not know is zero. `to` keeps its own size field. A new field must make its struct
 * larger: in the padding at the end an older program leaves anything. */
hec_status options_take(const char *name, void *to, size_t size, const void *from);

/* The other way round: fills in the struct of a caller to whom it has `room` bytes. What is not known here becomes 0. */
void options_give(void *to, size_t room, const void *from, size_t size);

#endif
