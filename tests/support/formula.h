/* formula.h — an engine whose logits are one formula of the prefix: searches without a model. It checks
 * what it is asked: rows that share a source, counts that fit, live sources that are kept in order.
 * tools/goldens/decode.py has the same formula. */
#ifndef TESTS_SUPPORT_FORMULA_H
#define TESTS_SUPPORT_FORMULA_H

#include "decode/engine.h"
#include "support/test.h"

#define FORMULA_ROWS 64
#define FORMULA_LENGTH 128

typedef struct formula {
	const kit *k;
	engine engine;
	int32_t end; /* the id that grows likelier */
	int64_t live;
	int32_t rows[FORMULA_ROWS][FORMULA_LENGTH];
	int64_t length[FORMULA_ROWS];
	int64_t most_live, steps, adds; /* what happened */
	float *logits;
	bool broken; /* gives NaN */
} formula;

void formula_open(formula *f, const kit *k, int64_t vocab, int64_t sources, int64_t beams,
                  int64_t max_target, int32_t end);
void formula_close(formula *f);
void formula_logits(const int32_t *ids, int64_t n, int64_t vocab, int32_t end, float *x);

#endif
