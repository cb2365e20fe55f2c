/* test_train_best.c — which model of a run is the best: by which number, until when, and the mean of several. */
#include "support/train_run.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static hec_status worse_each_time(void *user, hec_ctx *ctx, const hec_model *model,
                                  hec_train_scores *scores)
{
	(void)ctx;
	(void)model;
	hec_train_scores_set(scores, HEC_METRIC_BLEU, 50 - (double)((order *)user)->scores);
	return HEC_OK;
}

static void it_stops_when_nothing_gets_better(void **state)
{
	(void)state;
	bench b = bench_open(7230);
	order o = {0};
	hec_train_result r;
	hec_train_options t = bench_options(&b, "run", &o);
	t.steps = 0;
	t.patience = 2;
	t.valid_every = 5;
	t.best = HEC_METRIC_BLEU;
	t.evaluate = worse_each_time;
	OK(&b.l.k, bench_run(&b, &t, &r));
	assert_int_equal(r.end, HEC_TRAIN_EARLY);
	assert_int_equal(r.step, 15);
	assert_int_equal(r.best_step, 5);
	assert_true(r.best == 50);
	/* The best by loss is another one, and kept too. */
	assert_int_equal(access(lab_path(&b.l, "run/best/loss/model.safetensors"), F_OK), 0);
	t.evaluate = NULL;
	FAILS(&b.l.k, HEC_ERR_ARGUMENT, bench_run(&b, &t, NULL), "bleu");
	bench_close(&b);
}

/* Where the model goes that was the best by another number. */
static void a_link_in_best_goes_and_what_it_leads_to_stays(void **state)
{
	(void)state;
	bench b = bench_open(7235);
	order o = {0};
	hec_train_options t = bench_options(&b, "run", &o);
	t.evaluate = worse_each_time;
	OK(&b.l.k, bench_run(&b, &t, NULL));
	assert_int_equal(mkdir(lab_path(&b.l, "beside"), 0777), 0);
	assert_int_equal(mkdir(lab_path(&b.l, "beside/desk"), 0777), 0);
	lab_write(&b.l, "beside/desk/letter", "dear reader", 11);
	assert_int_equal(symlink("../../beside", lab_path(&b.l, "run/best/loss")), 0);
	t = bench_options(&b, "run", &o);
	t.evaluate = worse_each_time;
	t.resume = true;
	t.best = HEC_METRIC_BLEU;
	OK(&b.l.k, bench_run(&b, &t, NULL));
	assert_int_equal(access(lab_path(&b.l, "run/best/loss/config.json"), F_OK), 0);
	assert_int_equal(access(lab_path(&b.l, "beside/desk/letter"), F_OK), 0);
	bench_close(&b);
}

static void the_mean_of_checkpoints_is_tried_at_the_end(void **state)
{
	(void)state;
	bench b = bench_open(7240);
	order o = {0};
	hec_train_options t = bench_options(&b, "run", &o);
	t.average = 3;
	OK(&b.l.k, bench_run(&b, &t, NULL));
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
	hec_train_scores_set(scores, HEC_METRIC_BLEU, o->scores == STEPS / VALID_EVERY ? 100 : 50);
	return HEC_OK;
}

static void a_mean_that_is_the_best_stays_when_the_run_goes_on(void **state)
{
	(void)state;
	bench b = bench_open(7240);
	for (int i = 0; i < 2; i++) {
		order o = {0};
		hec_train_result r;
		hec_train_options t = bench_options(&b, "run", &o);
		t.average = i == 0 ? 3 : 0;
		t.steps = i == 0 ? STEPS : STEPS + 2 * VALID_EVERY;
		t.best = HEC_METRIC_BLEU;
		t.evaluate = only_the_mean_is_good;
		t.resume = i == 1;
		OK(&b.l.k, bench_run(&b, &t, &r));
		assert_true(r.best == 100);
		assert_int_equal(r.best_step, STEPS);
		assert_int_equal(o.better, i == 0 ? 2 : 0);
	}
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_stops_when_nothing_gets_better),
		cmocka_unit_test(a_link_in_best_goes_and_what_it_leads_to_stays),
		cmocka_unit_test(the_mean_of_checkpoints_is_tried_at_the_end),
		cmocka_unit_test(a_mean_that_is_the_best_stays_when_the_run_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
