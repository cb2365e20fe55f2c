/* byte_tree.h — a set of byte strings that is walked byte by byte, each with a number. */
#ifndef TEXT_PATTERN_BYTE_TREE_H
#define TEXT_PATTERN_BYTE_TREE_H

#include "base/status.h"

typedef struct byte_tree {
	struct byte_tree_slot {
		uint32_t parent; /* with byte, the key; by hash */
		uint32_t child;  /* 0: a free slot */
		unsigned char byte;
	} * slots;
	size_t slot_count;
	int32_t *value; /* [nodes] of the string that ends here, or −1 */
	size_t nodes, capacity;
	uint64_t seed;
	bool begins[256]; /* whether a string begins with this byte */
} byte_tree;

#define BYTE_TREE_ROOT 0u

hec_status byte_tree_init(byte_tree *t, size_t bytes); /* of all strings together, at most */
void byte_tree_free(byte_tree *t);
/* n ≥ 1. A string that is there already gets the new value. */
void byte_tree_add(byte_tree *t, const char *string, size_t n, int32_t value);
/* The node below, made where there is none. */
uint32_t byte_tree_grow(byte_tree *t, uint32_t node, unsigned char byte);
/* The node below; 0: none. */
uint32_t byte_tree_step(const byte_tree *t, uint32_t node, unsigned char byte);

#endif
