/* unigram.h — the model Unigram: of all ways to cut a word into pieces the most probable. */
#ifndef TEXT_MODEL_UNIGRAM_H
#define TEXT_MODEL_UNIGRAM_H

#include "text/pattern/byte_tree.h"

typedef struct unigram {
	double *score; /* [ids] */
	size_t ids;
	byte_tree tree; /* of the pieces */
	int32_t unk;    /* or −1 */
	double unk_score;
	bool byte_fallback;
	int32_t fallback[256];
	/* As SentencePiece itself computes: sums are rounded to float, and what no piece has becomes
	 * bytes character by character. */
	bool exact;
	int32_t *map; /* [ids] pieces to ids of the vocabulary; NULL: the same */
} unigram;

/* The best way to a place in the word. */
typedef struct unigram_place {
	double score;
	uint32_t from; /* where its last piece begins; UNIGRAM_NONE: no way leads here */
	int32_t id;
} unigram_place;

#define UNIGRAM_NONE UINT32_MAX

#endif
