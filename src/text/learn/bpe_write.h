/* bpe_write.h — a learned vocabulary as the two files of Hugging Face. */
#ifndef TEXT_LEARN_BPE_WRITE_H
#define TEXT_LEARN_BPE_WRITE_H

#include <hecate/tokenizer.h>

#include "text/learn/bpe_learn.h"

/* tokenizer.json as text for mem_free(). Special tokens are already in the vocabulary. */
hec_status bpe_write_json(const hec_bpe_train_options *o, const vocab *v, const bpe_merges *merges,
                          char **out, size_t *bytes);
/* tokenizer_config.json: which token has which role. */
hec_status bpe_write_config(const hec_bpe_train_options *o, char **out, size_t *bytes);

#endif
