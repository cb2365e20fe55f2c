/* vocab.c — one block of text, an open table of hashes, and an array by id. */
#include "text/vocab/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/memory.h"

/* Holes between ids cost memory: an id may be this much larger than the tokens are many. */
#define HOLES_TIMES 8
#define HOLES_PLUS 65536
#define TOKENS_MOST ((size_t)1 << 28)

hec_status vocab_init(vocab *v, size_t expected)
{
	memset(v, 0, sizeof *v);
	v->seed = hash_seed();
	if (expected > TOKENS_MOST)
		return fail(HEC_ERR_FORMAT, "vocabulary: %zu tokens, at most %zu are taken",
		            expected, TOKENS_MOST);
	v->slot_count = 64;
	while (v->slot_count < 2 * expected)
		v->slot_count *= 2;
	v->slots = mem_zeros(v->slot_count, sizeof *v->slots);
	if (!v->slots)
		return fail(HEC_ERR_MEMORY, "vocabulary: no memory for %zu tokens", expected);
	return HEC_OK;
}

void vocab_free(vocab *v)
{
	mem_free(v->text);
	mem_free(v->entries);
	mem_free(v->by_id);
	mem_free(v->slots);
	memset(v, 0, sizeof *v);
}

static uint32_t *find_slot(const vocab *v, const char *token, size_t bytes)
{
	size_t mask = v->slot_count - 1;
	size_t at = hash_bytes(v->seed, token, bytes) & mask;
	for (; v->slots[at]; at = (at + 1) & mask) {
		const struct vocab_entry *e = &v->entries[v->slots[at] - 1];
		if (e->size == bytes && memcmp(v->text + e->at, token, bytes) == 0)
			break;
	}
	return &v->slots[at];
}

static hec_status grow_slots(vocab *v)
{
	size_t count = v->slot_count * 2;
	uint32_t *slots = mem_zeros(count, sizeof *slots);
	if (!slots)
		return fail(HEC_ERR_MEMORY, "vocabulary: no memory for %zu tokens", v->n + 1);
	mem_free(v->slots);
	v->slots = slots;
	v->slot_count = count;
	for (size_t i = 0; i < v->n; i++)
		*find_slot(v, v->text + v->entries[i].at, v->entries[i].size) = (uint32_t)i + 1;
	return HEC_OK;
}

static hec_status make_room(vocab *v, size_t bytes, int64_t id)
{
	if (id < 0 || (uint64_t)id > HOLES_TIMES * (uint64_t)(v->slot_count / 2) + HOLES_PLUS)
		return fail(HEC_ERR_FORMAT,
		            "vocabulary: id %lld in a vocabulary of about %zu tokens",
		            (long long)id, v->slot_count / 2);
	if (bytes > UINT32_MAX / 2 || v->n >= TOKENS_MOST)
		return fail(HEC_ERR_FORMAT, "vocabulary: token %zu has %zu bytes", v->n, bytes);
	if (2 * (v->n + 1) > v->slot_count)
		HEC_TRY(grow_slots(v));
	HEC_TRY(GROW(&v->text, &v->text_capacity, v->used + bytes + 1));
	HEC_TRY(GROW(&v->entries, &v->capacity, v->n + 1));
	HEC_TRY(GROW(&v->by_id, &v->by_id_capacity, (size_t)id + 1));
	return HEC_OK;
}

hec_status vocab_add(vocab *v, const char *token, size_t bytes, int64_t id)
{
	HEC_TRY(make_room(v, bytes, id));
	while (v->ids <= (size_t)id)
		v->by_id[v->ids++] = VOCAB_NONE;
	uint32_t *slot = find_slot(v, token, bytes);
	if (!*slot) {
		struct vocab_entry *e = &v->entries[v->n++];
		e->at = v->used;
		e->size = (uint32_t)bytes;
		memcpy(v->text + v->used, token, bytes);
		v->text[v->used + bytes] = '\0';
		v->used += bytes + 1;
		*slot = (uint32_t)v->n;
	}
	v->entries[*slot - 1].id = (int32_t)id;
	v->by_id[id] = (int32_t)(*slot - 1);
	return HEC_OK;
}

int32_t vocab_find(const vocab *v, const char *token, size_t bytes)
{
	uint32_t slot = *find_slot(v, token, bytes);
	return slot ? v->entries[slot - 1].id : VOCAB_NONE;
}

const char *vocab_token(const vocab *v, int32_t id, size_t *bytes)
{
	if (id < 0 || (size_t)id >= v->ids || v->by_id[id] == VOCAB_NONE)
		return NULL;
	const struct vocab_entry *e = &v->entries[v->by_id[id]];
	if (bytes)
		*bytes = e->size;
	return v->text + e->at;
}
