/* settle.h — what the options leave open: who asks for nothing gets what is usual. In the order in which it
 * becomes known: by the options alone, by an architecture that is given, by the amount of text, by the model. */
#ifndef TRAINING_SETTLE_H
#define TRAINING_SETTLE_H

#include "training/training.h"

/* By the options alone; then what cannot be is HEC_ERR_ARGUMENT. */
hec_status settle_options(hec_training_options *o);
/* By the architecture of `from` or `config`, which must be one for the task. */
hec_status settle_by_architecture(hec_training *t);
/* By the amount of text. */
hec_status settle_by_text(hec_training *t);
/* Where nobody said how many: the steps, and the part of them in which the rate rises. usual: those of the epochs,
 * or of so much text. */
void settle_steps(hec_training_options *o, int64_t usual);
/* The same before there are ids to count batches by. */
void settle_about_steps(hec_training *t);
/* By the model and memory: tokens of a batch, batches of a step, how often to validate. */
hec_status settle_by_model(hec_training *t);

/* A validation takes about as long as so many steps. */
double validation_steps(const hec_training *t);

/* Whether nothing is left that depends on how much text there is: true of a run that has begun. */
bool is_settled(const hec_training *t);
/* Tokens of a step that are enough for so much text, on the longer side. */
int64_t step_tokens_of(const hec_training *t);
/* Steps for so much text. */
int64_t steps_by_text(const hec_training *t, int64_t step_tokens, int64_t epoch_steps);
/* Epochs of fine-tuning. */
int64_t effort_epochs(int effort);
/* The architecture of a fresh model. */
void fresh_config(const hec_training *t, hec_model_config *c);
/* Gives t->model the rates of dropout that were asked for. */
hec_status set_dropouts(const hec_training *t);
void trainer_options(const hec_training *t, hec_trainer_options *o);

#endif
