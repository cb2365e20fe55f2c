/* test_info_program.c — `hecate info` as a user runs it, and that its figures of memory are met. */
#include "support/models.h"

#include <malloc.h>

#include <hecate/trainer.h>

#include "look_models.h"
#include "support/sanitized.h"

static void an_invocation_ends_as_it_should(void **state)
{
	(void)state;
	static const invocation table[] = {
		{FORM_BOTH, "", 0, "parameters", NULL},
		{FORM_ENCODER, "", 0, "masked words", NULL},
		{FORM_DECODER, "--length 64", 0, "memory at 64 tokens", NULL},
		{FORM_DECODER, "--length 65", 2, NULL, "end at 64"},
		{FORM_DECODER, "--length 0", 2, NULL, "--length wants"},
		{FORM_DECODER, "other", 2, NULL, "one model"},
		{FORM_BOTH, "--help", 0, "Example: hecate info", NULL},
	};
	check_invocations("info", table, sizeof table / sizeof table[0]);
	result r = run("info /nowhere");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "/nowhere"));
	done(&r);
}

static int64_t number(const json_t *root, const char *a, const char *b, const char *c)
{
	const json_t *value = json_object_get(root, a);
	value = b ? json_object_get(value, b) : value;
	value = c ? json_object_get(value, c) : value;
	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void parameters_of_the_parts_add_up(void **state)
{
	(void)state;
	kit k = kit_open(3);
	for (int form = 0; form < MODEL_FORMS; form++) {
		char dir[256];
		hec_model *model = NULL;
		snprintf(dir, sizeof dir, "%s/%s", folder, forms[form]);
		OK(&k, hec_model_load(k.ctx, dir, NULL, &model));
		int64_t total = 0;
		for (size_t i = 0; i < hec_model_param_count(model); i++)
			total += hec_model_param_at(model, i)->count;
		result r = run_on("info", (model_form)form, "--json");
		json_t *root = json_of(&r);
		int64_t parts = 0;
		static const char *const names[] = {"embeddings", "encoder", "decoder", "head"};
		for (int i = 0; i < 4; i++)
			parts += number(root, "parameters", names[i], NULL);
		assert_int_equal(number(root, "parameters", "total", NULL), total);
		assert_int_equal(parts, total);
		assert_true(number(root, "parameters", "embeddings", NULL) >=
		            hec_model_config_of(model)->vocab * WIDTH);
		assert_int_equal(number(root, "parameters", "encoder", NULL) > 0,
		                 form != FORM_DECODER);
		assert_int_equal(number(root, "parameters", "decoder", NULL) > 0,
		                 form != FORM_ENCODER);
		assert_int_equal(number(root, "width", NULL, NULL), WIDTH);
		assert_string_equal(json_string_value(json_object_get(root, "dtype")), "F32");
		assert_int_equal(number(root, "tokenizer", "vocab", NULL),
		                 hec_model_config_of(model)->vocab);
		json_decref(root);
		done(&r);
		hec_model_destroy(model);
	}
	kit_close(&k);
}

static double heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();
	return (double)m.uordblks + (double)m.hblkhd;
}

/* The figure is what a trainer really holds, not an estimate. */
static void the_memory_of_training_is_what_a_trainer_takes(void **state)
{
	(void)state;
	kit k = kit_open(4);
	for (int form = 0; form < MODEL_FORMS; form++) {
		result r =
			run_on("info", (model_form)form, "--length 64 --batch-tokens 16384 --json");
		json_t *root = json_of(&r);
		int64_t parameters = number(root, "parameters", "total", NULL);
		int64_t state_bytes = number(root, "memory", "training", "parameters");
		assert_true(state_bytes >= 16 * parameters && state_bytes < 17 * parameters);
		char dir[256];
		hec_model *model = NULL;
		hec_trainer *trainer = NULL;
		snprintf(dir, sizeof dir, "%s/%s", folder, forms[form]);
		OK(&k, hec_model_load(k.ctx, dir, NULL, &model));
		hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
		o.max_tokens = 16384;
		o.max_source = o.max_target = 64;
		double before = heap_bytes() - (double)hec_model_bytes(model);
		OK(&k, hec_trainer_create(k.ctx, model, &o, &trainer));
		double real = heap_bytes() - before;
		double said = (double)number(root, "memory", "training", "total");
		CHECK(&k, fabs(said - real) < 0.1 * real || SANITIZED,
		      "%s: %.0f bytes are said, %.0f taken", forms[form], said, real);
		hec_trainer_destroy(trainer);
		hec_model_destroy(model);
		json_decref(root);
		done(&r);
	}
	kit_close(&k);
}

/* Whatever family and head can be loaded: also those that write nothing and those without a tokenizer. */
static void every_model_that_loads_can_be_told_about(void **state)
{
	(void)state;
	static const char *const names[] = {"bert",          "bert_answer", "bert_base",
	                                    "bert_classify", "bert_tokens", "gpt2",
	                                    "gpt2_base",     "marian",      "marian_apart"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char line[512];
		snprintf(line, sizeof line, "info %s/golden/models/%s --length 16 --json",
		         TESTS_DIR, names[i]);
		result r = run(line);
		json_t *root = json_of(&r);
		const char *family = json_string_value(json_object_get(root, "family"));
		assert_memory_equal(family, names[i], strlen(family));
		assert_true(number(root, "memory", "running", "total") >
		            4 * number(root, "parameters", "total", NULL));
		assert_true(number(root, "memory", "running", "session") > 0);
		json_decref(root);
		done(&r);
	}
}

static void a_tokenizer_of_pieces_is_told_about(void **state)
{
	(void)state;
	char line[512];
	const char *settings = make_marian();
	snprintf(line, sizeof line, "info %s/marian %s --json", folder, settings);
	result r = run(line);
	json_t *root = json_of(&r), *tokenizer = json_object_get(root, "tokenizer");
	assert_string_equal(json_string_value(json_object_get(tokenizer, "kind")), "Unigram");
	assert_int_equal(number(root, "tokenizer", "vocab", NULL), 181);
	json_decref(root);
	done(&r);
}

static void what_a_model_has_no_use_for_is_listed(void **state)
{
	(void)state;
	kit k = kit_open(5);
	char dir[128], line[256];
	static const char *const none[] = {NULL};
	static const char *const with[] = {"extra.thing",
	                                   "encoder.layer.2.x",
	                                   "encoder.layer.3.x",
	                                   "steer\033[2Jme",
	                                   "z1",
	                                   "z2",
	                                   "z3",
	                                   "z4",
	                                   "z5",
	                                   "z6",
	                                   NULL};
	snprintf(dir, sizeof dir, "%s/with_more", folder);
	golden_edited(&k, "bert_base", none, with, dir);
	snprintf(line, sizeof line, "info %s --length 16", dir);
	result r = run(line);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.err, "");
	assert_non_null(strstr(r.out, "10 tensors in the files that this model has no use for\n"));
	assert_non_null(strstr(r.out, "\n    extra.thing\n"));
	assert_non_null(strstr(r.out, "\n    encoder.layer.*.x (2 … 3)\n"));
	assert_non_null(strstr(r.out, "\n    … (--json lists them all)\n"));
	assert_null(strchr(r.out, '\033'));
	assert_null(strstr(r.out, "z6"));
	done(&r);
	snprintf(line, sizeof line, "info %s --length 16 --json", dir);
	r = run(line);
	json_t *root = json_of(&r), *names = json_object_get(root, "ignored");
	assert_int_equal(json_array_size(names), 10);
	for (size_t i = 0; with[i]; i++) {
		size_t at = 0;
		while (at < 10 &&
		       strcmp(json_string_value(json_array_get(names, at)), with[i]) != 0)
			at++;
		CHECK(&k, at < 10, "%s is not listed", with[i]);
	}
	json_decref(root);
	done(&r);
	r = run("info " TESTS_DIR "/golden/models/gpt2 --length 16");
	assert_null(strstr(r.out, "ignored"));
	done(&r);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invocation_ends_as_it_should),
		cmocka_unit_test(parameters_of_the_parts_add_up),
		cmocka_unit_test(every_model_that_loads_can_be_told_about),
		cmocka_unit_test(a_tokenizer_of_pieces_is_told_about),
		cmocka_unit_test(what_a_model_has_no_use_for_is_listed),
		cmocka_unit_test(the_memory_of_training_is_what_a_trainer_takes),
	};
	return cmocka_run_group_tests(tests, make_models, remove_folder);
}
