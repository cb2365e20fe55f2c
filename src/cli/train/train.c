/* train.c — `hecate train`: hec_training for a person at a terminal.
 *
 *   settings (flags, or DIR/train.json when resuming) → create → the folder → open → the plan → learn */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/command/command.h"
#include "cli/command/interrupt.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"
#include "cli/io/say.h"
#include "cli/io/terminal.h"
#include "cli/io/valid_text.h"
#include "cli/train/dump.h"
#include "cli/train/folder.h"
#include "cli/train/plan.h"
#include "cli/train/progress.h"
#include "cli/train/settings.h"

#define PATH_MOST 4096
#define LEFT_OUT_TOLD 3
#define MESSAGE_MOST 9000

typedef struct job {
	const command *self;
	train_settings s;
	hec_training *training;
	train_progress progress;
	train_folder folder;
	FILE *batches;
	int told;    /* of sounds that were left out */
	bool spoilt; /* a batch is missing in `batches` */
	bool begun;  /* the first step comes, or has been */
} job;

static int failed(const job *j)
{
	char message[MESSAGE_MOST];
	settings_message(hec_error_message(), message, sizeof message);
	if (!interrupt_asked())
		return command_failed(j->self, "%s", message);
	(void)command_failed(j->self, "stopped before it had learned anything; --resume "
	                              "begins again");
	return interrupt_exit_status();
}

/* ---- what the library tells ---- */

static hec_status on_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	job *j = user;
	if (!j->begun)
		train_progress_phase(&j->progress, phase, done, total);
	return interrupt_status();
}

/* The first few by name: what is wrong with them is wrong with all, most of the time. */
static void on_left_out(void *user, const char *why)
{
	job *j = user;
	if (j->told++ < LEFT_OUT_TOLD)
		train_progress_say(&j->progress, "hecate train: warning: left out: %s%s", why,
		                   j->told == LEFT_OUT_TOLD ? "; no more of them are named" : "");
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

static void on_batch(void *user, int64_t step, const hec_batch *batch)
{
	job *j = user;
	if (!train_dump(j->batches, step, batch))
		j->spoilt = true;
}

/* ---- the steps of a run ---- */

static void take_settled(job *j)
{
	hec_training_options settled;
	hec_training_options_of(j->training, &settled, sizeof settled);
	settings_take(&j->s, &settled);
}

static int create(job *j)
{
	hec_training_options *o = &j->s.o;
	o->progress = on_progress;
	o->left_out = on_left_out;
	o->event = on_event;
	o->batch = j->s.dump_batches ? on_batch : NULL;
	o->user = j;
	const hec_status status = hec_training_create(o, &j->training);
	if (status == HEC_ERR_ARGUMENT) {
		char message[MESSAGE_MOST];
		settings_message(hec_error_message(), message, sizeof message);
		return command_usage(j->self, "%s", message);
	}
	if (status != HEC_OK)
		return failed(j);
	take_settled(j);
	return PARSED;
}

/* Where a signal ends the process, what is half written of the ids goes. */
static hec_status open_training(job *j)
{
	static const char *const halves[] = {"train.tokens", "train.index", "valid.tokens",
	                                     "valid.index"};
	enum { HALVES = sizeof halves / sizeof *halves };
	char half[HALVES][PATH_MOST];
	for (int i = 0; i < HALVES; i++) {
		snprintf(half[i], sizeof half[i], "%s/cache/%s.new", j->s.o.dir, halves[i]);
		interrupt_removes(half[i]);
	}
	hec_status status = hec_training_open(j->training, j->folder.lock);
	for (int i = 0; i < HALVES; i++)
		interrupt_forgets(half[i]);
	return status;
}

static int open_run(job *j)
{
	if (open_training(j) != HEC_OK)
		return failed(j);
	take_settled(j);
	if (j->s.o.from && !j->s.quiet) {
		train_progress_say(&j->progress, "%s:", j->s.o.from);
		say_lines(hec_model_report(hec_training_model(j->training)));
	}
	if (!j->folder.old && !train_folder_write(&j->folder, j->self, &j->s))
		return EXIT_FAILED;
	return train_plan_say(&j->progress, j->training, &j->s.o, j->folder.old != NULL) == HEC_OK
	               ? PARSED
	               : failed(j);
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
	char *dir = valid_text(j->s.o.dir, strlen(j->s.o.dir), &bytes);
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
	text_add(&t, "%s: %s at step %lld (epoch %lld), %.0f s", j->s.o.dir, end_name(r),
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
		text_add(&t, "go on with: hecate train --resume --out %s", j->s.o.dir);
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

/* A run that goes on adds to what it wrote before. */
static bool open_batches(job *j)
{
	if (!j->s.dump_batches)
		return true;
	j->batches = fopen(j->s.dump_batches, j->folder.old ? "a" : "w");
	if (!j->batches)
		(void)command_failed(j->self, "%s could not be written: %s", j->s.dump_batches,
		                     strerror(errno));
	return j->batches != NULL;
}

static int learn(job *j)
{
	hec_train_result *result;
	if (!open_batches(j))
		return EXIT_FAILED;
	if (hec_training_learn(j->training, &result) != HEC_OK)
		return j->begun ? command_failed(j->self, "%s", hec_error_message()) : failed(j);
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
	return stopped && interrupt_asked() ? interrupt_exit_status() : EXIT_DONE;
}

static int run_job(job *j)
{
	int code = train_folder_open(&j->folder, j->self, &j->s);
	if (code == PARSED)
		code = open_run(j);
	if (code == PARSED)
		code = learn(j);
	if (code != EXIT_DONE && j->folder.lock && !j->begun && !interrupt_asked())
		train_folder_undo(&j->folder, j->self, j->s.o.dir);
	return code;
}

static int dump_settings(job *j)
{
	if (hec_training_estimate(j->training) != HEC_OK)
		return failed(j);
	take_settled(j);
	settings_print(&j->s, stdout);
	return EXIT_DONE;
}

static void close_job(job *j)
{
	if (j->batches)
		fclose(j->batches);
	hec_training_destroy(j->training);
	train_folder_close(&j->folder);
}

static int read_settings(job *j, int argc, char **argv)
{
	char error[256];
	int operands = 0;
	settings_default(&j->s);
	int code = command_options(j->self, settings_options(&j->s), argc, argv, &operands);
	if (code == PARSED && operands > 0)
		code = command_usage(j->self, "'%.40s' belongs to no option", argv[0]);
	if (code == PARSED && j->s.o.resume && !j->s.o.dir)
		code = command_usage(j->self, "--out is missing: the folder of the run to resume");
	if (code == PARSED && j->s.o.resume)
		code = train_folder_resume(&j->folder, j->self, &j->s, argc, argv);
	if (code == PARSED && !settings_check(&j->s, error, sizeof error))
		code = command_usage(j->self, "%s", error);
	return code;
}

static int train_run(const command *self, int argc, char **argv)
{
	static job j; /* large: its lists of files */
	j = (job){.self = self};
	int code = read_settings(&j, argc, argv);
	if (code == PARSED) {
		train_progress_open(&j.progress, j.s.quiet);
		interrupt_catch_all();
		code = create(&j);
	}
	if (code == PARSED)
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
