/* target_tokenizer.h — a Marian directory of SentencePiece models has one for sources and one for targets. */
#ifndef CLI_MODEL_TARGET_TOKENIZER_H
#define CLI_MODEL_TARGET_TOKENIZER_H

#include <hecate/tokenizer.h>

/* *out NULL: one tokenizer is for both. */
hec_status target_tokenizer_load(const char *dir, hec_tokenizer **out);

#endif
