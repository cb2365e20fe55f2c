/* added.h — tokens that are found in the text itself, before any model sees it: "</s>", "<pad>". */
#ifndef TEXT_TOKENIZER_ADDED_H
#define TEXT_TOKENIZER_ADDED_H

#include "format/json.h"
#include "text/pattern/finder.h"
#include "text/tokenizer/flow.h"
#include "text/tokenizer/stage.h"
#include "text/vocab/vocab.h"

typedef struct added_token {
	int32_t id;
	uint32_t place; /* in the file */
	bool single_word, left_strip, right_strip, normalized, special;
	size_t written; /* its name is there in normal_names, and 1 more; 0: as the file has it */
	bool again;     /* it came before in the file, with another id perhaps */
} added_token;

typedef struct added {
	added_token *at;
	size_t n, capacity;
	size_t fresh; /* that the model does not have */
	vocab names;
	/* As they stand in normalized text: `tokenizers` calls them so. Special ones keep the name that the
	 * file gives them, which templates and programs know them by. */
	char *normal_names;
	finder given, normal; /* searched in the text as given, and as normalized */
} added;

/* Reads "added_tokens". Ids are those that `tokenizers` gives, whatever the file says: a token that the
 * model has keeps the model's; the others follow the `tokens` that the model has, in their order. */
hec_status added_load(const json_scope *root, const vocab *model, size_t tokens, added *a);
/* After the normalizers are read: builds the finders. */
hec_status added_prepare(added *a, const stages *normalizers);
void added_free(added *a);

const added_token *added_by_id(const added *a, int32_t id); /* or NULL */
const char *added_name(const added *a, int32_t id);         /* or NULL */

/* Cuts the tokens that it finds out of the pieces. Those that take white space in may lie over one another. */
hec_status added_cut(const added *a, const finder *finder, flow *f);

#endif
