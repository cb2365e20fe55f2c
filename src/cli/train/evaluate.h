/* evaluate.h — how well the model does its task: decoding, and comparing with what is right. */
#ifndef CLI_TRAIN_EVALUATE_H
#define CLI_TRAIN_EVALUATE_H

#include "cli/train/data.h"

typedef struct train_evaluator train_evaluator;

/* *out NULL: nothing to decode for this task, or it was not asked for. */
hec_status train_evaluator_open(const train_settings *s, const train_data *data,
                                train_evaluator **out);
void train_evaluator_close(train_evaluator *e); /* takes NULL */
hec_status train_evaluate(train_evaluator *e, hec_ctx *ctx, const hec_model *model,
                          hec_train_scores *scores);

#endif
