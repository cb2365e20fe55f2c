/* test_hostile_values.c — each key of config.json, of every family, set to each value that a hostile hand
 * would write there. What is refused has a reason; what loads does all that models do. */
#include "support/exercise.h"
#include "support/hostile.h"
#include "support/models.h"
#include "support/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct sweep {
	kit *k;
	char dir[SCRATCH_PATH], saved[SCRATCH_PATH];
	int refused, run;
} sweep;

static void try_it(void *user, const char *what)
{
	sweep *s = user;
	hec_model *m = NULL;
	const hec_status status = hec_model_load(s->k->ctx, s->dir, NULL, &m);
	CHECK(s->k, (status == HEC_OK) == (m != NULL), "%s: half a model", what);
	CHECK(s->k, status == HEC_OK || *hec_error_message(), "%s: no reason", what);
	s->refused += status != HEC_OK;
	if (m && exercise_fits(hec_model_config_of(m))) {
		const char *broken = exercise_model(s->k->ctx, m, s->saved);
		CHECK(s->k, !broken, "%s: %s: %s", what, broken, hec_error_message());
		s->run++;
	}
	hec_model_destroy(m);
}

static void sweep_config(sweep *s)
{
	char path[SCRATCH_PATH + 16];
	snprintf(path, sizeof path, "%s/config.json", s->dir);
	scratch_fresh(s->saved);
	try_it(s, "as it is");
	CHECK(s->k, s->run == 1, "%s: %s", path, hec_error_message());
	hostile_each(path, try_it, s);
	CHECK(s->k, s->refused > 50 && s->run > 50, "%d refused, %d run", s->refused, s->run);
}

static void what_loads_of_any_family_runs(void **state)
{
	(void)state;
	static const char *const names[] = {
		"marian",        "gpt2",        "bert_classify", "roberta",     "distilbert",
		"llama_three",   "llama_yarn",  "qwen2",         "mbart",       "t5_gated",
		"t5_encoder",    "llama_long",  "mistral",       "bart",        "whisper",
		"gpt2_classify", "xlm-roberta", "bart_classify", "bert_tokens", "t5_answer"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char from[SCRATCH_PATH];
		kit k = kit_open(7600);
		sweep s = {.k = &k};
		scratch_copy(golden_model(names[i], from), scratch_fresh(s.dir));
		sweep_config(&s);
		kit_close(&k);
	}
}

static void what_loads_of_our_own_runs(void **state)
{
	(void)state;
	for (int n = 0; n < MODEL_VARIANTS; n += 3) {
		kit k = kit_open(7610);
		sweep s = {.k = &k};
		hec_model_config c = model_variant((model_form)(n / 3 % 3), n, HEC_HEAD_LM, 0.1);
		hec_model *m = model_open(&k, &c, HEC_F32);
		OK(&k, hec_model_save(k.ctx, m, HEC_F32, scratch_fresh(s.dir)));
		sweep_config(&s);
		hec_model_destroy(m);
		kit_close(&k);
	}
}

/* ---- what is not hostile, but rare ---- */

static void exercise(kit *k, const hec_model_config *c, const char *what)
{
	char saved[SCRATCH_PATH];
	hec_model *m = NULL;
	OK(k, hec_model_create(k->ctx, c, HEC_F32, 7, &m));
	const char *broken = exercise_model(k->ctx, m, scratch_fresh(saved));
	CHECK(k, !broken, "%s: %s: %s", what, broken, hec_error_message());
	hec_model_destroy(m);
}

static void every_form_with_every_head_runs(void **state)
{
	(void)state;
	for (int form = FORM_ENCODER; form <= MODEL_FORMS; form++) {
		for (int i = 0; i < MODEL_VARIANTS * (HEC_HEAD_ANSWER + 1); i++) {
			const int n = i % MODEL_VARIANTS, head = i / MODEL_VARIANTS;
			kit k = kit_open(7620);
			char what[80];
			snprintf(what, sizeof what, "form %d, variant %d, head %d", form, n, head);
			hec_model_config c =
				form < MODEL_FORMS
					? model_variant((model_form)form, n, (hec_head)head, 0.1)
					: frames_variant(n, (hec_head)head, 0.1);
			exercise(&k, &c, what);
			kit_close(&k);
		}
	}
}

/* 1 MiB is read and written at a time, or a row that is longer. */
static void rows_of_a_mebibyte_and_more_are_saved_and_loaded(void **state)
{
	(void)state;
	kit k = kit_open(7630);
	hec_model_config c = frames_variant(0, HEC_HEAD_LM, 0);
	c.decoder.feed_forward.hidden = 270000;
	exercise(&k, &c, "the row of a linear");
	c = frames_variant(0, HEC_HEAD_LM, 0);
	c.front.features = 90000;
	exercise(&k, &c, "the row of a convolution");
	kit_close(&k);
}

static void a_scale_that_single_precision_has_not_is_refused(void **state)
{
	(void)state;
	static const double wrong[] = {1e308, -1e39, 1e-50};
	kit k = kit_open(7640);
	for (int i = 0; i < 3; i++) {
		hec_model_config c = model_variant(FORM_BOTH, 0, HEC_HEAD_LM, 0);
		char number[32];
		c.decoder.attention.scale = wrong[i];
		snprintf(number, sizeof number, "scale is %g", wrong[i]);
		FAILS(&k, HEC_ERR_ARGUMENT, hec_model_config_resolve(&c), "decoder", number);
	}
	kit_close(&k);
}

/* Saving flushes to disk, some ten thousand times: where there is a folder in memory, there. */
static int begin(void **state)
{
	if (access("/dev/shm", W_OK) == 0)
		assert_int_equal(setenv("TMPDIR", "/dev/shm", 1), 0);
	return scratch_group_make(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_loads_of_any_family_runs),
		cmocka_unit_test(what_loads_of_our_own_runs),
		cmocka_unit_test(every_form_with_every_head_runs),
		cmocka_unit_test(rows_of_a_mebibyte_and_more_are_saved_and_loaded),
		cmocka_unit_test(a_scale_that_single_precision_has_not_is_refused),
	};
	return cmocka_run_group_tests(tests, begin, scratch_group_remove);
}
