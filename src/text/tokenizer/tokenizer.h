/* tokenizer.h — what a tokenizer is made of, in the order in which text goes through it. */
#ifndef TEXT_TOKENIZER_TOKENIZER_H
#define TEXT_TOKENIZER_TOKENIZER_H

#include <hecate/tokenizer.h>

#include "text/tokenizer/added.h"
#include "text/model/model.h"
#include "text/tokenizer/post.h"
#include "text/tokenizer/stage.h"
#include "text/tokenizer/truncate.h"

#define TOKENIZER_ROLES 7
extern const char *const tokenizer_roles[TOKENIZER_ROLES]; /* "pad", "eos", … */

struct hec_tokenizer {
	uint64_t serial; /* no other tokenizer of this process has it: for caches */
	added added;
	stages normalizers, pre_tokenizers;
	vocab vocab;
	model model;
	post post;
	stages decoders;
	limits limits;
	int32_t role[TOKENIZER_ROLES]; /* or VOCAB_NONE */
	char *json, *config;           /* the files, as they were */
	size_t json_bytes, config_bytes;
	struct vocab_files *files; /* where there is no tokenizer.json; else NULL */
};

/* What encoding needs while it runs, kept by the caller. */
struct hec_encoding_work {
	flow flow;
	model_work model;
	tokens tokens;
	encoded part[2]; /* of the text and of the pair, before the post-processor */
	windows windows; /* of them */
	char *mended;    /* the text with U+FFFD in place of what is no UTF-8, and where it was */
	uint32_t *mended_from;
	size_t mended_capacity, mended_from_capacity;
};

#endif
