/* plan.h — what a run will learn from, how large its model is and what it takes, said before it begins. */
#ifndef CLI_TRAIN_PLAN_H
#define CLI_TRAIN_PLAN_H

#include "cli/train/data.h"
#include "cli/train/progress.h"
#include "cli/train/settings.h"

hec_status train_plan_say(train_progress *p, const train_settings *s, const train_data *data,
                          hec_ctx *ctx, hec_model *model);

#endif
