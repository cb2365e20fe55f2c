/* sentences.h — the first examples of the text to validate on, as ids, beside what is right. */
#ifndef TRAINING_SENTENCES_H
#define TRAINING_SENTENCES_H

#include "training/training.h"

typedef struct sentences {
	int64_t n;
	int32_t **ids;    /* [n] of what is read */
	int64_t *lengths; /* [n] */
	char **wanted;    /* [n] the target, or the label */
} sentences;

/* As a corpus has them; those that are too long are passed over. */
hec_status sentences_read(hec_training *t, sentences *s);
void sentences_free(sentences *s); /* takes a zeroed one */

#endif
