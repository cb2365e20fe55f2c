/* speed.c — how long a step takes on this machine now: a few batches are learned from, and forgotten. */
#include "train/run.h"

#include "tensor/check.h"

#define ENOUGH_SECONDS 1.0
#define MOST_BATCHES 16

/* The first batch finds cold caches and memory that the system has not given yet: it counts only where there is time
 * for no other. */
static hec_status measure(run *r, double *seconds)
{
	double spent = 0;
	int64_t counted = 0;
	for (int64_t i = 0; i < MOST_BATCHES && spent < ENOUGH_SECONDS; i++) {
		hec_batch batch;
		bool ended;
		const double begin = run_clock();
		HEC_TRY(batcher_next(r->train, &batch, &ended));
		HEC_TRY(hec_trainer_add(r->trainer, &batch));
		const double took = run_clock() - begin;
		if (i == 0 && took < ENOUGH_SECONDS)
			continue;
		spent += took;
		counted++;
	}
	*seconds = spent / (double)counted;
	return HEC_OK;
}

hec_status hec_train_speed(hec_ctx *ctx, hec_model *model, hec_corpus *train,
                           const hec_train_options *options, double *step_seconds)
{
	HEC_TRY(CHECK_GIVEN("train", ctx));
	HEC_TRY(CHECK_GIVEN("train", model));
	HEC_TRY(CHECK_GIVEN("train", train));
	HEC_TRY(CHECK_GIVEN("train", options));
	HEC_TRY(CHECK_GIVEN("train", step_seconds));
	run r = {.ctx = ctx, .model = model};
	HEC_TRY(run_take_options(&r, options));
	hec_status status = run_open_data(&r, train, NULL);
	if (status == HEC_OK)
		status = hec_trainer_create(ctx, model, &r.trainer_options, &r.trainer);
	if (status == HEC_OK)
		status = measure(&r, step_seconds);
	if (status == HEC_OK)
		*step_seconds *= (double)r.o.accumulate;
	batcher_destroy(r.train);
	hec_trainer_destroy(r.trainer);
	return status;
}
