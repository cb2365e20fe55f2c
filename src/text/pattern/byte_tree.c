/* byte_tree.c — edges in one open table of hashes: no node is larger for having few children. */
#include "text/pattern/byte_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

#define BYTES_MOST ((size_t)1 << 30)

hec_status byte_tree_init(byte_tree *t, size_t bytes)
{
	memset(t, 0, sizeof *t);
	if (bytes >= BYTES_MOST)
		return fail(HEC_ERR_FORMAT, "tokens of %zu bytes together, at most %zu are taken",
		            bytes, BYTES_MOST);
	t->seed = hash_seed();
	t->slot_count = 16;
	while (t->slot_count < 2 * (bytes + 1))
		t->slot_count *= 2;
	t->capacity = bytes + 1;
	t->slots = mem_zeros(t->slot_count, sizeof *t->slots);
	t->value = mem_alloc(t->capacity * sizeof *t->value);
	if (!t->slots || !t->value) {
		byte_tree_free(t);
		return fail(HEC_ERR_MEMORY, "no memory for tokens of %zu bytes", bytes);
	}
	t->value[BYTE_TREE_ROOT] = -1;
	t->nodes = 1;
	return HEC_OK;
}

void byte_tree_free(byte_tree *t)
{
	mem_free(t->slots);
	mem_free(t->value);
	memset(t, 0, sizeof *t);
}

static struct byte_tree_slot *find_slot(const byte_tree *t, uint32_t node, unsigned char byte)
{
	size_t mask = t->slot_count - 1;
	size_t at = hash_word(t->seed, (uint64_t)node << 8 | byte) & mask;
	while (t->slots[at].child && (t->slots[at].parent != node || t->slots[at].byte != byte))
		at = (at + 1) & mask;
	return &t->slots[at];
}

uint32_t byte_tree_grow(byte_tree *t, uint32_t node, unsigned char byte)
{
	struct byte_tree_slot *s = find_slot(t, node, byte);
	if (!s->child) {
		*s = (struct byte_tree_slot){node, (uint32_t)t->nodes, byte};
		t->value[t->nodes++] = -1;
		t->begins[byte] = t->begins[byte] || node == BYTE_TREE_ROOT;
	}
	return s->child;
}

void byte_tree_add(byte_tree *t, const char *string, size_t n, int32_t value)
{
	uint32_t node = BYTE_TREE_ROOT;
	for (size_t i = 0; i < n; i++)
		node = byte_tree_grow(t, node, (unsigned char)string[i]);
	t->value[node] = value;
}

uint32_t byte_tree_step(const byte_tree *t, uint32_t node, unsigned char byte)
{
	return find_slot(t, node, byte)->child;
}
