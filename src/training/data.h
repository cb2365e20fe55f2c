/* data.h — what there is to learn from: how much, which labels, which tokenizer, and its ids. */
#ifndef TRAINING_DATA_H
#define TRAINING_DATA_H

#include "training/training.h"

/* Reads the text once: t->lines, examples, bytes and labels. */
hec_status data_count(hec_training *t);
/* t->tokenizer, target, language and speech: learned, loaded from what is given, or taken from DIR. */
hec_status data_tokenizer(hec_training *t);
/* t->train and t->valid: texts into ids, under DIR/cache. */
hec_status data_open(hec_training *t);

#endif
