/* truncate.h — windows of the tokens of a text, and what tokenizer.json says about lengths. */
#ifndef TEXT_TOKENIZER_TRUNCATE_H
#define TEXT_TOKENIZER_TRUNCATE_H

#include <hecate/tokenizer.h>

#include "format/json.h"
#include "text/tokenizer/post.h"

/* Which window of the parts an encoding holds. */
typedef struct windows {
	bool pair, special, left;
	size_t keep[2]; /* tokens of each text in a window */
	int moving;     /* the text that has more of them; −1: none, or both were cut */
	size_t step, index;
} windows;

/* How many special tokens are put around one text, and around these. */
hec_status windows_begin(const hec_encode_options *o, size_t single, size_t added,
                         const encoded part[2], bool pair, windows *w);
bool windows_more(const windows *w, const encoded part[2]); /* behind the one at index */
encoded windows_view(const windows *w, const encoded part[2], int which);

/* "truncation" and "padding" of tokenizer.json. */
typedef struct limits {
	bool truncates, pads;
	int64_t max_length, stride;
	hec_truncate truncate;
	bool truncate_left;
	hec_pad_options padding;
} limits;

hec_status limits_load(const json_scope *root, limits *l);

#endif
