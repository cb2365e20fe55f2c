/* test_train_reports.c — the numbers of a run: losses in its log and of its validations, held against the
 * model by itself; when it ends; what it leaves in the model; and what its state remembers.
 *
 * Where nothing is to be learned the rate is 0: then the weights of every step are those of the first. */
#include "support/golden_lines.h"
#include "support/train_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/state.h"

/* ---- losses ---- */

typedef struct witness {
	order order; /* first: the run's own calls take it for theirs */
	bench *b;
	hec_model *model;
	uint64_t seed;       /* of dropout */
	int64_t step, batch; /* of the step */
	double sum;          /* since the last line */
	int64_t targets;
	double means[8]; /* of the lines so far */
	int64_t counts[8];
	int count;
	double valid;
} witness;

static void add_loss(witness *w, const hec_batch *batch, const hec_dropout_key *key, double *sum,
                     int64_t *targets)
{
	const kit *k = &w->b->l.k;
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	double part = 0;
	int64_t count = 0;
	loss.targets = batch->targets;
	OK(k, hec_model_learn(k->ctx, k->arena, w->model, batch->input, &loss, key, NULL, &part,
	                      &count));
	*sum += part;
	*targets += count;
}

static void witness_batch(void *user, int64_t step, const hec_batch *batch)
{
	witness *w = user;
	w->batch = step == w->step ? w->batch + 1 : 0;
	w->step = step;
	const hec_dropout_key key = {w->seed, (uint32_t)step, (uint16_t)w->batch};
	add_loss(w, batch, &key, &w->sum, &w->targets);
}

static hec_status witness_event(void *user, const hec_train_event *e)
{
	witness *w = user;
	if (e->kind == HEC_TRAIN_SCORES) {
		w->valid = hec_train_scores_get(e->scores, HEC_METRIC_LOSS);
		assert_true(isnan(hec_train_scores_get(e->scores, HEC_METRIC_BLEU)));
	}
	if (e->kind != HEC_TRAIN_REPORT || w->targets == 0)
		return HEC_OK;
	const double mean = w->sum / (double)w->targets;
	CHECK(&w->b->l.k, fabs(e->loss - mean) < 1e-9 * mean, "step %lld: %.12g is told, not %.12g",
	      (long long)e->step, e->loss, mean);
	assert_true(w->count < 8);
	w->counts[w->count] = w->targets;
	w->means[w->count++] = mean;
	w->sum = 0;
	w->targets = 0;
	return HEC_OK;
}

/* Nothing is learned, but as the first step would learn it. */
static hec_train_options watch(bench *b, const char *dir, witness *w)
{
	hec_train_options t = bench_options(b, dir, &w->order);
	t.user = w;
	t.batch = witness_batch;
	t.event = witness_event;
	b->trainer.lr = 0;
	b->trainer.smoothing = 0.2; /* which no report has in it */
	*w = (witness){.b = b, .seed = b->trainer.seed};
	OK(&b->l.k, hec_model_create(b->l.k.ctx, &b->config, HEC_F32, 3, &w->model));
	return t;
}

static void a_line_is_the_mean_of_all_targets_since_the_one_before(void **state)
{
	(void)state;
	bench b = bench_open(7800);
	witness w;
	hec_train_options t = watch(&b, "run", &w);
	t.steps = 3 * REPORT_EVERY;
	OK(&b.l.k, hec_train(b.l.k.ctx, w.model, b.train, NULL, &t, NULL));
	json_t *log = golden_lines(&b.l.k, lab_path(&b.l, "run/log.jsonl"), 3);
	assert_int_equal(w.count, 3);
	assert_int_equal(json_array_size(log), 3);
	for (int i = 0; i < 3; i++) {
		const json_t *line = json_array_get(log, (size_t)i);
		const double loss = golden_real(line, "loss");
		CHECK(&b.l.k, fabs(loss - w.means[i]) < 1e-9 * loss, "line %d is %.12g, not %.12g",
		      i, loss, w.means[i]);
		assert_int_equal(golden_whole(line, "targets"), w.counts[i]);
		assert_int_equal(golden_whole(line, "step"), (i + 1) * REPORT_EVERY);
	}
	json_decref(log);
	hec_model_destroy(w.model);
	bench_close(&b);
}

/* By itself, without dropout and without smoothing. */
static void a_validation_is_the_mean_of_all_targets(void **state)
{
	(void)state;
	bench b = bench_open(7810);
	witness w;
	hec_train_options t = watch(&b, "run", &w);
	t.steps = 1;
	OK(&b.l.k, hec_train(b.l.k.ctx, w.model, b.train, b.valid, &t, NULL));
	const batcher_options o = {.max_tokens = 24, /* other batches */
	                           .pad_id = b.config.pad_id,
	                           .start_id = b.config.start_id,
	                           .in_order = true,
	                           .encoder = true,
	                           .decoder = true};
	batcher *valid = NULL;
	double sum = 0;
	int64_t targets = 0;
	OK(&b.l.k, batcher_create(b.valid, &o, &valid));
	for (bool ended = false; !ended;) {
		hec_batch batch;
		OK(&b.l.k, batcher_next(valid, &batch, &ended));
		add_loss(&w, &batch, NULL, &sum, &targets);
	}
	batcher_destroy(valid);
	CHECK(&b.l.k, fabs(w.valid - sum / (double)targets) < 1e-6 * w.valid, "%.9g, not %.9g",
	      w.valid, sum / (double)targets);
	hec_model_destroy(w.model);
	bench_close(&b);
}

/* ---- batches ---- */

typedef struct first_words {
	order order;
	int64_t rows, with_start, with_last;
	int32_t start_id;
} first_words;

static void count_first_words(void *user, int64_t step, const hec_batch *batch)
{
	first_words *f = user;
	const hec_tensor *ids = &batch->input->decoder_ids;
	(void)step;
	for (int64_t i = 0; i < ids->shape[0]; i++, f->rows++) {
		const double first = get(ids, i * ids->shape[1]),
			     last = get(&batch->targets,
		                        i * ids->shape[1] + batch->input->decoder_length[i] - 1);
		f->with_start += first == f->start_id;
		f->with_last += first == last;
	}
}

/* mBART learns from texts that begin with their own end, whatever it writes from. */
static void a_decoder_begins_with_its_start_or_with_the_last_of_its_text(void **state)
{
	(void)state;
	bench b = bench_open(7820);
	for (int last = 0; last < 2; last++) {
		first_words f = {.start_id = b.config.start_id};
		hec_train_options t = bench_options(&b, last ? "last" : "start", &f.order);
		t.steps = 5;
		t.batch = count_first_words;
		b.config.start_last = last;
		OK(&b.l.k, bench_run(&b, &t, NULL));
		assert_true(f.rows > 20);
		assert_int_equal(f.with_start, last ? 0 : f.rows);
		assert_int_equal(f.with_last, last ? f.rows : 0);
	}
	bench_close(&b);
}

/* ---- the end ---- */

static void a_run_of_epochs_ends_with_their_last_batch(void **state)
{
	(void)state;
	bench b = bench_open(7830);
	order o = {0};
	hec_train_result r;
	hec_train_options t = bench_options(&b, "run", &o);
	int64_t batches = 0;
	t.steps = 0;
	t.epochs = 2;
	t.accumulate = 1;
	OK(&b.l.k, hec_corpus_batches(b.train, t.trainer->max_tokens, 0, t.seed, 2, &batches));
	OK(&b.l.k, bench_run(&b, &t, &r));
	assert_int_equal(r.end, HEC_TRAIN_DONE);
	assert_int_equal(r.step, batches);
	assert_int_equal(r.epoch, 2);
	bench_close(&b);
}

/* What the mean of checkpoints was tried with is not what is left. */
static void trying_a_mean_leaves_the_weights_of_the_last_step(void **state)
{
	(void)state;
	bench b = bench_open(7840);
	hec_model *m[2];
	for (int i = 0; i < 2; i++) {
		order o = {0};
		hec_train_options t = bench_options(&b, i ? "mean" : "plain", &o);
		t.average = i ? 3 : 0;
		OK(&b.l.k, hec_model_create(b.l.k.ctx, &b.config, HEC_F32, 3, &m[i]));
		o.ctx = b.l.k.ctx;
		o.model = m[i];
		OK(&b.l.k, hec_train(b.l.k.ctx, m[i], b.train, b.valid, &t, NULL));
		assert_int_equal(o.scores, STEPS / VALID_EVERY + i);
	}
	hec_tensor x = hec_model_block(m[0]), y = hec_model_block(m[1]);
	check_same_bits(&b.l.k, "weights", &x, &y);
	for (int i = 0; i < 2; i++)
		hec_model_destroy(m[i]);
	bench_close(&b);
}

/* ---- going on ---- */

static void patience_that_was_lost_stays_lost(void **state)
{
	(void)state;
	bench b = bench_open(7850);
	for (int64_t stop = 11; stop >= 0; stop -= 11) {
		order o = {.stop_at = stop};
		hec_train_result r;
		hec_train_options t = bench_options(&b, "run", &o);
		t.steps = 0;
		t.patience = 3;
		t.valid_every = 5;
		t.best = HEC_METRIC_BLEU;
		t.evaluate = bench_worse_each_step;
		t.resume = true;
		OK(&b.l.k, bench_run(&b, &t, &r));
		assert_int_equal(r.end, stop ? HEC_TRAIN_STOPPED : HEC_TRAIN_EARLY);
		assert_int_equal(r.step, stop ? stop : 20);
	}
	bench_close(&b);
}

static void a_run_with_a_skipped_step_goes_on_with_the_same_bits(void **state)
{
	(void)state;
	bench b = bench_open(7860);
	for (int i = 0; i < 3; i++) {
		order o = {.poison_at = i < 2 ? 7 : 0, .stop_at = i == 1 ? 9 : 0};
		hec_train_result r;
		hec_train_options t = bench_options(&b, i ? "stopped" : "whole", &o);
		t.resume = true;
		OK(&b.l.k, bench_run(&b, &t, &r));
		assert_int_equal(r.skips, 1);
		assert_int_equal(r.step, i == 1 ? 9 : STEPS);
	}
	bench_check_same(&b, "whole", "stopped");
	bench_close(&b);
}

static void a_state_is_read_as_it_was_written(void **state)
{
	(void)state;
	lab l = lab_open(7870);
	const run_state s = {.identity = {.seed = UINT64_MAX,
	                                  .dropout_seed = 1,
	                                  .max_tokens = 2,
	                                  .max_rows = 3,
	                                  .accumulate = 4,
	                                  .data = UINT32_MAX,
	                                  .valid = 5},
	                     .step = 6,
	                     .place = {7, 8},
	                     .loss_sum = 9.1,
	                     .loss_targets = 10,
	                     .report_step = 11,
	                     .last_norm = 12.3,
	                     .seconds = 13.7,
	                     .best = {14.9, -15.1, 0, 0, 16.3, 17},
	                     .best_step = {18, 19, 0, 0, 20, 21},
	                     .due = {22.1, NAN, 23.3, NAN, NAN, 24},
	                     .stale = 25,
	                     .valid_step = 26,
	                     .chosen = HEC_METRIC_F1};
	run_state got;
	json_t *files = json_pack("{s:{s:i}}", "model.safetensors", "size", 12), *back;
	OK(&l.k, state_write(lab_path(&l, "state.json"), &s, files));
	OK(&l.k, state_read(lab_path(&l, "state.json"), &got, &back));
	assert_true(json_equal(back, files));
	json_decref(files);
	json_decref(back);
	for (int i = 0; i < HEC_METRICS; i++) {
		assert_true(isnan(s.due[i]) ? isnan(got.due[i]) : got.due[i] == s.due[i]);
		got.due[i] = s.due[i];
	}
	assert_memory_equal(&got, &s, sizeof s);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_the_mean_of_all_targets_since_the_one_before),
		cmocka_unit_test(a_validation_is_the_mean_of_all_targets),
		cmocka_unit_test(a_decoder_begins_with_its_start_or_with_the_last_of_its_text),
		cmocka_unit_test(a_run_of_epochs_ends_with_their_last_batch),
		cmocka_unit_test(trying_a_mean_leaves_the_weights_of_the_last_step),
		cmocka_unit_test(patience_that_was_lost_stays_lost),
		cmocka_unit_test(a_run_with_a_skipped_step_goes_on_with_the_same_bits),
		cmocka_unit_test(a_state_is_read_as_it_was_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
