/* start.h — what a training begins from: a pretrained directory, or a config.json.
 *
 * DIR/start holds the model as it is before the first step, with its tokenizer: from then on the training needs the
 * pretrained directory no more. Of `config` it holds config.json alone. */
#ifndef TRAINING_START_H
#define TRAINING_START_H

#include "base/path.h"
#include "training/training.h"

/* Whether DIR/start is what this training begins from. */
bool start_has_begun(const hec_training *t);
/* Where the model comes from: DIR/start where that is whole, else `from` or `config`. */
hec_status start_home(const hec_training *t, char path[PATH_MOST]);
/* t->given: its architecture, with the overrides; and the learning rate that is usual for its family. */
hec_status start_read(hec_training *t, double *rate);
/* The config.json of `config` into DIR/start, where the training has not begun: what becomes of the file later
 * does not matter. */
hec_status start_keep_config(hec_training *t);
/* The labels of a pretrained model that knows all those of the text take their place, with their ids. */
hec_status start_labels(hec_training *t);
/* t->model: the pretrained one with the head of the task, to learn; and DIR/start, where it is not there yet. */
hec_status start_model(hec_training *t);

#endif
