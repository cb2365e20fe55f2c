/* bpe.h — byte-pair encoding: a word is cut into characters (or bytes), then the neighbours whose
 * merge has the lowest rank are joined, the leftmost first, until no merge applies. */
#ifndef TEXT_MODEL_BPE_H
#define TEXT_MODEL_BPE_H

#include "text/model/pairs.h"
#include "text/tokenizer/tokens.h"
#include "text/vocab/vocab.h"

typedef struct bpe {
	const vocab *words;
	pairs merges;
	size_t merge_count;
	bool ascending; /* no merge makes a pair of lower rank possible: see bpe_long.c */
	bool bytes;     /* words are plain bytes, each stands for its ByteLevel character */
	bool fuse_unk, byte_fallback, ignore_merges;
	int32_t unk;           /* or VOCAB_NONE */
	char *prefix, *suffix; /* continuing_subword_prefix, end_of_word_suffix; NULL: none */
	int32_t byte_id[256];  /* the ByteLevel character of each byte, or VOCAB_NONE */
	int32_t fallback[256]; /* <0x00> … <0xFF>, or VOCAB_NONE */
	vocab whole;           /* bytes and ignore_merges: tokens as plain bytes */
} bpe;

/* A symbol of a word on its way to tokens. */
typedef struct symbol {
	int32_t id;
	uint32_t begin, end; /* bytes of the word's buffer */
} symbol;

/* What long words need, kept by the caller. */
typedef struct bpe_work {
	symbol *symbols;
	size_t capacity;
	struct bpe_node *nodes;
	size_t node_capacity;
	int32_t *heads, *tails; /* of the bucket of each rank */
	size_t head_capacity, tail_capacity;
	size_t buckets; /* so many are ready for use, and empty */
	uint64_t *heap;
	size_t heap_capacity;
	uint32_t *order, *spare;
	size_t order_capacity, spare_capacity;
	struct bpe_cached *cache; /* of words; belongs to cache_of */
	uint64_t cache_of;
} bpe_work;

void bpe_free(bpe *b);
/* Once the words and merges are there. */
hec_status bpe_finish(bpe *b);
void bpe_work_free(bpe_work *w);

/* Adds the tokens of bytes begin … end − 1 of text. serial: of the tokenizer, for the cache. */
hec_status bpe_encode(const bpe *b, uint64_t serial, const char *text, size_t begin, size_t end,
                      bpe_work *work, tokens *out);

/* Whether words can be given as plain bytes that stand for ByteLevel characters; and make it so. */
bool bpe_can_take_bytes(const bpe *b);
hec_status bpe_take_bytes(bpe *b);

/* Joins *n symbols in place; for words beyond a few dozen symbols. */
hec_status bpe_join_long(const bpe *b, bpe_work *work, size_t *n);

#endif
