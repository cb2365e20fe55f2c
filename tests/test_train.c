/* test_train.c — the loop: a run that was stopped goes on as one that was not; one run in a folder; what is
 * told of it. */
#include "support/clock.h"
#include "support/train_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc/refuse.h"
#include "base/file.h"

static void a_run_that_is_stopped_anywhere_goes_on_with_the_same_bits(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	bench_unbroken(&b);
	for (int64_t every = 1; every <= 16; every = 2 * every + 1) {
		char dir[32];
		snprintf(dir, sizeof dir, "every-%lld", (long long)every);
		for (int64_t at = every;; at += every) {
			order o = {.stop_at = at};
			hec_train_result r;
			hec_train_options t = bench_options(&b, dir, &o);
			t.resume = true;
			OK(&b.l.k, bench_run(&b, &t, &r));
			if (r.end == HEC_TRAIN_DONE)
				break;
			assert_int_equal(r.end, HEC_TRAIN_STOPPED);
			assert_int_equal(r.step, at);
		}
		bench_check_same(&b, "whole", dir);
	}
	bench_close(&b);
}

static void a_run_stopped_before_its_first_step_begins_when_it_is_resumed(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	bench_unbroken(&b);
	for (int i = 0; i < 2; i++) {
		order o = {0};
		hec_train_result r;
		hec_train_options t = bench_options(&b, "late", &o);
		t.resume = true;
		t.seconds = i == 0 ? 1e-9 : 0;
		OK(&b.l.k, bench_run(&b, &t, &r));
		assert_int_equal(r.end, i == 0 ? HEC_TRAIN_TIME : HEC_TRAIN_DONE);
		assert_int_equal(r.step, i == 0 ? 0 : STEPS);
	}
	bench_check_same(&b, "whole", "late");
	bench_close(&b);
}

/* Stops at a step, then finds there that the time is up: it validates and reports for now. */
static void stop_for_time(bench *b, hec_train_options *t, int64_t at)
{
	for (int i = 0; i < 2; i++) {
		hec_train_result r;
		*(order *)t->user = (order){.stop_at = i == 0 ? at : 0};
		t->resume = true;
		t->seconds = i == 0 ? 0 : 1e-9;
		OK(&b->l.k, bench_run(b, t, &r));
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
	bench_unbroken(&b);
	order o;
	hec_train_options t = bench_options(&b, "slices", &o);
	stop_for_time(&b, &t, 7);
	stop_for_time(&b, &t, 8); /* a line of the log is due */
	stop_for_time(&b, &t, 22);
	OK(&b.l.k, bench_run(&b, &t, NULL));
	bench_check_same(&b, "whole", "slices");
	bench_close(&b);
}

static void patience_does_not_count_where_the_time_was_up(void **state)
{
	(void)state;
	bench b = bench_open(7230);
	order o;
	hec_train_result r;
	hec_train_options t = bench_options(&b, "run", &o);
	t.steps = 0;
	t.patience = 2;
	t.valid_every = 5;
	t.best = HEC_METRIC_BLEU;
	t.evaluate = bench_worse_each_step;
	for (int64_t at = 6; at < 10; at++)
		stop_for_time(&b, &t, at);
	OK(&b.l.k, bench_run(&b, &t, &r));
	assert_int_equal(r.end, HEC_TRAIN_EARLY);
	assert_int_equal(r.step, 15);
	bench_close(&b);
}

static void a_validation_that_was_given_up_is_made_up_for(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	bench_unbroken(&b);
	for (int64_t step = VALID_EVERY; step <= STEPS; step += VALID_EVERY) {
		order o = {.stop_in_valid = step};
		hec_train_result r;
		hec_train_options t = bench_options(&b, "given-up", &o);
		t.resume = true;
		OK(&b.l.k, bench_run(&b, &t, &r));
		assert_int_equal(r.end, HEC_TRAIN_STOPPED);
		assert_int_equal(r.step, step);
	}
	order o = {0};
	hec_train_options t = bench_options(&b, "given-up", &o);
	t.resume = true;
	OK(&b.l.k, bench_run(&b, &t, NULL));
	bench_check_same(&b, "whole", "given-up");
	bench_close(&b);
}

static void a_folder_with_a_run_is_not_begun_anew(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	bench_unbroken(&b);
	order o = {0};
	hec_train_options t = bench_options(&b, "whole", &o);
	FAILS(&b.l.k, HEC_ERR_ARGUMENT, bench_run(&b, &t, NULL), "holds a run already");
	/* A run that is done is done again at once, and nothing changes. */
	t.resume = true;
	hec_train_result r;
	OK(&b.l.k, bench_run(&b, &t, &r));
	assert_int_equal(r.step, STEPS);
	assert_int_equal(o.scores, 0);
	bench_close(&b);
}

static void two_runs_do_not_share_a_folder(void **state)
{
	(void)state;
	bench b = bench_open(7205);
	order o = {0};
	hec_train_options t = bench_options(&b, "run", &o);
	t.steps = 1;
	hec_train_lock *lock = NULL, *second = NULL;
	OK(&b.l.k, hec_train_lock_create(t.dir, &lock));
	FAILS(&b.l.k, HEC_ERR_IO, hec_train_lock_create(t.dir, &second), "another run is at work");
	FAILS(&b.l.k, HEC_ERR_IO, bench_run(&b, &t, NULL), t.dir, "another run is at work");
	t.lock = lock;
	OK(&b.l.k, bench_run(&b, &t, NULL));
	/* It is still the caller's; where nobody holds it, a run holds it itself and gives it back. */
	FAILS(&b.l.k, HEC_ERR_IO, hec_train_lock_create(t.dir, &second), "another run is at work");
	hec_train_lock_destroy(lock);
	t.lock = NULL;
	t.resume = true;
	OK(&b.l.k, bench_run(&b, &t, NULL));
	OK(&b.l.k, hec_train_lock_create(b.l.dir, &lock));
	t.lock = lock;
	FAILS(&b.l.k, HEC_ERR_IO, bench_run(&b, &t, NULL), "not the folder that was locked", t.dir);
	hec_train_lock_destroy(lock);
	bench_close(&b);
}

/* Nothing but the end makes a validation due here; a line of the log is due as well. */
static void the_last_step_has_one_line(void **state)
{
	(void)state;
	bench b = bench_open(7245);
	order o = {0};
	hec_train_options t = bench_options(&b, "run", &o);
	t.steps = 2 * REPORT_EVERY;
	t.valid_every = 100;
	OK(&b.l.k, bench_run(&b, &t, NULL));
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

static void count_tokens(void *user, int64_t step, const hec_batch *batch)
{
	pace *p = user;
	(void)step;
	for (int64_t i = 0; i < batch->targets.shape[0]; i++) {
		p->source += batch->input->length[i];
		p->target += batch->input->decoder_length[i];
	}
}

static hec_status keep_rate(void *user, const hec_train_event *e)
{
	pace *p = user;
	if (e->kind == HEC_TRAIN_BEGIN)
		p->begin = seconds_now();
	if (e->kind == HEC_TRAIN_STEP) {
		p->rate = e->tokens_per_s;
		p->end = seconds_now();
	}
	return HEC_OK;
}

/* Steps cannot have taken longer than the run, so that its rate is at least that of the whole; one that
 * left out a side would be about half of it. */
static void the_speed_counts_what_both_sides_read(void **state)
{
	(void)state;
	bench b = bench_open(7216);
	pace p = {0};
	hec_train_options t = bench_options(&b, "pace", &p.o);
	t.user = &p;
	t.batch = count_tokens;
	t.event = keep_rate;
	t.steps = t.report_every = 12;
	t.valid_every = t.save_every = 0;
	hec_model *model = NULL;
	hec_train_result *r = NULL;
	OK(&b.l.k, hec_model_create(b.l.k.ctx, &b.config, HEC_F32, 3, &model));
	OK(&b.l.k, hec_train(b.l.k.ctx, model, b.train, NULL, &t, &r));
	assert_int_equal(r->step, 12);
	hec_train_result_free(r);
	double least = (double)(p.source + p.target) / (p.end - p.begin);
	CHECK(&b.l.k, p.source > 0 && p.target > 0 && p.rate >= least,
	      "%.0f tokens/s, at least %.0f (%lld and %lld tokens)", p.rate, least,
	      (long long)p.source, (long long)p.target);
	hec_model_destroy(model);
	bench_close(&b);
}

static hec_status fail_at_third_step(void *user, const hec_train_event *e)
{
	order *o = user;
	o->step = e->step;
	return e->kind == HEC_TRAIN_STEP && e->step == 3 ? HEC_ERR_UNSUPPORTED : HEC_OK;
}

static void a_run_fails_with_what_its_event_function_returns(void **state)
{
	(void)state;
	bench b = bench_open(7247);
	order o = {0};
	hec_train_options t = bench_options(&b, "run", &o);
	t.event = fail_at_third_step;
	FAILS(&b.l.k, HEC_ERR_UNSUPPORTED, bench_run(&b, &t, NULL), "caller's function");
	assert_int_equal(o.step, 3);
	bench_close(&b);
}

static void steps_that_are_not_finite_are_counted_and_reported(void **state)
{
	(void)state;
	bench b = bench_open(7250);
	order o = {.poison_at = 17};
	hec_train_result r;
	hec_train_options t = bench_options(&b, "run", &o);
	OK(&b.l.k, bench_run(&b, &t, &r));
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

typedef struct spoiler {
	order order; /* first: the run's own calls take it for theirs */
	const char *path;
	char *ids;
	size_t size;
	int64_t at; /* after so many batches the ids are no ids */
} spoiler;

static void write_ids(const spoiler *s, bool good)
{
	FILE *f = fopen(s->path, "r+b");
	assert_non_null(f);
	for (size_t i = 0; i < s->size; i++)
		fputc(good ? s->ids[i] : 0x7F, f);
	assert_int_equal(fclose(f), 0);
}

static void spoil_later(void *user, int64_t step, const hec_batch *batch)
{
	spoiler *s = user;
	(void)step, (void)batch;
	if (--s->at == 0)
		write_ids(s, false);
}

/* Data that is gone at any batch of a step costs that step and no other. */
static void what_was_learned_before_data_failed_is_saved(void **state)
{
	(void)state;
	bench b = bench_open(7251);
	bench_unbroken(&b);
	spoiler s = {.path = lab_path(&b.l, "train.tokens")};
	OK(&b.l.k, file_read(s.path, 1 << 20, &s.ids, &s.size));
	for (int64_t batches = 14; batches < 14 + ACCUMULATE; batches++) {
		char name[32];
		snprintf(name, sizeof name, "spoiled-%lld", (long long)batches);
		s.path = lab_path(&b.l, "train.tokens");
		s.at = batches;
		hec_train_options t = bench_options(&b, name, &s.order);
		t.batch = spoil_later;
		FAILS(&b.l.k, HEC_ERR_FORMAT, bench_run(&b, &t, NULL), "train.tokens",
		      "step 7 is saved");
		s.path = lab_path(&b.l, "train.tokens");
		write_ids(&s, true);
		t = bench_options(&b, name, &s.order);
		t.resume = true;
		OK(&b.l.k, bench_run(&b, &t, NULL));
		bench_check_same(&b, "whole", name);
	}
	free(s.ids);
	bench_close(&b);
}

/* Whatever is refused: an error, or a save that failed and was told; never a crash, never a leak. */
static void a_run_without_memory_ends_in_a_message(void **state)
{
	(void)state;
	bench b = bench_open(7260);
	bool fired = true;
	bench_unbroken(&b); /* the context has its scratch from now on */
	for (long n = 1; fired; n += 1 + n / 16) {
		order o = {0};
		hec_train_options t = bench_options(&b, "run", &o);
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
		cmocka_unit_test(a_folder_with_a_run_is_not_begun_anew),
		cmocka_unit_test(two_runs_do_not_share_a_folder),
		cmocka_unit_test(the_last_step_has_one_line),
		cmocka_unit_test(the_speed_counts_what_both_sides_read),
		cmocka_unit_test(a_run_fails_with_what_its_event_function_returns),
		cmocka_unit_test(steps_that_are_not_finite_are_counted_and_reported),
		cmocka_unit_test(what_was_learned_before_data_failed_is_saved),
		cmocka_unit_test(a_run_without_memory_ends_in_a_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
