/* tokens.h — a list of tokens with where they lie in the buffer. */
#ifndef TEXT_TOKENIZER_TOKENS_H
#define TEXT_TOKENIZER_TOKENS_H

#include "base/status.h"
#include "base/grow.h"

typedef struct token {
	int32_t id;          /* ~id where it was found in the text as an added token */
	uint32_t begin, end; /* bytes of the buffer */
} token;

typedef struct tokens {
	token *at;
	size_t n, capacity;
} tokens;

static inline hec_status tokens_add(tokens *t, int32_t id, size_t begin, size_t end)
{
	HEC_TRY(GROW(&t->at, &t->capacity, t->n + 1));
	t->at[t->n++] = (token){id, (uint32_t)begin, (uint32_t)end};
	return HEC_OK;
}

#endif
