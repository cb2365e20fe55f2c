/* pairs.c — see pairs.h. Ids are never negative, so no key is PAIR_FREE. */
#include "text/model/pairs.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"

hec_status pairs_init(pairs *p, size_t expected)
{
	size_t count = 16, bytes;
	while (count / 2 < expected && count < SIZE_MAX / 4)
		count *= 2;
	p->seed = hash_seed();
	p->slots = size_mul(count, sizeof *p->slots, &bytes) ? mem_alloc(bytes) : NULL;
	if (!p->slots)
		return fail(HEC_ERR_MEMORY, "no memory for %zu merges", expected);
	p->count = count;
	for (size_t i = 0; i < count; i++)
		p->slots[i].key = PAIR_FREE;
	return HEC_OK;
}

void pairs_free(pairs *p)
{
	mem_free(p->slots);
	p->slots = NULL;
	p->count = 0;
}

void pairs_set(pairs *p, int32_t left, int32_t right, pair_value value)
{
	uint64_t key = pair_key(left, right);
	size_t mask = p->count - 1, at = hash_word(p->seed, key) & mask;
	while (p->slots[at].key != PAIR_FREE && p->slots[at].key != key)
		at = (at + 1) & mask;
	p->slots[at].key = key;
	p->slots[at].value = value;
}
