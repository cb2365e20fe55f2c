/* properties.h — sets of characters by the names they have in patterns: \p{…}, [:…:], \w and the like.
 *
 * They mean what they mean to the pinned `tokenizers`, whose Unicode is newer than that of most PCRE2s:
 * a set is what PCRE2 has by that name (Unicode 14 or later), with some characters and without others. */
#ifndef TEXT_UNICODE_PROPERTIES_H
#define TEXT_UNICODE_PROPERTIES_H

#include <stdbool.h>

#include "base/status.h"

#define PROPERTY_NAME 64
#define PROPERTY_RANGES 4096

typedef struct property {
	/* All three as they are written inside of PCRE2's [ ]. */
	char known[2 * PROPERTY_NAME];
	char more[PROPERTY_RANGES];
	char less[PROPERTY_RANGES]; /* of what is known; empty for most */
	bool others;                /* all characters but these are meant */
} property;

typedef enum property_place {
	PROPERTY_ALONE,
	PROPERTY_IN_CLASS,
	PROPERTY_BRACKETS, /* the name of a [:…:] */
} property_place;

/* The set that a name of n bytes means there; *found is false where the name is not known here. */
hec_status property_find(const char *name, size_t n, property_place place, property *out,
                         bool *found);

#endif
