/* train_run.h — a small run of hec_train in a folder of its own: told where to stop, when the disk is to be
 * full, which weight is to go bad; and what it said. */
#ifndef TESTS_SUPPORT_TRAIN_RUN_H
#define TESTS_SUPPORT_TRAIN_RUN_H

#include "support/train.h"

enum { STEPS = 45, ACCUMULATE = 2, SAVE_EVERY = 10, VALID_EVERY = 15, REPORT_EVERY = 4 };

/* What a run is told to do, and what it said. */
typedef struct order {
	int64_t stop_at;       /* a step; 0: never */
	int64_t stop_in_valid; /* stop while validating at this step */
	int64_t limit_at;      /* from this step on files may not be larger than 1000 bytes */
	int64_t relief_at;     /* from this step on they may again */
	int64_t poison_at;     /* a weight is not a number during this step */
	hec_ctx *ctx;
	hec_model *model;
	float healthy;
	int64_t step; /* where it is */
	int64_t saved, failed, reports, scores, better;
	char message[256];
} order;

typedef struct bench {
	lab l;
	hec_corpus *train, *valid;
	hec_model_config config;
	hec_trainer_options trainer; /* what bench_options points at */
} bench;

bench bench_open(uint64_t seed);
void bench_close(bench *b);

/* STEPS steps into dir, valid until it is asked for again. */
hec_train_options bench_options(bench *b, const char *dir, order *o);
/* A run in a process that remembers nothing of the one before. result (or NULL) gets a copy of what hec_train
 * gave, which a program of another build may not take; all zeros where it failed. */
hec_status bench_run(bench *b, hec_train_options *t, hec_train_result *result);
/* An evaluate by which each step makes the model worse. */
hec_status bench_worse_each_step(void *order, hec_ctx *ctx, const hec_model *model,
                                 hec_train_scores *scores);
/* A run from first to last, in "whole". */
void bench_unbroken(bench *b);
/* What two runs of STEPS steps left behind: everything but times. */
void bench_check_same(bench *b, const char *one, const char *two);

#endif
