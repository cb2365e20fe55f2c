/* answer.h — questions of the validation text, answered and compared. */
#ifndef CLI_TRAIN_ANSWER_H
#define CLI_TRAIN_ANSWER_H

#include "cli/train/data.h"

typedef struct train_answers train_answers;

/* *out NULL: nothing to answer, or it was not asked for. */
hec_status train_answers_open(const train_settings *s, const train_data *data, train_answers **out);
void train_answers_close(train_answers *a); /* takes NULL */
/* Exact match and F1 of the first --valid-sentences questions. */
hec_status train_answers_score(const train_answers *a, hec_ctx *ctx, const hec_model *model,
                               hec_train_scores *scores);

#endif
