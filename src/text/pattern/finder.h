/* finder.h — which of many strings lie in a text: at each place the longest that begins there. */
#ifndef TEXT_PATTERN_FINDER_H
#define TEXT_PATTERN_FINDER_H

#include "text/pattern/byte_tree.h"
#include "text/tokenizer/flow.h"

typedef struct finder {
	byte_tree tree; /* of the strings, read from their ends */
	uint32_t *
		fewer; /* [nodes] of the same bytes less some at the end; the deepest that there is */
	uint32_t *longest; /* [nodes] of the longest string that these bytes begin with; 0: none */
	uint32_t *depth;   /* [nodes] */
} finder;

hec_status finder_init(finder *f, size_t bytes); /* of all strings together, at most */
void finder_free(finder *f);
/* n ≥ 1. A string that is there already gets the new value. */
void finder_add(finder *f, const char *string, size_t n, int32_t value);
hec_status finder_finish(finder *f); /* once all are there */

/* Adds, from the end of the text to its begin, the longest string at each place where one begins, with its
 * value as id. */
hec_status finder_find(const finder *f, const char *text, size_t begin, size_t end, pieces *found);

#endif
