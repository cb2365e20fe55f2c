/* texts.h — what a model wrote beside what was wanted. */
#ifndef CLI_TRAIN_TEXTS_H
#define CLI_TRAIN_TEXTS_H

#include <hecate/train.h>

/* Frees each; texts may be NULL, and are NULL afterwards. */
void train_texts_free(char **texts, int64_t n);
/* The share of those that are the same, BLEU and chrF. */
hec_status train_texts_compare(char *const *written, char *const *wanted, int64_t n,
                               hec_train_scores *scores);

#endif
