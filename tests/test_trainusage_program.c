/* test_trainusage_program.c — `hecate train` as a person begins it: every task, wrong usage, all settings, and a
 * train.json of any kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program_run.h"
#include "train_texts.h"

/* ---- usage ---- */

static void wrong_usage_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *arguments, *word;
		int code;
	} rows[] = {
		{"", "--task is missing", 2},
		{"--task sing --train x --out %1$s/no", "no task 'sing'", 2},
		{"--task lm --out %1$s/no", "--train is missing", 2},
		{"--task lm --train %1$s/a.en", "--out is missing", 2},
		{"--task translate --train %1$s/a.en --out %1$s/no", "in pairs", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --schedule up", "no schedule", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --schedule cosine --steps 0",
	         "cosine falls until the last step", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --effort huge",
	         "--effort wants small, normal or large, not 'huge'", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --batch-tokens many", "many", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --batch-tokens 999999999",
	         "from 1 to 16777216", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --dropout 2", "from 0 to 1", 2},
		{"--task lm --train %1$s/nothing --out %1$s/no-file", "nothing", 1},
		{"--task translate --train %1$s/a.en %1$s/v.de --out %1$s/unequal", "has 400 lines",
	         1},
		{"--task lm --train %1$s/a.en --out %1$s", "is not empty", 1},
		{"--resume --out %1$s", "holds no run to resume", 1},
		/* [CLS] and [SEP] alone: it once wrote such examples without end. */
		{"--task mlm --train %1$s/a.en --vocab 280 --out %1$s/no-place --max-length 2",
	         "no place", 1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		result r = train(rows[i].arguments);
		if (r.code != rows[i].code || !strstr(r.err, rows[i].word)) {
			print_message("hecate train %s\ngave %d: %s\n", rows[i].arguments, r.code,
			              r.err);
			assert_true(false);
		}
		done(&r);
	}
}

static void all_settings_are_shown(void **state)
{
	(void)state;
	result help = train("--help"), dump = train(PAIRS "--dump-config");
	assert_int_equal(help.code, 0);
	assert_int_equal(dump.code, 0);
	assert_non_null(strstr(help.out, "\n  --train F…        text to learn"));
	assert_non_null(strstr(help.out, "\n  --out DIR         where"));
	json_t *root = json_loads(dump.out, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_true(json_object_size(root) > 35);
	const char *key;
	json_t *value;
	json_object_foreach(root, key, value)
	{
		char flag[64] = "--";
		for (size_t i = 0; key[i]; i++)
			flag[i + 2] = key[i] == '_' ? '-' : key[i];
		if (!strstr(help.out, flag)) {
			print_message("--help does not name %s\n", flag);
			assert_true(false);
		}
	}
	assert_int_equal(json_integer_value(json_object_get(root, "width")), 128);
	json_decref(root);
	done(&help);
	done(&dump);
}

/* ---- tasks ---- */

static void check_model(const char *name)
{
	char path[256];
	hec_ctx *ctx;
	hec_model *model = NULL;
	hec_tokenizer *tokenizer = NULL;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(hec_ctx_create(NULL, &ctx), HEC_OK);
	if (hec_model_load(ctx, path, NULL, &model) != HEC_OK ||
	    hec_tokenizer_load(path, &tokenizer) != HEC_OK) {
		print_message("%s\n", hec_error_message());
		assert_true(false);
	}
	assert_int_equal(hec_model_config_of(model)->vocab, hec_tokenizer_vocab(tokenizer));
	hec_tokenizer_destroy(tokenizer);
	hec_model_destroy(model);
	hec_ctx_destroy(ctx);
}

static void every_task_gives_a_model_that_loads(void **state)
{
	(void)state;
	static const struct {
		const char *name, *arguments;
	} rows[] = {
		{"translate", PAIRS "--best chrf --encoder-layers 1 --decoder-layers 1 "},
		{"seq2seq",
	         "--task seq2seq --train %1$s/pairs.gz --valid %1$s/pairs --encoder-layers 1 "},
		{"lm", "--task lm --decoder-layers 1 --train %1$s/a.de --valid %1$s/v.de "},
		{"mlm", "--task mlm --encoder-layers 1 --train %1$s/a.de --valid %1$s/v.de "},
		{"classify", "--task classify --best accuracy --encoder-layers 1 --train "
	                     "%1$s/labels --valid %1$s/labels "},
		{"alone", "--task lm --decoder-layers 1 --train %1$s/a.de %1$s/a.en "},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char arguments[1024];
		snprintf(arguments, sizeof arguments, "%s --out %%1$s/%s --steps 12 --json %s",
		         rows[i].arguments, rows[i].name, NARROW);
		result r = train(arguments);
		if (r.code != 0) {
			print_message("%s: %s\n", rows[i].name, r.err);
			assert_true(false);
		}
		json_t *root = json_loads(r.out, 0, NULL);
		assert_int_equal(json_integer_value(json_object_get(root, "step")), 12);
		json_decref(root);
		check_model(rows[i].name);
		done(&r);
	}
}

/* Stands on the models of the test before. */
static void labels_have_names_and_a_config_gives_the_architecture(void **state)
{
	(void)state;
	json_t *root = read_json("classify/config.json"),
	       *names = json_object_get(root, "id2label");
	assert_string_equal(json_string_value(json_object_get(names, "0")), "even");
	assert_string_equal(json_string_value(json_object_get(names, "1")), "odd");
	json_decref(root);
	result r = train(PAIRS "--config %1$s/translate/config.json --out %1$s/again --steps 3 "
	                       "--threads 1 --quiet");
	assert_int_equal(r.code, 0);
	done(&r);
	root = read_json("again/config.json");
	assert_int_equal(json_integer_value(json_object_get(root, "d_model")), 16);
	assert_string_equal(json_string_value(json_object_get(root, "model_type")), "marian");
	json_decref(root);
	r = train("--task lm --train %1$s/a.en --config %1$s/translate/config.json "
	          "--out %1$s/wrong");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "wants a decoder alone"));
	done(&r);
}

static void mlm_needs_a_token_to_hide_words_with(void **state)
{
	(void)state;
	result r = train("--task mlm --train %1$s/a.de --tokenizer %1$s/translate "
	                 "--out %1$s/maskless --quiet --threads 1");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "mask"));
	done(&r);
}

/* ---- train.json ---- */

static void write_text(const char *name, const char *format, ...)
{
	char path[256];
	va_list args;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	assert_int_equal(fclose(f), 0);
}

/* Killed while it counted, a run has a width that somebody gave and no vocabulary. */
static void a_run_killed_before_its_sizes_were_known_finds_the_same(void **state)
{
	(void)state;
	assert_int_equal(shell("mkdir '%s/early' && for i in 1 2 3 4 5 6; do seq 1 40000; done "
	                       ">'%s/large'",
	                       folder, folder),
	                 0);
	write_text("early/train.json",
	           "{\"task\": \"lm\", \"train\": [\"%s/large\"], \"width\": 16, \"heads\": 2, "
	           "\"max_length\": 40, \"batch_tokens\": \"80\", \"steps\": 1}",
	           folder);
	result r = train("--resume --out %1$s/early --quiet --threads 1");
	if (r.code != 0)
		print_message("%s\n", r.err);
	assert_int_equal(r.code, 0);
	done(&r);
	json_t *root = read_json("early/train.json");
	assert_int_equal(json_integer_value(json_object_get(root, "vocab")), 1100);
	assert_int_equal(json_integer_value(json_object_get(root, "decoder_layers")), 3);
	json_decref(root);
}

static void a_train_json_that_was_changed_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"\"batch_tokens\": null", "\"schedule\": null",
		"\"best\": null",         "\"dtype\": 3",
		"\"steps\": -2",          "\"seed\": \"99999999999999999999\""};
	assert_int_equal(shell("mkdir '%s/changed'", folder), 0);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		write_text("changed/train.json", "{\"task\": \"lm\", \"train\": [\"%s/a.en\"], %s}",
		           folder, texts[i]);
		result r = train("--resume --out %1$s/changed");
		if (r.code != 1 || !strstr(r.err, "is not what it must be")) {
			print_message("%s gave %d: %s\n", texts[i], r.code, r.err);
			assert_true(false);
		}
		done(&r);
	}
}

static void a_folder_is_not_taken_by_a_run_that_could_not_begin(void **state)
{
	(void)state;
	result r = train("--task lm --train %1$s/a.enn --out %1$s/typo " NARROW);
	assert_int_equal(r.code, 1);
	done(&r);
	r = train("--task lm --train %1$s/a.en --out %1$s/typo --steps 2 --quiet " NARROW);
	if (r.code != 0)
		print_message("%s\n", r.err);
	assert_int_equal(r.code, 0);
	done(&r);
	r = train("--resume --out %1$s/nowhere");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "no run to resume"));
	done(&r);
}

static void texts_in_the_place_of_labels_are_told(void **state)
{
	(void)state;
	assert_int_equal(shell("seq 1 80000 | sed 's/$/\tx/' >'%s/many'", folder), 0);
	result r = train("--task classify --train %1$s/many --out %1$s/many-labels");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "more than 65536 labels"));
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_usage_is_told),
		cmocka_unit_test(all_settings_are_shown),
		cmocka_unit_test(every_task_gives_a_model_that_loads),
		cmocka_unit_test(labels_have_names_and_a_config_gives_the_architecture),
		cmocka_unit_test(mlm_needs_a_token_to_hide_words_with),
		cmocka_unit_test(a_run_killed_before_its_sizes_were_known_finds_the_same),
		cmocka_unit_test(a_train_json_that_was_changed_is_refused),
		cmocka_unit_test(a_folder_is_not_taken_by_a_run_that_could_not_begin),
		cmocka_unit_test(texts_in_the_place_of_labels_are_told),
	};
	return cmocka_run_group_tests(tests, make_texts, remove_folder);
}
