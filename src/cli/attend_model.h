/* attend_model.h — what `hecate attend` looks at: a model, a text (and a target) through it, and the
 * weights that came of it. */
#ifndef CLI_ATTEND_MODEL_H
#define CLI_ATTEND_MODEL_H

#include <hecate/model.h>
#include <hecate/tokenizer.h>
#include <hecate/translate.h>
#include <hecate/view.h>

/* The tokens of one axis: as the vocabulary writes them, and as people read them. */
typedef struct axis {
	int32_t *ids;
	const char **tokens; /* the tokenizer's */
	char **labels;       /* [count] each to be freed */
	bool *sink;          /* special ones; of causal attention also the first */
	int64_t count;
} axis;

typedef struct attend_choice {
	hec_view_kind kind;
	int64_t layers, heads; /* that there are of this kind */
} attend_choice;

typedef struct attended {
	attend_choice choice;
	axis query, key;
	float *weights; /* [layers][heads][queries][keys] */
} attended;

typedef struct attend_request {
	hec_ctx *ctx;
	hec_translator *translator; /* of the model, where it writes its own target; NULL: none */
	const hec_model *model;
	const hec_tokenizer *tokenizer;
	const char *text, *target; /* target NULL: none */
	attend_choice choice;
} attend_request;

/* The kind that is asked for by name (NULL: cross-attention where there is any). False: the model has
 * none, and error says so. */
bool attend_choose(const hec_model *model, const char *asked, attend_choice *out, char *error,
                   size_t error_size);

/* Where the request itself is wrong for the model, *usage is set. */
hec_status attend_compute(const attend_request *r, attended *out, bool *usage, char *error,
                          size_t error_size);
void attended_free(attended *a); /* takes an empty one */

/* A token of a byte-level vocabulary ("Ġthe", "Ã¼") as the text it stands for (" the", "ü"); others as
 * they are. For the caller to free(); NULL: no memory. */
char *token_label(const char *token, bool byte_level);
bool tokenizer_is_byte_level(const hec_tokenizer *tokenizer);

#endif
