/* from.h — a run that begins from a pretrained directory.
 *
 * DIR/start holds the model as it is before the first step, with its tokenizer: from then on the run needs
 * the pretrained directory no more. Of --config it holds config.json alone. */
#ifndef CLI_TRAIN_FROM_H
#define CLI_TRAIN_FROM_H

#include "cli/train/data.h"

/* Where the model comes from: DIR/start where that is whole, else --from or --config. */
void train_from_home(const train_settings *s, char path[4096]);
/* The config.json of --config into DIR/start, where the run has not begun: what becomes of the file later
 * does not matter. False: what is wrong stands in error. */
bool train_keep_config(const train_settings *s, char *error, size_t room);
/* Its sizes, dropouts and longest text become settings, and are checked against the task. False: what
 * is wrong stands in error. */
bool train_from_read(train_settings *s, char *error, size_t room);
/* The labels of a model that knows all those of the text take their place, with their ids. */
hec_status train_from_labels(const train_settings *s, train_data *data);
/* The tokenizer of a translator has two halves: that of targets, or NULL. */
hec_status train_from_target(const train_settings *s, hec_tokenizer **out);
/* The model, with the head of the task, to learn; and DIR/start, where it is not there yet. */
hec_status train_from_model(const train_settings *s, const train_data *data, hec_ctx *ctx,
                            hec_model **out);

#endif
