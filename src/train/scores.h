/* scores.h — the inside of hec_train_scores. */
#ifndef TRAIN_SCORES_H
#define TRAIN_SCORES_H

#include <hecate/train.h>

struct hec_train_scores {
	double value[HEC_METRICS]; /* NaN: not measured */
};

#endif
