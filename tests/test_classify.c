/* test_classify.c — labels of texts and of tokens: those of Transformers, the same in any company. */
#include <math.h>
#include <string.h>

#include "alloc/refuse.h"
#include "support/tasks.h"

#define CLOSE 1e-5

static hec_classifier *load(const kit *k, const char *path)
{
	hec_classifier *c = NULL;
	OK(k, hec_classifier_load(k->ctx, path, NULL, &c));
	return c;
}

static double number(const json_t *list, int64_t i)
{
	return json_number_value(json_array_get(list, (size_t)i));
}

static void check_scores(const kit *k, const json_t *test, const hec_classifier *c,
                         const hec_classes *out)
{
	const json_t *labels = json_object_get(test, "labels");
	assert_int_equal(out->labels, json_array_size(labels));
	for (int64_t i = 0; i < out->labels; i++)
		assert_string_equal(hec_classifier_label(c, i),
		                    json_string_value(json_array_get(labels, (size_t)i)));
	assert_null(hec_classifier_label(c, out->labels));
	for (int64_t i = 0; i < out->texts; i++) {
		const json_t *want = json_array_get(json_object_get(test, "scores"), (size_t)i);
		const float *got = out->scores + i * out->labels;
		const int32_t *order = out->order + i * out->labels;
		for (int64_t n = 0; n < out->labels; n++) {
			CHECK(k, fabs(got[n] - number(want, n)) <= CLOSE,
			      "%s, text %lld, label %lld: %g, Transformers has %g",
			      json_string_value(json_object_get(test, "model")), (long long)i,
			      (long long)n, got[n], number(want, n));
			assert_true(n == 0 || got[order[n - 1]] >= got[order[n]]);
		}
	}
}

static void texts_have_the_labels_that_transformers_gives_them(void **state)
{
	(void)state;
	kit k = kit_open(1);
	json_t *root = task_cases(&k), *test;
	size_t at;
	assert_int_equal(json_array_size(json_object_get(root, "classify")), 9);
	json_array_foreach(json_object_get(root, "classify"), at, test)
	{
		const char *texts[TASK_TEXTS], *pairs[TASK_TEXTS];
		char path[SCRATCH_PATH];
		task_folder(&k, json_string_value(json_object_get(test, "model")), path);
		task_config(path, "problem_type", json_incref(json_object_get(test, "problem")));
		hec_classifier *c = load(&k, path);
		hec_classify_options o = HEC_CLASSIFY_OPTIONS_INIT;
		int64_t n = task_texts(json_object_get(test, "texts"), texts);
		if (json_is_array(json_object_get(test, "pairs"))) {
			task_texts(json_object_get(test, "pairs"), pairs);
			o.pairs = pairs;
		}
		hec_classes *out;
		OK(&k, hec_classify(c, n, texts, NULL, &o, &out));
		assert_int_equal(out->texts, n);
		check_scores(&k, test, c, out);
		hec_classes_free(out);
		hec_classifier_destroy(c);
	}
	json_decref(root);
	kit_close(&k);
}

static void an_empty_second_text_is_none(void **state)
{
	(void)state;
	kit k = kit_open(11);
	char path[SCRATCH_PATH];
	hec_classifier *c = load(&k, task_folder(&k, "bert_classify", path));
	const char *texts[] = {"a", "a", "a"}, *pairs[] = {"", "b", ""};
	hec_classify_options o = HEC_CLASSIFY_OPTIONS_INIT;
	hec_classes *alone, *out;
	OK(&k, hec_classify(c, 1, texts, NULL, &o, &alone));
	o.pairs = pairs;
	OK(&k, hec_classify(c, 3, texts, NULL, &o, &out));
	const size_t n = (size_t)out->labels;
	assert_memory_equal(out->scores, alone->scores, n * sizeof *out->scores);
	assert_memory_not_equal(out->scores + n, alone->scores, n * sizeof *out->scores);
	assert_memory_equal(out->scores + 2 * n, alone->scores, n * sizeof *out->scores);
	hec_classes_free(alone);
	hec_classes_free(out);
	hec_classifier_destroy(c);
	kit_close(&k);
}

static void check_tokens(const kit *k, const json_t *want, const hec_classifier *c,
                         const hec_token_classes *classes, int64_t text)
{
	const int64_t n = (int64_t)json_array_size(want);
	assert_null(hec_token_classes_at(classes, text, n));
	for (int64_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(want, (size_t)i);
		const hec_token_class *got = hec_token_classes_at(classes, text, i);
		CHECK(k, got, "text %lld has %lld tokens, Transformers has %lld", (long long)text,
		      (long long)i, (long long)n);
		assert_string_equal(hec_tokenizer_token(hec_classifier_tokenizer(c), got->id),
		                    json_string_value(json_object_get(one, "token")));
		assert_string_equal(hec_classifier_label(c, got->label),
		                    json_string_value(json_object_get(one, "label")));
		assert_int_equal(got->index, json_integer_value(json_object_get(one, "index")));
		assert_int_equal(got->span.begin,
		                 json_integer_value(json_object_get(one, "begin")));
		assert_int_equal(got->span.end, json_integer_value(json_object_get(one, "end")));
		assert_int_equal(got->second, 0);
		double score = json_number_value(json_object_get(one, "score"));
		CHECK(k, fabs(got->score - score) <= CLOSE, "score %g, Transformers has %g",
		      got->score, score);
	}
}

static void tokens_have_the_labels_that_transformers_gives_them(void **state)
{
	(void)state;
	kit k = kit_open(2);
	json_t *root = task_cases(&k), *test;
	size_t at;
	json_array_foreach(json_object_get(root, "tokens"), at, test)
	{
		const char *texts[TASK_TEXTS];
		char path[SCRATCH_PATH];
		hec_classifier *c =
			load(&k, task_folder(&k, json_string_value(json_object_get(test, "model")),
		                             path));
		int64_t n = task_texts(json_object_get(test, "texts"), texts);
		hec_token_classes *out;
		OK(&k, hec_classify_tokens(c, n, texts, NULL, NULL, &out));
		for (int64_t i = 0; i < n; i++)
			check_tokens(&k, json_array_get(json_object_get(test, "tokens"), (size_t)i),
			             c, out, i);
		assert_null(hec_token_classes_at(out, n, 0));
		hec_token_classes_free(out);
		hec_classes *none;
		FAILS(&k, HEC_ERR_UNSUPPORTED, hec_classify(c, n, texts, NULL, NULL, &none),
		      "labels tokens");
		hec_classifier_destroy(c);
	}
	json_decref(root);
	kit_close(&k);
}

static void a_text_has_the_same_bits_alone_or_among_others(void **state)
{
	(void)state;
	kit k = kit_open(3);
	json_t *root = task_cases(&k);
	const char *texts[TASK_TEXTS];
	char path[SCRATCH_PATH];
	int64_t n = task_texts(
		json_object_get(json_array_get(json_object_get(root, "classify"), 0), "texts"),
		texts);
	hec_classifier *c = load(&k, task_folder(&k, "bert_classify", path));
	hec_classes *all, *one;
	OK(&k, hec_classify(c, n, texts, NULL, NULL, &all));
	for (int64_t i = 0; i < n; i++) {
		/* Not ended by a zero byte either. */
		char longer[256];
		size_t bytes = strlen(texts[i]);
		(void)snprintf(longer, sizeof longer, "%sxyz", texts[i]);
		const char *text = longer;
		OK(&k, hec_classify(c, 1, &text, &bytes, NULL, &one));
		assert_memory_equal(one->scores, all->scores + i * all->labels,
		                    (size_t)all->labels * sizeof(float));
		hec_classes_free(one);
	}
	/* Logits as they are have the order of the probabilities, and sigmoid does not add up to 1. */
	hec_classify_options o = HEC_CLASSIFY_OPTIONS_INIT;
	o.scoring = HEC_SCORING_LOGITS;
	OK(&k, hec_classify(c, n, texts, NULL, &o, &one));
	assert_memory_equal(one->order, all->order, (size_t)(n * all->labels) * sizeof *one->order);
	hec_classes_free(one);
	hec_classes_free(all);
	OK(&k, hec_classify(c, 0, NULL, NULL, NULL, &all));
	assert_int_equal(all->texts, 0);
	hec_classes_free(all);
	hec_classifier_destroy(c);
	json_decref(root);
	kit_close(&k);
}

static hec_status stop_at_once(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)done;
	++*(int *)user;
	assert_string_equal(phase, "texts");
	assert_int_equal(total, 3);
	return HEC_ERR_CANCELLED;
}

static void what_is_wrong_with_a_text_is_said_with_its_number(void **state)
{
	(void)state;
	kit k = kit_open(4);
	char path[SCRATCH_PATH];
	hec_classifier *c = load(&k, task_folder(&k, "bert_classify", path));
	assert_int_equal(hec_classifier_max_tokens(c), 24);
	char many[128] = "";
	for (int n = 0; n < 23; n++)
		strcat(many, "good ");
	const char *texts[] = {"good", many, "ab\xff"};
	hec_classify_options o = HEC_CLASSIFY_OPTIONS_INIT;
	hec_classes *out;
	FAILS(&k, HEC_ERR_SHAPE, hec_classify(c, 3, texts, NULL, &o, &out), "25 tokens",
	      "takes 24");
	assert_int_equal(hec_error_item(), 1);
	assert_null(out);
	o.truncate = true;
	FAILS(&k, HEC_ERR_FORMAT, hec_classify(c, 3, texts, NULL, &o, &out), "2");
	assert_int_equal(hec_error_item(), 2);
	assert_null(out);
	o.lossy = true;
	OK(&k, hec_classify(c, 3, texts, NULL, &o, &out));
	hec_classes_free(out);
	int calls = 0;
	o.progress = stop_at_once;
	o.user = &calls;
	FAILS(&k, HEC_ERR_CANCELLED, hec_classify(c, 3, texts, NULL, &o, &out), "cancelled");
	assert_int_equal(calls, 1);
	assert_int_equal(hec_error_item(), -1);
	assert_null(out);
	texts[0] = NULL;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_classify(c, 3, texts, NULL, NULL, &out), "text 0 is NULL");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_classify(c, -1, texts, NULL, NULL, &out), "-1 texts");
	hec_token_classes *tokens;
	FAILS(&k, HEC_ERR_UNSUPPORTED, hec_classify_tokens(c, 0, NULL, NULL, NULL, &tokens),
	      "whole texts");
	assert_null(tokens);
	hec_classifier_destroy(c);
	hec_classifier *none = NULL;
	FAILS(&k, HEC_ERR_UNSUPPORTED,
	      hec_classifier_load(k.ctx, task_folder(&k, "bert_base", path), NULL, &none),
	      "no head");
	task_folder(&k, "bert_classify", path);
	task_config(path, "problem_type", json_integer(3));
	FAILS(&k, HEC_ERR_FORMAT, hec_classifier_load(k.ctx, path, NULL, &none), "problem_type");
	assert_null(none);
	kit_close(&k);
}

static void weights_that_are_no_numbers_give_no_label(void **state)
{
	(void)state;
	kit k = kit_open(6);
	static const char *const models[] = {"bert_classify", "bert_tokens"};
	const char *texts[] = {"good", "not bad"};
	for (int tokens = 0; tokens < 2; tokens++) {
		char path[SCRATCH_PATH];
		task_spoil(&k, task_folder(&k, models[tokens], path));
		hec_classifier *c = load(&k, path);
		hec_classes *out = NULL;
		hec_token_classes *each = NULL;
		FAILS(&k, HEC_ERR_FORMAT,
		      tokens ? hec_classify_tokens(c, 2, texts, NULL, NULL, &each)
		             : hec_classify(c, 2, texts, NULL, NULL, &out),
		      "classify: the model's logit of label 0 is", "nan");
		assert_null(out);
		assert_null(each);
		hec_classifier_destroy(c);
	}
	kit_close(&k);
}

static void labels_of_one_name_are_told_apart(void **state)
{
	(void)state;
	kit k = kit_open(7);
	static const char *const given[][3] = {
		{"same", "same", "same"}, {"a", "b", "a"}, {"a", "a", "a (0)"}, {"", "x", ""}};
	static const char *const wanted[][3] = {{"same (0)", "same (1)", "same (2)"},
	                                        {"a (0)", "b", "a (2)"},
	                                        {"a (0) (0)", "a (1) (1)", "a (0) (2)"},
	                                        {" (0)", "x", " (2)"}};
	for (int i = 0; i < 4; i++) {
		char path[SCRATCH_PATH];
		const char *const *n = given[i];
		task_folder(&k, "bert_classify", path);
		task_config(path, "id2label",
		            json_pack("{s:s, s:s, s:s}", "0", n[0], "1", n[1], "2", n[2]));
		hec_classifier *c = load(&k, path);
		for (int j = 0; j < 3; j++)
			assert_string_equal(hec_classifier_label(c, j), wanted[i][j]);
		hec_classifier_destroy(c);
		long live = refuse_live();
		bool fired = true;
		for (long at = 1; fired; at++) {
			c = NULL;
			refuse_request(at, false);
			hec_status status = hec_classifier_load(k.ctx, path, NULL, &c);
			fired = refuse_fired();
			refuse_request(0, false);
			assert_true(fired ? status != HEC_OK || c : status == HEC_OK);
			hec_classifier_destroy(c);
			assert_int_equal(refuse_live(), live);
			assert_true(at < 20000);
		}
	}
	kit_close(&k);
}

static void refused_memory_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	kit k = kit_open(5);
	char path[SCRATCH_PATH], other[SCRATCH_PATH];
	hec_classifier *c = load(&k, task_folder(&k, "bert_classify", path)),
		       *d = load(&k, task_folder(&k, "bert_tokens", other));
	const char *texts[] = {"good", "not bad", "a film"};
	hec_classes *out;
	hec_token_classes *tokens;
	OK(&k, hec_classify(c, 3, texts, NULL, NULL, &out)); /* what is kept is there from now on */
	hec_classes_free(out);
	OK(&k, hec_classify_tokens(d, 3, texts, NULL, NULL, &tokens));
	hec_token_classes_free(tokens);
	long live = refuse_live();
	for (int way = 0; way < 2; way++) {
		bool fired = true;
		for (long n = 1; fired; n++) {
			refuse_request(n, false);
			hec_status status =
				way ? hec_classify_tokens(d, 3, texts, NULL, NULL, &tokens)
				    : hec_classify(c, 3, texts, NULL, NULL, &out);
			fired = refuse_fired();
			refuse_request(0, false);
			assert_int_equal(status, fired ? HEC_ERR_MEMORY : HEC_OK);
			assert_int_equal(way ? !tokens : !out, fired);
			hec_classes_free(way ? NULL : out);
			hec_token_classes_free(way ? tokens : NULL);
			assert_int_equal(refuse_live(), live);
			assert_true(n < 1000);
		}
	}
	hec_classifier_destroy(c);
	hec_classifier_destroy(d);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_have_the_labels_that_transformers_gives_them),
		cmocka_unit_test(an_empty_second_text_is_none),
		cmocka_unit_test(tokens_have_the_labels_that_transformers_gives_them),
		cmocka_unit_test(a_text_has_the_same_bits_alone_or_among_others),
		cmocka_unit_test(what_is_wrong_with_a_text_is_said_with_its_number),
		cmocka_unit_test(weights_that_are_no_numbers_give_no_label),
		cmocka_unit_test(labels_of_one_name_are_told_apart),
		cmocka_unit_test(refused_memory_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests_name("classify", tests, scratch_group_make,
	                                   scratch_group_remove);
}
