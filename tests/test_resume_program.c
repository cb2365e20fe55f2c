/* test_resume_program.c — `hecate train --resume` with something else than before, or after the run before
 * was killed; and settings beside an architecture that is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program_run.h"
#include "train_call.h"

#include <jansson.h>

#define SMALL                                                                                      \
	"--width 16 --encoder-layers 1 --decoder-layers 1 --heads 2 --hidden 32 --vocab 280 "      \
	"--batch-tokens 128 --max-length 40 --threads 1 --quiet "

static int differ(const char *one, const char *two)
{
	return shell("cmp -s '%1$s/%2$s' '%1$s/%3$s'", folder, one, two);
}

/* ---- another metric ---- */

static void the_best_by_another_metric_changes_its_place(void **state)
{
	(void)state;
	expect(COUNTING SMALL "--out %1$s/run --steps 60 --valid-every 20 --lr 0.01 --warmup 5", 0,
	       "");
	assert_int_equal(
		shell("cp -r '%1$s/run' '%1$s/was' && cp -r '%1$s/run' '%1$s/half'", folder), 0);
	/* Made to be told apart, whichever step they are of. */
	assert_int_equal(shell("printf x >> '%1$s/run/best/chrf/generation_config.json' && "
	                       "cp '%1$s/run/best/chrf/generation_config.json' '%1$s/chrf.json'",
	                       folder),
	                 0);
	expect("--resume --out %1$s/run --best chrf --quiet", 0, "");
	assert_int_equal(differ("run/model.safetensors", "was/best/chrf/model.safetensors"), 0);
	assert_int_equal(differ("run/generation_config.json", "chrf.json"), 0);
	assert_int_equal(differ("run/best/loss/model.safetensors", "was/model.safetensors"), 0);
	assert_int_equal(differ("run/best/loss/config.json", "was/config.json"), 0);
	assert_int_not_equal(shell("test -e '%s/run/best/chrf'", folder), 0);
	/* And back. */
	expect("--resume --out %1$s/run --best loss --quiet", 0, "");
	assert_int_equal(differ("run/model.safetensors", "was/model.safetensors"), 0);
	assert_int_equal(
		differ("run/best/chrf/model.safetensors", "was/best/chrf/model.safetensors"), 0);
	assert_int_not_equal(shell("test -e '%s/run/best/loss'", folder), 0);
}

/* Killed after one was put away and half the other had come: the first is not taken for the second. */
static void a_change_that_was_killed_is_done_again(void **state)
{
	(void)state;
	assert_int_equal(shell("mkdir '%1$s/half/best/loss' && "
	                       "cp '%1$s'/half/*.json '%1$s/half/model.safetensors' "
	                       "'%1$s/half/best/loss' && "
	                       "rm '%1$s/half/best/loss/train.json' && "
	                       "cp '%1$s/half/best/chrf/model.safetensors' '%1$s/half'",
	                       folder),
	                 0);
	expect("--resume --out %1$s/half --best chrf --quiet", 0, "");
	assert_int_equal(differ("half/model.safetensors", "was/best/chrf/model.safetensors"), 0);
	assert_int_equal(differ("half/best/loss/model.safetensors", "was/model.safetensors"), 0);
}

/* The same, but the old metric is asked for again: its model comes back. */
static void a_change_that_was_killed_is_taken_back(void **state)
{
	(void)state;
	expect(COUNTING SMALL "--out %1$s/back --steps 8 --valid-every 4", 0, "");
	assert_int_equal(
		shell("cd '%s/back' && cp model.safetensors ../right && mkdir best/loss && "
	              "cp *.json model.safetensors best/loss && rm best/loss/train.json && "
	              "cp best/chrf/model.safetensors . && ! cmp -s model.safetensors ../right",
	              folder),
		0);
	expect("--resume --out %1$s/back --quiet", 0, "");
	assert_int_equal(differ("back/model.safetensors", "right"), 0);
	assert_int_not_equal(shell("test -e '%s/back/best/loss'", folder), 0);
}

/* ---- what a killed run leaves ---- */

static void what_a_killed_writer_left_is_swept(void **state)
{
	(void)state;
	/* 999999999 is no process: the system counts to 2²². 1 is, and not ours. */
	assert_int_equal(shell("cd '%s/was' && touch .hecate-999999999-0.tmp "
	                       "best/chrf/.hecate-999999999-1.tmp .hecate-1-0.tmp .hecate-mine",
	                       folder),
	                 0);
	expect("--resume --out %1$s/was --quiet", 0, "");
	assert_int_equal(shell("cd '%s/was' && ! test -e .hecate-999999999-0.tmp && "
	                       "! test -e best/chrf/.hecate-999999999-1.tmp && "
	                       "test -e .hecate-1-0.tmp && test -e .hecate-mine",
	                       folder),
	                 0);
}

static void batches_are_added_and_a_full_disk_is_told(void **state)
{
	(void)state;
	expect(COUNTING SMALL "--out %1$s/dump --steps 3 --dump-batches %1$s/batches", 0, "");
	expect("--resume --out %1$s/dump --steps 5 --dump-batches %1$s/batches --quiet", 0, "");
	assert_int_equal(shell("test $(grep -c '\"step\":' '%s/batches') = 5", folder), 0);
	expect("--resume --out %1$s/dump --steps 7 --dump-batches /dev/full --quiet", 1,
	       "/dev/full could not be written");
}

/* ---- an architecture that is given ---- */

static void settings_beside_a_config_hold_or_are_refused(void **state)
{
	(void)state;
	json_t *config = read_json("was/config.json");
	json_object_set_new(config, "max_position_embeddings", json_integer(24));
	char path[256];
	snprintf(path, sizeof path, "%s/config.json", folder);
	assert_int_equal(json_dump_file(config, path, 0), 0);
	json_decref(config);
#define GIVEN COUNTING "--config %1$s/config.json --vocab 280 --steps 2 --threads 1 --quiet --out "
	expect(GIVEN "%1$s/given --width 99", 1, "--width is 99");
	expect(GIVEN "%1$s/given --heads 4", 1, "--heads is 4");
	expect(GIVEN "%1$s/given --max-length 25", 1, "--max-length is 25");
	/* No length is asked for: that of the positions. */
	expect(GIVEN "%1$s/given --dropout 0.5 --batch-tokens 64", 0, "");
	config = read_json("given/config.json");
	assert_true(json_number_value(json_object_get(config, "dropout")) == 0.5);
	json_decref(config);
	config = read_json("given/train.json");
	assert_int_equal(json_integer_value(json_object_get(config, "max_length")), 24);
	json_decref(config);
	expect("--resume --out %1$s/given --steps 3 --quiet", 0, "");
	expect("--task translate --from %1$s/was --train %1$s/a %1$s/b --out %1$s/no --width 17", 1,
	       "--width is 17");
}

/* Fine-tuning counts its steps by its epochs; more epochs are more steps. */
static void more_epochs_of_fine_tuning_are_more_steps(void **state)
{
	(void)state;
	expect("--task translate --from %1$s/was --train %1$s/a %1$s/b --out %1$s/tuned --epochs 1 "
	       "--batch-rows 100 --threads 1 --quiet",
	       0, "");
	json_t *before = read_json("tuned/train.json");
	expect("--resume --out %1$s/tuned --epochs 2 --quiet", 0, "");
	json_t *after = read_json("tuned/train.json");
	result r = train("--resume --out %1$s/tuned --quiet --json");
	json_t *end = json_loads(r.out, 0, NULL);
	int64_t one = json_integer_value(json_object_get(before, "steps"));
	assert_true(one > 0);
	assert_int_equal(json_integer_value(json_object_get(after, "steps")), 2 * one);
	assert_int_equal(json_integer_value(json_object_get(end, "step")), 2 * one);
	json_decref(before);
	json_decref(after);
	json_decref(end);
	done(&r);
}

static void a_run_killed_in_its_first_file_begins(void **state)
{
	(void)state;
	assert_int_equal(
		shell("mkdir '%1$s/early' && printf '{' >'%1$s/early/.train.json.new'", folder), 0);
	expect(COUNTING SMALL "--resume --out %1$s/early --steps 2", 0, "");
	assert_int_equal(shell("test -e '%s/early/model.safetensors'", folder), 0);
	/* What is not ours is no run that was killed. */
	assert_int_equal(shell("mkdir '%1$s/others' && touch '%1$s/others/.hidden'", folder), 0);
	expect(COUNTING SMALL "--resume --out %1$s/others --steps 2", 1, "holds no run to resume");
}

/* ---- what a pretrained directory says besides ---- */

static void what_is_not_ours_goes_along(void **state)
{
	(void)state;
	assert_int_equal(shell("cp -r '%1$s/was' '%1$s/other' && cd '%1$s/other' && "
	                       "rm -r checkpoint cache best && "
	                       "echo '{\"eos_token\": \"</s>\"}' >special_tokens_map.json && "
	                       "echo '{{ messages }}' >chat_template.jinja",
	                       folder),
	                 0);
	static const char *const names[2] = {"other/config.json", "other/generation_config.json"};
	for (int i = 0; i < 2; i++) {
		char path[256];
		json_t *root = read_json(names[i]);
		json_object_set_new(root, "of_others", json_string("kept"));
		json_object_set_new(root, "problem_type", json_string("regression"));
		json_object_set_new(root, "num_beams", json_integer(4));
		json_object_set_new(root, "torch_dtype", json_string("float64"));
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		assert_int_equal(json_dump_file(root, path, 0), 0);
		json_decref(root);
	}
	expect("--task translate --from %1$s/other --train %1$s/a %1$s/b --valid %1$s/va %1$s/vb "
	       "--out %1$s/carried --steps 2 --threads 1 --quiet",
	       0, "");
	static const char *const made[] = {"carried", "carried/start", "carried/best/bleu"};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		char name[128];
		for (int k = 0; k < 2; k++) {
			snprintf(name, sizeof name, "%s%s", made[i], strchr(names[k], '/'));
			json_t *root = read_json(name);
			const char *kept = json_string_value(json_object_get(root, "of_others"));
			assert_string_equal(kept ? kept : "lost", "kept");
			assert_int_equal(json_integer_value(json_object_get(root, "num_beams")), 4);
			assert_null(json_object_get(root, "torch_dtype"));
			json_decref(root);
		}
		assert_int_equal(shell("cmp '%1$s/other/chat_template.jinja' "
		                       "'%1$s/%2$s/chat_template.jinja' && "
		                       "cmp '%1$s/other/special_tokens_map.json' "
		                       "'%1$s/%2$s/special_tokens_map.json'",
		                       folder, made[i]),
		                 0);
	}
}

/* A rate of the head alone is the model's, unless one is asked for. */
static void the_dropout_of_a_head_stays(void **state)
{
	(void)state;
	assert_int_equal(shell("cp -r '%2$s/golden/models/bert_classify' '%1$s/bert' && "
	                       "chmod -R u+w '%1$s/bert' && cd '%1$s/bert' && "
	                       "printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\n' "
	                       ">vocab.txt && for i in 1 2 3 4 5 6; do "
	                       "printf 'yes\tgood good\nno\tbad\n'; done >../judged",
	                       folder, TESTS_DIR),
	                 0);
	json_t *config = read_json("bert/config.json");
	json_object_set_new(config, "classifier_dropout", json_real(0.3));
	json_object_set_new(config, "problem_type", json_string("multi_label_classification"));
	char path[256];
	snprintf(path, sizeof path, "%s/bert/config.json", folder);
	assert_int_equal(json_dump_file(config, path, 0), 0);
	json_decref(config);
#define JUDGE "--task classify --from %1$s/bert --train %1$s/judged --steps 2 --threads 1 --quiet "
	expect(JUDGE "--out %1$s/judge", 0, "");
	config = read_json("judge/config.json");
	assert_true(json_number_value(json_object_get(config, "classifier_dropout")) == 0.3);
	/* It gives one label of several now. */
	assert_null(json_object_get(config, "problem_type"));
	json_decref(config);
	expect(JUDGE "--out %1$s/judge5 --dropout 0.5", 0, "");
	config = read_json("judge5/config.json");
	assert_null(json_object_get(config, "classifier_dropout"));
	assert_true(json_number_value(json_object_get(config, "hidden_dropout_prob")) == 0.5);
	json_decref(config);
}

static void too_little_memory_is_told(void **state)
{
	(void)state;
	expect(COUNTING "--width 128 --encoder-layers 1 --decoder-layers 1 --vocab 280 --threads 1 "
	                "--out %1$s/memory --memory 1 --steps 1 --quiet",
	       0, "--memory 1 MB is not enough");
}

/* ---- data that cannot be read any more ---- */

static void data_that_vanishes_costs_no_step(void **state)
{
	(void)state;
	char arguments[1024];
	snprintf(arguments, sizeof arguments,
	         COUNTING SMALL "--out %1$s/gone --report-every 5 --valid-every 1000000", folder);
	int code = shell("'%1$s' train %2$s 2>'%3$s/err' & run=$!; "
	                 "until grep -qs '\"step\":10' '%3$s/gone/log.jsonl'; do "
	                 "kill -0 $run || exit 9; sleep 0.02; done; "
	                 ": >'%3$s/gone/cache/train.tokens'; wait $run",
	                 program(), arguments, folder);
	char *err = read_all("err");
	if (code != 1 || !strstr(err, "could not be read") || !strstr(err, "is saved"))
		fail_msg("%d: %s", code, err);
	free(err);
	expect("--resume --out %1$s/gone --quiet --time 0.01", 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_by_another_metric_changes_its_place),
		cmocka_unit_test(a_change_that_was_killed_is_done_again),
		cmocka_unit_test(a_change_that_was_killed_is_taken_back),
		cmocka_unit_test(data_that_vanishes_costs_no_step),
		cmocka_unit_test(what_a_killed_writer_left_is_swept),
		cmocka_unit_test(batches_are_added_and_a_full_disk_is_told),
		cmocka_unit_test(settings_beside_a_config_hold_or_are_refused),
		cmocka_unit_test(more_epochs_of_fine_tuning_are_more_steps),
		cmocka_unit_test(a_run_killed_in_its_first_file_begins),
		cmocka_unit_test(what_is_not_ours_goes_along),
		cmocka_unit_test(the_dropout_of_a_head_stays),
		cmocka_unit_test(too_little_memory_is_told),
	};
	return cmocka_run_group_tests(tests, make_counting, remove_folder);
}
