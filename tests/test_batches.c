/* test_batches.c — many inputs through one model, each as if it were alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/refuse.h"
#include "support/models.h"
#include "support/test.h"
#include "task/batches.h"

#define INPUTS 17
#define MOST 24 /* positions of the models */
#define NUMBERS (MOST * 101)

typedef struct texts {
	batch_input in[INPUTS];
	int32_t ids[INPUTS][MOST], types[INPUTS][MOST];
} texts;

typedef struct results {
	const kit *k;
	int64_t count[INPUTS]; /* numbers; 0: not given yet */
	float *numbers;        /* [INPUTS, NUMBERS] */
} results;

static void draw_texts(kit *k, texts *t)
{
	for (int i = 0; i < INPUTS; i++) {
		t->in[i] =
			(batch_input){t->ids[i], t->types[i], i == 3 ? MOST : draw_in(k, 1, MOST)};
		for (int j = 0; j < MOST; j++) {
			t->ids[i][j] = (int32_t)draw_in(k, 4, 100);
			t->types[i][j] = (int32_t)draw_in(k, 0, 1);
		}
	}
}

static task_model load(const kit *k, const char *name)
{
	char path[512];
	(void)snprintf(path, sizeof path, "%s/golden/models/%s", TESTS_DIR, name);
	task_model m = {.task = "test", .ctx = k->ctx, .longest = MOST};
	OK(k, hec_model_load(k->ctx, path, NULL, &m.own_model));
	m.model = m.own_model;
	return m;
}

static hec_status take(void *user, int64_t input, const hec_tensor *rows)
{
	results *r = user;
	assert_in_range(input, 0, INPUTS - 1);
	assert_int_equal(r->count[input], 0); /* once each */
	r->count[input] = hec_tensor_count(rows);
	assert_true(hec_tensor_is_contiguous(rows) && r->count[input] <= NUMBERS);
	memcpy(r->numbers + input * NUMBERS, rows->data, (size_t)r->count[input] * sizeof(float));
	return HEC_OK;
}

static results results_of(const kit *k)
{
	results r = {.k = k, .numbers = calloc((size_t)INPUTS * NUMBERS, sizeof(float))};
	assert_non_null(r.numbers);
	return r;
}

/* The first n texts. */
static batch_work work_of(const task_model *m, batch_want want, const texts *t, int64_t n,
                          int64_t tokens, batch_fn *take_rows, void *user)
{
	return (batch_work){.model = m,
	                    .want = want,
	                    .inputs = t->in,
	                    .n = n,
	                    .tokens = tokens,
	                    .take_rows = take_rows,
	                    .user = user};
}

static const struct {
	const char *name;
	batch_want want;
	int64_t row; /* numbers for each token; 0: one row of `all` */
	int64_t all;
} cases[] = {{"bert_base", BATCH_HIDDEN, 30, 0},        {"bert_base", BATCH_POOLED, 0, 30},
             {"bert_classify", BATCH_LOGITS, 0, 3},     {"roberta_tokens", BATCH_LOGITS, 5, 0},
             {"distilbert_answer", BATCH_LOGITS, 2, 0}, {"bert", BATCH_LOGITS, 101, 0},
             {"gpt2_base", BATCH_HIDDEN, 30, 0},        {"t5", BATCH_HIDDEN, 30, 0},
             {"t5_encoder", BATCH_HIDDEN, 30, 0},       {"bart", BATCH_LOGITS, 101, 0}};

static void each_input_has_the_same_bits_alone_or_among_others(void **state)
{
	(void)state;
	kit k = kit_open(5);
	texts t;
	draw_texts(&k, &t);
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		task_model m = load(&k, cases[c].name);
		batches b = {0};
		results together = results_of(&k), alone = results_of(&k);
		batch_work w = work_of(&m, cases[c].want, &t, INPUTS, 70, take, &together);
		OK(&k, batches_run(&b, &w));
		w.n = 1;
		for (int i = 0; i < INPUTS; i++) {
			results one = results_of(&k);
			w.inputs = &t.in[i];
			w.user = &one;
			OK(&k, batches_run(&b, &w));
			alone.count[i] = one.count[0];
			memcpy(alone.numbers + i * NUMBERS, one.numbers, NUMBERS * sizeof(float));
			free(one.numbers);
			int64_t want = cases[c].row * t.in[i].n + cases[c].all;
			CHECK(&k, together.count[i] == want,
			      "%s: input %d has %lld numbers, not %lld", cases[c].name, i,
			      (long long)together.count[i], (long long)want);
		}
		assert_memory_equal(together.count, alone.count, sizeof alone.count);
		assert_memory_equal(together.numbers, alone.numbers,
		                    (size_t)INPUTS * NUMBERS * sizeof(float));
		free(together.numbers);
		free(alone.numbers);
		batches_free(&b);
		hec_model_destroy(m.own_model);
	}
	kit_close(&k);
}

/* One type more than none is enough to tell two texts apart. */
static void token_types_are_read(void **state)
{
	(void)state;
	for (int64_t types = 2; types <= 3; types++) {
		kit k = kit_open(6);
		texts t;
		draw_texts(&k, &t);
		hec_model_config c = model_variant(FORM_ENCODER, 1, HEC_HEAD_NONE, 0);
		c.vocab = 101;
		c.types = types;
		c.pooler = false;
		task_model m = {.task = "test", .ctx = k.ctx, .longest = MOST};
		m.model = m.own_model = model_open(&k, &c, HEC_F32);
		t.in[0] = (batch_input){t.ids[0], t.types[0], 5};
		for (int j = 0; j < 5; j++)
			t.types[0][j] = j % 2;
		batches b = {0};
		results got = results_of(&k);
		batch_work w = work_of(&m, BATCH_HIDDEN, &t, 1, 70, take, &got);
		OK(&k, batches_run(&b, &w));
		hec_tensor want = make(&k, HEC_F32, SHAPE(1, 5, c.width)),
			   have = hec_tensor_3d(got.numbers, HEC_F32, 1, 5, c.width);
		hec_model_input in = {.size = sizeof in,
		                      .ids = hec_tensor_2d(t.ids[0], HEC_I32, 1, 5),
		                      .types = hec_tensor_2d(t.types[0], HEC_I32, 1, 5)};
		hec_model_output out = {.size = sizeof out, .hidden = want};
		OK(&k, hec_model_fwd(k.ctx, k.arena, m.model, &in, NULL, &out, NULL));
		check_same_bits(&k, "with its types", &have, &want);
		free(got.numbers);
		batches_free(&b);
		hec_model_destroy(m.own_model);
		kit_close(&k);
	}
}

static hec_status ignore_rows(void *user, int64_t input, const hec_tensor *rows)
{
	(void)input;
	(void)rows;
	++*(int64_t *)user;
	return HEC_OK;
}

static hec_status stop_half(void *user, const char *phase, int64_t done, int64_t total)
{
	assert_string_equal(phase, "texts");
	assert_int_equal(total, INPUTS);
	++*(int64_t *)user;
	return 2 * done > total ? HEC_ERR_CANCELLED : HEC_OK;
}

static void a_bad_input_is_named_and_work_can_be_stopped(void **state)
{
	(void)state;
	kit k = kit_open(6);
	texts t;
	draw_texts(&k, &t);
	task_model m = load(&k, "bert_base");
	batches b = {0};
	int64_t given = 0, calls = 0;
	batch_work w = work_of(&m, BATCH_HIDDEN, &t, INPUTS, 30, ignore_rows, &given);
	t.in[7].n = 0;
	FAILS(&k, HEC_ERR_SHAPE, batches_run(&b, &w), "no tokens");
	assert_int_equal(hec_error_item(), 7);
	t.in[7].n = MOST + 1;
	FAILS(&k, HEC_ERR_SHAPE, batches_run(&b, &w), "25 tokens", "takes 24");
	assert_int_equal(hec_error_item(), 7);
	t.in[7].n = 1;
	assert_int_equal(given, 0);
	w.progress = stop_half;
	w.progress_user = &calls;
	FAILS(&k, HEC_ERR_CANCELLED, batches_run(&b, &w), "test: texts: cancelled", "of 17");
	assert_int_equal(hec_error_item(), -1);
	assert_true(given > 0 && given < INPUTS && calls > 1);
	w.progress = NULL;
	OK(&k, batches_run(&b, &w));
	w.n = 0;
	OK(&k, batches_run(&b, &w));
	batches_free(&b);
	hec_model_destroy(m.own_model);
	kit_close(&k);
}

static void refused_memory_is_an_error_and_a_second_call_needs_no_more(void **state)
{
	(void)state;
	kit k = kit_open(7);
	texts t;
	draw_texts(&k, &t);
	task_model m = load(&k, "bert_base");
	int64_t given = 0;
	batch_work w = work_of(&m, BATCH_HIDDEN, &t, INPUTS, 30, ignore_rows, &given);
	batches first = {0};
	OK(&k, batches_run(&first, &w)); /* scratch of the context is there from now on */
	hec_arena *arena = first.arena;
	OK(&k, batches_run(&first, &w));
	assert_ptr_equal(first.arena, arena);
	batches_free(&first);
	long live = refuse_live();
	bool fired = true;
	for (long n = 1; fired; n++) {
		batches b = {0};
		refuse_request(n, false);
		hec_status status = batches_run(&b, &w);
		fired = refuse_fired();
		refuse_request(0, false);
		assert_int_equal(status, fired ? HEC_ERR_MEMORY : HEC_OK);
		batches_free(&b);
		assert_int_equal(refuse_live(), live);
		assert_true(n < 1000);
	}
	hec_model_destroy(m.own_model);
	kit_close(&k);
}

/* What may stand within what: batches.c counts on it. */
static void a_batch_takes_no_more_memory_than_one_with_more_rows_or_longer_ones(void **state)
{
	(void)state;
	enum { ROWS = 5, LENGTHS = 8 };
	static const int64_t lengths[LENGTHS] = {1, 2, 3, 7, 8, 15, 23, MOST};
	kit k = kit_open(8);
	texts t;
	draw_texts(&k, &t);
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		task_model m = load(&k, cases[c].name);
		size_t bytes[ROWS + 1][LENGTHS] = {{0}};
		for (int64_t B = 1; B <= ROWS; B++)
			for (int i = 0; i < LENGTHS; i++) {
				batches b = {0};
				int64_t given = 0;
				batch_work w = work_of(&m, cases[c].want, &t, B, B * lengths[i],
				                       ignore_rows, &given);
				for (int64_t j = 0; j < B; j++)
					t.in[j].n = lengths[i];
				OK(&k, batches_run(&b, &w));
				assert_int_equal(b.shape_count, 1); /* in one batch */
				bytes[B][i] = b.bytes;
				CHECK(&k,
				      bytes[B - 1][i] <= b.bytes &&
				              (i == 0 || bytes[B][i - 1] <= b.bytes),
				      "%s: %lld rows of %lld take %zu bytes, less than fewer or "
				      "shorter",
				      cases[c].name, (long long)B, (long long)lengths[i], b.bytes);
				batches_free(&b);
			}
		hec_model_destroy(m.own_model);
	}
	kit_close(&k);
}

static hec_status refuse_the_rest(void *user, int64_t input, const hec_tensor *rows)
{
	(void)input;
	(void)rows;
	if (++*(int64_t *)user == 1)
		refuse_request(1, true);
	return HEC_OK;
}

static void only_what_may_be_larger_is_measured_and_nothing_is_asked_for_after_it(void **state)
{
	(void)state;
	kit k = kit_open(9);
	texts t;
	draw_texts(&k, &t);
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		task_model m = load(&k, cases[c].name);
		batches warm = {0}, b = {0};
		int64_t given = 0;
		batch_work w = work_of(&m, cases[c].want, &t, INPUTS, 30, ignore_rows, &given);
		OK(&k, batches_run(&warm, &w)); /* scratch of the context is there from now on */
		batches_free(&warm);
		given = 0;
		w.take_rows = refuse_the_rest;
		hec_status status = batches_run(&b, &w);
		CHECK(&k, status == HEC_OK && !refuse_fired() && given == INPUTS,
		      "%s: asks for memory between the batches: %s", cases[c].name,
		      hec_error_message());
		/* Of all of them again, and of each alone, all is known: but for the list of places
		 * nothing is asked for. */
		w.take_rows = ignore_rows;
		for (int i = -1; i < INPUTS; i++) {
			w.inputs = i < 0 ? t.in : &t.in[i];
			w.n = i < 0 ? INPUTS : 1;
			refuse_request(2, true);
			status = batches_run(&b, &w);
			refuse_request(0, false);
			OK(&k, status);
		}
		w.inputs = t.in;
		batches_free(&b);
		hec_model_destroy(m.own_model);
	}
	kit_close(&k);
}

static void longer_rows_more_rows_and_other_results_are_measured(void **state)
{
	(void)state;
	static const struct {
		int64_t n, rows, length;
		batch_want want;
		size_t shapes;                         /* that are known then */
	} steps[] = {{INPUTS, 2, 10, BATCH_HIDDEN, 1}, /* of one length: one shape for all */
	             {2, 2, MOST, BATCH_HIDDEN, 1},
	             {9, 9, MOST, BATCH_HIDDEN, 1},
	             {INPUTS, INPUTS, 1, BATCH_HIDDEN, 2},
	             {9, 9, MOST, BATCH_LOGITS, 3}};
	kit k = kit_open(11);
	texts t;
	draw_texts(&k, &t);
	task_model m = load(&k, "bert");
	batches b = {0};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		int64_t given = 0;
		batch_work w = work_of(&m, steps[i].want, &t, steps[i].n,
		                       steps[i].rows * steps[i].length, ignore_rows, &given);
		for (int j = 0; j < INPUTS; j++)
			t.in[j].n = steps[i].length;
		OK(&k, batches_run(&b, &w));
		assert_int_equal(given, steps[i].n);
		assert_int_equal(b.shape_count, steps[i].shapes);
	}
	batches_free(&b);
	hec_model_destroy(m.own_model);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_input_has_the_same_bits_alone_or_among_others),
		cmocka_unit_test(token_types_are_read),
		cmocka_unit_test(a_bad_input_is_named_and_work_can_be_stopped),
		cmocka_unit_test(refused_memory_is_an_error_and_a_second_call_needs_no_more),
		cmocka_unit_test(
			a_batch_takes_no_more_memory_than_one_with_more_rows_or_longer_ones),
		cmocka_unit_test(
			only_what_may_be_larger_is_measured_and_nothing_is_asked_for_after_it),
		cmocka_unit_test(longer_rows_more_rows_and_other_results_are_measured),
	};
	return cmocka_run_group_tests_name("batches", tests, NULL, NULL);
}
