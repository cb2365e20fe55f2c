/* measure.h — the measures of texts against references: each gathers a corpus pair by pair. */
#ifndef SCORE_MEASURE_H
#define SCORE_MEASURE_H

#include <hecate/score.h>

#include "base/status.h"

typedef struct score_text {
	const char *data; /* not NULL; any bytes */
	size_t bytes;
} score_text;

typedef struct score_kind {
	const char *name; /* for messages */
	size_t size; /* of its sums, which start zeroed and keep room from one pair to the next */
	hec_status (*add)(void *sums, score_text hypothesis, score_text reference);
	double (*score)(const void *sums); /* 0 … 100 */
	void (*end)(void *sums);           /* frees what they hold, not the sums */
} score_kind;

extern const score_kind score_kind_bleu, score_kind_chrf, score_kind_rouge;

#endif
