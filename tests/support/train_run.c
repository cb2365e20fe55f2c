/* train_run.c — a model of one layer that learns to write numbers as words. */
#include "support/train_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"

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

static hec_status on_event(void *user, const hec_train_event *e)
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
		return HEC_ERR_CANCELLED;
	bool stop = o->stop_at > 0 && e->kind == HEC_TRAIN_STEP && e->step >= o->stop_at;
	return stop ? HEC_ERR_CANCELLED : HEC_OK;
}

bench bench_open(uint64_t seed)
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
	b.trainer = (hec_trainer_options)HEC_TRAINER_OPTIONS_INIT;
	b.trainer.max_tokens = 80;
	b.trainer.max_source = b.trainer.max_target = 24;
	b.trainer.warmup = 10;
	return b;
}

void bench_close(bench *b)
{
	hec_corpus_destroy(b->train);
	hec_corpus_destroy(b->valid);
	lab_close(&b->l);
}

hec_train_options bench_options(bench *b, const char *dir, order *o)
{
	static char path[256];
	snprintf(path, sizeof path, "%s", lab_path(&b->l, dir));
	hec_train_options t = HEC_TRAIN_OPTIONS_INIT;
	t.dir = path;
	t.trainer = &b->trainer;
	t.tokenizer = b->l.tokenizer;
	t.steps = STEPS;
	t.accumulate = ACCUMULATE;
	t.report_every = REPORT_EVERY;
	t.valid_every = VALID_EVERY;
	t.save_every = SAVE_EVERY;
	t.keep = 2;
	t.event = on_event;
	t.batch = on_batch;
	t.user = o;
	return t;
}

hec_status bench_run(bench *b, hec_train_options *t, hec_train_result *result)
{
	hec_model *model = NULL;
	hec_train_result *made = NULL;
	OK(&b->l.k, hec_model_create(b->l.k.ctx, &b->config, HEC_F32, 3, &model));
	((order *)t->user)->ctx = b->l.k.ctx;
	((order *)t->user)->model = model;
	hec_status status = hec_train(b->l.k.ctx, model, b->train, b->valid, t, &made);
	CHECK(&b->l.k, !made == (status != HEC_OK), "%s, and %s result", hec_status_name(status),
	      made ? "a" : "no");
	if (result)
		*result = made ? *made : (hec_train_result){0};
	hec_train_result_free(made);
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

void bench_check_same(bench *b, const char *one, const char *two)
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

void bench_unbroken(bench *b)
{
	order o = {0};
	hec_train_result r;
	hec_train_options t = bench_options(b, "whole", &o);
	OK(&b->l.k, bench_run(b, &t, &r));
	assert_int_equal(r.end, HEC_TRAIN_DONE);
	assert_int_equal(r.step, STEPS);
	CHECK(&b->l.k, r.epoch >= 2, "only %lld epochs: nothing is crossed", (long long)r.epoch);
	assert_int_equal(o.failed, 0);
	assert_int_equal(o.saved, STEPS / SAVE_EVERY + 1);
	assert_int_equal(o.scores, STEPS / VALID_EVERY);
	assert_true(o.better >= 1 && r.best_step > 0);
}

hec_status bench_worse_each_step(void *user, hec_ctx *ctx, const hec_model *model,
                                 hec_train_scores *scores)
{
	(void)ctx;
	(void)model;
	hec_train_scores_set(scores, HEC_METRIC_BLEU, 100 - (double)((order *)user)->step);
	return HEC_OK;
}
