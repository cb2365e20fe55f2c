/* plan.h — what a run will learn from, how large its model is and what it takes, said before it begins. */
#ifndef CLI_TRAIN_PLAN_H
#define CLI_TRAIN_PLAN_H

#include <hecate/training.h>

#include "cli/train/progress.h"

/* The training is open. goes_on: with a run that was begun before. */
hec_status train_plan_say(train_progress *p, hec_training *training, const hec_training_options *o,
                          bool goes_on);

#endif
