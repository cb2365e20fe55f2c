/* stage.h — a normalizer, pre-tokenizer or decoder of tokenizer.json, by its "type".
 *
 * Each kind is one row: how to read its object, and what it does. A new kind is a file (or a few
 * lines in one), a declaration below and an entry in the list of its sort in stage.c. */
#ifndef TEXT_TOKENIZER_STAGE_H
#define TEXT_TOKENIZER_STAGE_H

#include "format/json.h"
#include "base/memory.h"
#include "text/tokenizer/flow.h"
#include "text/tokenizer/strings.h"

typedef struct stage_kind {
	const char *type;
	hec_status (*load)(const json_scope *s, void **state); /* NULL: nothing to read */
	hec_status (*run)(const void *state, flow *f);         /* normalizer, pre-tokenizer */
	hec_status (*decode)(const void *state, strings *s);   /* decoder */
	void (*free)(void *state);                             /* NULL: mem_free() */
} stage_kind;

typedef struct stage {
	const stage_kind *kind;
	void *state;
} stage;

typedef struct stages {
	stage *at;
	size_t n, capacity;
	bool given; /* the file has one, be it an empty Sequence */
} stages;

typedef enum stage_sort { STAGE_NORMALIZER, STAGE_PRE_TOKENIZER, STAGE_DECODER } stage_sort;

/* Reads the member "normalizer", "pre_tokenizer" or "decoder"; a Sequence becomes its parts. A type
 * that is not known is HEC_ERR_UNSUPPORTED with its name and the list of those that are. */
hec_status stages_load(const json_scope *root, stage_sort sort, stages *out);
/* One more at the end; takes the state over, also on failure. */
hec_status stages_put(stages *s, const stage_kind *kind, void *state);
void stages_free(stages *s);
hec_status stages_run(const stages *s, flow *f);
hec_status stages_decode(const stages *s, strings *t);

/* Memory for a state, zeroed. */
hec_status stage_state(size_t bytes, void **out);

extern const stage_kind byte_level, metaspace;
extern const stage_kind split_pattern, digits, punctuation, whitespace, whitespace_split,
	bert_split, char_delimiter;
extern const stage_kind nfc, nfd, nfkc, nfkd, lowercase, strip_accents, strip, replace, prepend,
	nmt, bert_normalizer, byte_level_normalizer, precompiled;
extern const stage_kind byte_level_decoder, metaspace_decoder, wordpiece_decoder, byte_fallback,
	fuse, strip_decoder, replace_decoder, bpe_decoder;

#endif
