/* pairs.h — a table from a pair of ids to two numbers. */
#ifndef TEXT_MODEL_PAIRS_H
#define TEXT_MODEL_PAIRS_H

#include "base/status.h"
#include "base/hash.h"

typedef struct pair_value {
	uint32_t rank; /* merges of lower rank come first */
	int32_t id;    /* what the two become */
} pair_value;

typedef struct pairs {
	struct pair_slot {
		uint64_t key; /* left << 32 | right; PAIR_FREE */
		pair_value value;
	} * slots;
	size_t count; /* of slots, a power of two; at least twice the pairs */
	uint64_t seed;
} pairs;

#define PAIR_FREE UINT64_MAX

static inline uint64_t pair_key(int32_t left, int32_t right)
{
	return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

hec_status pairs_init(pairs *p, size_t expected); /* no more may be added */
void pairs_free(pairs *p);
void pairs_set(pairs *p, int32_t left, int32_t right, pair_value value); /* the last one counts */

static inline const pair_value *pairs_find(const pairs *p, int32_t left, int32_t right)
{
	uint64_t key = pair_key(left, right);
	size_t mask = p->count - 1;
	for (size_t at = hash_word(p->seed, key) & mask;; at = (at + 1) & mask) {
		if (p->slots[at].key == key)
			return &p->slots[at].value;
		if (p->slots[at].key == PAIR_FREE)
			return NULL;
	}
}

#endif
