/* model.h — what is not said is settled: sizes by the data, the architecture by the task. */
#ifndef CLI_TRAIN_MODEL_H
#define CLI_TRAIN_MODEL_H

#include "cli/train/data.h"

/* --config: its sizes become the settings; false: what is wrong stands in error. */
bool train_read_config(train_settings *s, char *error, size_t room);
/* What an architecture that is given settles: a size that was asked for must be its own; its rates and
 * its length hold where none were. home: whose it is. */
bool train_take_sizes(train_settings *s, const hec_model_config *c, const char *home, char *error,
                      size_t room);
bool train_take_length(train_settings *s, const hec_model_config *c, const char *home, char *error,
                       size_t room);
/* The rates of dropout by the settings. */
hec_status train_set_rates(const train_settings *s, hec_model *model);
/* Whether nothing is left that depends on how much text there is: true of a run that has begun. */
bool train_is_settled(const train_settings *s);
/* About how many steps the epochs come to, where nothing else says it; before there are ids. */
void train_estimate_steps(train_settings *s, const train_data *data);
/* Sizes that the amount of text decides; before there is a tokenizer. */
void train_settle_sizes(train_settings *s, const train_data *data);
/* The architecture: that of --config; else Marian's, GPT-2's or BERT's by the task. */
hec_status train_config(const train_settings *s, const train_data *data, hec_model_config *config);
/* Tokens of a batch, batches of a step, how often to validate. */
hec_status train_settle_batch(train_settings *s, hec_ctx *ctx, const hec_model *model,
                              const train_data *data);
/* Of sounds, what batches hold of them: features to learn from, and to validate on. */
size_t train_sound_bytes(const train_settings *s);
/* What learning with these settings takes, for hec_trainer_memory_free(). */
hec_status train_memory(const train_settings *s, hec_ctx *ctx, const hec_model *model,
                        hec_trainer_memory **out);
/* All of it, and what batches hold of sounds. */
size_t train_bytes(const train_settings *s, const hec_trainer_memory *memory);
void train_trainer_options(const train_settings *s, hec_trainer_options *o);

#endif
