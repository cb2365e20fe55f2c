/* language.h — tokens that name a language: models of many put one before a text or behind it. */
#ifndef TEXT_VOCAB_LANGUAGE_H
#define TEXT_VOCAB_LANGUAGE_H

#include <hecate/tokenizer.h>

/* Whether a token names one, as multilingual models write them: "de_DE", "deu_Latn", "__de__". */
bool is_language(const char *token);
/* Its id, by the token itself or "de" for "__de__"; an error where the tokenizer has none. */
hec_status language_id(const hec_tokenizer *tokenizer, const char *name, int32_t *out);
/* Where the tokenizer put one, before the text or behind it; e->n: nowhere. */
size_t language_at(const hec_tokenizer *tokenizer, const hec_encoding *e);
/* The same; HEC_ERR_UNSUPPORTED: nowhere. */
hec_status language_place(const hec_tokenizer *tokenizer, const hec_encoding *e, size_t *at);

#endif
