/* nearest.h — the name that somebody may have meant. */
#ifndef CLI_COMMAND_NEAREST_H
#define CLI_COMMAND_NEAREST_H

#include <stddef.h>

/* Of the names the one that fewest letters part from the word (changed, missing, too many, or two exchanged), or
 * which the word begins; NULL: none is near. */
const char *nearest_name(const char *word, const char *const *names, size_t n);

#endif
