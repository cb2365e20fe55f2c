/* train.c — `hecate train`: from text to a model.
 *
 *   settings (flags, or DIR/train.json when resuming) → count the text → tokenizer → ids
 *   → sizes → model → hec_train, which steps, validates, saves */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "command.h"
#include "plural.h"
#include "train_answer.h"
#include "train_data.h"
#include "train_dump.h"
#include "train_evaluate.h"
#include "train_from.h"
#include "train_listen.h"
#include "train_model.h"
#include "train_progress.h"
#include "train_settings.h"

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
	json_t *old;           /* train.json of the run that is resumed: it owns texts of s */
	hec_train_lock *lock;  /* of DIR while we are at work in it */
	bool made;             /* DIR is ours */
	bool fresh;            /* DIR was empty, or not there, when we locked it */
	char start[PATH_MOST]; /* --from: DIR/start */
	bool spoilt;           /* a batch is missing in `batches` */
	bool begun;            /* the first step comes, or has been */
} job;

static job *current; /* for train_data_progress, which is also called from deep inside */

/* As shells count a program that a signal ended: what was to come after it should not. */
static int exit_of_signal(void)
{
	return 128 + train_signal();
}

static int failed(const job *j)
{
	if (train_interrupted()) {
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
	if (train_interrupted())
		return HEC_ERR_CANCELLED;
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

/* ---- DIR and train.json ---- */

/* A run that was killed while it wrote its first file has not begun. */
static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	bool empty = true;
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    strcmp(e->d_name, ".train.json.new") != 0 &&
		    strncmp(e->d_name, ".hecate-", 8) != 0) /* of a writer that was killed */
			empty = false;
	if (dir)
		closedir(dir);
	return empty;
}

/* Written beside, flushed, renamed: there is always a whole one. */
static bool replace_file(const job *j, const char *name, void print(const job *, FILE *))
{
	char path[PATH_MOST], beside[PATH_MOST];
	snprintf(path, sizeof path, "%s/%s", j->s.out, name);
	snprintf(beside, sizeof beside, "%s/.%s.new", j->s.out, name);
	FILE *f = fopen(beside, "w");
	if (f)
		print(j, f);
	bool good = f && !ferror(f) && fflush(f) == 0 && fsync(fileno(f)) == 0;
	int error = errno;
	if (f && fclose(f) != 0 && good) {
		error = errno;
		good = false;
	}
	if (good && rename(beside, path) != 0) {
		error = errno;
		good = false;
	}
	if (!good) {
		unlink(beside);
		command_failed(j->self, "%s could not be written: %s", path, strerror(error));
	}
	return good;
}

static void print_settings(const job *j, FILE *out)
{
	settings_print(&j->s, out);
}

static bool write_settings(const job *j)
{
	return replace_file(j, "train.json", print_settings);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const option_list *a, const option_list *b)
{
	bool same = a->count == b->count;
	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

/* A run has one tokenizer from its first step on; another must not seem to be taken. */
static int check_tokenizer(const job *j, const train_settings *was)
{
	char path[PATH_MOST];
	if (!same_text(j->s.from, was->from))
		return command_usage(j->self, "%s has its model: --from cannot be changed",
		                     j->s.out);
	if (!same_list(&j->s.overrides, &was->overrides))
		return command_usage(j->self, "%s has its model: --override cannot be changed",
		                     j->s.out);
	snprintf(path, sizeof path, "%s/start/config.json", j->s.out);
	if (!same_text(j->s.config, was->config) && access(path, F_OK) == 0)
		return command_usage(j->self, "%s has its architecture: --config cannot be changed",
		                     j->s.out);
	snprintf(path, sizeof path, "%s/tokenizer.json", j->s.out);
	if (access(path, F_OK) != 0 ||
	    (same_text(j->s.tokenizer, was->tokenizer) && j->s.vocab == was->vocab))
		return PARSED;
	return command_usage(j->self,
	                     "%s has its tokenizer: neither --tokenizer nor --vocab "
	                     "can be changed",
	                     j->s.out);
}

/* Settings of the run in DIR, with those of the command line over them. */
static int resume_settings(job *j, int argc, char **argv)
{
	char path[PATH_MOST], error[256];
	json_error_t why;
	int operands;
	train_settings given = j->s;
	snprintf(path, sizeof path, "%s/train.json", given.out);
	if (access(path, F_OK) != 0 && is_empty(given.out))
		return given.task ? PARSED /* nothing yet: it begins */
		                  : command_failed(j->self, "%s holds no run to resume", given.out);
	j->old = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!j->old)
		return command_failed(j->self, "%s holds no run to resume: train.json: %s",
		                      given.out, why.text);
	settings_default(&j->s);
	if (!settings_take_json(&j->s, j->old, error, sizeof error))
		return command_failed(j->self, "%s: %s", given.out, error);
	if (given.train.count)
		j->s.train.count = 0;
	if (given.valid.count)
		j->s.valid.count = 0;
	const train_settings was = j->s;
	if (given.overrides.count)
		j->s.overrides.count = 0;
	int code = command_options(j->self, settings_options(&j->s), argc, argv, &operands);
	/* Fine-tuning counts its steps by its epochs: other epochs, other steps. */
	if (j->s.from && given.epochs >= 0 && given.steps < 0)
		j->s.steps = 0;
	return code == PARSED ? check_tokenizer(j, &was) : code;
}

static int open_folder(job *j)
{
	const char *out = j->s.out;
	char error[512];
	if (!j->s.resume && !is_empty(out))
		return command_failed(j->self,
		                      "%s is not empty: --resume goes on with the run in it", out);
	j->made = mkdir(out, 0777) == 0;
	if (!j->made && errno != EEXIST)
		return command_failed(j->self, "%s could not be made: %s", out, strerror(errno));
	if (hec_train_lock_take(out, &j->lock) != HEC_OK)
		return failed(j);
	j->fresh = is_empty(out);
	if (!j->old && !write_settings(j))
		return EXIT_FAILED;
	return train_keep_config(&j->s, error, sizeof error) ? PARSED
	                                                     : command_failed(j->self, "%s", error);
}

/* Files, and folders of files: deeper nothing of ours goes before the first step. */
static void empty_folder(const char *path, bool deeper)
{
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char inside[PATH_MOST];
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (size_t)snprintf(inside, sizeof inside, "%s/%s", path, e->d_name) >=
		            sizeof inside)
			continue;
		if (unlink(inside) == 0 || !deeper)
			continue;
		empty_folder(inside, false);
		rmdir(inside);
	}
	if (dir)
		closedir(dir);
}

/* A run that failed before its first step shall not be in the way of the next: DIR was empty when we
 * took it, and is again. */
static void forget_folder(const job *j)
{
	empty_folder(j->s.out, true);
	if (j->made)
		rmdir(j->s.out);
}

/* ---- what a person should know before it begins ---- */

static void say_left_out(job *j, const char *name, const hec_corpus *corpus)
{
	const hec_corpus_counts *c = hec_corpus_counts_of(corpus);
	const struct {
		int64_t n;
		const char *why;
	} left_out[] = {
		/* Of a language the empty lines part the paragraphs. */
		{j->s.task_id == HEC_TASK_LM ? 0 : c->empty, "empty"},
		{c->bad_utf8, "not UTF-8"},
		{c->too_long, "too long"},
		{c->no_tab, "without a tab"},
		{c->unknown_label, "of unknown label"},
		{c->no_sound, "whose sound cannot be read"},
		{c->long_sound, "with a sound longer than the window"},
	};
	char text[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
		if (left_out[i].n > 0)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld %s",
			                         used ? ", " : "; left out: ",
			                         (long long)left_out[i].n, left_out[i].why);
	if (c->cut > 0)
		snprintf(text + used, sizeof text - used, "; cut to --max-length: %lld",
		         (long long)c->cut);
	if (j->s.sounds) {
		train_progress_say(&j->progress,
		                   "%s: %lld line%s, %lld example%s, %.1f s of sound, %lld "
		                   "tokens%s",
		                   name, (long long)c->lines, plural(c->lines),
		                   (long long)c->examples, plural(c->examples), c->seconds,
		                   (long long)c->target_tokens, text);
		return;
	}
	train_progress_say(&j->progress, "%s: %lld line%s, %lld example%s, %lld + %lld tokens%s",
	                   name, (long long)c->lines, plural(c->lines), (long long)c->examples,
	                   plural(c->examples), (long long)c->source_tokens,
	                   (long long)c->target_tokens, text);
}

/* What the process has by now, without the weights, which the plan counts. */
static double memory_beside(const hec_model *model)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	double bytes = (double)pages * (double)sysconf(_SC_PAGESIZE) -
	               4.0 * (double)hec_model_block(model).shape[0];
	return bytes > 0 ? bytes : 0;
}

static int say_plan(job *j)
{
	const train_settings *s = &j->s;
	hec_trainer_options o;
	hec_trainer_memory memory = {.size = sizeof memory};
	train_trainer_options(s, &o);
	if (hec_trainer_plan(j->ctx, j->model, &o, &memory) != HEC_OK)
		return failed(j);
	if (s->memory > 0 && (double)train_bytes(s, &memory) > (double)s->memory * 1e6)
		train_progress_say(&j->progress,
		                   "hecate train: warning: --memory %lld MB is not enough: %.0f MB "
		                   "with batches of %lld tokens",
		                   (long long)s->memory, (double)train_bytes(s, &memory) / 1e6,
		                   (long long)s->micro_tokens);
	if (s->quiet)
		return PARSED;
	say_left_out(j, "train", j->data.train);
	if (j->data.valid)
		say_left_out(j, "valid", j->data.valid);
	else if (s->average > 1)
		train_progress_say(&j->progress, "--average does nothing: there is no --valid to "
		                                 "try the mean on");
	const hec_model_config *c = hec_model_config_of(j->model);
	train_progress_say(&j->progress,
	                   "model: width %lld, %lld + %lld layers, %lld head%s, hidden %lld, "
	                   "vocabulary %lld: %.2f M parameters",
	                   (long long)c->width, (long long)c->encoder.layers,
	                   (long long)c->decoder.layers, (long long)s->heads, plural(s->heads),
	                   (long long)s->hidden, (long long)c->vocab,
	                   (double)hec_model_block(j->model).shape[0] / 1e6);
	char sounds[64] = "";
	if (s->sounds)
		snprintf(sounds, sizeof sounds, ", %.1f for features of sounds",
		         (double)train_sound_bytes(s) / 1e6);
	train_progress_say(
		&j->progress,
		"a step: %lld × %lld tokens; memory: %.0f MB: %.0f for parameters, %.0f for them "
		"as the kernels want them, %.0f for activations%s; beside it %.0f for the program, "
		"its "
		"tokenizer and lists; %s, %d thread%s",
		(long long)s->accumulate, (long long)s->micro_tokens,
		(double)train_bytes(s, &memory) / 1e6, (double)memory.parameters / 1e6,
		(double)memory.packs / 1e6, (double)memory.activations / 1e6, sounds,
		memory_beside(j->model) / 1e6, hec_ctx_isa(j->ctx), hec_ctx_threads(j->ctx),
		plural(hec_ctx_threads(j->ctx)));
	return PARSED;
}

/* ---- the parts of a run ---- */

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
	if (!j->old || !train_is_settled(s) || s->task_id == HEC_TASK_CLASSIFY) {
		int code = count_text(j);
		if (code != PARSED)
			return code;
	}
	if (s->from && train_from_labels(s, &j->data) != HEC_OK)
		return failed(j);
	train_settle_sizes(s, &j->data);
	if (!s->from && !s->config && check_sizes(j) != PARSED)
		return EXIT_FAILED;
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
	if (j->s.from) {
		if (train_from_model(&j->s, &j->data, j->ctx, &j->model) != HEC_OK)
			return failed(j);
		if (!j->s.quiet)
			train_progress_say(&j->progress, "%s:\n%s", j->s.from,
			                   hec_model_report(j->model));
	} else if (train_config(&j->s, &j->data, &config) != HEC_OK ||
	           hec_model_create(j->ctx, &config, HEC_F32, j->s.seed.value, &j->model) !=
	                   HEC_OK ||
	           (j->s.config && train_set_rates(&j->s, j->model) != HEC_OK) ||
	           name_labels(j) != HEC_OK) {
		return failed(j);
	}
	if (train_settle_batch(&j->s, j->ctx, j->model, &j->data) != HEC_OK)
		return failed(j);
	return j->old || write_settings(j) ? PARSED : EXIT_FAILED;
}

static hec_train_go on_event(void *user, const hec_train_event *event)
{
	job *j = user;
	/* Settings with which a run cannot go on must not take the place of those with which it can:
	 * only now it is known. */
	if (event->kind == HEC_TRAIN_BEGIN && j->old)
		(void)write_settings(j);
	j->begun = true;
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

static void train_options(job *j, hec_train_options *o)
{
	const train_settings *s = &j->s;
	*o = (hec_train_options)HEC_TRAIN_OPTIONS_INIT;
	snprintf(j->start, sizeof j->start, "%s/start", s->out);
	train_trainer_options(s, &o->trainer);
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
	o->progress = on_event;
	o->batch = j->batches ? on_batch : NULL;
	o->user = j;
	o->lock = j->lock;
	o->origin = s->from ? j->start : NULL;
}

static void print_result(const job *j, const hec_train_result *r)
{
	static const char *const ends[] = {"done", "no better model for a while", "time is up",
	                                   "stopped"};
	if (j->s.json) {
		json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:I, s:f}", "dir", j->s.out, "end",
		                      ends[r->end], "step", (json_int_t)r->step, "epoch",
		                      (json_int_t)r->epoch, "skipped", (json_int_t)r->skips,
		                      "seconds", r->seconds);
		if (o && r->best_step > 0) {
			json_object_set_new(o, "best_metric", json_string(j->s.best));
			json_object_set_new(o, "best", json_real(r->best));
			json_object_set_new(o, "best_step", json_integer(r->best_step));
		}
		json_dumpf(o, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(o);
		return;
	}
	printf("%s: %s at step %lld (epoch %lld), %.0f s", j->s.out, ends[r->end],
	       (long long)r->step, (long long)r->epoch, r->seconds);
	if (r->best_step > 0)
		printf("; best %s %.4f at step %lld", j->s.best, r->best, (long long)r->best_step);
	if (r->skips)
		printf("; %lld step%s skipped: not finite, or nothing to learn from",
		       (long long)r->skips, r->skips == 1 ? "" : "s");
	printf("\n");
	if (r->end == HEC_TRAIN_STOPPED || r->end == HEC_TRAIN_TIME)
		printf("go on with: hecate train --resume --out %s\n", j->s.out);
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
	hec_train_options o;
	hec_train_result result = {.size = sizeof result};
	/* A run that goes on adds to what it wrote before. */
	if (j->s.dump_batches && !(j->batches = fopen(j->s.dump_batches, j->old ? "a" : "w")))
		return command_failed(j->self, "%s could not be written: %s", j->s.dump_batches,
		                      strerror(errno));
	if (train_evaluator_open(&j->s, &j->data, &j->evaluator) != HEC_OK ||
	    train_answers_open(&j->s, &j->data, &j->answers) != HEC_OK ||
	    train_listener_open(&j->s, &j->data, &j->listener) != HEC_OK)
		return failed(j);
	train_options(j, &o);
	hec_status status = hec_train(j->ctx, j->model, j->data.train, j->data.valid, &o, &result);
	if (status != HEC_OK)
		return command_failed(j->self, "%s", hec_error_message());
	print_result(j, &result);
	if (j->batches && !close_batches(j))
		return EXIT_FAILED;
	return result.end == HEC_TRAIN_STOPPED && train_interrupted() ? exit_of_signal()
	                                                              : EXIT_DONE;
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
		code = open_folder(j);
	if (code == PARSED)
		code = open_data(j);
	if (code == PARSED)
		code = open_model(j);
	if (code == PARSED)
		code = say_plan(j);
	if (code == PARSED)
		code = learn(j);
	if (code != EXIT_DONE && j->fresh && !j->begun && !train_interrupted())
		forget_folder(j);
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
	json_decref(j->old);
	hec_train_lock_free(j->lock);
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
		code = resume_settings(&j, argc, argv);
	if (code == PARSED && !settings_check(&j.s, error, sizeof error))
		code = command_usage(self, "%s", error);
	if (code != PARSED) {
		close_job(&j);
		return code;
	}
	train_progress_open(&j.progress, j.s.quiet);
	train_signals();
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
