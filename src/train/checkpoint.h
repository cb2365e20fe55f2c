/* checkpoint.h — DIR/checkpoint: a folder for each save, and `latest`, which names the newest.
 *
 * A save is written into a folder of another name, flushed, renamed; only then is `latest` replaced.
 * Killed at any moment, `latest` names a whole checkpoint, the new one or the one before; where it is gone, the newest
 * counts. state.json has the sums of all files beside it and its own; whatever reads a checkpoint looks at them
 * first. */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include <hecate/train.h>

#include "train/state.h"

typedef struct checkpoints {
	char *dir; /* DIR/checkpoint */
	const hec_tokenizer *tokenizer;
	int64_t keep; /* of those whose step is a multiple of `every`; and the newest, whatever it is */
	int64_t every; /* 0: all */
	const hec_train_lock *
		lock; /* of `run`, DIR itself: nothing is written once it is not there any more; or NULL */
	const char *run;
} checkpoints;

hec_status checkpoints_open(const char *dir, checkpoints *out); /* makes DIR/checkpoint */
void checkpoints_close(checkpoints *c);

/* Saves, then removes what is not to be kept. On failure what was there before is still there. */
hec_status checkpoint_save(const checkpoints *c, hec_trainer *trainer, const run_state *state);
/* *found false: there is none yet. What a run that was killed left is removed once all is well. */
hec_status checkpoint_load(const checkpoints *c, hec_trainer *trainer, const run_identity *identity,
                           run_state *state, bool *found);

/* The mean of the weights of the newest n whose step is a multiple of `every` and at most `step`;
 * *count of them were there. */
hec_status checkpoint_average(const checkpoints *c, hec_ctx *ctx, int64_t n, int64_t step,
                              const run_identity *identity, hec_model *out, int64_t *count);

/* Whether dir/checkpoint names a checkpoint: hec_train_can_resume, with the reason where that cannot be told. */
hec_status train_holds_run(const char *dir, bool *yes);

#endif
