/* properties.h — sets of characters by their names in patterns: the names of \p{…}, and "word", "digit" and "space" for \w, \d
 * and \s.
 *
 * A set means what it means to the pinned `tokenizers`, whose Unicode is newer than PCRE2's (14 or later): it is
 * PCRE2's set of that name, with some characters added and others removed. */
#ifndef TEXT_UNICODE_PROPERTIES_H
#define TEXT_UNICODE_PROPERTIES_H

#include <stdbool.h>

#include "base/status.h"

#define PROPERTY_NAME 64
#define PROPERTY_RANGES 4096

typedef struct property {
	/* All three as they are written inside of PCRE2's [ ]. */
	char known[2 * PROPERTY_NAME]; /* PCRE2's set */
	char more[PROPERTY_RANGES];    /* added */
	char less[PROPERTY_RANGES];    /* removed; empty for most sets */
} property;

/* The set with a name of n bytes; *found is false where there is none. In a class some sets are smaller. */
hec_status property_find(const char *name, size_t n, bool in_class, property *out, bool *found);

#endif
