/* listen.h — sounds of the validation list, written down and compared. */
#ifndef CLI_TRAIN_LISTEN_H
#define CLI_TRAIN_LISTEN_H

#include "cli/train/data.h"

typedef struct train_listener train_listener;

/* *out NULL: nothing to listen to, or it was not asked for. */
hec_status train_listener_open(const train_settings *s, const train_data *data,
                               train_listener **out);
void train_listener_close(train_listener *l); /* takes NULL */
/* BLEU, chrF and accuracy of the first --valid-sentences sounds. */
hec_status train_listener_score(train_listener *l, hec_ctx *ctx, const hec_model *model,
                                hec_train_scores *scores);

#endif
