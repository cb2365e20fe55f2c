/* finder.c — the automaton of Aho and Corasick, over the text from its end to its begin.
 *
 * A node stands for the bytes that were read last, as far as some string ends with them. Where no string goes on with
 * the next byte, those read first are forgotten until one does; so each byte is read once and forgotten once,
 * however long the strings are and however nearly they match. Read backwards, because what is known at a place
 * then is what begins there: the longest string of all is at hand, without looking further. */
#include "text/pattern/finder.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"

hec_status finder_init(finder *f, size_t bytes)
{
	memset(f, 0, sizeof *f);
	return byte_tree_init(&f->tree, bytes);
}

void finder_free(finder *f)
{
	byte_tree_free(&f->tree);
	mem_free(f->fewer);
	mem_free(f->longest);
	mem_free(f->depth);
	memset(f, 0, sizeof *f);
}

void finder_add(finder *f, const char *string, size_t n, int32_t value)
{
	uint32_t node = BYTE_TREE_ROOT;
	while (n > 0)
		node = byte_tree_grow(&f->tree, node, (unsigned char)string[--n]);
	f->tree.value[node] = value;
}

static uint32_t step_back(const finder *f, uint32_t node, unsigned char byte)
{
	uint32_t next;
	while (!(next = byte_tree_step(&f->tree, node, byte)) && node != BYTE_TREE_ROOT)
		node = f->fewer[node];
	return next;
}

/* The slots by the depth of their children: links go to nodes that are less deep. */
static void order_slots(const byte_tree *t, uint32_t *depth, uint32_t *slot, uint32_t *order,
                        uint32_t *count)
{
	for (size_t i = 0; i < t->slot_count; i++)
		if (t->slots[i].child)
			slot[t->slots[i].child] = (uint32_t)i;
	depth[BYTE_TREE_ROOT] = 0;
	for (size_t i = 1; i < t->nodes; i++) { /* children have higher numbers */
		depth[i] = depth[t->slots[slot[i]].parent] + 1;
		count[depth[i]]++;
	}
	for (size_t i = 1; i < t->nodes; i++)
		count[i] += count[i - 1];
	for (size_t i = t->nodes; i-- > 1;)
		order[--count[depth[i]]] = slot[i];
}

static void link_nodes(finder *f, const uint32_t *order)
{
	const byte_tree *t = &f->tree;
	f->fewer[BYTE_TREE_ROOT] = f->longest[BYTE_TREE_ROOT] = BYTE_TREE_ROOT;
	for (size_t i = 0; i + 1 < t->nodes; i++) {
		const struct byte_tree_slot *s = &t->slots[order[i]];
		f->fewer[s->child] = s->parent == BYTE_TREE_ROOT
		                             ? BYTE_TREE_ROOT
		                             : step_back(f, f->fewer[s->parent], s->byte);
		f->longest[s->child] =
			t->value[s->child] >= 0 ? s->child : f->longest[f->fewer[s->child]];
	}
}

hec_status finder_finish(finder *f)
{
	size_t n = f->tree.nodes;
	f->fewer = mem_alloc(n * sizeof *f->fewer);
	f->longest = mem_alloc(n * sizeof *f->longest);
	f->depth = mem_alloc(n * sizeof *f->depth);
	uint32_t *order = mem_alloc(n * sizeof *order), *count = mem_zeros(n, sizeof *count);
	bool made = f->fewer && f->longest && f->depth && order && count;
	if (made) {
		/* The slot of each node is not needed any more once longest is written. */
		order_slots(&f->tree, f->depth, f->longest, order, count);
		link_nodes(f, order);
	}
	mem_free(order);
	mem_free(count);
	return made ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory to find %zu bytes of tokens", n);
}

hec_status finder_find(const finder *f, const char *text, size_t begin, size_t end, pieces *found)
{
	uint32_t node = BYTE_TREE_ROOT;
	for (size_t at = end; at > begin;) {
		unsigned char byte = (unsigned char)text[--at];
		while (node == BYTE_TREE_ROOT && !f->tree.begins[byte] && at > begin)
			byte = (unsigned char)text[--at];
		node = step_back(f, node, byte);
		uint32_t whole = f->longest[node];
		if (!whole)
			continue;
		HEC_TRY(GROW(&found->at, &found->capacity, found->n + 1));
		found->at[found->n++] =
			(piece){(uint32_t)at, (uint32_t)at + f->depth[whole], f->tree.value[whole]};
	}
	return HEC_OK;
}
