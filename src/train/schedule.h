/* schedule.h — the learning rate of a step. */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <hecate/trainer.h>

double schedule_rate(const hec_trainer_options *options, int64_t width, int64_t step);

#endif
