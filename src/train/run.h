/* run.h — a run of learning: what the loop, validation and saving share. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include <hecate/train.h>

#include "train/batch.h"
#include "train/checkpoint.h"
#include "train/state.h"
#include "train/trainer.h"

typedef struct run {
	hec_ctx *ctx;
	hec_model *model;
	hec_train_options o;
	hec_trainer_options trainer_options; /* what o.trainer says, checked */
	hec_trainer *trainer;
	hec_corpus *valid_corpus; /* or NULL */
	batcher *train, *valid;
	checkpoints checkpoints;
	hec_train_lock *lock; /* our own; NULL: the caller holds one */
	char *log, *curve;
	run_state state;
	double begin;                     /* when this run began: a moment of run_clock */
	double seconds_before;            /* of earlier ones */
	double step_seconds;              /* since the last report */
	int64_t step_tokens;              /* since the last report, of this run */
	double tokens_per_s;              /* of the last report */
	int64_t first_step, saves_failed; /* of this run */
	double first_moment;
	bool stop;         /* the program asked for the end */
	hec_status failed; /* what its event function failed with: the run ends at once */
} run;

double run_clock(void); /* seconds */
double run_seconds(const run *r);

/* The options, checked. */
hec_status run_take_options(run *r, const hec_train_options *given);
/* The batches of both; valid may be NULL. */
hec_status run_open_data(run *r, hec_corpus *train, hec_corpus *valid);

/* An error where DIR is not the folder any more in which the run began: another's may be in its place. */
hec_status run_check_folder(const run *r);

/* Tells the program; what it answers may set r->stop, and r->failed. */
void run_tell(run *r, hec_train_event *event);
void run_tell_kind(run *r, hec_train_event_kind kind, const char *message);

/* Loss over all of valid, and what evaluate finds. *given_up: the program asked to stop. */
hec_status run_scores(run *r, hec_model *model, hec_train_scores *scores, bool *given_up);
/* Validates the model as it is, and keeps it where it is the best so far by some metric. due: by the
 * number of the step, so that patience counts it. */
hec_status run_validate(run *r, bool due, hec_train_scores *scores, bool *given_up);
/* At the end: the mean of the last checkpoints, where it is better. */
hec_status run_try_average(run *r);

/* best.c: the model in DIR is to be the best by the metric of the options. */
hec_status run_choose(run *r);

/* A failure is told and counted; whoever goes on may: the last good checkpoint is still there. */
hec_status run_save(run *r);
/* Once more, where the weights of this step are saved already. */
void run_save_state(run *r);
/* The model (and the tokenizer) into DIR, or DIR/best/NAME. */
hec_status run_keep_model(run *r, const hec_model *model, const char *metric);

#endif
