/* spm_normalizer.h — how SentencePiece itself normalizes a text, as a stage of a tokenizer. */
#ifndef TEXT_NORMALIZE_SPM_NORMALIZER_H
#define TEXT_NORMALIZE_SPM_NORMALIZER_H

#include "format/sentencepiece.h"
#include "text/tokenizer/stage.h"

extern const stage_kind spm_normalizer;

/* ids: of the pieces in the tokenizer's vocabulary; NULL: the same. */
hec_status spm_normalizer_make(const char *file, const sp_model *m, const int32_t *ids,
                               void **state);

#endif
