/* dropout_mask.h — which elements a dropout keeps: the scalar form of what hecate/dropout.h says. */
#ifndef BACKEND_CPU_DROPOUT_MASK_H
#define BACKEND_CPU_DROPOUT_MASK_H

#include <hecate/dropout.h>

#include "base/random.h"

/* A word keeps its element where it is at least this. 2³² can occur: then nothing is kept. */
static inline uint64_t dropout_threshold(const hec_dropout *d)
{
	double t = d->p * 4294967296.0;
	uint64_t whole = (uint64_t)t;
	return whole + ((double)whole < t);
}

/* What a kept element is multiplied by. */
static inline double dropout_scale(const hec_dropout *d)
{
	return 1 / (1 - d->p);
}

/* The words of columns 4·block … 4·block + 3 of a row. */
static inline void dropout_words(const hec_dropout *d, int64_t row, int64_t block,
                                 uint32_t words[4])
{
	const uint32_t counter[4] = {(uint32_t)block, (uint32_t)row,
	                             d->site | (uint32_t)d->key.micro_batch << 16, d->key.step};
	const uint32_t key[2] = {(uint32_t)d->key.seed, (uint32_t)(d->key.seed >> 32)};
	philox(counter, key, words);
}

static inline bool dropout_keeps(const hec_dropout *d, int64_t row, int64_t column)
{
	if (d->p <= 0)
		return true;
	uint32_t words[4];
	dropout_words(d, row, column / 4, words);
	return words[column % 4] >= dropout_threshold(d);
}

#endif
