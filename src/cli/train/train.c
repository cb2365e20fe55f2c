/* train.c — `hecate train`: from text to a model.
 *
 *   settings (flags, or DIR/train.json when resuming) → count the text → tokenizer → ids
 *   → sizes → model → hec_train, which steps, validates, saves */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/command/command.h"
#include "cli/command/interrupt.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"
#include "cli/io/say.h"
#include "cli/io/terminal.h"
#include "cli/train/answer.h"
#include "cli/train/data.h"
#include "cli/train/dump.h"
#include "cli/train/evaluate.h"
#include "cli/train/folder.h"
#include "cli/train/from.h"
#include "cli/train/listen.h"
#include "cli/train/model.h"
#include "cli/train/plan.h"
#include "cli/train/progress.h"
#include "cli/train/settings.h"
#include "cli/io/valid_text.h"

#define PATH_MOST 4096
#define LEFT_OUT_TOLD 3

typedef struct job {
	const command *self;
	train_settings s;
	train_data data;
	train_progress progress;
	train_evaluator *evaluator;
	train_answers *answers;   /* of the task answer, instead of that */
	train_listener *listener; /* of sounds, instead of both */
	FILE *batches;
	hec_ctx *ctx;
	hec_model *model;
	train_folder folder;
	char start[PATH_MOST]; /* --from: DIR/start */
	bool spoilt;           /* a batch is missing in `batches` */
	bool begun;            /* the first step comes, or has been */
} job;

static job *current; /* for train_data_progress, which is also called from deep inside */

/* As shells count a program that a signal ended: what was to come after it should not. */
static int exit_of_signal(void)
{
	return 128 + interrupt_signal();
}

static int failed(const job *j)
{
	if (interrupt_asked()) {
		(void)command_failed(j->self, "stopped before it had learned anything; --resume "
		                              "begins again");
		return exit_of_signal();
	}
	if (train_memory_for())
		return command_failed(j->self, "no memory for %s", train_memory_for());
	return command_failed(j->self, "%s", hec_error_message());
}

hec_status train_data_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)user;
	static int64_t shown;
	if (interrupt_asked())
		return HEC_ERR_CANCELLED;
	/* What comes of this goes into the folder, which may be another's by now. */
	const hec_train_lock *lock = current->folder.lock;
	if (lock && hec_train_lock_holds(lock, current->s.out) != HEC_OK)
		return HEC_ERR_IO;
	const int64_t often = current->s.sounds ? 100 : 20000;
	if (current->progress.bar && (done < shown || done - shown >= often)) {
		shown = done;
		fprintf(stderr, "\r\033[K%s: %lld%s", phase, (long long)done,
		        total > 0 && done >= total ? "\n" : "");
		current->progress.open = true;
	}
	return HEC_OK;
}

/* The first few by name: what is wrong with them is wrong with all, most of the time. */
void train_data_left_out(void *user, const char *why)
{
	static int told;
	(void)user;
	if (told++ < LEFT_OUT_TOLD)
		train_progress_say(&current->progress, "hecate train: warning: left out: %s%s", why,
		                   told == LEFT_OUT_TOLD ? "; no more of them are named" : "");
}

/* Before anything is made: learning a tokenizer takes a while. */
static int look_at_files(const job *j, const option_list *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (access(files->items[i], R_OK) != 0)
			return command_failed(j->self, "%s: could not be opened: %s",
			                      files->items[i], strerror(errno));
	return PARSED;
}

static int check_sizes(const job *j)
{
	const train_settings *s = &j->s;
	if (s->width % s->heads != 0)
		return command_failed(j->self,
		                      "--heads is %lld, which does not divide --width %lld",
		                      (long long)s->heads, (long long)s->width);
	return PARSED;
}

static int count_text(job *j)
{
	hec_status status = train_data_count(&j->s, &j->data);
	if (status == HEC_ERR_UNSUPPORTED && j->data.n_labels == LABELS_MOST)
		return command_failed(j->self,
		                      "more than %d labels: classify wants label, tab, text",
		                      LABELS_MOST);
	if (status != HEC_OK)
		return failed(j);
	if (j->s.task_id == HEC_TASK_CLASSIFY && j->data.n_labels == 0)
		return command_failed(
			j->self,
			"none of the %lld lines has what classify wants: no label, tab "
			"and text",
			(long long)j->data.counts.lines);
	return PARSED;
}

/* Ids that the model has no row for would only be found in the middle of learning. */
static int check_from(const job *j)
{
	const int64_t ids = hec_tokenizer_vocab(j->data.tokenizer);
	const hec_corpus *valid = j->data.valid;
	if (ids > j->s.vocab)
		return command_failed(j->self,
		                      "%s: its tokenizer has %lld tokens, its model %lld: they do "
		                      "not belong together",
		                      j->s.from, (long long)ids, (long long)j->s.vocab);
	if (valid && hec_corpus_counts_of(valid)->unknown_label > 0)
		return command_failed(j->self,
		                      "--valid: %lld line%s with a label that --train has not",
		                      (long long)hec_corpus_counts_of(valid)->unknown_label,
		                      plural(hec_corpus_counts_of(valid)->unknown_label));
	return PARSED;
}

/* Before the model is made; which of the lines were left out, and why. */
static int check_examples(const job *j, const char *name, const option_list *files,
                          const hec_corpus *corpus)
{
	const hec_corpus_counts *c = corpus ? hec_corpus_counts_of(corpus) : NULL;
	char sounds[128] = "";
	if (!c || c->examples > 0)
		return PARSED;
	if (j->s.sounds)
		snprintf(sounds, sizeof sounds,
		         ", %lld whose sound cannot be read, %lld with a sound longer than the "
		         "window",
		         (long long)c->no_sound, (long long)c->long_sound);
	return command_failed(j->self,
	                      "%s %s%s%s%s: no example is left (%lld line%s: %lld empty, %lld not "
	                      "UTF-8, %lld too long, %lld without a tab, %lld of unknown label%s)",
	                      name, files->items[0], files->count > 1 ? " " : "",
	                      files->count > 1 ? files->items[1] : "", files->count > 2 ? " …" : "",
	                      (long long)c->lines, c->lines == 1 ? "" : "s", (long long)c->empty,
	                      (long long)c->bad_utf8, (long long)c->too_long, (long long)c->no_tab,
	                      (long long)c->unknown_label, sounds);
}

static int open_data(job *j)
{
	train_settings *s = &j->s;
	char error[256];
	if (!train_read_config(s, error, sizeof error))
		return command_failed(j->self, "%s", error);
	/* A run that is resumed has its sizes; its labels are found again. */
	if (!j->folder.old || !train_is_settled(s) || s->task_id == HEC_TASK_CLASSIFY) {
		int code = count_text(j);
		if (code != PARSED)
			return code;
	}
	if (s->from && train_from_labels(s, &j->data) != HEC_OK)
		return failed(j);
	train_settle_sizes(s, &j->data);
	if (!s->from && !s->config && check_sizes(j) != PARSED)
		return EXIT_FAILED;
	j->data.lock = j->folder.lock;
	if (train_data_tokenizer(s, &j->data) != HEC_OK || train_data_open(s, &j->data) != HEC_OK)
		return failed(j);
	if ((s->from && check_from(j) != PARSED) ||
	    check_examples(j, "--train", &s->train, j->data.train) != PARSED ||
	    check_examples(j, "--valid", &s->valid, j->data.valid) != PARSED)
		return EXIT_FAILED;
	return PARSED;
}

/* Whoever reads the model's config.json learns what its labels are called. */
static hec_status name_labels(const job *j)
{
	const train_data *d = &j->data;
	return d->n_labels == 0 ? HEC_OK
	                        : hec_model_set_labels(j->model, (const char *const *)d->labels,
	                                               (int64_t)d->n_labels);
}

static int open_model(job *j)
{
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	hec_model_config config;
	o.threads = (int)j->s.threads;
	if (hec_ctx_create(&o, &j->ctx) != HEC_OK)
		return failed(j);
	if (hec_train_lock_holds(j->folder.lock, j->s.out) != HEC_OK)
		return failed(j);
	if (j->s.from) {
		if (train_from_model(&j->s, &j->data, j->ctx, &j->model) != HEC_OK)
			return failed(j);
		if (!j->s.quiet) {
			train_progress_say(&j->progress, "%s:", j->s.from);
			say_lines(hec_model_report(j->model));
		}
	} else if (train_config(&j->s, &j->data, &config) != HEC_OK ||
	           hec_model_create(j->ctx, &config, HEC_F32, j->s.seed.value, &j->model) !=
	                   HEC_OK ||
	           (j->s.config && train_set_rates(&j->s, j->model) != HEC_OK) ||
	           name_labels(j) != HEC_OK) {
		return failed(j);
	}
	if (train_settle_batch(&j->s, j->ctx, j->model, &j->data) != HEC_OK)
		return failed(j);
	return j->folder.old || train_folder_write(&j->folder, j->self, &j->s) ? PARSED
	                                                                       : EXIT_FAILED;
}

static hec_status on_event(void *user, const hec_train_event *event)
{
	job *j = user;
	/* Settings with which a run cannot go on must not take the place of those with which it can:
	 * only now it is known. */
	if (event->kind == HEC_TRAIN_BEGIN && j->folder.old)
		(void)train_folder_write(&j->folder, j->self, &j->s);
	j->begun = true;
	interrupt_wait(true); /* for the step under way, and the save behind it */
	return train_progress_event(&j->progress, event);
}

static hec_status on_evaluate(void *user, hec_ctx *ctx, const hec_model *model,
                              hec_train_scores *scores)
{
	job *j = user;
	if (j->listener)
		return train_listener_score(j->listener, ctx, model, scores);
	return j->answers ? train_answers_score(j->answers, ctx, model, scores)
	                  : train_evaluate(j->evaluator, ctx, model, scores);
}

static void on_batch(void *user, int64_t step, const hec_batch *batch)
{
	job *j = user;
	if (!train_dump(j->batches, step, batch))
		j->spoilt = true;
}

static void train_options(job *j, hec_trainer_options *trainer, hec_train_options *o)
{
	const train_settings *s = &j->s;
	*o = (hec_train_options)HEC_TRAIN_OPTIONS_INIT;
	snprintf(j->start, sizeof j->start, "%s/start", s->out);
	train_trainer_options(s, trainer);
	o->trainer = trainer;
	o->dir = s->out;
	o->resume = s->resume;
	o->tokenizer = j->data.tokenizer;
	o->steps = s->steps;
	o->epochs = s->epochs;
	o->seconds = s->time;
	o->accumulate = s->accumulate;
	o->report_every = s->report_every;
	o->valid_every = s->valid_every;
	o->save_every = s->save_every;
	o->keep = s->keep;
	o->average = s->average;
	o->patience = s->patience;
	o->best = settings_metric(s);
	o->dtype = settings_dtype(s);
	o->mask_rate = s->mask_rate;
	o->seed = s->seed.value;
	o->evaluate = j->evaluator || j->answers || j->listener ? on_evaluate : NULL;
	o->event = on_event;
	o->batch = j->batches ? on_batch : NULL;
	o->user = j;
	o->lock = j->folder.lock;
	o->origin = s->from ? j->start : NULL;
}

static const char *end_name(const hec_train_result *r)
{
	static const char *const ends[] = {"done", "no better model for a while", "time is up",
	                                   "stopped"};
	return ends[r->end];
}

static void print_result_json(const job *j, const hec_train_result *r)
{
	size_t bytes = 0;
	char *dir = valid_text(j->s.out, strlen(j->s.out), &bytes);
	json_t *o =
		json_pack("{s:s, s:s, s:I, s:I, s:I, s:f}", "dir", dir ? dir : "", "end",
	                  end_name(r), "step", (json_int_t)r->step, "epoch", (json_int_t)r->epoch,
	                  "skipped", (json_int_t)r->skips, "seconds", r->seconds);
	if (o && r->best_step > 0) {
		json_object_set_new(o, "best_metric", json_string(j->s.best));
		json_object_set_new(o, "best", json_real(r->best));
		json_object_set_new(o, "best_step", json_integer(r->best_step));
	}
	(void)put_json_value(o, JSON_COMPACT, stdout);
	putchar('\n');
	json_decref(o);
	free(dir);
}

static void print_result(const job *j, const hec_train_result *r)
{
	text t = {0};
	text_add(&t, "%s: %s at step %lld (epoch %lld), %.0f s", j->s.out, end_name(r),
	         (long long)r->step, (long long)r->epoch, r->seconds);
	if (r->best_step > 0)
		text_add(&t, "; best %s %.4f at step %lld", j->s.best, r->best,
		         (long long)r->best_step);
	if (r->skips)
		text_add(&t, "; %lld step%s skipped: not finite, or nothing to learn from",
		         (long long)r->skips, plural(r->skips));
	put_line(t.data, stdout);
	text_free(&t);
	if (r->end == HEC_TRAIN_STOPPED || r->end == HEC_TRAIN_TIME) {
		text_add(&t, "go on with: hecate train --resume --out %s", j->s.out);
		put_line(t.data, stdout);
		text_free(&t);
	}
}

static bool close_batches(job *j)
{
	bool good = !ferror(j->batches) && !j->spoilt;
	errno = 0;
	good = fclose(j->batches) == 0 && good;
	j->batches = NULL;
	if (!good)
		(void)command_failed(j->self, "%s could not be written: %s", j->s.dump_batches,
		                     errno ? strerror(errno) : "not all of it");
	return good;
}

static int learn(job *j)
{
	hec_trainer_options trainer;
	hec_train_options o;
	hec_train_result *result;
	/* A run that goes on adds to what it wrote before. */
	if (j->s.dump_batches &&
	    !(j->batches = fopen(j->s.dump_batches, j->folder.old ? "a" : "w")))
		return command_failed(j->self, "%s could not be written: %s", j->s.dump_batches,
		                      strerror(errno));
	if (train_evaluator_open(&j->s, &j->data, &j->evaluator) != HEC_OK ||
	    train_answers_open(&j->s, &j->data, &j->answers) != HEC_OK ||
	    train_listener_open(&j->s, &j->data, &j->listener) != HEC_OK)
		return failed(j);
	train_options(j, &trainer, &o);
	hec_status status = hec_train(j->ctx, j->model, j->data.train, j->data.valid, &o, &result);
	if (status != HEC_OK)
		return command_failed(j->self, "%s", hec_error_message());
	if (j->s.json)
		print_result_json(j, result);
	else
		print_result(j, result);
	const bool stopped = result->end == HEC_TRAIN_STOPPED;
	hec_train_result_free(result);
	(void)fflush(stdout);
	interrupt_wait(false);
	if (j->batches && !close_batches(j))
		return EXIT_FAILED;
	return stopped && interrupt_asked() ? exit_of_signal() : EXIT_DONE;
}

static int run_job(job *j)
{
	char error[256];
	/* What an architecture that is given settles stands in the first train.json already. */
	if ((j->s.from || j->s.config) && !train_read_config(&j->s, error, sizeof error))
		return command_failed(j->self, "%s", error);
	int code = look_at_files(j, &j->s.train);
	if (code == PARSED)
		code = look_at_files(j, &j->s.valid);
	if (code == PARSED)
		code = train_folder_open(&j->folder, j->self, &j->s);
	if (code == PARSED)
		code = open_data(j);
	if (code == PARSED)
		code = open_model(j);
	if (code == PARSED &&
	    train_plan_say(&j->progress, &j->s, &j->data, j->ctx, j->model) != HEC_OK)
		code = failed(j);
	if (code == PARSED)
		code = learn(j);
	if (code != EXIT_DONE && j->folder.fresh && !j->begun && !interrupt_asked())
		train_folder_forget(&j->folder, j->s.out);
	return code;
}

static void close_job(job *j)
{
	train_evaluator_close(j->evaluator);
	train_answers_close(j->answers);
	train_listener_close(j->listener);
	if (j->batches)
		fclose(j->batches);
	hec_model_destroy(j->model);
	hec_ctx_destroy(j->ctx);
	train_data_close(&j->data);
	train_folder_close(&j->folder);
}

static int dump_settings(job *j)
{
	char error[256];
	if (!train_read_config(&j->s, error, sizeof error))
		return command_failed(j->self, "%s", error);
	int code = count_text(j);
	if (code != PARSED)
		return code;
	train_settle_sizes(&j->s, &j->data);
	train_estimate_steps(&j->s, &j->data);
	settings_print(&j->s, stdout);
	return EXIT_DONE;
}

static int train_run(const command *self, int argc, char **argv)
{
	static job j;
	char error[256];
	int operands = 0;
	j = (job){.self = self};
	current = &j;
	settings_default(&j.s);
	int code = command_options(self, settings_options(&j.s), argc, argv, &operands);
	if (code == PARSED && operands > 0)
		code = command_usage(self, "'%.40s' belongs to no option", argv[0]);
	if (code == PARSED && j.s.resume && !j.s.out)
		code = command_usage(self, "--out is missing: the folder of the run to resume");
	if (code == PARSED && j.s.resume)
		code = train_folder_resume(&j.folder, self, &j.s, argc, argv);
	if (code == PARSED && !settings_check(&j.s, error, sizeof error))
		code = command_usage(self, "%s", error);
	if (code != PARSED) {
		close_job(&j);
		return code;
	}
	train_progress_open(&j.progress, j.s.quiet);
	interrupt_catch_all();
	code = j.s.dump_config ? dump_settings(&j) : run_job(&j);
	close_job(&j);
	return code;
}

const command command_train = {
	.name = "train",
	.summary = "Learns a model from text",
	.usage = "train --task T --train F… [--valid F…] --out DIR [OPTION]…\n"
		 "train --from DIR --task T --train F… [--valid F…] --out DIR [OPTION]…\n"
		 "train --resume --out DIR [OPTION]…",
	.about =
		"Learns a tokenizer and a model. DIR holds the best model so far as a Hugging "
		"Face\n"
		"directory, log.jsonl (a line for each report), curve.svg, train.json (all "
		"settings)\n"
		"and checkpoint/ for resuming: a run that was stopped, or killed, goes on with "
		"the\n"
		"same bits as one that was not. Ctrl-C saves and stops.\n\n"
		"  translate  two files, line by line     seq2seq   source, tab, target\n"
		"  lm         running text                mlm       a text a line\n"
		"  classify   label, tab, text            answer    SQuAD's JSON, with --from\n"
		"  seq2seq, with --from a Whisper model: sound file, tab, what is spoken there\n\n"
		"--from begins from a pretrained Hugging Face directory: its architecture, weights "
		"and\n"
		"tokenizer, with a fresh head where the task needs another; defaults behind a "
		"semicolon\n"
		"are those with it. DIR then has start/, the model before the first step.\n\n"
		"Example: hecate train --task translate --train a.en a.de --valid v.en v.de --out "
		"DIR\n"
		"         hecate train --from MiniLM --task classify --train reviews.tsv --out "
		"DIR\n",
	.run = train_run,
};
