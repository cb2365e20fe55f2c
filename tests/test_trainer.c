/* test_trainer.c — a step of learning: it learns, it can be cut into batches, and it takes no memory but what
 * was planned. */
#include "support/models.h"
#include "support/scratch.h"

#include "alloc/refuse.h"
#include "trainer_toy.h"

static void it_learns_to_write_words_backwards(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	world w = world_open(7000, 0.1, &o);
	double first = 0, last = 0;
	assert_int_equal(hec_trainer_report(w.trainer)->step, 0);
	for (int step = 1; step <= 300; step++) {
		toy t;
		make_toy(&w.k, ROWS, &t);
		OK(&w.k, step_once(w.trainer, &t.batch));
		const hec_step_report *r = hec_trainer_report(w.trainer);
		CHECK(&w.k, r->step == step && !r->skipped && r->skips == 0, "step %d", step);
		first = step == 1 ? r->loss : first;
		last = 0.9 * (step == 1 ? r->loss : last) + 0.1 * r->loss;
	}
	CHECK(&w.k, first > 2 && last < 0.5 * first, "the loss went from %g to %g", first, last);
	/* Without dropout and smoothing it is lower still. */
	toy t;
	double sum = 0;
	int64_t count = 0;
	make_toy(&w.k, ROWS, &t);
	OK(&w.k, hec_trainer_loss(w.trainer, &t.batch, &sum, &count));
	CHECK(&w.k, sum / (double)count < last, "%g after %g", sum / (double)count, last);
	assert_int_equal(hec_trainer_steps(w.trainer), 300);
	world_close(&w);
}

/* ‖a − b‖ / ‖a‖ of two blocks. */
static double distance(const hec_model *a, const hec_model *b)
{
	hec_tensor x = hec_model_block(a), y = hec_model_block(b);
	double difference = 0, whole = 0;
	for (int64_t i = 0; i < x.shape[0]; i++) {
		double d = get(&x, i) - get(&y, i);
		difference += d * d;
		whole += get(&x, i) * get(&x, i);
	}
	return sqrt(difference / whole);
}

static void batches_of_a_step_count_as_one(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	world whole = world_open(7010, 0, &o), parts = world_open(7010, 0, &o);
	for (int step = 0; step < 5; step++) {
		toy t;
		make_toy(&whole.k, ROWS, &t);
		OK(&whole.k, step_once(whole.trainer, &t.batch));
		hec_model_input read[2] = {t.read, t.read};
		hec_batch pieces[2] = {t.batch, t.batch};
		for (int i = 0; i < 2; i++) {
			int64_t begin = i ? 3 : 0, n = i ? ROWS - 3 : 3;
			hec_model_input *in = &read[i];
			pieces[i].input = in;
			OK(&whole.k, hec_tensor_slice(&in->ids, 0, begin, n, &in->ids));
			OK(&whole.k,
			   hec_tensor_slice(&in->decoder_ids, 0, begin, n, &in->decoder_ids));
			OK(&whole.k,
			   hec_tensor_slice(&pieces[i].targets, 0, begin, n, &pieces[i].targets));
			in->length += begin;
			in->decoder_length += begin;
		}
		const hec_batch *const both[2] = {&pieces[0], &pieces[1]};
		OK(&parts.k, hec_trainer_step(parts.trainer, both, 2));
		const hec_step_report *a = hec_trainer_report(whole.trainer),
				      *b = hec_trainer_report(parts.trainer);
		assert_int_equal(a->targets, b->targets);
		CHECK(&whole.k, fabs(a->loss - b->loss) < 1e-5 * a->loss, "loss %g and %g", a->loss,
		      b->loss);
		CHECK(&whole.k, fabs(a->grad_norm - b->grad_norm) < 1e-4 * a->grad_norm,
		      "norm %g and %g", a->grad_norm, b->grad_norm);
	}
	CHECK(&whole.k, distance(whole.model, parts.model) < 1e-3, "%g apart",
	      distance(whole.model, parts.model));
	world_close(&whole);
	world_close(&parts);
}

/* What was added before a batch that is refused is no part of the next step. */
static void a_step_that_fails_leaves_nothing(void **state)
{
	(void)state;
	const hec_trainer_options o = toy_options();
	world w[2] = {world_open(7046, 0.1, &o), world_open(7046, 0.1, &o)};
	toy t;
	make_toy(&w[0].k, ROWS, &t);
	hec_batch bad = t.batch, empty = t.batch;
	bad.targets.rank = 0;
	empty.input = NULL;
	const hec_batch *const batches[2] = {&t.batch, &bad};
	CHECK(&w[1].k, hec_trainer_step(w[1].trainer, batches, 2) != HEC_OK,
	      "a batch without targets");
	FAILS(&w[1].k, HEC_ERR_ARGUMENT, step_once(w[1].trainer, &empty), "input");
	assert_int_equal(hec_trainer_report(w[1].trainer)->step, 0);
	for (int i = 0; i < 2; i++) {
		OK(&w[i].k, step_once(w[i].trainer, &t.batch));
		const int64_t step = hec_trainer_report(w[i].trainer)->step;
		CHECK(&w[i].k, step == 1, "step %lld", (long long)step);
	}
	hec_tensor a = hec_model_block(w[0].model), b = hec_model_block(w[1].model);
	assert_memory_equal(a.data, b.data, (size_t)a.shape[0] * sizeof(float));
	for (int i = 0; i < 2; i++)
		world_close(&w[i]);
}

static void the_same_steps_give_the_same_bits_at_any_number_of_threads(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	hec_model_config config = toy_config(0.2);
	hec_model *models[3];
	kit first = kit_open(7040);
	for (int i = 0; i < 3; i++) {
		kit k = kit_open_at(7040, NULL, i + 1);
		hec_trainer *trainer;
		OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 7, &models[i]));
		OK(&k, hec_trainer_create(k.ctx, models[i], &o, &trainer));
		for (int step = 0; step < 5; step++) {
			toy t;
			make_toy(&k, ROWS, &t);
			OK(&k, step_once(trainer, &t.batch));
		}
		hec_trainer_destroy(trainer);
		hec_tensor a = hec_model_block(models[0]), b = hec_model_block(models[i]);
		check_same_bits(&first, "weights", &a, &b);
		kit_close(&k);
	}
	for (int i = 0; i < 3; i++)
		hec_model_destroy(models[i]);
	kit_close(&first);
}

static void wrong_options_are_named(void **state)
{
	(void)state;
	kit k = kit_open(7050);
	hec_model_config config = toy_config(0);
	hec_model *model;
	hec_trainer *t = NULL;
	OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 7, &model));
	hec_trainer_options o = toy_options();
	o.beta2 = 1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_trainer_create(k.ctx, model, &o, &t), "beta2", "1");
	o = toy_options();
	o.lr = NAN;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_trainer_create(k.ctx, model, &o, &t), "lr");
	o = toy_options();
	o.eps = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_trainer_create(k.ctx, model, &o, &t), "eps", "0");
	o.eps = 1e-50; /* 0 in f32 */
	FAILS(&k, HEC_ERR_ARGUMENT, hec_trainer_create(k.ctx, model, &o, &t), "eps");
	o = toy_options();
	o.max_tokens = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_trainer_create(k.ctx, model, &o, &t), "max_tokens", "0");
	o.max_tokens = 999999999;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_trainer_create(k.ctx, model, &o, &t), "max_tokens");
	assert_null(t);
	o = toy_options();
	OK(&k, hec_trainer_create(k.ctx, model, &o, &t));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_trainer_apply(t), "without a batch");
	hec_trainer_destroy(t);
	hec_model_destroy(model);
	kit_close(&k);
}

/* Every batch that the options allow fits into what was planned, of rows of one token as well. */
static void answers_are_planned_and_learned(void **state)
{
	(void)state;
	kit k = kit_open(7065);
	hec_model_config config = model_variant(FORM_ENCODER, 1, HEC_HEAD_ANSWER, 0.1);
	hec_model *model;
	OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 7, &model));
	hec_trainer_options o = toy_options();
	o.max_tokens = ROWS * LENGTH;
	o.max_source = LENGTH;
	hec_trainer_memory *memory = NULL;
	OK(&k, hec_trainer_plan(k.ctx, model, &o, &memory));
	CHECK(&k, memory->activations > 0, "no memory for %d tokens", ROWS * LENGTH);
	hec_trainer_memory_free(memory);
	o.max_tokens = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_trainer_plan(k.ctx, model, &o, &memory), "max_tokens");
	assert_null(memory);
	o.max_tokens = ROWS * LENGTH;
	hec_trainer *t;
	OK(&k, hec_trainer_create(k.ctx, model, &o, &t));
	for (int64_t length = 1; length <= LENGTH; length += LENGTH - 1) {
		static int32_t ids[ROWS * LENGTH], lengths[ROWS * LENGTH],
			targets[2 * ROWS * LENGTH];
		const int64_t rows = ROWS * LENGTH / length;
		for (int64_t i = 0; i < rows; i++) {
			lengths[i] = (int32_t)length;
			targets[2 * i] = i % 3 == 1 ? -100 : 0;
			targets[2 * i + 1] = i % 3 == 1 ? -100 : (int32_t)length - 1;
		}
		hec_model_input read = HEC_MODEL_INPUT_INIT;
		hec_batch batch = HEC_BATCH_INIT;
		read.ids = hec_tensor_2d(ids, HEC_I32, rows, length);
		read.length = lengths;
		batch.input = &read;
		batch.targets = hec_tensor_2d(targets, HEC_I32, rows, 2);
		OK(&k, step_once(t, &batch));
		const hec_step_report *report = hec_trainer_report(t);
		CHECK(&k, !report->skipped && report->targets > 0, "%lld targets",
		      (long long)report->targets);
	}
	hec_trainer_destroy(t);
	hec_model_destroy(model);
	kit_close(&k);
}

/* Sounds and what is said in them: what was planned is enough for the largest batch, and it learns. */
static void frames_are_planned_and_learned(void **state)
{
	(void)state;
	kit k = kit_open(7421);
	char path[SCRATCH_PATH];
	hec_model *m = NULL;
	hec_trainer *t = NULL;
	OK(&k, hec_model_load(k.ctx, golden_model("whisper", path), NULL, &m));
	const hec_model_config *c = hec_model_config_of(m);
	const int64_t S = c->encoder.position.max, B = 3;
	hec_trainer_options o = toy_options();
	o.max_tokens = B * S;
	o.max_source = 2;
	o.max_target = 5;
	o.warmup = 1;
	/* A text may be longer than a batch is to be. */
	hec_trainer_options few = o;
	hec_trainer_memory *memory = NULL;
	few.max_tokens = 2;
	OK(&k, hec_trainer_create(k.ctx, m, &o, &t));
	OK(&k, hec_trainer_plan(k.ctx, m, &few, &memory));
	hec_trainer_memory_free(memory);
	hec_model_input read = HEC_MODEL_INPUT_INIT;
	hec_batch batch = HEC_BATCH_INIT;
	read.features = make(&k, HEC_F32, SHAPE(B, c->front.features, 2 * S));
	read.decoder_ids = make(&k, HEC_I32, SHAPE(B, 5));
	batch.input = &read;
	batch.targets = make(&k, HEC_I32, SHAPE(B, 5));
	for (int64_t i = 0; i < hec_tensor_count(&read.features); i++)
		put(&read.features, i, (double)draw_in(&k, -100, 100) / 100);
	for (int64_t i = 0; i < B * 5; i++) {
		put(&read.decoder_ids, i, (double)draw_in(&k, 3, 100));
		put(&batch.targets, i, (double)draw_in(&k, 3, 100));
	}
	double first = 0, last = 0;
	for (int i = 0; i < 40; i++) {
		OK(&k, step_once(t, &batch));
		const hec_step_report *r = hec_trainer_report(t);
		CHECK(&k, !r->skipped, "step %d was skipped", i);
		last = r->loss;
		first = i == 0 ? r->loss : first;
	}
	CHECK(&k, last < first / 2, "the loss went from %g to %g", first, last);
	hec_trainer_destroy(t);
	hec_model_destroy(m);
	kit_close(&k);
}

static void memory_that_is_refused_is_an_error_and_leaves_nothing_behind(void **state)
{
	(void)state;
	kit k = kit_open(7060);
	hec_model_config config = toy_config(0.1);
	hec_model *model;
	OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 7, &model));
	hec_trainer_options o = toy_options();
	OK(&k, hec_model_pack(k.ctx, model, true));
	bool fired = true;
	int refused = 0;
	for (long n = 1; fired; n++) {
		hec_trainer *t = NULL;
		long before = refuse_live();
		refuse_request(n, false);
		hec_status status = hec_trainer_create(k.ctx, model, &o, &t);
		fired = refuse_fired();
		refuse_request(0, false);
		/* Addresses for the dry run are asked for again, fewer: that one may be refused. */
		CHECK(&k, (status == HEC_OK) == (t != NULL) && (fired || t), "allocation %ld: %s",
		      n, hec_status_name(status));
		CHECK(&k, status == HEC_OK || status == HEC_ERR_MEMORY, "allocation %ld: %s: %s", n,
		      hec_status_name(status), hec_error_message());
		refused += status != HEC_OK;
		hec_trainer_destroy(t);
		CHECK(&k, refuse_live() == before, "allocation %ld: %ld blocks are left", n,
		      refuse_live() - before);
	}
	CHECK(&k, refused > 10, "only %d allocations", refused);
	hec_model_destroy(model);
	kit_close(&k);
}

static void a_step_allocates_nothing(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	world w = world_open(7070, 0.1, &o);
	toy t[2];
	make_toy(&w.k, ROWS, &t[0]);
	make_toy(&w.k, 3, &t[1]);
	const hec_batch *const batches[2] = {&t[0].batch, &t[1].batch};
	OK(&w.k, hec_trainer_step(w.trainer, batches, 2));
	refuse_request(0, false);
	for (int i = 0; i < 3; i++)
		OK(&w.k, hec_trainer_step(w.trainer, batches, 2));
	assert_int_equal(refuse_requests(), 0);
	world_close(&w);
}

static void schedules_rise_and_fall(void **state)
{
	(void)state;
	double schedule_rate(const hec_trainer_options *o, int64_t width, int64_t step);
	hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
	o.lr = 2;
	o.lr_end = 0.5;
	o.warmup = 10;
	o.steps = 109; /* linear and cosine arrive at the step after */
	const struct {
		hec_schedule kind;
		double at[5]; /* steps 1, 10, 40, 60, 110 */
	} rows[] = {
		{HEC_SCHEDULE_INVERSE_SQRT,
	         {0.2, 2, 2 * sqrt(10.0 / 40), 2 * sqrt(10.0 / 60), 2 * sqrt(10.0 / 110)}},
		{HEC_SCHEDULE_NOAM,
	         {2.0 / 4 * pow(10, -1.5), 2.0 / 4 * pow(10, -0.5), 2.0 / 4 * pow(40, -0.5),
	          2.0 / 4 * pow(60, -0.5), 2.0 / 4 * pow(110, -0.5)}},
		{HEC_SCHEDULE_COSINE, {0.2, 2, 0.5 + 0.75 * (1 + cos(acos(-1) * 0.3)), 1.25, 0.5}},
		{HEC_SCHEDULE_LINEAR, {0.2, 2, 1.55, 1.25, 0.5}},
		{HEC_SCHEDULE_CONSTANT, {0.2, 2, 2, 2, 2}},
	};
	const int64_t steps[5] = {1, 10, 40, 60, 110};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		o.schedule = rows[i].kind;
		for (int j = 0; j < 5; j++)
			assert_true(fabs(schedule_rate(&o, 16, steps[j]) - rows[i].at[j]) < 1e-12);
	}
}

/* The rates of Transformers' linear schedule, without warm-up: 1, 2/3, 1/3. */
static void the_last_step_learns_as_well(void **state)
{
	(void)state;
	double schedule_rate(const hec_trainer_options *o, int64_t width, int64_t step);
	hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
	o.lr = 3;
	for (o.warmup = 0; o.warmup < 2; o.warmup++) {
		o.schedule = HEC_SCHEDULE_LINEAR;
		o.steps = 1;
		assert_true(schedule_rate(&o, 16, 1) == 3);
		o.steps = 3;
		for (int64_t step = 1; step <= 4; step++)
			assert_true(fabs(schedule_rate(&o, 16, step) - (double)(4 - step)) < 1e-12);
		o.schedule = HEC_SCHEDULE_COSINE;
		for (int64_t step = 1; step <= 3; step++)
			assert_true(schedule_rate(&o, 16, step) > 0.4);
		assert_true(fabs(schedule_rate(&o, 16, 4)) < 1e-12);
	}
	o.warmup = o.steps = 3; /* a warm-up as long as the run ends at the top */
	assert_true(schedule_rate(&o, 16, 3) == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_learns_to_write_words_backwards),
		cmocka_unit_test(batches_of_a_step_count_as_one),
		cmocka_unit_test(a_step_that_fails_leaves_nothing),
		cmocka_unit_test(the_same_steps_give_the_same_bits_at_any_number_of_threads),
		cmocka_unit_test(wrong_options_are_named),
		cmocka_unit_test(answers_are_planned_and_learned),
		cmocka_unit_test(frames_are_planned_and_learned),
		cmocka_unit_test(memory_that_is_refused_is_an_error_and_leaves_nothing_behind),
		cmocka_unit_test(a_step_allocates_nothing),
		cmocka_unit_test(schedules_rise_and_fall),
		cmocka_unit_test(the_last_step_learns_as_well),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
