/* model.h — what `hecate attend` and --attend look at: a model, what went through it, and the weights
 * that came of it. */
#ifndef CLI_ATTEND_MODEL_H
#define CLI_ATTEND_MODEL_H

#include <hecate/generate.h>
#include <hecate/model.h>
#include <hecate/tokenizer.h>
#include <hecate/translate.h>
#include <hecate/view.h>

/* The tokens of one axis: as the vocabulary writes them, and as people read them. */
typedef struct axis {
	const char **tokens; /* the tokenizer's, or the labels */
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
	hec_span *
		spans; /* [keys] bytes of the text, where keys are its tokens; NULL: they are not */
} attended;

/* Where it is said what is wrong. */
typedef struct attend_error {
	char *text;
	size_t size;
} attend_error;

hec_status attend_say(const attend_error *e, hec_status status, const char *message); /* status */
hec_status attend_library(const attend_error *e,
                          hec_status status); /* what the library says of it */
hec_status attend_no_memory(const attend_error *e);

/* The kind that is asked for by name (NULL: cross-attention where there is any). False: the model has
 * none, and error says so. */
bool attend_choose(const hec_model *model, const char *asked, attend_choice *out, char *error,
                   size_t error_size);

/* One pass as it ran. */
typedef struct attend_pass {
	hec_ctx *ctx;
	const hec_model *model;
	const hec_tokenizer *tokenizer; /* NULL: ids are their own names */
	const int32_t *ids;    /* [n] what the encoder reads; a decoder alone: with what it wrote */
	const int32_t *types;  /* [n]; NULL: 0 */
	const hec_span *spans; /* [n] of ids in the text; NULL: not known */
	int64_t n;
	const int32_t
		*begin; /* [begins] what a decoder behind an encoder begins with; NULL: start_id */
	int64_t begins;
	const int32_t *written; /* [T] and what it writes then */
	bool given; /* that is a text it reads, not one of its own: it may begin with the last of it */
	int64_t T;
	const hec_tensor *features; /* [1, bands, frames] in place of ids; NULL: none */
	struct {
		double begin;    /* of the features, in seconds */
		double end;      /* of the sound: keys after it are left out */
		double position; /* seconds of one */
	} sound;
} attend_pass;

hec_status attend_pass_run(const attend_pass *p, const attend_choice *choice, attended *out,
                           char *error, size_t error_size);

typedef struct attend_request {
	hec_ctx *ctx;
	hec_translator *translator; /* of the model, where it writes its own target; NULL: none */
	hec_generator *generator;   /* the same for a decoder alone */
	int64_t write;              /* tokens that a decoder alone writes on; 0: none */
	bool lossy;                 /* invalid UTF-8 counts as U+FFFD; else it is an error */
	const hec_model *model;
	const hec_tokenizer *tokenizer;
	const hec_tokenizer *target_tokenizer; /* NULL: the same */
	const char *text, *target;             /* target NULL: none */
	attend_choice choice;
} attend_request;

/* Where the request itself is wrong for the model, *usage is set. */
hec_status attend_compute(const attend_request *r, attended *out, bool *usage, char *error,
                          size_t error_size);
void attended_free(attended *a); /* takes an empty one */

/* Makes of self-attention what one token sees: down every head, across the tokens. which: "it", or "it:2"
 * for the second one in the text, or its number among the tokens, "#7". Of a word of several tokens, their
 * mean. False: error says what is wrong. */
bool attend_pick(attended *a, const char *text, const char *which, char *error, size_t error_size);

/* A token of a byte-level vocabulary ("Ġthe", "Ã¼") as the text it stands for (" the", "ü"); others as
 * they are. For the caller to free(); NULL: no memory. */
char *token_label(const char *token, bool byte_level);
bool tokenizer_is_byte_level(const hec_tokenizer *tokenizer);

#endif
