/* loop.c — step, report, validate, save; and again.
 *
 * What a step leads to (a line of the log, a validation, a checkpoint) is decided by the number of
 * the step alone and noted in the state once it is done: a run that was stopped in between does the
 * rest when it is resumed, and then stands where one stands that was not stopped. The one exception is the end by
 * time: see finish(). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "model/model.h"
#include "tensor/check.h"
#include "train/folder.h"
#include "train/log.h"
#include "train/run.h"
#include "train/schedule.h"
#include "train/scores.h"
#include "train/sound.h"

double run_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double run_seconds(const run *r)
{
	return r->seconds_before + run_clock() - r->begin;
}

hec_status run_check_folder(const run *r)
{
	return hec_train_lock_holds(r->o.lock ? r->o.lock : r->lock, r->o.dir);
}

/* ---- telling ---- */

/* By the steps of this run alone: an earlier one may have been on another machine. */
static double seconds_left(const run *r)
{
	int64_t taken = r->state.step - r->first_step;
	double left = NAN, spent = run_clock() - r->first_moment;
	if (r->o.steps > 0 && taken > 0)
		left = spent / (double)taken * (double)(r->o.steps - r->state.step);
	/* A run that gets no better is on its way to its end by patience. */
	if (taken > 0 && r->o.patience > 0 && 2 * r->state.stale >= r->o.patience) {
		const int64_t end =
			r->state.valid_step + (r->o.patience - r->state.stale) * r->o.valid_every;
		const double early = fmax(0, spent / (double)taken * (double)(end - r->state.step));
		left = fmin(isnan(left) ? INFINITY : left, early);
	}
	if (r->o.seconds > 0)
		left = fmin(isnan(left) ? INFINITY : left,
		            fmax(0, r->begin + r->o.seconds - run_clock()));
	return left;
}

void run_tell(run *r, hec_train_event *event)
{
	const run_state *s = &r->state;
	event->step = s->step;
	event->steps = r->o.steps;
	event->epoch = s->place.epoch;
	event->loss = s->loss_targets > 0 ? s->loss_sum / (double)s->loss_targets : NAN;
	event->lr = hec_trainer_report(r->trainer)->lr;
	event->tokens_per_s =
		r->step_seconds > 0 ? (double)r->step_tokens / r->step_seconds : r->tokens_per_s;
	event->seconds = run_seconds(r);
	event->left_s = seconds_left(r);
	event->skips = r->trainer->skips;
	const hec_status answer = r->o.event ? r->o.event(r->o.user, event) : HEC_OK;
	r->stop = r->stop || answer != HEC_OK;
	if (answer != HEC_OK && answer != HEC_ERR_CANCELLED && r->failed == HEC_OK)
		r->failed = answer;
}

/* What the caller's event function failed with, if it did: the run ends at once. */
static hec_status callback_status(const run *r)
{
	return r->failed == HEC_OK ? HEC_OK
	                           : fail(r->failed, "train: ended by the caller's function");
}

void run_tell_kind(run *r, hec_train_event_kind kind, const char *message)
{
	hec_train_event event = {.kind = kind, .message = message};
	run_tell(r, &event);
}

/* ---- one step, and what it leads to ---- */

/* What goes through the model, on both sides, padding not counted. Targets would not do for a speed: a text
 * that is classified has one. */
static int64_t tokens_of(const hec_model_input *in)
{
	int64_t sum = 0;
	for (int64_t i = 0; in->length && i < in->ids.shape[0]; i++)
		sum += in->length[i];
	for (int64_t i = 0; in->decoder_length && i < in->decoder_ids.shape[0]; i++)
		sum += in->decoder_length[i];
	/* Of every other frame one state. */
	return in->features.rank ? sum + in->features.shape[0] * in->features.shape[2] / 2 : sum;
}

/* The gradient of a step. */
static hec_status gather(run *r)
{
	for (int64_t i = 0; i < r->o.accumulate; i++) {
		hec_batch batch;
		bool ended;
		HEC_TRY(batcher_next(r->train, &batch, &ended));
		if (r->o.batch)
			r->o.batch(r->o.user, r->state.step + 1, &batch);
		HEC_TRY(hec_trainer_add(r->trainer, &batch));
		r->step_tokens += tokens_of(batch.input);
	}
	return HEC_OK;
}

/* Data that cannot be read: the weights are those of the last whole step, which shall not be lost. */
static hec_status save_then_fail(run *r, hec_status status)
{
	char message[512];
	snprintf(message, sizeof message, "%s", hec_error_message());
	hec_trainer_drop(r->trainer);
	if (r->state.step == r->first_step || run_save(r) != HEC_OK)
		return fail(status, "%s", message);
	return fail(status, "%s; step %lld is saved", message, (long long)r->state.step);
}

static hec_status take_step(run *r)
{
	run_state *s = &r->state;
	double begin = run_clock();
	hec_status status = gather(r);
	if (status != HEC_OK)
		return save_then_fail(r, status);
	HEC_TRY(hec_trainer_apply(r->trainer));
	const hec_step_report *last = hec_trainer_report(r->trainer);
	s->step = last->step;
	s->place = batcher_at(r->train);
	if (!last->skipped) {
		s->loss_sum += last->loss * (double)last->targets;
		s->loss_targets += last->targets;
		s->last_norm = last->grad_norm;
	}
	r->step_seconds += run_clock() - begin;
	run_tell_kind(r, HEC_TRAIN_STEP, NULL);
	return callback_status(r);
}

static hec_status draw_curve(const run *r)
{
	return curve_write(r->log, r->curve, model_has_dropout(r->model));
}

static hec_status write_line(const run *r, const log_line *line)
{
	HEC_TRY(run_check_folder(r));
	/* At the end by time this step may have its line already: then only the curve is drawn. */
	if (r->state.step > r->state.report_step)
		HEC_TRY(log_add(r->log, line));
	return line->scores ? draw_curve(r) : HEC_OK;
}

/* A log that cannot be written is told, and learning goes on. */
static void report(run *r, const hec_train_scores *scores)
{
	run_state *s = &r->state;
	if (r->step_seconds > 0)
		r->tokens_per_s = (double)r->step_tokens / r->step_seconds;
	log_line line = {
		.step = s->step,
		.epoch = s->place.epoch,
		.targets = s->loss_targets,
		.skips = r->trainer->skips,
		.loss = s->loss_targets > 0 ? s->loss_sum / (double)s->loss_targets : NAN,
		.lr = schedule_rate(&r->trainer->options, hec_model_config_of(r->model)->width,
	                            s->step),
		.grad_norm = s->last_norm,
		.tokens_per_s = r->tokens_per_s,
		.seconds = run_seconds(r),
		.scores = scores,
	};
	if (write_line(r, &line) != HEC_OK)
		run_tell_kind(r, HEC_TRAIN_SAVE_FAILED, hec_error_message());
	hec_train_event event = {.kind = HEC_TRAIN_REPORT, .scores = scores};
	run_tell(r, &event);
	s->report_step = s->step;
	s->loss_sum = 0;
	s->loss_targets = 0;
	r->step_seconds = 0;
	r->step_tokens = 0;
}

/* Without data to validate on, the last model is the one to keep. */
static hec_status save_all(run *r)
{
	hec_status status = checkpoint_save(&r->checkpoints, r->trainer, &r->state);
	if (status != HEC_OK)
		return fail_in(status, "the checkpoint was not saved");
	status = r->valid || r->o.evaluate ? HEC_OK : run_keep_model(r, r->model, NULL);
	return status == HEC_OK ? HEC_OK
	                        : fail_in(status, "the checkpoint is saved, but not the model");
}

/* A run that goes on from a checkpoint does not write again the lines before it. The curve is drawn of all of them. */
static hec_status flush_log(const run *r)
{
	HEC_TRY(log_flush(r->log));
	/* A validation at this step has drawn it already. */
	if (r->state.valid_step < r->state.step && access(r->log, F_OK) == 0)
		HEC_TRY(draw_curve(r));
	return folder_flush(r->o.dir);
}

hec_status run_save(run *r)
{
	if (flush_log(r) != HEC_OK)
		run_tell_kind(r, HEC_TRAIN_SAVE_FAILED, hec_error_message());
	r->state.seconds = run_seconds(r);
	hec_status status = save_all(r);
	if (status == HEC_OK) {
		run_tell_kind(r, HEC_TRAIN_SAVED, NULL);
		return HEC_OK;
	}
	r->saves_failed++;
	/* Whoever is told may call us, and then the message is another. */
	char message[512];
	snprintf(message, sizeof message, "%s", hec_error_message());
	run_tell_kind(r, HEC_TRAIN_SAVE_FAILED, message);
	return fail(status, "%s", message);
}

void run_save_state(run *r)
{
	if (checkpoint_save(&r->checkpoints, r->trainer, &r->state) == HEC_OK)
		return;
	r->saves_failed++;
	run_tell_kind(r, HEC_TRAIN_SAVE_FAILED, hec_error_message());
}

static bool is_due(int64_t step, int64_t every, int64_t done_at)
{
	return every > 0 && step > done_at && step % every == 0;
}

/* at_end: the run ends here, whatever the number of the step. */
static hec_status after_step(run *r, bool at_end)
{
	run_state *s = &r->state;
	const bool can_validate = r->valid || r->o.evaluate;
	const bool is_validation_due =
		can_validate && is_due(s->step, r->o.valid_every, s->valid_step);
	const bool must_validate =
		is_validation_due || (can_validate && at_end && s->step > s->valid_step);
	const bool must_log = is_due(s->step, r->o.report_every, s->report_step) ||
	                      (at_end && s->step > s->report_step);
	const bool must_save =
		!at_end && is_due(s->step, r->o.save_every, 0); /* the end saves anyway */
	bool is_stopped = false;
	hec_train_scores scores;
	if (must_validate || must_log || must_save)
		HEC_TRY(run_check_folder(r)); /* a run without a folder has no end to come to */
	if (must_validate)
		HEC_TRY(run_validate(r, is_validation_due, &scores, &is_stopped));
	HEC_TRY(callback_status(r));
	if (is_stopped)
		return HEC_OK;
	if (must_validate || must_log)
		report(r, must_validate ? &scores : NULL);
	HEC_TRY(callback_status(r));
	if (must_save)
		(void)run_save(r);
	return callback_status(r);
}

/* ---- the loop ---- */

/* By the settings alone. */
static bool is_done(const run *r)
{
	return (r->o.steps > 0 && r->state.step >= r->o.steps) ||
	       (r->o.epochs > 0 && r->state.place.epoch >= r->o.epochs);
}

static bool has_ended(const run *r, hec_train_end *end)
{
	const run_state *s = &r->state;
	if (r->stop)
		*end = HEC_TRAIN_STOPPED;
	else if (is_done(r))
		*end = HEC_TRAIN_DONE;
	else if (r->o.patience > 0 && s->stale >= r->o.patience)
		*end = HEC_TRAIN_EARLY;
	else if (r->o.seconds > 0 && run_clock() - r->begin >= r->o.seconds)
		*end = HEC_TRAIN_TIME;
	else
		return false;
	return true;
}

/* Where no validation could tell which model is the best, the last one is better than none. */
static void keep_some_model(run *r)
{
	if ((!r->valid && !r->o.evaluate) || r->state.step == 0 ||
	    r->state.best_step[r->o.best] > 0)
		return;
	if (run_keep_model(r, r->model, NULL) != HEC_OK) {
		r->saves_failed++;
		run_tell_kind(r, HEC_TRAIN_SAVE_FAILED, hec_error_message());
	}
}

static hec_status finish(run *r, hec_train_end *end)
{
	if (*end != HEC_TRAIN_STOPPED) {
		run_state before = r->state;
		HEC_TRY(after_step(r, true));
		if (r->stop)
			*end = HEC_TRAIN_STOPPED;
		/* Where the time is up depends on the machine: what is said there is said for now,
		 * and a run that goes on reports as if it had not been. */
		if (*end == HEC_TRAIN_TIME) {
			r->state.report_step = before.report_step;
			r->state.loss_sum = before.loss_sum;
			r->state.loss_targets = before.loss_targets;
			r->state.valid_step = before.valid_step;
		}
	}
	/* Without a step there is nothing to lose: the seed gives the same weights again. */
	hec_status status = r->state.step == 0 ? HEC_OK : run_save(r);
	char message[512];
	snprintf(message, sizeof message, "%s", status == HEC_OK ? "" : hec_error_message());
	if (*end != HEC_TRAIN_STOPPED && status == HEC_OK)
		HEC_TRY(run_try_average(r));
	HEC_TRY(callback_status(r));
	keep_some_model(r);
	run_tell_kind(r, HEC_TRAIN_END, NULL);
	return status == HEC_OK ? callback_status(r) : fail(status, "at the end, %s", message);
}

static hec_status learn(run *r, hec_train_end *end)
{
	r->first_step = r->state.step;
	r->first_moment = run_clock();
	run_tell_kind(r, HEC_TRAIN_BEGIN, NULL);
	HEC_TRY(callback_status(r));
	if (r->state.step > 0 && !r->stop)
		HEC_TRY(after_step(r, is_done(r))); /* what the step before the stop still owes */
	while (!has_ended(r, end)) {
		HEC_TRY(take_step(r));
		HEC_TRY(after_step(r, is_done(r)));
	}
	return finish(r, end);
}

/* ---- opening ---- */

static hec_status check_count(const char *name, int64_t value, int64_t least)
{
	if (value >= least)
		return HEC_OK;
	return fail(HEC_ERR_ARGUMENT, "train: %s is %lld, at least %lld is needed", name,
	            (long long)value, (long long)least);
}

static hec_status take_options(const hec_train_options *given, hec_train_options *o)
{
	*o = (hec_train_options)HEC_TRAIN_OPTIONS_INIT;
	HEC_TRY(options_take("hec_train_options", o, sizeof *o, given));
	HEC_TRY(CHECK_GIVEN("train", o->dir));
	HEC_TRY(check_count("steps", o->steps, 0));
	HEC_TRY(check_count("epochs", o->epochs, 0));
	HEC_TRY(check_count("accumulate", o->accumulate, 1));
	HEC_TRY(check_count("report_every", o->report_every, 1));
	HEC_TRY(check_count("valid_every", o->valid_every, 0));
	HEC_TRY(check_count("save_every", o->save_every, 0));
	HEC_TRY(check_count("keep", o->keep, 1));
	HEC_TRY(check_count("average", o->average, 0));
	HEC_TRY(check_count("patience", o->patience, 0));
	if ((int)o->best < 0 || (int)o->best >= HEC_METRICS)
		return fail(HEC_ERR_ARGUMENT, "train: there is no metric %d", (int)o->best);
	o->keep = max_i64(o->keep, o->average);
	return HEC_OK;
}

static hec_status check_best(const hec_train_options *o, bool valid)
{
	if (o->best == HEC_METRIC_LOSS ? valid || !o->evaluate : o->evaluate != NULL)
		return HEC_OK;
	return fail(HEC_ERR_ARGUMENT,
	            "train: nothing measures %s, by which the best model is to be kept",
	            hec_metric_name(o->best));
}

hec_status run_take_options(run *r, const hec_train_options *given)
{
	HEC_TRY(take_options(given, &r->o));
	HEC_TRY(trainer_take_options(r->o.trainer, &r->trainer_options));
	if (r->trainer_options.steps == 0)
		r->trainer_options.steps = r->o.steps;
	return HEC_OK;
}

/* Whether the model reads what the corpus gives. */
static hec_status check_sounds(const hec_model_config *c, const hec_corpus *corpus)
{
	const int64_t mels = corpus->sounds ? corpus->speech.mel.mels : 0,
		      frames = corpus->sounds ? sound_frames(&corpus->speech) : 0,
		      reads = c->front.features > 0 ? 2 * c->encoder.position.max : 0;
	if (mels == c->front.features && frames == reads)
		return HEC_OK;
	return fail(HEC_ERR_ARGUMENT,
	            "train: the model reads %lld frames of %lld mel bands, the corpus has %lld of "
	            "%lld (0: text)",
	            (long long)reads, (long long)c->front.features, (long long)frames,
	            (long long)mels);
}

hec_status run_open_data(run *r, hec_corpus *train, hec_corpus *valid)
{
	const hec_model_config *c = hec_model_config_of(r->model);
	batcher_options b = {
		.max_tokens = r->trainer_options.max_tokens,
		.max_rows = r->trainer_options.max_rows,
		.seed = r->o.seed,
		.pad_id = c->pad_id >= 0 ? c->pad_id : 0,
		.start_id = hec_model_config_starts_with_last(c) ? -1 : c->start_id,
		.mask_rate = r->o.mask_rate,
		.encoder = c->encoder.layers > 0,
		.decoder = c->decoder.layers > 0,
		.types = c->types > 1,
		.ctx = r->ctx,
	};
	HEC_TRY(check_sounds(c, train));
	if (valid)
		HEC_TRY(check_sounds(c, valid));
	if (train->task == HEC_TASK_MLM && train->mask_id < 0)
		return fail(HEC_ERR_ARGUMENT,
		            "train: the tokenizer has no token to hide words with "
		            "(role \"mask\"), which mlm needs");
	HEC_TRY(batcher_create(train, &b, &r->train));
	b.in_order = true;
	if (valid)
		HEC_TRY(batcher_create(valid, &b, &r->valid));
	r->valid_corpus = valid;
	r->state.identity = (run_identity){
		.seed = r->o.seed,
		.dropout_seed = r->trainer_options.seed,
		.max_tokens = b.max_tokens,
		.max_rows = b.max_rows,
		.accumulate = r->o.accumulate,
		.data = hec_corpus_checksum(train),
		.valid = valid ? hec_corpus_checksum(valid) : 0,
	};
	return HEC_OK;
}

static hec_status open_run(run *r, hec_corpus *train, hec_corpus *valid)
{
	bool found = false;
	if (!r->o.lock)
		HEC_TRY(hec_train_lock_create(r->o.dir, &r->lock));
	HEC_TRY(run_check_folder(r));
	folder_sweep(r->o.dir, 2);
	HEC_TRY(path_make(&r->log, "%s/log.jsonl", r->o.dir));
	HEC_TRY(path_make(&r->curve, "%s/curve.svg", r->o.dir));
	HEC_TRY(checkpoints_open(r->o.dir, &r->checkpoints));
	r->checkpoints.tokenizer = r->o.tokenizer;
	r->checkpoints.keep = r->o.keep;
	r->checkpoints.every = r->o.save_every;
	r->checkpoints.lock = r->o.lock ? r->o.lock : r->lock;
	r->checkpoints.run = r->o.dir;
	HEC_TRY(run_open_data(r, train, valid));
	HEC_TRY(hec_trainer_create(r->ctx, r->model, &r->trainer_options, &r->trainer));
	if (hec_train_can_resume(r->o.dir) && !r->o.resume)
		return fail(HEC_ERR_ARGUMENT,
		            "%s: holds a run already; resume it, or take another "
		            "folder",
		            r->o.dir);
	for (int i = 0; i < HEC_METRICS; i++)
		r->state.due[i] = NAN;
	r->state.chosen = (int)r->o.best;
	run_identity identity = r->state.identity;
	if (r->o.resume)
		HEC_TRY(checkpoint_load(&r->checkpoints, r->trainer, &identity, &r->state, &found));
	HEC_TRY(log_cut(r->log, r->state.report_step));
	r->seconds_before = r->state.seconds;
	if (found)
		HEC_TRY(run_choose(r));
	return batcher_seek(r->train, r->state.place);
}

static void close_run(run *r)
{
	batcher_destroy(r->train);
	batcher_destroy(r->valid);
	hec_trainer_destroy(r->trainer);
	checkpoints_close(&r->checkpoints);
	hec_train_lock_destroy(r->lock);
	mem_free(r->log);
	mem_free(r->curve);
}

static hec_status make_result(const run *r, hec_train_end end, hec_train_result **out)
{
	hec_train_result *result = mem_alloc(sizeof *result);
	if (!result)
		return fail(HEC_ERR_MEMORY, "train: no memory");
	*result = (hec_train_result){
		.end = end,
		.step = r->state.step,
		.epoch = r->state.place.epoch,
		.skips = r->trainer->skips,
		.best_step = r->state.best_step[r->o.best],
		.best = r->state.best[r->o.best],
		.seconds = run_seconds(r),
		.saves_failed = r->saves_failed,
	};
	*out = result;
	return HEC_OK;
}

hec_status hec_train(hec_ctx *ctx, hec_model *model, hec_corpus *train, hec_corpus *valid,
                     const hec_train_options *options, hec_train_result **out)
{
	if (out)
		*out = NULL;
	HEC_TRY(CHECK_GIVEN("train", ctx));
	HEC_TRY(CHECK_GIVEN("train", model));
	HEC_TRY(CHECK_GIVEN("train", train));
	HEC_TRY(CHECK_GIVEN("train", options));
	run r = {.ctx = ctx, .model = model, .begin = run_clock()};
	hec_train_end end = HEC_TRAIN_DONE;
	HEC_TRY(run_take_options(&r, options));
	HEC_TRY(check_best(&r.o, valid != NULL));
	hec_status status = open_run(&r, train, valid);
	if (status == HEC_OK)
		status = learn(&r, &end);
	if (status == HEC_OK && out)
		status = make_result(&r, end, out);
	close_run(&r);
	return status;
}

void hec_train_result_free(hec_train_result *result)
{
	mem_free(result);
}
