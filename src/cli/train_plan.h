/* train_plan.h — what a run will learn from, how large its model is and what it takes, said before it begins. */
#ifndef CLI_TRAIN_PLAN_H
#define CLI_TRAIN_PLAN_H

#include "train_data.h"
#include "train_progress.h"
#include "train_settings.h"

hec_status train_plan_say(train_progress *p, const train_settings *s, const train_data *data,
                          hec_ctx *ctx, hec_model *model);

#endif
