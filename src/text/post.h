/* post.h — what comes after the model: special tokens around the texts, offsets without spaces. */
#ifndef TEXT_POST_H
#define TEXT_POST_H

#include <hecate/tokenizer.h>

#include "format/json.h"

/* Tokens of one text with offsets into it. */
typedef struct encoded {
	int32_t *ids;
	hec_span *offsets;
	size_t n, ids_capacity, offsets_capacity;
} encoded;

/* One step of a template: a text, or special tokens. */
typedef struct post_item {
	int32_t id;       /* −1: a text */
	int32_t sequence; /* of a text: 0 or 1 */
	int32_t type_id;
} post_item;

typedef struct post_template {
	post_item *at;
	size_t n, capacity;
	size_t texts; /* of them are texts */
} post_template;

typedef struct post {
	bool trim, trim_prefix; /* ByteLevel: spaces are no part of a token's place */
	bool has_template;
	bool plain_without_special; /* BertProcessing: types 0 and 1 where nothing is added */
	post_template single, pair;
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
/* Takes the spaces off the offsets of the tokens where the file asks for it. */
void post_trim(const post *p, const struct hec_tokenizer *t, const char *text, encoded *e);

#endif
