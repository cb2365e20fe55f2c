/* test_hostile_values.c — each key of config.json, of every family, set to each value that a hostile hand
 * would write there. What is refused has a reason; what loads does all that models do. */
#include "support/exercise.h"
#include "support/models.h"
#include "support/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/json.h"

typedef struct sweep {
	kit *k;
	json_t *root;
	char dir[SCRATCH_PATH], saved[SCRATCH_PATH];
	char place[200]; /* the key and the value, for messages */
	int refused, loaded, run;
} sweep;

/* As JSON text: what each key is set to. */
/* clang-format off */
static const char *const values[] = {
	"0", "1", "-1", "2", "0.5", "-0.5", "1e308", "-1e308", "1e-320", "2147483647", "2147483648",
	"9223372036854775807", "-9223372036854775808", "true", "false", "null", "\"\"", "[]", "{}"};
/* clang-format on */

/* Not flushed to disk, which would take most of the time. */
static void write_config(const sweep *s)
{
	char path[SCRATCH_PATH + 16];
	snprintf(path, sizeof path, "%s/config.json", s->dir);
	assert_int_equal(json_dump_file(s->root, path, 0), 0);
}

static void try_it(sweep *s)
{
	hec_model *m = NULL;
	write_config(s);
	const hec_status status = hec_model_load(s->k->ctx, s->dir, &m);
	CHECK(s->k, (status == HEC_OK) == (m != NULL), "%s: half a model", s->place);
	CHECK(s->k, status == HEC_OK || *hec_error_message(), "%s: no reason", s->place);
	s->refused += status != HEC_OK;
	s->loaded += status == HEC_OK;
	if (m && exercise_fits(hec_model_config_of(m))) {
		const char *broken = exercise_model(s->k->ctx, m, s->saved);
		CHECK(s->k, !broken, "%s: %s: %s", s->place, broken, hec_error_message());
		s->run++;
	}
	hec_model_destroy(m);
}

/* Puts a value where `key` of an object, or element `at` of an array, is. */
static void set(json_t *in, const char *key, size_t at, json_t *value)
{
	assert_int_equal(
		key ? json_object_set_new(in, key, value) : json_array_set_new(in, at, value), 0);
}

static void try_values(sweep *s, json_t *in, const char *key, size_t at)
{
	json_t *old = json_incref(key ? json_object_get(in, key) : json_array_get(in, at));
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		json_t *value = json_loads(values[i], JSON_DECODE_ANY, NULL);
		assert_non_null(value);
		snprintf(s->place, sizeof s->place, "%.100s = %s", key ? key : "an element",
		         values[i]);
		set(in, key, at, value);
		try_it(s);
	}
	if (key) {
		snprintf(s->place, sizeof s->place, "no %.100s", key);
		assert_int_equal(json_object_del(in, key), 0);
		try_it(s);
	}
	set(in, key, at, old);
}

/* Those of an object, the first of an array, and what is in them. */
static void try_members(sweep *s, json_t *in)
{
	char keys[64][64];
	const char *key;
	json_t *value;
	int n = 0;
	json_object_foreach(in, key, value)
	{
		assert_true(n < 64 && strlen(key) < 64);
		strcpy(keys[n++], key);
	}
	for (int i = 0; i < n; i++) {
		try_values(s, in, keys[i], 0);
		try_members(s, json_object_get(in, keys[i]));
	}
	if (json_array_size(in) > 0)
		try_values(s, in, NULL, 0);
}

/* dir: a copy of a model, to be spoiled. */
static void sweep_config(sweep *s)
{
	char path[SCRATCH_PATH + 16];
	snprintf(path, sizeof path, "%s/config.json", s->dir);
	OK(s->k, json_file_read(path, 1 << 20, &s->root));
	scratch_fresh(s->saved);
	strcpy(s->place, "as it is");
	try_it(s);
	CHECK(s->k, s->run == 1, "%s: %s", path, hec_error_message());
	try_members(s, s->root);
	CHECK(s->k, s->refused > 50 && s->run > 50, "%d refused, %d run", s->refused, s->run);
	json_decref(s->root);
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
