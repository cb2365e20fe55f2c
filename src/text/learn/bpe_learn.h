/* bpe_learn.h — the merges that a list of counted words asks for. */
#ifndef TEXT_LEARN_BPE_LEARN_H
#define TEXT_LEARN_BPE_LEARN_H

#include "text/vocab/vocab.h"

/* A list of words as ids; each has a count. */
typedef struct bpe_words {
	int32_t *symbols;
	size_t used, symbol_capacity;
	struct bpe_word {
		size_t at;  /* in symbols */
		uint32_t n; /* symbols; becomes fewer */
		int64_t count;
	} * words;
	size_t n, capacity;
} bpe_words;

void bpe_words_free(bpe_words *w);

typedef struct bpe_merge {
	int32_t left, right;
} bpe_merge;

typedef struct bpe_merges {
	bpe_merge *at;
	size_t n, capacity;
} bpe_merges;

typedef struct bpe_learn_options {
	size_t vocab; /* stop when the vocabulary has so many ids */
	int64_t min_frequency;
	size_t max_characters; /* of a token; 0: no limit */
	int32_t specials;      /* ids below are special tokens: no merge makes them again */
	const vocab *later;    /* special tokens that get ids afterwards: nor these */
	hec_status (*progress)(void *user, int64_t done, int64_t total);
	void *user;
} bpe_learn_options;

/* Joins the most frequent pair over and over; adds what it makes to the vocabulary. The words are
 * used up. */
hec_status bpe_learn(bpe_words *words, const bpe_learn_options *o, vocab *v, bpe_merges *out);

#endif
