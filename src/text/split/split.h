/* split.h — cutting pieces where something is found, and what becomes of what was found. */
#ifndef TEXT_SPLIT_SPLIT_H
#define TEXT_SPLIT_SPLIT_H

#include "format/json.h"
#include "text/tokenizer/flow.h"

typedef enum split_behavior {
	SPLIT_REMOVED,
	SPLIT_ISOLATED,
	SPLIT_WITH_PREVIOUS,
	SPLIT_WITH_NEXT,
	SPLIT_CONTIGUOUS
} split_behavior;

/* The member "behavior". */
hec_status split_load_behavior(const json_scope *s, split_behavior *out);

/* Says what is found in the piece, in order, with split_found. */
typedef hec_status split_find_fn(const void *state, flow *f, piece p);
hec_status split_found(flow *f, size_t begin, size_t end);

typedef struct splitter {
	split_find_fn *find;
	const void *state;
	split_behavior behavior;
	bool invert; /* what is not found counts as found */
} splitter;

hec_status split_run(const splitter *s, flow *f);

#endif
