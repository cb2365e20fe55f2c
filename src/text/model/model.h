/* model.h — what turns a word into tokens: BPE, WordPiece, Unigram, WordLevel, by its "type". */
#ifndef TEXT_MODEL_MODEL_H
#define TEXT_MODEL_MODEL_H

#include "format/json.h"
#include "text/model/bpe.h"
#include "text/tokenizer/flow.h"
#include "text/tokenizer/tokens.h"
#include "text/model/unigram.h"
#include "text/vocab/vocab.h"

typedef struct model_work {
	bpe_work bpe;
	char *name; /* WordPiece: a piece with its prefix */
	size_t name_capacity;
	unigram_place *places; /* Unigram */
	size_t places_capacity;
	uint32_t *cuts;
	size_t cuts_capacity;
} model_work;

typedef struct wordpiece {
	char *prefix;
	size_t prefix_bytes, longest; /* longest: bytes of a token of the vocabulary */
	int64_t most_chars;
	byte_tree tree; /* of the tokens, where the longest is long; else without nodes */
	int32_t unk;    /* or VOCAB_NONE */
} wordpiece;

struct model;

typedef struct model_kind {
	const char *type;
	hec_status (*load)(const json_scope *s, struct model *m);
	/* Adds the tokens of bytes begin … end − 1 of text. */
	hec_status (*encode)(const struct model *m, const char *text, size_t begin, size_t end,
	                     model_work *work, tokens *out);
	void (*free)(struct model *m);
} model_kind;

typedef struct model {
	const model_kind *kind; /* NULL: none */
	vocab *vocab;           /* the tokenizer's; load fills it */
	uint64_t serial;        /* the tokenizer's */
	bpe bpe;
	wordpiece wordpiece; /* WordLevel too: its unk */
	unigram unigram;
} model;

hec_status model_load(const json_scope *root, uint64_t serial, vocab *v, model *m);
void model_free(model *m);
void model_work_free(model_work *w);

/* Reads an object of token: id into the vocabulary. */
hec_status model_load_vocab(const json_scope *s, vocab *v);
/* The id of the token that the member names; VOCAB_NONE where it is missing or null. */
hec_status model_load_token(const json_scope *s, const char *key, const vocab *v, int32_t *id);

void unigram_find_bytes(model *m); /* <0x00> … of the vocabulary, for byte_fallback */

extern const model_kind model_bpe, model_wordpiece, model_word_level, model_unigram;

#endif
