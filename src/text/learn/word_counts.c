/* word_counts.c — an open table of hashes over words that lie in one block of memory. */
#include "text/learn/word_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/memory.h"

#define WORDS_MOST ((size_t)1 << 31)

void word_counts_free(word_counts *c)
{
	mem_free(c->text);
	mem_free(c->words);
	mem_free(c->slots);
	memset(c, 0, sizeof *c);
}

void word_counts_clear(word_counts *c)
{
	/* Each word lies in a run of taken slots from where its hash points to. */
	for (size_t i = 0; i < c->n; i++)
		for (size_t at = c->words[i].hash & (c->slot_count - 1); c->slots[at];
		     at = (at + 1) & (c->slot_count - 1))
			c->slots[at] = 0;
	c->n = c->used = 0;
}

static hec_status grow_slots(word_counts *c)
{
	size_t count = c->slot_count ? 2 * c->slot_count : 4096;
	uint32_t *slots = c->n < WORDS_MOST ? mem_zeros(count, sizeof *slots) : NULL;
	if (!slots)
		return fail(HEC_ERR_MEMORY, "no memory to count %zu different words", c->n + 1);
	for (size_t i = 0; i < c->n; i++) {
		size_t at = c->words[i].hash & (count - 1);
		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = (uint32_t)i + 1;
	}
	mem_free(c->slots);
	c->slots = slots;
	c->slot_count = count;
	return HEC_OK;
}

static hec_status add_word(word_counts *c, const char *word, size_t bytes, uint32_t hash,
                           int64_t count, size_t *number)
{
	if (bytes > UINT32_MAX)
		return fail(HEC_ERR_MEMORY, "a word of %zu bytes is too long", bytes);
	if (2 * (c->n + 1) > c->slot_count)
		HEC_TRY(grow_slots(c));
	size_t mask = c->slot_count - 1, at = hash & mask;
	for (; c->slots[at]; at = (at + 1) & mask) {
		struct word_count *w = &c->words[c->slots[at] - 1];
		if (w->hash == hash && w->bytes == bytes &&
		    memcmp(c->text + w->at, word, bytes) == 0) {
			w->count += count;
			*number = c->slots[at] - 1;
			return HEC_OK;
		}
	}
	HEC_TRY(GROW(&c->text, &c->text_capacity, c->used + bytes));
	HEC_TRY(GROW(&c->words, &c->capacity, c->n + 1));
	memcpy(c->text + c->used, word, bytes);
	c->words[c->n++] = (struct word_count){c->used, (uint32_t)bytes, hash, count};
	c->used += bytes;
	c->slots[at] = (uint32_t)c->n;
	*number = c->n - 1;
	return HEC_OK;
}

hec_status word_counts_add(word_counts *c, const char *word, size_t bytes, int64_t count,
                           size_t *number)
{
	uint64_t hash = hash_bytes(hash_seed(), word, bytes);
	size_t ignored;
	return add_word(c, word, bytes, (uint32_t)(hash ^ hash >> 32), count,
	                number ? number : &ignored);
}

hec_status word_counts_merge(word_counts *to, const word_counts *from)
{
	size_t ignored;
	for (size_t i = 0; i < from->n; i++) {
		const struct word_count *w = &from->words[i];
		HEC_TRY(add_word(to, from->text + w->at, w->bytes, w->hash, w->count, &ignored));
	}
	return HEC_OK;
}
