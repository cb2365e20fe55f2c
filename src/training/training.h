/* training.h — the inside of hec_training: what was asked for, and what came of it so far. */
#ifndef TRAINING_TRAINING_H
#define TRAINING_TRAINING_H

#include <hecate/training.h>

#include "base/status.h"
#include "training/label_list.h"

struct hec_training {
	hec_training_options o;            /* as far as it is settled */
	int64_t asked_steps, asked_warmup; /* o.steps and o.warmup without an estimate */
	bool goes_on;                      /* with the run that is in o.dir */
	bool config_is_kept;               /* DIR/start has the config.json of `config` */
	/* by the architecture of `from` or `config` */
	hec_model_config given;
	bool sounds; /* the model reads them */
	/* by a pass over the text */
	int64_t lines, examples, bytes;
	label_list labels; /* classify */
	/* what it learns with */
	const hec_train_lock *lock; /* of o.dir; NULL: not taken yet */
	hec_train_lock *own_lock;   /* NULL: it is the caller's */
	hec_tokenizer *tokenizer,
		*target;         /* target: of targets, where they have their own; or NULL */
	hec_speech *speech;      /* of a model that reads sounds; else NULL */
	int32_t target_language; /* its token; −1: none is said */
	bool language_starts_decoder; /* it is what a decoder begins with; else the first token that is written */
	hec_corpus *train, *valid; /* valid NULL: none */
	hec_ctx *ctx;
	hec_model *model;
	bool is_open, has_learned;
};

static inline bool task_has_encoder(hec_task task)
{
	return task != HEC_TASK_LM;
}

static inline bool task_has_decoder(hec_task task)
{
	return task != HEC_TASK_MLM && task != HEC_TASK_CLASSIFY;
}

static inline bool task_is_paired(hec_task task)
{
	return task == HEC_TASK_TRANSLATE || task == HEC_TASK_SEQ2SEQ;
}

static inline hec_head head_of_task(hec_task task)
{
	return task == HEC_TASK_ANSWER     ? HEC_HEAD_ANSWER
	       : task == HEC_TASK_CLASSIFY ? HEC_HEAD_CLASSIFY
	       : task == HEC_TASK_MLM      ? HEC_HEAD_MASKED
	                                   : HEC_HEAD_LM;
}

/* The `progress` of every long pass, user being the training: anything but HEC_OK stops it. What comes of a pass
 * goes into the folder, which may be another's by now: that ends it, too. */
hec_progress_fn training_progress;
/* Passes on what the caller wants to be told. */
hec_left_out_fn training_left_out;

#endif
