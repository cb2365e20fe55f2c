/* validate.c — how good the model is, and whether it is the best so far. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/arena.h"
#include "train/folder.h"
#include "train/run.h"
#include "train/scores.h"

static const char *const names[HEC_METRICS] = {"loss", "bleu", "chrf", "accuracy", "exact", "f1"};

const char *hec_metric_name(hec_metric metric)
{
	return (int)metric >= 0 && (int)metric < HEC_METRICS ? names[metric] : "?";
}

double hec_train_scores_get(const hec_train_scores *scores, hec_metric metric)
{
	return scores && (int)metric >= 0 && (int)metric < HEC_METRICS ? scores->value[metric]
	                                                               : NAN;
}

void hec_train_scores_set(hec_train_scores *scores, hec_metric metric, double value)
{
	if (scores && (int)metric >= 0 && (int)metric < HEC_METRICS)
		scores->value[metric] = value;
}

static bool is_better(hec_metric metric, double value, double than)
{
	return metric == HEC_METRIC_LOSS ? value < than : value > than;
}

static hec_status valid_loss(run *r, const hec_model *model, double *loss, bool *given_up)
{
	double sum = 0;
	int64_t targets = 0, done = 0, total = hec_corpus_counts_of(r->valid_corpus)->examples;
	/* The same batches each time: epoch 0, also of what mlm hides. */
	HEC_TRY(batcher_seek(r->valid, (batch_place){0, 0}));
	for (bool ended = false; !ended && !*given_up;) {
		hec_batch batch;
		HEC_TRY(batcher_next(r->valid, &batch, &ended));
		HEC_TRY(trainer_pass(r->ctx, r->trainer->arena, model, &batch, NULL, 0, NULL, &sum,
		                     &targets));
		done += batch.targets.shape[0];
		hec_train_event event = {.kind = HEC_TRAIN_VALIDATE, .done = done, .total = total};
		run_tell(r, &event);
		*given_up = r->stop;
	}
	*loss = targets > 0 ? sum / (double)targets : NAN;
	return HEC_OK;
}

hec_status run_scores(run *r, hec_model *model, hec_train_scores *scores, bool *given_up)
{
	*given_up = false;
	for (int i = 0; i < HEC_METRICS; i++)
		scores->value[i] = NAN;
	if (r->valid)
		HEC_TRY(valid_loss(r, model, &scores->value[HEC_METRIC_LOSS], given_up));
	if (!r->o.evaluate || *given_up)
		return HEC_OK;
	/* Who judges needs memory of its own; between steps the trainer needs none for activations. */
	arena_release(r->trainer->arena);
	double loss = scores->value[HEC_METRIC_LOSS];
	hec_status status = r->o.evaluate(r->o.user, r->ctx, model, scores);
	if (status == HEC_OK)
		return HEC_OK;
	if (status == HEC_ERR_CANCELLED) {
		*given_up = r->stop = true;
		return HEC_OK;
	}
	/* What was learned must not be lost because a model could not be judged. */
	for (int i = 0; i < HEC_METRICS; i++)
		scores->value[i] = i == HEC_METRIC_LOSS ? loss : NAN;
	run_tell_kind(r, HEC_TRAIN_NOT_MEASURED, hec_error_message());
	return HEC_OK;
}

hec_status run_keep_model(run *r, const hec_model *model, const char *metric)
{
	char *dir, *parent;
	HEC_TRY(run_check_folder(r));
	HEC_TRY(path_make(&parent, "%s/best", r->o.dir));
	hec_status status =
		metric ? path_make(&dir, "%s/%s", parent, metric) : path_make(&dir, "%s", r->o.dir);
	if (status != HEC_OK) {
		mem_free(parent);
		return status;
	}
	if (metric)
		status = folder_make(parent);
	if (metric && status == HEC_OK)
		status = folder_make(dir);
	if (status == HEC_OK)
		status = hec_model_save(r->ctx, model, r->o.dtype, dir);
	if (status == HEC_OK && r->o.tokenizer)
		status = hec_tokenizer_save(r->o.tokenizer, dir);
	if (status == HEC_OK && r->o.origin)
		status = hec_train_carry(r->o.origin, dir);
	mem_free(dir);
	mem_free(parent);
	return status;
}

/* A model that could not be saved is not the best: the one on the disk is. */
static bool keep_if_better(run *r, const hec_model *model, hec_metric metric, double value)
{
	run_state *s = &r->state;
	if (!isfinite(value) ||
	    (s->best_step[metric] > 0 && !is_better(metric, value, s->best[metric])))
		return false;
	bool chosen = metric == r->o.best;
	if (run_keep_model(r, model, chosen ? NULL : hec_metric_name(metric)) != HEC_OK) {
		r->saves_failed++;
		run_tell_kind(r, HEC_TRAIN_SAVE_FAILED, hec_error_message());
		return false;
	}
	s->best[metric] = value;
	s->best_step[metric] = s->step;
	return true;
}

static void count_due(run *r, const hec_train_scores *scores)
{
	run_state *s = &r->state;
	s->stale++;
	for (int i = 0; i < HEC_METRICS; i++) {
		double value = scores->value[i];
		if (!isfinite(value) ||
		    (isfinite(s->due[i]) && !is_better((hec_metric)i, value, s->due[i])))
			continue;
		s->due[i] = value;
		if ((hec_metric)i == r->o.best)
			s->stale = 0;
	}
}

hec_status run_validate(run *r, bool due, hec_train_scores *scores, bool *given_up)
{
	HEC_TRY(run_scores(r, r->model, scores, given_up));
	if (*given_up)
		return HEC_OK;
	bool best = false;
	for (int i = 0; i < HEC_METRICS; i++) {
		bool better = keep_if_better(r, r->model, (hec_metric)i, scores->value[i]);
		best = best || (better && (hec_metric)i == r->o.best);
	}
	if (due)
		count_due(r, scores);
	r->state.valid_step = r->state.step;
	hec_train_event event = {.kind = HEC_TRAIN_SCORES, .scores = scores, .better = best};
	run_tell(r, &event);
	return HEC_OK;
}

static void copy_weights(const hec_model *from, hec_model *to)
{
	hec_tensor x = hec_model_block(from), y = hec_model_block(to);
	memcpy(y.data, x.data, (size_t)x.shape[0] * sizeof(float));
}

static hec_status try_average(run *r, bool *better)
{
	int64_t count;
	bool given_up;
	hec_train_scores scores;
	HEC_TRY(checkpoint_average(&r->checkpoints, r->ctx, r->o.average, r->state.step,
	                           &r->state.identity, r->model, &count));
	if (count < 2)
		return HEC_OK;
	HEC_TRY(hec_model_pack(r->ctx, r->model, true));
	HEC_TRY(run_scores(r, r->model, &scores, &given_up));
	if (given_up)
		return HEC_OK;
	*better = keep_if_better(r, r->model, r->o.best, scores.value[r->o.best]);
	hec_train_event event = {.kind = HEC_TRAIN_SCORES,
	                         .scores = &scores,
	                         .better = *better,
	                         .message = "the mean of the last checkpoints"};
	run_tell(r, &event);
	return HEC_OK;
}

/* The mean takes the place of the weights, which wait where gradients are between steps: a model of
 * its own would be more memory than learning takes. */
hec_status run_try_average(run *r)
{
	bool better = false;
	if (r->o.average < 2 || (!r->valid && !r->o.evaluate))
		return HEC_OK;
	copy_weights(r->model, r->trainer->grad);
	hec_status status = try_average(r, &better);
	char message[512];
	snprintf(message, sizeof message, "%s", status == HEC_OK ? "" : hec_error_message());
	copy_weights(r->trainer->grad, r->model);
	hec_status packed = hec_model_pack(r->ctx, r->model, true);
	if (status != HEC_OK)
		return fail(status, "%s", message);
	HEC_TRY(packed);
	/* A run that goes on later must know of it, or a worse model would take its place. */
	if (better)
		run_save_state(r);
	return HEC_OK;
}
