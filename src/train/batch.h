/* batch.h — the order in which examples are learned from, as a function of (seed, epoch).
 *
 * Each epoch is a fresh permutation, cut into pools; within a pool examples are sorted by length, so
 * that those of a batch have nearly the same, and cut into batches of as many tokens as allowed; then
 * the batches of the pool are shuffled. A place in the data is (epoch, index): nothing else needs to
 * be remembered to go on with the same batches. Memory: 8 bytes an example and one pool. */
#ifndef TRAIN_BATCH_H
#define TRAIN_BATCH_H

#include <hecate/trainer.h>

#include "train/corpus.h"

typedef struct batch_place {
	int64_t epoch, index; /* of the next batch */
} batch_place;

typedef struct batcher_options {
	int64_t max_tokens, max_rows; /* rows · longest side ≤ max_tokens; max_rows 0: no limit */
	bool in_order;                /* by length, nothing shuffled: validation */
	uint64_t seed;
	int32_t pad_id;
	int32_t start_id; /* what a decoder begins with; −1: with the last of its text (mBART) */
	double mask_rate; /* mlm */
	bool encoder, decoder; /* of the model that reads: which side a text goes to */
	bool types;            /* it tells a question from its context */
	hec_ctx *ctx; /* that features of sounds are made in; NULL: batches are only counted */
} batcher_options;

typedef struct batcher batcher;

hec_status batcher_create(const hec_corpus *corpus, const batcher_options *options, batcher **out);
void batcher_destroy(batcher *b); /* takes NULL */

hec_status batcher_seek(batcher *b, batch_place place);
/* The place of the batch that comes next: an epoch that has ended is left behind. */
batch_place batcher_at(const batcher *b);
/* The next batch, valid until the next call. *ended: it was the last of its epoch. */
hec_status batcher_next(batcher *b, hec_batch *out, bool *ended);

#endif
