/* post.h — what comes after the model: special tokens around the texts, offsets without spaces. */
#ifndef TEXT_TOKENIZER_POST_H
#define TEXT_TOKENIZER_POST_H

#include <hecate/tokenizer.h>

#include "format/json.h"
#include "text/tokenizer/flow.h"
#include "text/tokenizer/tokens.h"

/* Tokens of one text with offsets into it. */
typedef struct encoded {
	int32_t *ids;
	hec_span *offsets;
	/* Where post_processors trim: the offsets of each token were a window to begin with it. */
	hec_span *first;
	size_t n, ids_capacity, offsets_capacity, first_capacity;
} encoded;

/* A token that is put in, or one of the texts. */
typedef struct post_item {
	int32_t id;       /* −1: a text */
	int32_t sequence; /* of a text: 0 or 1 */
	int32_t type_id;
	uint32_t part; /* of the list of parts; items of a part stand together */
	uint8_t first; /* bit k: nothing stood before it in its part when trim k came by */
} post_item;

/* What comes out: parts, one behind the other. */
typedef struct post_form {
	post_item *at;
	size_t n, capacity;
	size_t texts; /* of them are texts */
	uint32_t parts;
	bool undefined; /* a TemplateProcessing meets other than 1 or 2 parts */
} post_form;

#define POST_TRIMS_MOST 8 /* the bits of post_item.first */

typedef struct post {
	post_form form[2][2]; /* [one text, or a pair][without special tokens, or with them] */
	/* ByteLevel: spaces are no part of a token's place; each that says so trims again. */
	bool trim_prefix[POST_TRIMS_MOST];
	size_t trims;
} post;

struct hec_tokenizer;

hec_status post_load(const json_scope *root, const struct hec_tokenizer *t, post *p);
void post_free(post *p);

/* Puts the parts together into out. pair NULL: one text. */
hec_status post_run(const post *p, const encoded *text, const encoded *pair, bool special,
                    hec_encoding *out);
/* How many special tokens it puts around. */
size_t post_added(const post *p, bool pair);
/* Room for n tokens. */
hec_status post_room(hec_encoding *out, size_t n);
/* Which trims find this text first in its part. */
uint8_t post_first(const post *p, bool pair, bool special, int sequence);
/* Takes the spaces off the offsets of the tokens where the file asks for it. from: the same tokens, as they
 * lie in the buffer; first: of post_first. */
hec_status post_trim(const post *p, uint8_t first, const struct hec_tokenizer *t, const flow *f,
                     const tokens *from, encoded *e);

#endif
