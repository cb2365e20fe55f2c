/* test_embed.c — vectors of texts: those of Transformers and sentence-transformers' ways of pooling. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc/refuse.h"
#include "support/tasks.h"

#define CLOSE 1e-5

static hec_embedder *load(const kit *k, const char *path)
{
	hec_embedder *e = NULL;
	OK(k, hec_embedder_load(k->ctx, path, NULL, &e));
	return e;
}

static int pooling_of(const json_t *names)
{
	static const char *const known[] = {"cls",           "max",          "mean",
	                                    "mean_sqrt_len", "weightedmean", "lasttoken"};
	int sum = 0;
	for (size_t i = 0; i < json_array_size(names); i++) {
		for (int k = 0; k < 6; k++)
			sum |= strcmp(json_string_value(json_array_get(names, i)), known[k]) == 0
			               ? 1 << k
			               : 0;
	}
	return sum;
}

static void check_rows(const kit *k, const json_t *test, const hec_embeddings *out)
{
	for (int64_t i = 0; i < out->texts; i++) {
		const json_t *want = json_array_get(json_object_get(test, "rows"), (size_t)i);
		assert_int_equal(out->width, json_array_size(want));
		for (int64_t n = 0; n < out->width; n++) {
			double number = json_number_value(json_array_get(want, (size_t)n)),
			       got = out->rows[i * out->width + n];
			CHECK(k, fabs(got - number) <= CLOSE * fmax(1, fabs(number)),
			      "%s, text %lld, number %lld: %.9g, Transformers has %.9g",
			      json_string_value(json_object_get(test, "model")), (long long)i,
			      (long long)n, got, number);
		}
	}
}

static void texts_have_the_vectors_that_transformers_gives_them(void **state)
{
	(void)state;
	kit k = kit_open(1);
	json_t *root = task_cases(&k), *test;
	size_t at;
	assert_int_equal(json_array_size(json_object_get(root, "embed")), 7);
	json_array_foreach(json_object_get(root, "embed"), at, test)
	{
		const char *texts[TASK_TEXTS];
		char path[SCRATCH_PATH];
		hec_embedder *e =
			load(&k, task_folder(&k, json_string_value(json_object_get(test, "model")),
		                             path));
		assert_int_equal(hec_embedder_pooling(e), HEC_POOL_MEAN);
		assert_false(hec_embedder_normalizes(e));
		hec_embed_options o = HEC_EMBED_OPTIONS_INIT;
		o.pooling = pooling_of(json_object_get(test, "poolings"));
		o.normalize = json_is_true(json_object_get(test, "normalize"));
		int64_t n = task_texts(json_object_get(test, "texts"), texts);
		hec_embeddings *out, *one;
		OK(&k, hec_embed(e, n, texts, NULL, &o, &out));
		assert_int_equal(out->texts, n);
		check_rows(&k, test, out);
		for (int64_t i = 0; i < n; i++) {
			OK(&k, hec_embed(e, 1, texts + i, NULL, &o, &one));
			assert_memory_equal(one->rows, out->rows + i * out->width,
			                    (size_t)out->width * sizeof(float));
			hec_embeddings_free(one);
		}
		hec_embeddings_free(out);
		hec_embedder_destroy(e);
	}
	json_decref(root);
	kit_close(&k);
}

#define MODULE(i, path, kind)                                                                      \
	"{\"idx\": " #i ", \"name\": \"" #i "\", \"path\": \"" path                                \
	"\", \"type\": \"sentence_transformers.models." kind "\"}"

static void sentence_folder(const kit *k, char path[SCRATCH_PATH], const char *modules,
                            const char *pooling)
{
	char inner[SCRATCH_PATH + 16];
	task_folder(k, "bert_base", path);
	task_file(path, "modules.json", modules);
	task_file(path, "sentence_bert_config.json",
	          "{\"max_seq_length\": 6, \"do_lower_case\": false}");
	(void)snprintf(inner, sizeof inner, "%s/1_Pooling", path);
	assert_int_equal(mkdir(inner, 0777), 0);
	task_file(inner, "config.json", pooling);
}

static void the_files_of_sentence_transformers_are_followed(void **state)
{
	(void)state;
	kit k = kit_open(2);
	char path[SCRATCH_PATH];
	const char *modules = "[" MODULE(0, "", "Transformer") "," MODULE(
		1, "1_Pooling", "Pooling") "," MODULE(2, "2_Normalize", "Normalize") "]";
	sentence_folder(&k, path, modules,
	                "{\"word_embedding_dimension\": 30, \"pooling_mode_cls_token\": true, "
	                "\"pooling_mode_mean_tokens\": false}");
	hec_embedder *e = load(&k, path);
	assert_int_equal(hec_embedder_pooling(e), HEC_POOL_FIRST);
	assert_true(hec_embedder_normalizes(e));
	assert_int_equal(hec_embedder_max_tokens(e), 6);
	const char *text = "a a a a a", *cut = "a a a a";
	hec_embed_options o = HEC_EMBED_OPTIONS_INIT;
	hec_embeddings *out, *same;
	FAILS(&k, HEC_ERR_SHAPE, hec_embed(e, 1, &text, NULL, &o, &out), "7 tokens", "takes 6");
	assert_int_equal(hec_error_item(), 0);
	o.truncate = true;
	OK(&k, hec_embed(e, 1, &text, NULL, &o, &out));
	OK(&k, hec_embed(e, 1, &cut, NULL, NULL, &same));
	assert_memory_equal(out->rows, same->rows, 30 * sizeof(float));
	CHECK(&k, fabs(hec_cosine(out->rows, out->rows, 30) - 1) < 1e-12,
	      "a vector is like itself");
	double sum = 0;
	for (int i = 0; i < 30; i++)
		sum += (double)out->rows[i] * out->rows[i];
	CHECK(&k, fabs(sum - 1) < 1e-6, "its length is %g", sqrt(sum));
	hec_embeddings_free(out);
	hec_embeddings_free(same);
	hec_embeddings_free(NULL);
	hec_embedder_destroy(e);
	sentence_folder(&k, path,
	                "[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]",
	                "{\"embedding_dimension\": 30, \"pooling_mode\": [\"mean\", \"max\"]}");
	e = load(&k, path);
	assert_int_equal(hec_embedder_pooling(e), HEC_POOL_MEAN | HEC_POOL_MAX);
	assert_false(hec_embedder_normalizes(e));
	hec_embedder_destroy(e);
	kit_close(&k);
}

static void where_settings_are_silent_the_tokenizer_says_the_length(void **state)
{
	(void)state;
	static const struct {
		const char *said;
		int64_t longest;
	} table[] = {{"7", 7}, {"5", 5}, {"1e30", 0}, {"-1", 0}, {"null", 0}};
	kit k = kit_open(9);
	char path[SCRATCH_PATH], file[SCRATCH_PATH + 32], text[64];
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		sentence_folder(
			&k, path,
			"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]",
			"{\"pooling_mode\": \"mean\"}");
		snprintf(text, sizeof text, "{\"model_max_length\": %s}", table[i].said);
		task_file(path, "tokenizer_config.json", text);
		hec_embedder *e = load(&k, path);
		assert_int_equal(hec_embedder_max_tokens(e), 6); /* the settings' own */
		hec_embedder_destroy(e);
		snprintf(file, sizeof file, "%s/sentence_bert_config.json", path);
		assert_int_equal(unlink(file), 0);
		/* With or without a list of modules. */
		snprintf(file, sizeof file, "%s/modules.json", path);
		assert_true(i % 2 == 0 || unlink(file) == 0);
		e = load(&k, path);
		int64_t model = hec_model_config_of(hec_embedder_model(e))->encoder.position.max;
		assert_int_equal(hec_embedder_max_tokens(e),
		                 table[i].longest ? table[i].longest : model);
		hec_embedder_destroy(e);
	}
	kit_close(&k);
}

/* As sentence-transformers 6.2 has it. */
static void several_ways_stand_as_they_are_named(void **state)
{
	(void)state;
	kit k = kit_open(7);
	static const struct {
		const char *pooling;
		int n, ways[3];
	} files[] = {
		{"{\"pooling_mode\": [\"mean\", \"cls\"]}", 2, {HEC_POOL_MEAN, HEC_POOL_FIRST}},
		{"{\"pooling_mode_mean_tokens\": false, \"pooling_mode_cls_token\": null}",
	         1,
	         {HEC_POOL_MEAN}},
		{"{\"pooling_mode\": [\"mean\", \"mean\"]}", 2, {HEC_POOL_MEAN, HEC_POOL_MEAN}},
		{"{\"pooling_mode\": \"max\", \"pooling_mode_mean_tokens\": true}",
	         1,
	         {HEC_POOL_MAX}},
		{"{}", 1, {HEC_POOL_MEAN}},
		{"{\"pooling_mode_max_tokens\": true, \"pooling_mode_mean_tokens\": true}",
	         2,
	         {HEC_POOL_MAX, HEC_POOL_MEAN}},
	};
	const char *text = "a cat";
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[SCRATCH_PATH];
		sentence_folder(
			&k, path,
			"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]",
			files[i].pooling);
		hec_embedder *e = load(&k, path);
		hec_embeddings *all, *one;
		OK(&k, hec_embed(e, 1, &text, NULL, NULL, &all));
		assert_int_equal(all->width, 30 * files[i].n);
		for (int n = 0; n < files[i].n; n++) {
			hec_embed_options o = HEC_EMBED_OPTIONS_INIT;
			o.pooling = files[i].ways[n];
			OK(&k, hec_embed(e, 1, &text, NULL, &o, &one));
			assert_memory_equal(all->rows + 30 * n, one->rows, 30 * sizeof(float));
			hec_embeddings_free(one);
		}
		hec_embeddings_free(all);
		hec_embedder_destroy(e);
	}
	kit_close(&k);
}

static void files_that_are_wrong_or_unknown_are_named(void **state)
{
	(void)state;
	kit k = kit_open(3);
	static const struct {
		const char *modules, *pooling;
		hec_status status;
		const char *word;
	} wrong[] = {
		{"{}", "{}", HEC_ERR_FORMAT, "modules.json"},
		{"[]", "{}", HEC_ERR_FORMAT, "modules.json"},
		{"[1, 2]", "{}", HEC_ERR_FORMAT, "modules.json"},
		{"[" MODULE(0, "..", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]", "{}",
	         HEC_ERR_FORMAT, "'..'"},
		{"[" MODULE(0, "", "Transformer") "," MODULE(1, "/etc", "Pooling") "]", "{}",
	         HEC_ERR_FORMAT, "/etc"},
		{"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "WordWeights") "]",
	         "{}", HEC_ERR_UNSUPPORTED, "WordWeights"},
		{"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "," MODULE(
			 2, "2_Dense", "Dense") "]",
	         "{\"pooling_mode_mean_tokens\": true}", HEC_ERR_UNSUPPORTED, "Dense"},
		{"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]",
	         "{\"pooling_mode\": []}", HEC_ERR_FORMAT, "no pooling"},
		{"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]",
	         "{\"pooling_mode\": \"middle\"}", HEC_ERR_FORMAT, "pooling_mode"},
		{"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]",
	         "{\"pooling_mode_mean_tokens\": 7}", HEC_ERR_FORMAT, "pooling_mode_mean_tokens"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char path[SCRATCH_PATH];
		hec_embedder *e = NULL;
		sentence_folder(&k, path, wrong[i].modules, wrong[i].pooling);
		FAILS(&k, wrong[i].status, hec_embedder_load(k.ctx, path, NULL, &e), wrong[i].word);
		assert_null(e);
	}
	char path[SCRATCH_PATH];
	hec_embedder *e = NULL;
	const char *modules =
		"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]";
	sentence_folder(&k, path, modules, "{\"pooling_mode_mean_tokens\": true}");
	task_file(path, "config_sentence_transformers.json",
	          "{\"prompts\": {\"q\": \"query: \"}, \"default_prompt_name\": \"q\"}");
	FAILS(&k, HEC_ERR_UNSUPPORTED, hec_embedder_load(k.ctx, path, NULL, &e), "prompt 'q'");
	task_file(path, "config_sentence_transformers.json", "{\"default_prompt_name\": null}");
	task_file(path, "sentence_bert_config.json", "{\"max_seq_length\": 0}");
	FAILS(&k, HEC_ERR_FORMAT, hec_embedder_load(k.ctx, path, NULL, &e), "max_seq_length");
	task_file(path, "sentence_bert_config.json", "{\"do_lower_case\": true}");
	FAILS(&k, HEC_ERR_UNSUPPORTED, hec_embedder_load(k.ctx, path, NULL, &e), "do_lower_case");
	kit_close(&k);
}

static hec_status stop_at_once(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)user;
	(void)done;
	assert_string_equal(phase, "texts");
	assert_int_equal(total, 2);
	return HEC_ERR_CANCELLED;
}

static void what_is_wrong_with_a_text_is_said_with_its_number(void **state)
{
	(void)state;
	kit k = kit_open(4);
	char path[SCRATCH_PATH];
	hec_embedder *e = load(&k, task_folder(&k, "bert_base", path));
	const char *texts[] = {"good", "", "ab\xff"};
	hec_embed_options o = HEC_EMBED_OPTIONS_INIT;
	hec_embeddings *out;
	FAILS(&k, HEC_ERR_FORMAT, hec_embed(e, 3, texts, NULL, &o, &out), "2");
	assert_int_equal(hec_error_item(), 2);
	assert_null(out);
	o.pooling = 64;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_embed(e, 2, texts, NULL, &o, &out), "pooling is 64");
	o.pooling = 0;
	o.progress = stop_at_once;
	FAILS(&k, HEC_ERR_CANCELLED, hec_embed(e, 2, texts, NULL, &o, &out), "cancelled");
	assert_int_equal(hec_error_item(), -1);
	assert_null(out);
	o.progress = NULL;
	OK(&k, hec_embed(e, 2, texts, NULL, &o, &out));
	float zero[30] = {0};
	assert_true(hec_cosine(out->rows, zero, 30) == 0);
	hec_embeddings_free(out);
	/* A tokenizer that adds nothing makes nothing of an empty text. */
	task_file(path, "tokenizer.json",
	          "{\"version\": \"1.0\", \"added_tokens\": [], \"normalizer\": null, "
	          "\"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"post_processor\": null, "
	          "\"decoder\": null, \"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 1, "
	          "\"[UNK]\": 0}, \"unk_token\": \"[UNK]\"}}");
	hec_embedder_destroy(e);
	e = load(&k, path);
	FAILS(&k, HEC_ERR_SHAPE, hec_embed(e, 2, texts, NULL, NULL, &out), "no tokens");
	assert_int_equal(hec_error_item(), 1);
	hec_embedder_destroy(e);
	kit_close(&k);
}

/* T5 measures distances: it could read any length, in any time and memory. */
static void a_model_without_a_last_position_has_a_limit(void **state)
{
	(void)state;
	kit k = kit_open(8);
	enum { MANY = 40000, MADE_FOR = 20 };
	char path[SCRATCH_PATH], *many = malloc(2 * MANY + 1);
	assert_non_null(many);
	for (int i = 0; i < MANY; i++)
		memcpy(many + 2 * i, "a ", 3);
	task_folder(&k, "t5", path);
	task_config(path, "n_positions", json_integer(MADE_FOR));
	hec_embedder *e = load(&k, path);
	assert_int_equal(hec_embedder_max_tokens(e), 32768);
	const char *texts[] = {"a", many};
	hec_embed_options o = HEC_EMBED_OPTIONS_INIT;
	hec_embeddings *out, *same;
	FAILS(&k, HEC_ERR_SHAPE, hec_embed(e, 2, texts, NULL, NULL, &out),
	      "the text has 40002 tokens; the model takes 32768");
	assert_int_equal(hec_error_item(), 1);
	/* More than it was made for is read where it is not to be cut. */
	const size_t bytes[] = {2 * (MADE_FOR - 2), 2 * 2 * MADE_FOR};
	const char *both[] = {many, many};
	OK(&k, hec_embed(e, 2, both, bytes, NULL, &out));
	assert_memory_not_equal(out->rows, out->rows + out->width,
	                        (size_t)out->width * sizeof(float));
	hec_embeddings_free(out);
	o.truncate = true;
	OK(&k, hec_embed(e, 2, both, bytes, &o, &out));
	OK(&k, hec_embed(e, 2, texts, NULL, &o, &same));
	assert_memory_equal(out->rows, out->rows + out->width, (size_t)out->width * sizeof(float));
	assert_memory_equal(out->rows, same->rows + out->width, (size_t)out->width * sizeof(float));
	hec_embeddings_free(out);
	hec_embeddings_free(same);
	hec_embedder_destroy(e);
	free(many);
	kit_close(&k);
}

static void weights_that_are_no_numbers_give_no_vector(void **state)
{
	(void)state;
	kit k = kit_open(6);
	char path[SCRATCH_PATH];
	task_spoil(&k, task_folder(&k, "bert_base", path));
	hec_embedder *e = load(&k, path);
	const char *texts[] = {"good", "not bad"};
	for (int way = 0; way < 4; way++) {
		hec_embed_options o = HEC_EMBED_OPTIONS_INIT;
		hec_embeddings *out;
		o.pooling = way & 1 ? HEC_POOL_MAX : HEC_POOL_MEAN;
		o.normalize = way & 2;
		FAILS(&k, HEC_ERR_FORMAT, hec_embed(e, 2, texts, NULL, &o, &out),
		      "embed: number 0 of the model's hidden states is", "nan");
		assert_null(out);
	}
	hec_embedder_destroy(e);
	kit_close(&k);
}

static void refused_memory_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	kit k = kit_open(5);
	char path[SCRATCH_PATH];
	const char *modules =
		"[" MODULE(0, "", "Transformer") "," MODULE(1, "1_Pooling", "Pooling") "]";
	sentence_folder(&k, path, modules, "{\"pooling_mode_mean_tokens\": true}");
	hec_embedder *e = load(&k, path);
	const char *texts[] = {"good", "not bad", "a film"};
	hec_embeddings *out;
	OK(&k, hec_embed(e, 3, texts, NULL, NULL, &out));
	hec_embeddings_free(out);
	long live = refuse_live();
	bool fired = true;
	for (long n = 1; fired; n++) {
		refuse_request(n, false);
		hec_status status = hec_embed(e, 3, texts, NULL, NULL, &out);
		fired = refuse_fired();
		refuse_request(0, false);
		assert_int_equal(status, fired ? HEC_ERR_MEMORY : HEC_OK);
		assert_int_equal(!out, fired);
		hec_embeddings_free(out);
		assert_int_equal(refuse_live(), live);
		assert_true(n < 1000);
	}
	hec_embedder_destroy(e);
	/* Loading: Jansson may say something else where it has no memory. */
	live = refuse_live();
	fired = true;
	for (long n = 1; fired; n++) {
		e = NULL;
		refuse_request(n, false);
		hec_status status = hec_embedder_load(k.ctx, path, NULL, &e);
		fired = refuse_fired();
		refuse_request(0, false);
		assert_true(fired ? status != HEC_OK || e : status == HEC_OK);
		hec_embedder_destroy(e);
		assert_int_equal(refuse_live(), live);
		assert_true(n < 20000);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_have_the_vectors_that_transformers_gives_them),
		cmocka_unit_test(the_files_of_sentence_transformers_are_followed),
		cmocka_unit_test(where_settings_are_silent_the_tokenizer_says_the_length),
		cmocka_unit_test(several_ways_stand_as_they_are_named),
		cmocka_unit_test(files_that_are_wrong_or_unknown_are_named),
		cmocka_unit_test(what_is_wrong_with_a_text_is_said_with_its_number),
		cmocka_unit_test(a_model_without_a_last_position_has_a_limit),
		cmocka_unit_test(weights_that_are_no_numbers_give_no_vector),
		cmocka_unit_test(refused_memory_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests_name("embed", tests, scratch_group_make,
	                                   scratch_group_remove);
}
