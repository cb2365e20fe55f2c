/* vocab.h — tokens by id and ids by token. */
#ifndef TEXT_VOCAB_VOCAB_H
#define TEXT_VOCAB_VOCAB_H

#include "base/status.h"

#define VOCAB_NONE (-1)

typedef struct vocab {
	char *text; /* the tokens one after the other, each with a zero byte behind it */
	size_t used, text_capacity;
	struct vocab_entry {
		size_t at;     /* in text */
		uint32_t size; /* bytes */
		int32_t id;
	} * entries; /* in the order in which they were added */
	size_t n, capacity;
	int32_t *by_id; /* entry of an id, or VOCAB_NONE */
	size_t ids, by_id_capacity;
	uint32_t *slots; /* entry + 1 by hash; 0: free */
	size_t slot_count;
	uint64_t seed;
} vocab;

hec_status vocab_init(vocab *v, size_t expected);
void vocab_free(vocab *v);

/* A token that is there already gets the new id as well: the last one counts, both ways. Ids may not
 * be much larger than the number of tokens in the file: it is said with `expected`. */
hec_status vocab_add(vocab *v, const char *token, size_t bytes, int64_t id);

int32_t vocab_find(const vocab *v, const char *token, size_t bytes); /* or VOCAB_NONE */
/* The token of an id, with a zero byte behind it; NULL: there is none. */
const char *vocab_token(const vocab *v, int32_t id, size_t *bytes);

#endif
