/* test_train.c — the loop: a run that was stopped goes on as one that was not, and whatever happens to
 * the disk, the last good checkpoint stays good. */
#include "support/train.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alloc/refuse.h"
#include "base/file.h"
#include "train/log.h"

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

static void set_weight(const order *o, float value)
{
	*(float *)hec_model_block(o->model).data = value;
	assert_int_equal(hec_model_pack(o->ctx, o->model, true), HEC_OK);
}

static void on_batch(void *user, int64_t step, const hec_batch *batch)
{
	order *o = user;
	(void)batch;
	float now = *(float *)hec_model_block(o->model).data;
	if (step == o->poison_at && isfinite(now)) {
		o->healthy = now;
		set_weight(o, NAN);
	}
}

static hec_train_go on_event(void *user, const hec_train_event *e)
{
	order *o = user;
	o->step = e->step;
	o->saved += e->kind == HEC_TRAIN_SAVED;
	o->reports += e->kind == HEC_TRAIN_REPORT;
	o->scores += e->kind == HEC_TRAIN_SCORES;
	o->better += e->kind == HEC_TRAIN_SCORES && e->better;
	if (e->kind == HEC_TRAIN_SAVE_FAILED) {
		o->failed++;
		snprintf(o->message, sizeof o->message, "%s", e->message);
	}
	if (o->poison_at > 0 && e->kind == HEC_TRAIN_STEP && e->step == o->poison_at)
		set_weight(o, o->healthy);
	if (o->limit_at > 0 && e->kind == HEC_TRAIN_STEP && e->step == o->limit_at) {
		struct rlimit limit;
		getrlimit(RLIMIT_FSIZE, &limit);
		limit.rlim_cur = 1000;
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	if (o->relief_at > 0 && e->kind == HEC_TRAIN_STEP && e->step == o->relief_at) {
		struct rlimit limit;
		getrlimit(RLIMIT_FSIZE, &limit);
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	if (e->kind == HEC_TRAIN_VALIDATE && e->step == o->stop_in_valid)
		return HEC_TRAIN_STOP;
	return o->stop_at > 0 && e->kind == HEC_TRAIN_STEP && e->step >= o->stop_at ? HEC_TRAIN_STOP
	                                                                            : HEC_TRAIN_GO;
}

typedef struct bench {
	lab l;
	hec_corpus *train, *valid;
	hec_model_config config;
} bench;

static bench bench_open(uint64_t seed)
{
	bench b = {.l = lab_open(seed)};
	lab_write_pairs(&b.l, "a", "b", 80);
	lab_write_pairs(&b.l, "c", "d", 15);
	lab_learn_tokenizer(&b.l, "a", "b");
	b.train = lab_corpus(&b.l, "a", "b", "train");
	b.valid = lab_corpus(&b.l, "c", "d", "valid");
	hec_stack_config stack = {
		.layers = 1,
		.attention = {.size = sizeof stack.attention, .heads = 2, .dropout_out = 0.1},
		.feed_forward = {.size = sizeof stack.feed_forward,
	                         .hidden = 32,
	                         .act = HEC_ACT_RELU,
	                         .dropout_out = 0.1},
		.dropout = 0.1,
		.embedding_scale = 4,
		.position = {.kind = HEC_POSITION_SINUSOIDAL,
	                     .max = 64,
	                     .sinusoid = HEC_SINUSOID_HALVES},
	};
	int32_t vocab = (int32_t)hec_tokenizer_vocab(b.l.tokenizer);
	b.config = (hec_model_config){.size = sizeof b.config,
	                              .vocab = vocab,
	                              .width = 16,
	                              .encoder = stack,
	                              .decoder = stack,
	                              .output_bias = true,
	                              .head = HEC_HEAD_LM,
	                              .pad_id = vocab - 1,
	                              .bos_id = -1,
	                              .eos_id = 0,
	                              .start_id = vocab - 1};
	return b;
}

static void bench_close(bench *b)
{
	hec_corpus_close(b->train);
	hec_corpus_close(b->valid);
	lab_close(&b->l);
}

static hec_train_options options_for(bench *b, const char *dir, order *o)
{
	static char path[256];
	snprintf(path, sizeof path, "%s", lab_path(&b->l, dir));
	hec_train_options t = HEC_TRAIN_OPTIONS_INIT;
	t.dir = path;
	t.trainer.max_tokens = 80;
	t.trainer.max_source = t.trainer.max_target = 24;
	t.trainer.warmup = 10;
	t.tokenizer = b->l.tokenizer;
	t.steps = STEPS;
	t.accumulate = ACCUMULATE;
	t.report_every = REPORT_EVERY;
	t.valid_every = VALID_EVERY;
	t.save_every = SAVE_EVERY;
	t.keep = 2;
	t.progress = on_event;
	t.batch = on_batch;
	t.user = o;
	return t;
}

/* A run in a process that remembers nothing of the one before. */
static hec_status run(bench *b, hec_train_options *t, hec_train_result *result)
{
	hec_model *model = NULL;
	hec_train_result local = {.size = sizeof local};
	OK(&b->l.k, hec_model_create(b->l.k.ctx, &b->config, HEC_F32, 3, &model));
	((order *)t->user)->ctx = b->l.k.ctx;
	((order *)t->user)->model = model;
	hec_status status =
		hec_train(b->l.k.ctx, model, b->train, b->valid, t, result ? result : &local);
	hec_model_destroy(model);
	return status;
}

static void check_same_file(bench *b, const char *one, const char *two)
{
	char *x, *y;
	size_t n, m;
	OK(&b->l.k, file_read(lab_path(&b->l, one), 1 << 24, &x, &n));
	OK(&b->l.k, file_read(lab_path(&b->l, two), 1 << 24, &y, &m));
	CHECK(&b->l.k, n == m && memcmp(x, y, n) == 0, "%s and %s differ", one, two);
	free(x);
	free(y);
}

/* Everything but times. */
static void check_same_log(bench *b, const char *one, const char *two)
{
	char *text[2];
	size_t size;
	const char *names[2] = {one, two};
	for (int i = 0; i < 2; i++) {
		OK(&b->l.k, file_read(lab_path(&b->l, names[i]), 1 << 24, &text[i], &size));
		char *to = text[i];
		for (char *at = text[i]; *at;) {
			if (strncmp(at, "\"tokens_per_s\"", 14) == 0)
				at += strcspn(at, "\n");
			else
				*to++ = *at++;
		}
		*to = '\0';
	}
	CHECK(&b->l.k, strcmp(text[0], text[1]) == 0, "%s:\n%s%s:\n%s", one, text[0], two, text[1]);
	free(text[0]);
	free(text[1]);
}

static void check_same_runs(bench *b, const char *one, const char *two)
{
	static const char *const files[] = {"model.safetensors",
	                                    "checkpoint/step-00000045/model.safetensors",
	                                    "checkpoint/step-00000045/optimizer.safetensors",
	                                    "checkpoint/step-00000040/model.safetensors"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char x[128], y[128];
		snprintf(x, sizeof x, "%s/%s", one, files[i]);
		snprintf(y, sizeof y, "%s/%s", two, files[i]);
		check_same_file(b, x, y);
	}
	char x[128], y[128];
	snprintf(x, sizeof x, "%s/log.jsonl", one);
	snprintf(y, sizeof y, "%s/log.jsonl", two);
	check_same_log(b, x, y);
}

static void unbroken(bench *b)
{
	order o = {0};
	hec_train_result r = {.size = sizeof r};
	hec_train_options t = options_for(b, "whole", &o);
	OK(&b->l.k, run(b, &t, &r));
	assert_int_equal(r.end, HEC_TRAIN_DONE);
	assert_int_equal(r.step, STEPS);
	CHECK(&b->l.k, r.epoch >= 2, "only %lld epochs: nothing is crossed", (long long)r.epoch);
	assert_int_equal(o.failed, 0);
	assert_int_equal(o.saved, STEPS / SAVE_EVERY + 1);
	assert_int_equal(o.scores, STEPS / VALID_EVERY);
	assert_true(o.better >= 1 && r.best_step > 0);
}

static void a_run_that_is_stopped_anywhere_goes_on_with_the_same_bits(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	unbroken(&b);
	for (int64_t every = 1; every <= 16; every = 2 * every + 1) {
		char dir[32];
		snprintf(dir, sizeof dir, "every-%lld", (long long)every);
		for (int64_t at = every;; at += every) {
			order o = {.stop_at = at};
			hec_train_result r = {.size = sizeof r};
			hec_train_options t = options_for(&b, dir, &o);
			t.resume = true;
			OK(&b.l.k, run(&b, &t, &r));
			if (r.end == HEC_TRAIN_DONE)
				break;
			assert_int_equal(r.end, HEC_TRAIN_STOPPED);
			assert_int_equal(r.step, at);
		}
		check_same_runs(&b, "whole", dir);
	}
	bench_close(&b);
}

static void a_run_stopped_before_its_first_step_begins_when_it_is_resumed(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	unbroken(&b);
	for (int i = 0; i < 2; i++) {
		order o = {0};
		hec_train_result r = {.size = sizeof r};
		hec_train_options t = options_for(&b, "late", &o);
		t.resume = true;
		t.seconds = i == 0 ? 1e-9 : 0;
		OK(&b.l.k, run(&b, &t, &r));
		assert_int_equal(r.end, i == 0 ? HEC_TRAIN_TIME : HEC_TRAIN_DONE);
		assert_int_equal(r.step, i == 0 ? 0 : STEPS);
	}
	check_same_runs(&b, "whole", "late");
	bench_close(&b);
}

/* Stops at a step, then finds there that the time is up: it validates and reports for now. */
static void stop_for_time(bench *b, hec_train_options *t, int64_t at)
{
	for (int i = 0; i < 2; i++) {
		hec_train_result r = {.size = sizeof r};
		*(order *)t->user = (order){.stop_at = i == 0 ? at : 0};
		t->resume = true;
		t->seconds = i == 0 ? 0 : 1e-9;
		OK(&b->l.k, run(b, t, &r));
		assert_int_equal(r.end, i == 0 ? HEC_TRAIN_STOPPED : HEC_TRAIN_TIME);
		assert_int_equal(r.step, at);
		assert_true(i == 0 || ((order *)t->user)->scores == 1);
	}
	*(order *)t->user = (order){0};
	t->seconds = 0;
}

static void a_run_whose_time_was_up_goes_on_with_the_same_bits(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	unbroken(&b);
	order o;
	hec_train_options t = options_for(&b, "slices", &o);
	stop_for_time(&b, &t, 7);
	stop_for_time(&b, &t, 8); /* a line of the log is due */
	stop_for_time(&b, &t, 22);
	OK(&b.l.k, run(&b, &t, NULL));
	check_same_runs(&b, "whole", "slices");
	bench_close(&b);
}

static hec_status worse_each_step(void *user, hec_ctx *ctx, const hec_model *model,
                                  hec_train_scores *scores)
{
	(void)ctx;
	(void)model;
	scores->value[HEC_METRIC_BLEU] = 100 - (double)((order *)user)->step;
	return HEC_OK;
}

static void patience_does_not_count_where_the_time_was_up(void **state)
{
	(void)state;
	bench b = bench_open(7230);
	order o;
	hec_train_result r = {.size = sizeof r};
	hec_train_options t = options_for(&b, "run", &o);
	t.steps = 0;
	t.patience = 2;
	t.valid_every = 5;
	t.best = HEC_METRIC_BLEU;
	t.evaluate = worse_each_step;
	for (int64_t at = 6; at < 10; at++)
		stop_for_time(&b, &t, at);
	OK(&b.l.k, run(&b, &t, &r));
	assert_int_equal(r.end, HEC_TRAIN_EARLY);
	assert_int_equal(r.step, 15);
	bench_close(&b);
}

static void a_validation_that_was_given_up_is_made_up_for(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	unbroken(&b);
	for (int64_t step = VALID_EVERY; step <= STEPS; step += VALID_EVERY) {
		order o = {.stop_in_valid = step};
		hec_train_result r = {.size = sizeof r};
		hec_train_options t = options_for(&b, "given-up", &o);
		t.resume = true;
		OK(&b.l.k, run(&b, &t, &r));
		assert_int_equal(r.end, HEC_TRAIN_STOPPED);
		assert_int_equal(r.step, step);
	}
	order o = {0};
	hec_train_options t = options_for(&b, "given-up", &o);
	t.resume = true;
	OK(&b.l.k, run(&b, &t, NULL));
	check_same_runs(&b, "whole", "given-up");
	bench_close(&b);
}

static void a_disk_that_is_full_keeps_the_last_good_checkpoint(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	unbroken(&b);
	struct rlimit before;
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	order o = {.limit_at = 13};
	hec_train_options t = options_for(&b, "full", &o);
	hec_status status = run(&b, &t, NULL);
	char message[256];
	snprintf(message, sizeof message, "%s", hec_error_message());
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK(&b.l.k, status == HEC_ERR_IO, "it ended with %s: %s", hec_status_name(status),
	      message);
	assert_non_null(strstr(message, "not saved"));
	CHECK(&b.l.k, o.saved == 1 && o.failed >= 4, "%lld saved, %lld failed", (long long)o.saved,
	      (long long)o.failed);
	assert_true(hec_train_can_resume(lab_path(&b.l, "full")));
	/* Nothing half done is left beside it. */
	assert_int_not_equal(access(lab_path(&b.l, "full/checkpoint/step-00000020"), F_OK), 0);
	o = (order){0};
	t = options_for(&b, "full", &o);
	t.resume = true;
	OK(&b.l.k, run(&b, &t, NULL));
	check_same_runs(&b, "whole", "full");
	bench_close(&b);
}

static void a_line_that_did_not_fit_leaves_the_log_whole(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	signal(SIGXFSZ, SIG_IGN);
	order o = {.limit_at = 3, .relief_at = 30};
	hec_train_options t = options_for(&b, "full", &o);
	OK(&b.l.k, run(&b, &t, NULL));
	assert_true(o.failed > 0);
	char *log;
	size_t size;
	int lines = 0;
	OK(&b.l.k, file_read(lab_path(&b.l, "full/log.jsonl"), 1 << 20, &log, &size));
	for (char *at = log, *end; *at; at = end + 1, lines++) {
		end = strchr(at, '\n');
		CHECK(&b.l.k, end && strncmp(at, "{\"step\":", 8) == 0 && end[-1] == '}',
		      "line %d of the log is %.200s", lines, at);
		for (char *inside = at + 1; inside < end; inside++)
			CHECK(&b.l.k, *inside != '{', "two lines in one: %.300s", at);
	}
	CHECK(&b.l.k, lines >= 5, "only %d lines", lines);
	free(log);
	bench_close(&b);
}

/* What is left of a log when a run goes on: no line of a step that counts is lost, be the disk full or
 * a line in between spoiled. */
static void a_log_is_cut_on_a_full_disk(void **state)
{
	(void)state;
	static const char good[] = "{\"step\":4}\n{\"step\":8}\n", late[] = "{\"step\":12}\n{\"st";
	static const char spoiled[] =
		"{\"step\":4}\n{\"st{\"step\":6}\n{\"step\":8}\n{\"step\":12}\n";
	lab l = lab_open(7215);
	char text[128], *log;
	size_t size;
	struct rlimit before, none;
	getrlimit(RLIMIT_FSIZE, &before);
	none = before;
	none.rlim_cur = 1;
	signal(SIGXFSZ, SIG_IGN);
	size = (size_t)snprintf(text, sizeof text, "%s%s", good, late);
	lab_write(&l, "log", text, size);
	setrlimit(RLIMIT_FSIZE, &none);
	hec_status status = log_cut(lab_path(&l, "log"), 8);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK(&l.k, status == HEC_OK, "%s", hec_error_message());
	OK(&l.k, file_read(lab_path(&l, "log"), sizeof text, &log, &size));
	assert_string_equal(log, good);
	free(log);
	lab_write(&l, "log", spoiled, sizeof spoiled - 1);
	setrlimit(RLIMIT_FSIZE, &none);
	status = log_cut(lab_path(&l, "log"), 8);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK(&l.k, status == HEC_ERR_IO && strstr(hec_error_message(), "/log"), "%s",
	      hec_error_message());
	OK(&l.k, file_read(lab_path(&l, "log"), sizeof text, &log, &size));
	assert_string_equal(log, spoiled);
	free(log);
	OK(&l.k, log_cut(lab_path(&l, "log"), 8));
	OK(&l.k, file_read(lab_path(&l, "log"), sizeof text, &log, &size));
	assert_string_equal(log, good);
	free(log);
	lab_close(&l);
}

static void a_folder_that_cannot_be_written_is_told(void **state)
{
	(void)state;
	bench b = bench_open(7220);
	char name[64];
	OK(&b.l.k, HEC_OK);
	assert_int_equal(mkdir(lab_path(&b.l, "run"), 0777), 0);
	assert_int_equal(mkdir(lab_path(&b.l, "run/checkpoint"), 0777), 0);
	/* A file where the folder of a save would go. */
	snprintf(name, sizeof name, "run/checkpoint/.new-%ld", (long)getpid());
	lab_write(&b.l, name, "x", 1);
	order o = {0};
	hec_train_options t = options_for(&b, "run", &o);
	FAILS(&b.l.k, HEC_ERR_IO, run(&b, &t, NULL), "not saved");
	assert_true(o.failed == STEPS / SAVE_EVERY + 1 && o.saved == 0);
	assert_non_null(strstr(o.message, ".new-"));
	/* The best model was kept all the same. */
	assert_int_equal(access(lab_path(&b.l, "run/model.safetensors"), F_OK), 0);
	bench_close(&b);
}

/* ---- checkpoints that are not what they claim ---- */

static void load_cut(bench *b, hec_trainer *trainer, const char *file, size_t step)
{
	kit *k = &b->l.k;
	char name[128], *bytes;
	size_t size;
	snprintf(name, sizeof name, "whole/checkpoint/step-00000045/%s", file);
	OK(k, file_read(lab_path(&b->l, name), 1 << 24, &bytes, &size));
	hec_tensor block = hec_model_block(hec_trainer_model(trainer)),
		   before = make_copy(k, &block);
	for (size_t n = 0; n < size; n += n < 80 ? 1 : step) {
		lab_write(&b->l, name, bytes, n);
		hec_status status = hec_trainer_load(
			trainer, lab_path(&b->l, "whole/checkpoint/step-00000045"));
		CHECK(k, status == HEC_ERR_FORMAT || status == HEC_ERR_IO,
		      "%s of %zu bytes instead of %zu: %s", file, n, size, hec_status_name(status));
		CHECK(k, strstr(hec_error_message(), file), "the message does not name %s: %s",
		      file, hec_error_message());
	}
	check_same_bits(k, "weights after a load that failed", &before, &block);
	lab_write(&b->l, name, bytes, size);
	/* One bit of a weight: whole, but not what was saved. */
	bytes[size - 3] ^= 1;
	lab_write(&b->l, name, bytes, size);
	FAILS(k, HEC_ERR_FORMAT,
	      hec_trainer_load(trainer, lab_path(&b->l, "whole/checkpoint/step-00000045")),
	      "saved together");
	bytes[size - 3] ^= 1;
	lab_write(&b->l, name, bytes, size);
	OK(k, hec_trainer_load(trainer, lab_path(&b->l, "whole/checkpoint/step-00000045")));
	free(bytes);
}

static void a_checkpoint_that_is_cut_short_is_refused(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	unbroken(&b);
	hec_model *model;
	hec_trainer *trainer;
	order none = {0};
	hec_train_options t = options_for(&b, "whole", &none);
	OK(&b.l.k, hec_model_create(b.l.k.ctx, &b.config, HEC_F32, 9, &model));
	OK(&b.l.k, hec_trainer_create(b.l.k.ctx, model, &t.trainer, &trainer));
	load_cut(&b, trainer, "optimizer.safetensors", 211);
	load_cut(&b, trainer, "model.safetensors", 211);
	hec_trainer_destroy(trainer);
	hec_model_destroy(model);
	bench_close(&b);
}

static void a_state_that_is_cut_short_or_of_another_run_is_refused(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	unbroken(&b);
	const char *name = "whole/checkpoint/step-00000045/state.json";
	char *bytes;
	size_t size;
	OK(&b.l.k, file_read(lab_path(&b.l, name), 1 << 24, &bytes, &size));
	order o = {0};
	hec_train_options t = options_for(&b, "whole", &o);
	t.resume = true;
	for (size_t n = 0; n + 3 < size; n += n < 80 ? 1 : 7) {
		lab_write(&b.l, name, bytes, n);
		hec_status status = run(&b, &t, NULL);
		CHECK(&b.l.k, status == HEC_ERR_FORMAT && strstr(hec_error_message(), "state.json"),
		      "%zu of %zu bytes: %s: %s", n, size, hec_status_name(status),
		      hec_error_message());
	}
	lab_write(&b.l, name, bytes, size);
	free(bytes);
	t.seed = 77;
	FAILS(&b.l.k, HEC_ERR_FORMAT, run(&b, &t, NULL), "seed", "77");
	t.seed = 1;
	t.accumulate = 3;
	FAILS(&b.l.k, HEC_ERR_FORMAT, run(&b, &t, NULL), "batches a step", "2", "3");
	t.accumulate = ACCUMULATE;
	hec_corpus *own = b.train;
	b.train = b.valid;
	FAILS(&b.l.k, HEC_ERR_FORMAT, run(&b, &t, NULL), "checksum of the data to learn from");
	b.train = own;
	lab_write(&b.l, "whole/checkpoint/latest", "../../etc\n", 10);
	FAILS(&b.l.k, HEC_ERR_FORMAT, run(&b, &t, NULL), "latest");
	lab_write(&b.l, "whole/checkpoint/latest", "step-00000099\n", 14);
	FAILS(&b.l.k, HEC_ERR_IO, run(&b, &t, NULL), "step-00000099");
	bench_close(&b);
}

static void a_folder_with_a_run_is_not_begun_anew(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	unbroken(&b);
	order o = {0};
	hec_train_options t = options_for(&b, "whole", &o);
	FAILS(&b.l.k, HEC_ERR_ARGUMENT, run(&b, &t, NULL), "holds a run already");
	/* A run that is done is done again at once, and nothing changes. */
	t.resume = true;
	hec_train_result r = {.size = sizeof r};
	OK(&b.l.k, run(&b, &t, &r));
	assert_int_equal(r.step, STEPS);
	assert_int_equal(o.scores, 0);
	bench_close(&b);
}

static void two_runs_do_not_share_a_folder(void **state)
{
	(void)state;
	bench b = bench_open(7205);
	order o = {0};
	hec_train_options t = options_for(&b, "run", &o);
	t.steps = 1;
	hec_train_lock *lock = NULL, *second = NULL;
	FAILS(&b.l.k, HEC_ERR_IO, hec_train_lock_take(t.dir, &lock), t.dir, "No such file");
	assert_int_equal(mkdir(t.dir, 0777), 0);
	OK(&b.l.k, hec_train_lock_take(t.dir, &lock));
	FAILS(&b.l.k, HEC_ERR_IO, hec_train_lock_take(t.dir, &second), "another run is at work");
	FAILS(&b.l.k, HEC_ERR_IO, run(&b, &t, NULL), t.dir, "another run is at work");
	t.lock = lock;
	OK(&b.l.k, run(&b, &t, NULL));
	/* It is still the caller's; where nobody holds it, a run holds it itself and gives it back. */
	FAILS(&b.l.k, HEC_ERR_IO, hec_train_lock_take(t.dir, &second), "another run is at work");
	hec_train_lock_free(lock);
	t.lock = NULL;
	t.resume = true;
	OK(&b.l.k, run(&b, &t, NULL));
	OK(&b.l.k, hec_train_lock_take(b.l.dir, &lock));
	t.lock = lock;
	FAILS(&b.l.k, HEC_ERR_ARGUMENT, run(&b, &t, NULL), "lock", t.dir);
	hec_train_lock_free(lock);
	bench_close(&b);
}

/* ---- validation ---- */

static hec_status worse_each_time(void *user, hec_ctx *ctx, const hec_model *model,
                                  hec_train_scores *scores)
{
	(void)ctx;
	(void)model;
	scores->value[HEC_METRIC_BLEU] = 50 - (double)((order *)user)->scores;
	return HEC_OK;
}

static void it_stops_when_nothing_gets_better(void **state)
{
	(void)state;
	bench b = bench_open(7230);
	order o = {0};
	hec_train_result r = {.size = sizeof r};
	hec_train_options t = options_for(&b, "run", &o);
	t.steps = 0;
	t.patience = 2;
	t.valid_every = 5;
	t.best = HEC_METRIC_BLEU;
	t.evaluate = worse_each_time;
	OK(&b.l.k, run(&b, &t, &r));
	assert_int_equal(r.end, HEC_TRAIN_EARLY);
	assert_int_equal(r.step, 15);
	assert_int_equal(r.best_step, 5);
	assert_true(r.best == 50);
	/* The best by loss is another one, and kept too. */
	assert_int_equal(access(lab_path(&b.l, "run/best/loss/model.safetensors"), F_OK), 0);
	t.evaluate = NULL;
	FAILS(&b.l.k, HEC_ERR_ARGUMENT, run(&b, &t, NULL), "bleu");
	bench_close(&b);
}

static void the_mean_of_checkpoints_is_tried_at_the_end(void **state)
{
	(void)state;
	bench b = bench_open(7240);
	order o = {0};
	hec_train_options t = options_for(&b, "run", &o);
	t.average = 3;
	OK(&b.l.k, run(&b, &t, NULL));
	assert_int_equal(o.scores, STEPS / VALID_EVERY + 1);
	for (int step = 10; step <= 40; step += 10) {
		char name[64];
		snprintf(name, sizeof name, "run/checkpoint/step-%08d/model.safetensors", step);
		CHECK(&b.l.k, access(lab_path(&b.l, name), F_OK) == (step == 10 ? -1 : 0), "%s",
		      name);
	}
	bench_close(&b);
}

/* All models but the mean, which comes last, are of 50. */
static hec_status only_the_mean_is_good(void *user, hec_ctx *ctx, const hec_model *model,
                                        hec_train_scores *scores)
{
	(void)ctx;
	(void)model;
	const order *o = user;
	scores->value[HEC_METRIC_BLEU] = o->scores == STEPS / VALID_EVERY ? 100 : 50;
	return HEC_OK;
}

static void a_mean_that_is_the_best_stays_when_the_run_goes_on(void **state)
{
	(void)state;
	bench b = bench_open(7240);
	for (int i = 0; i < 2; i++) {
		order o = {0};
		hec_train_result r = {.size = sizeof r};
		hec_train_options t = options_for(&b, "run", &o);
		t.average = i == 0 ? 3 : 0;
		t.steps = i == 0 ? STEPS : STEPS + 2 * VALID_EVERY;
		t.best = HEC_METRIC_BLEU;
		t.evaluate = only_the_mean_is_good;
		t.resume = i == 1;
		OK(&b.l.k, run(&b, &t, &r));
		assert_true(r.best == 100);
		assert_int_equal(r.best_step, STEPS);
		assert_int_equal(o.better, i == 0 ? 2 : 0);
	}
	bench_close(&b);
}

/* Nothing but the end makes a validation due here; a line of the log is due as well. */
static void the_last_step_has_one_line(void **state)
{
	(void)state;
	bench b = bench_open(7245);
	order o = {0};
	hec_train_options t = options_for(&b, "run", &o);
	t.steps = 2 * REPORT_EVERY;
	t.valid_every = 100;
	OK(&b.l.k, run(&b, &t, NULL));
	assert_int_equal(o.scores, 1);
	assert_int_equal(o.reports, 2);
	char *log;
	size_t size;
	OK(&b.l.k, file_read(lab_path(&b.l, "run/log.jsonl"), 1 << 20, &log, &size));
	assert_null(strstr(log, "\"loss\":null"));
	const char *last = strstr(log, "\"step\":8,");
	assert_true(last && !strstr(last, "\"valid_loss\":null"));
	free(log);
	bench_close(&b);
}

typedef struct pace {
	order o;
	int64_t source, target; /* tokens so far */
	double begin, end, rate;
} pace;

static double moment(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void count_tokens(void *user, int64_t step, const hec_batch *batch)
{
	pace *p = user;
	(void)step;
	for (int64_t i = 0; i < batch->targets.shape[0]; i++) {
		p->source += batch->input.length[i];
		p->target += batch->input.decoder_length[i];
	}
}

static hec_train_go keep_rate(void *user, const hec_train_event *e)
{
	pace *p = user;
	if (e->kind == HEC_TRAIN_BEGIN)
		p->begin = moment();
	if (e->kind == HEC_TRAIN_STEP) {
		p->rate = e->tokens_per_s;
		p->end = moment();
	}
	return HEC_TRAIN_GO;
}

/* Steps cannot have taken longer than the run, so that its rate is at least that of the whole; one that
 * left out a side would be about half of it. */
static void the_speed_counts_what_both_sides_read(void **state)
{
	(void)state;
	bench b = bench_open(7216);
	pace p = {0};
	hec_train_options t = options_for(&b, "pace", &p.o);
	t.user = &p;
	t.batch = count_tokens;
	t.progress = keep_rate;
	t.steps = t.report_every = 12;
	t.valid_every = t.save_every = 0;
	hec_model *model = NULL;
	hec_train_result r = {.size = sizeof r};
	OK(&b.l.k, hec_model_create(b.l.k.ctx, &b.config, HEC_F32, 3, &model));
	OK(&b.l.k, hec_train(b.l.k.ctx, model, b.train, NULL, &t, &r));
	double least = (double)(p.source + p.target) / (p.end - p.begin);
	CHECK(&b.l.k, p.source > 0 && p.target > 0 && p.rate >= least,
	      "%.0f tokens/s, at least %.0f (%lld and %lld tokens)", p.rate, least,
	      (long long)p.source, (long long)p.target);
	hec_model_destroy(model);
	bench_close(&b);
}

static void steps_that_are_not_finite_are_counted_and_reported(void **state)
{
	(void)state;
	bench b = bench_open(7250);
	order o = {.poison_at = 17};
	hec_train_result r = {.size = sizeof r};
	hec_train_options t = options_for(&b, "run", &o);
	OK(&b.l.k, run(&b, &t, &r));
	assert_int_equal(r.step, STEPS);
	assert_int_equal(r.skips, 1);
	char *log;
	size_t size;
	OK(&b.l.k, file_read(lab_path(&b.l, "run/log.jsonl"), 1 << 20, &log, &size));
	assert_non_null(strstr(log, "\"skipped\":1"));
	assert_null(strstr(log, "nan"));
	free(log);
	bench_close(&b);
}

/* Whatever is refused: an error, or a save that failed and was told; never a crash, never a leak. */
static void a_run_without_memory_ends_in_a_message(void **state)
{
	(void)state;
	bench b = bench_open(7260);
	bool fired = true;
	unbroken(&b); /* the context has its scratch from now on */
	for (long n = 1; fired; n += 1 + n / 16) {
		order o = {0};
		hec_train_options t = options_for(&b, "run", &o);
		t.steps = 2;
		t.save_every = 1;
		t.valid_every = 2;
		t.resume = true;
		hec_model *model = NULL;
		OK(&b.l.k, hec_model_create(b.l.k.ctx, &b.config, HEC_F32, 3, &model));
		OK(&b.l.k, hec_model_pack(b.l.k.ctx, model, true));
		o.ctx = b.l.k.ctx;
		o.model = model;
		long before = refuse_live();
		refuse_request(n, false);
		hec_status status = hec_train(b.l.k.ctx, model, b.train, b.valid, &t, NULL);
		fired = refuse_fired();
		refuse_request(0, false);
		CHECK(&b.l.k, refuse_live() == before,
		      "allocation %ld: %ld blocks are left (%s: %s)", n, refuse_live() - before,
		      hec_status_name(status), hec_error_message());
		CHECK(&b.l.k, fired || status == HEC_OK, "allocation %ld: %s", n,
		      hec_error_message());
		CHECK(&b.l.k, !fired || status != HEC_OK || o.failed > 0 || n > 50,
		      "allocation %ld was refused, and nothing was said", n);
		hec_model_destroy(model);
		char command[128];
		snprintf(command, sizeof command, "rm -rf %s", lab_path(&b.l, "run"));
		assert_int_equal(system(command), 0);
	}
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_that_is_stopped_anywhere_goes_on_with_the_same_bits),
		cmocka_unit_test(a_run_stopped_before_its_first_step_begins_when_it_is_resumed),
		cmocka_unit_test(a_run_whose_time_was_up_goes_on_with_the_same_bits),
		cmocka_unit_test(patience_does_not_count_where_the_time_was_up),
		cmocka_unit_test(a_validation_that_was_given_up_is_made_up_for),
		cmocka_unit_test(a_disk_that_is_full_keeps_the_last_good_checkpoint),
		cmocka_unit_test(a_line_that_did_not_fit_leaves_the_log_whole),
		cmocka_unit_test(a_log_is_cut_on_a_full_disk),
		cmocka_unit_test(a_folder_that_cannot_be_written_is_told),
		cmocka_unit_test(a_checkpoint_that_is_cut_short_is_refused),
		cmocka_unit_test(a_state_that_is_cut_short_or_of_another_run_is_refused),
		cmocka_unit_test(a_folder_with_a_run_is_not_begun_anew),
		cmocka_unit_test(two_runs_do_not_share_a_folder),
		cmocka_unit_test(it_stops_when_nothing_gets_better),
		cmocka_unit_test(the_mean_of_checkpoints_is_tried_at_the_end),
		cmocka_unit_test(a_mean_that_is_the_best_stays_when_the_run_goes_on),
		cmocka_unit_test(the_last_step_has_one_line),
		cmocka_unit_test(the_speed_counts_what_both_sides_read),
		cmocka_unit_test(steps_that_are_not_finite_are_counted_and_reported),
		cmocka_unit_test(a_run_without_memory_ends_in_a_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
