/* judge.h — how well a model does its task: on some of the text to validate on it does what it is learned for, and
 * that is compared with what is right. */
#ifndef TRAINING_JUDGE_H
#define TRAINING_JUDGE_H

#include "training/training.h"

typedef struct judge judge;

/* What every kind begins with. */
struct judge {
	hec_status (*score)(judge *j, hec_ctx *ctx, const hec_model *model,
	                    hec_train_scores *scores);
	void (*destroy)(judge *j);
};

/* *out NULL: nothing is to be judged for this task, or it was not asked for. */
hec_status judge_create(hec_training *t, judge **out);
void judge_destroy(judge *j); /* takes NULL */

/* The kinds: by the text that a model writes, by labels, by answers to questions, by what it hears. */
hec_status judge_writing_create(hec_training *t, judge **out);
hec_status judge_labels_create(hec_training *t, judge **out);
hec_status judge_answers_create(hec_training *t, judge **out);
hec_status judge_sounds_create(hec_training *t, judge **out);

/* Frees each; texts may be NULL, and are NULL afterwards. */
void judge_drop_texts(char **texts, int64_t n);
/* The share of those that are the same, BLEU and chrF. */
hec_status judge_compare(char *const *written, char *const *wanted, int64_t n,
                         hec_train_scores *scores);
hec_status judge_no_memory(void);

#endif
