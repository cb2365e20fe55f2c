/* added.h — tokens that are found in the text itself, before any model sees it: "</s>", "<pad>". */
#ifndef TEXT_ADDED_H
#define TEXT_ADDED_H

#include "format/json.h"
#include "text/byte_tree.h"
#include "text/flow.h"
#include "text/stage.h"
#include "text/vocab.h"

typedef struct added_token {
	int32_t id;
	uint32_t place; /* in the file */
	bool single_word, left_strip, right_strip, normalized, special;
	bool again; /* it came before in the file, with another id perhaps */
} added_token;

typedef struct added {
	added_token *at;
	size_t n, capacity;
	size_t fresh; /* that the model does not have */
	vocab names;
	byte_tree given, normal; /* searched in the text as given, and as normalized */
} added;

/* Reads "added_tokens". Ids are those that `tokenizers` gives, whatever the file says: a token that the
 * model has keeps the model's; the others follow the `tokens` that the model has, in their order. */
hec_status added_load(const json_scope *root, const vocab *model, size_t tokens, added *a);
/* After the normalizers are read: builds the trees. */
hec_status added_prepare(added *a, const stages *normalizers);
void added_free(added *a);

const added_token *added_by_id(const added *a, int32_t id); /* or NULL */

/* Cuts the tokens of the tree out of the pieces. */
hec_status added_cut(const added *a, const byte_tree *tree, flow *f);

#endif
