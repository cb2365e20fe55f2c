/* training.c — the calls of hecate/training.h, in their order: create, open, learn. */
#include "training/training.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "train/checkpoint.h"
#include "train/folder.h"
#include "training/data.h"
#include "training/judge.h"
#include "training/settle.h"
#include "training/start.h"

hec_status training_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	const hec_training *t = user;
	if (t->lock)
		HEC_TRY(hec_train_lock_holds(t->lock, t->o.dir));
	return call_progress(t->o.progress, t->o.user, phase, done, total);
}

void training_left_out(void *user, const char *why)
{
	const hec_training *t = user;
	t->o.left_out(t->o.user, why);
}

/* ---- create ---- */

/* Before anything is made: learning a tokenizer takes a while. */
static hec_status look_at_files(const char *const *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (access(files[i], R_OK) != 0)
			return fail(HEC_ERR_IO, "%s: could not be opened: %s", files[i],
			            strerror(errno));
	return HEC_OK;
}

static hec_status create(hec_training *t, const hec_training_options *options)
{
	HEC_TRY(options_take("hec_training_options", &t->o, sizeof t->o, options));
	HEC_TRY(settle_options(&t->o));
	t->asked_steps = t->o.steps;
	t->asked_warmup = t->o.warmup;
	HEC_TRY(settle_by_architecture(t));
	HEC_TRY(look_at_files(t->o.train, t->o.train_count));
	return look_at_files(t->o.valid, t->o.valid_count);
}

hec_status hec_training_create(const hec_training_options *options, hec_training **out)
{
	if (out)
		*out = NULL;
	if (!options || !out)
		return fail(HEC_ERR_ARGUMENT, "hec_training_create: %s is NULL",
		            out ? "options" : "out");
	hec_training *t = mem_zeros(1, sizeof *t);
	if (!t)
		return fail(HEC_ERR_MEMORY, "no memory for a training");
	t->o = (hec_training_options)HEC_TRAINING_OPTIONS_INIT;
	t->target_language = -1;
	hec_status status = create(t, options);
	if (status == HEC_OK)
		*out = t;
	else
		hec_training_destroy(t);
	return status;
}

void hec_training_destroy(hec_training *t)
{
	if (!t)
		return;
	hec_model_destroy(t->model);
	hec_ctx_destroy(t->ctx);
	hec_corpus_destroy(t->train);
	hec_corpus_destroy(t->valid);
	hec_speech_destroy(t->speech);
	hec_tokenizer_destroy(t->tokenizer);
	hec_tokenizer_destroy(t->target);
	hec_train_lock_destroy(t->own_lock);
	label_list_free(&t->labels);
	mem_free(t);
}

hec_status hec_training_estimate(hec_training *t)
{
	if (!t || t->lock)
		return fail(HEC_ERR_ARGUMENT, "hec_training_estimate: the training is %s",
		            t ? "open, or was tried to open before" : "NULL");
	t->o.steps = t->asked_steps;
	t->o.warmup = t->asked_warmup;
	HEC_TRY(data_count(t));
	HEC_TRY(settle_by_text(t));
	settle_about_steps(t);
	return HEC_OK;
}

/* ---- open ---- */

static bool are_one_folder(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Of a run that is there nothing may be written over: not its tokenizer, not its ids, not what it began from. */
static hec_status check_folder(hec_training *t)
{
	const hec_training_options *o = &t->o;
	if (o->from && are_one_folder(o->from, o->dir))
		return fail(HEC_ERR_ARGUMENT, "%s: 'dir' would take the place of 'from'", o->dir);
	HEC_TRY(train_holds_run(o->dir, &t->goes_on));
	if (!t->goes_on)
		return HEC_OK;
	if (!o->resume)
		return fail(HEC_ERR_ARGUMENT,
		            "%s: holds a run already; resume it, or take another folder", o->dir);
	if (o->from && !start_has_begun(t))
		return fail(HEC_ERR_ARGUMENT,
		            "%s: the run in it did not begin from a model: 'from' "
		            "cannot be changed",
		            o->dir);
	return HEC_OK;
}

static hec_status take_folder(hec_training *t, const hec_train_lock *lock)
{
	if (!t->o.dir)
		return fail(HEC_ERR_ARGUMENT, "'dir' is missing: the folder for everything");
	if (!lock)
		HEC_TRY(hec_train_lock_create(t->o.dir, &t->own_lock));
	t->lock = lock ? lock : t->own_lock;
	HEC_TRY(hec_train_lock_holds(t->lock, t->o.dir));
	return check_folder(t);
}

static hec_status open_data(hec_training *t)
{
	/* A training that is resumed has its sizes, so the text need not be counted again; but for its labels. */
	if (!t->o.resume || !is_settled(t) || t->o.task == HEC_TASK_CLASSIFY)
		HEC_TRY(data_count(t));
	HEC_TRY(start_labels(t));
	HEC_TRY(settle_by_text(t));
	HEC_TRY(data_tokenizer(t));
	return data_open(t);
}

static hec_status make_model(hec_training *t)
{
	hec_model_config c;
	fresh_config(t, &c);
	HEC_TRY(hec_model_create(t->ctx, &c, HEC_F32, t->o.seed, &t->model));
	if (t->o.config)
		HEC_TRY(set_dropouts(t));
	/* Whoever reads the model's config.json learns what its labels are called. */
	return t->labels.n == 0
	               ? HEC_OK
	               : hec_model_set_labels(t->model, (const char *const *)t->labels.names,
	                                      (int64_t)t->labels.n);
}

static hec_status open_model(hec_training *t)
{
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.threads = t->o.threads;
	HEC_TRY(hec_ctx_create(&o, &t->ctx));
	HEC_TRY(hec_train_lock_holds(t->lock, t->o.dir));
	HEC_TRY(t->o.from ? start_model(t) : make_model(t));
	return settle_by_model(t);
}

hec_status hec_training_open(hec_training *t, const hec_train_lock *lock)
{
	if (!t || t->is_open || t->lock)
		return fail(HEC_ERR_ARGUMENT, "hec_training_open: the training is %s",
		            t ? "open, or was tried to open before" : "NULL");
	HEC_TRY(take_folder(t, lock));
	t->o.steps = t->asked_steps; /* an estimate was one */
	t->o.warmup = t->asked_warmup;
	HEC_TRY(start_keep_config(t));
	if (t->config_is_kept)
		HEC_TRY(settle_by_architecture(
			t)); /* by the copy, which is what the run has from now on */
	HEC_TRY(open_data(t));
	HEC_TRY(open_model(t));
	t->is_open = true;
	return HEC_OK;
}

/* ---- learn ---- */

/* What the functions that hec_train calls are given. */
typedef struct learning {
	const hec_training *t;
	judge *judge;
} learning;

static hec_status on_evaluate(void *user, hec_ctx *ctx, const hec_model *model,
                              hec_train_scores *scores)
{
	const learning *l = user;
	return l->judge->score(l->judge, ctx, model, scores);
}

static hec_status on_event(void *user, const hec_train_event *event)
{
	const hec_training_options *o = &((const learning *)user)->t->o;
	return o->event ? o->event(o->user, event) : HEC_OK;
}

static void on_batch(void *user, int64_t step, const hec_batch *batch)
{
	const hec_training_options *o = &((const learning *)user)->t->o;
	o->batch(o->user, step, batch);
}

/* trainer and start belong to the caller, and live as long as *o. */
static hec_status train_options(const hec_training *t, hec_trainer_options *trainer,
                                char start[PATH_MOST], hec_train_options *o)
{
	const hec_training_options *of = &t->o;
	*o = (hec_train_options)HEC_TRAIN_OPTIONS_INIT;
	HEC_TRY(path_in(start, of->dir, "start"));
	trainer_options(t, trainer);
	o->trainer = trainer;
	o->dir = of->dir;
	o->resume = of->resume;
	o->tokenizer = t->tokenizer;
	o->steps = of->steps;
	o->epochs = of->epochs;
	o->seconds = of->seconds;
	o->accumulate = of->accumulate;
	o->report_every = of->report_every;
	o->valid_every = of->valid_every;
	o->save_every = of->save_every;
	o->keep = of->keep;
	o->average = of->average;
	o->patience = of->patience;
	o->best = of->best;
	o->dtype = of->dtype;
	o->mask_rate = of->mask_rate;
	o->seed = of->seed;
	o->lock = t->lock;
	o->origin = of->from ? start : NULL;
	return HEC_OK;
}

static hec_status learn(hec_training *t, learning *l, hec_train_result **out)
{
	hec_trainer_options trainer;
	hec_train_options o;
	char start[PATH_MOST];
	HEC_TRY(train_options(t, &trainer, start, &o));
	o.evaluate = l->judge ? on_evaluate : NULL;
	o.event = on_event;
	o.batch = t->o.batch ? on_batch : NULL;
	o.user = l;
	return hec_train(t->ctx, t->model, t->train, t->valid, &o, out);
}

hec_status hec_training_time(hec_training *t, double *seconds)
{
	hec_trainer_options trainer;
	hec_train_options o;
	char start[PATH_MOST];
	if (!t || !seconds || !t->is_open || t->has_learned)
		return fail(HEC_ERR_ARGUMENT, "hec_training_time: %s",
		            !t || !seconds   ? "an argument is NULL"
		            : t->has_learned ? "this training has learned"
		                             : "the training is not open");
	double step;
	*seconds = INFINITY;
	HEC_TRY(train_options(t, &trainer, start, &o));
	HEC_TRY(hec_train_speed(t->ctx, t->model, t->train, &o, &step));
	if (o.steps > 0)
		*seconds = step * (double)o.steps *
		           (1 + validation_steps(t) / (double)max_i64(1, o.valid_every));
	return HEC_OK;
}

hec_status hec_training_learn(hec_training *t, hec_train_result **out)
{
	learning l = {.t = t};
	if (out)
		*out = NULL;
	if (!t)
		return fail(HEC_ERR_ARGUMENT, "hec_training_learn: training is NULL");
	if (t->has_learned)
		return fail(HEC_ERR_ARGUMENT, "hec_training_learn: this training has learned; make "
		                              "another with 'resume'");
	if (!t->is_open)
		HEC_TRY(hec_training_open(t, NULL));
	t->has_learned = true;
	HEC_TRY(judge_create(t, &l.judge));
	hec_status status = learn(t, &l, out);
	judge_destroy(l.judge);
	return status;
}

/* ---- what came of it ---- */

void hec_training_options_of(const hec_training *t, hec_training_options *out, size_t size)
{
	options_give(out, size, &t->o, sizeof t->o);
}

hec_ctx *hec_training_ctx(const hec_training *t)
{
	return t->ctx;
}

hec_model *hec_training_model(const hec_training *t)
{
	return t->model;
}

const hec_corpus *hec_training_corpus(const hec_training *t)
{
	return t->train;
}

const hec_corpus *hec_training_valid(const hec_training *t)
{
	return t->valid;
}

bool hec_training_listens(const hec_training *t)
{
	return t->sounds;
}
