/* family.h — what the tokenizers of Transformers are made of that have no tokenizer.json: a row
 * each. */
#ifndef TEXT_VOCAB_FAMILY_H
#define TEXT_VOCAB_FAMILY_H

#include "text/vocab/files.h"

typedef struct vocab_family {
	const char *name;        /* tokenizer_class, without "Fast" */
	const char *model_types; /* of config.json, a space around each */
	hec_status (*load)(vocab_files *v, const char *chosen);
	const char *roles[TOKENIZER_ROLES]; /* in the order of tokenizer_roles; NULL: none */
	/* What is put around: roles, tokens, A and B with their type. NULL: bos and eos where
	 * add_bos_token and add_eos_token say so. */
	const char *single, *pair;
	bool exact; /* pieces are cut as SentencePiece itself does */
} vocab_family;

extern const vocab_family *const vocab_families[]; /* NULL ends it */
extern const vocab_family vocab_plain;             /* SentencePiece and nothing else */

/* How each kind of file is read. */
hec_status vocab_load_bert(vocab_files *v, const char *chosen);
hec_status vocab_load_gpt2(vocab_files *v, const char *chosen);
hec_status vocab_load_roberta(vocab_files *v, const char *chosen);
hec_status vocab_load_qwen2(vocab_files *v, const char *chosen);
hec_status vocab_load_t5(vocab_files *v, const char *chosen);
hec_status vocab_load_xlm_roberta(vocab_files *v, const char *chosen);
hec_status vocab_load_llama(vocab_files *v, const char *chosen);
hec_status vocab_load_marian(vocab_files *v, const char *chosen);
hec_status vocab_load_plain(vocab_files *v, const char *chosen);

#endif
