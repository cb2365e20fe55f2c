/* test_mistakes_program.c — `hecate train` asked for what cannot be, or for what goes wrong on the way:
 * it is told before the work begins, or the work that was done stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program_run.h"
#include "train_call.h"

#define SIZES                                                                                      \
	"--width 16 --encoder-layers 1 --decoder-layers 1 --hidden 32 --vocab 280 --threads 1 "    \
	"--batch-tokens 128 --quiet "
#define LM "--task lm --width 16 --decoder-layers 1 --hidden 32 --vocab 280 --threads 1 --quiet "

static int make_texts(void **state)
{
	if (make_counting(state) != 0)
		return -1;
	write_counting("labels", 2, 200);
	write_counting("few", 2, 20);
	write_file("empty", "");
	return 0;
}

/* ---- before the first step ---- */

static void what_cannot_be_is_refused_at_once(void **state)
{
	(void)state;
	expect("--resume", 2, "--out is missing");
	expect(COUNTING SIZES "--out %1$s/no --eps 0", 2, "--eps");
	expect(COUNTING SIZES "--out %1$s/no --eps 1e-50", 2, "--eps");
	/* What the defaults are called inside is nothing to ask for. */
	expect(COUNTING SIZES "--out %1$s/no --encoder-layers 0", 2, "from 1 to 1000");
	expect(COUNTING SIZES "--out %1$s/no --heads 0", 2, "from 1 to 65536");
	expect(COUNTING SIZES "--out %1$s/no --label-smoothing -0.5", 2, "from 0 to 1");
	expect(COUNTING SIZES "--out %1$s/no --lr -1", 2, "from 0 to 1000");
	expect(COUNTING SIZES "--out %1$s/no --warmup -1", 2, "--warmup");
	expect("--task mlm --train %1$s/a --out %1$s/no --mask-rate 0", 2, "--mask-rate is 0");
	expect(COUNTING SIZES "--out %1$s/no --best f1", 2, "translate measures loss, bleu");
	expect("--task classify --train %1$s/labels --valid %1$s/few --out %1$s/no --best bleu", 2,
	       "classify measures loss, accuracy");
	expect("--task translate --train %1$s/a %1$s/b --out %1$s/no --best bleu", 2, "--valid");
	expect(COUNTING SIZES "--out %1$s/no --best bleu --valid-sentences 0", 2,
	       "--valid-sentences");
	expect(COUNTING SIZES "--out %1$s/no --valid-sentences 1000000000000", 2, "1000000");
	expect("--task lm --train %1$s/a --out %1$s/no --encoder-layers 2", 2, "--encoder-layers");
	expect("--task mlm --train %1$s/a --out %1$s/no --decoder-layers 2", 2, "--decoder-layers");
	expect(COUNTING SIZES "--out %1$s/no --max-length 1", 2, "--max-length");
	expect("--task lm --train $(printf '%1$s/\\377') --out %1$s/no", 2, "UTF-8");
	assert_int_not_equal(shell("test -e '%s/no'", folder), 0);
}

/* A mistake, and the same command without it, in the same folder. */
static void a_mistake_is_not_in_the_way_of_the_command_without_it(void **state)
{
	(void)state;
	static const struct {
		const char *wrong, *word;
	} rows[] = {
		{"--task lm --train %1$s/a --valid %1$s/nowhere --out %1$s/again", "nowhere"},
		{"--task lm --train %1$s/a --valid %1$s/empty --out %1$s/again", ""},
		{"--task lm --train %1$s/empty --out %1$s/again", ""},
		{"--task seq2seq --train %1$s/a --out %1$s/again", ""},
		{"--task lm --train %1$s/a --out %1$s/again --width 32 --heads 5", "--heads"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		expect(rows[i].wrong, 1, rows[i].word);
		assert_int_not_equal(shell("test -e '%s/again'", folder), 0);
	}
	expect(LM "--train %1$s/a --out %1$s/again --steps 1", 0, "");
}

/* ---- on the way ---- */

static void a_length_of_all_positions_can_be_validated(void **state)
{
	(void)state;
	expect(COUNTING SIZES "--out %1$s/long --max-length 600 --batch-tokens 600 --steps 2 "
	                      "--valid-sentences 2",
	       0, "");
	assert_int_equal(shell("grep -q bleu '%s/long/log.jsonl'", folder), 0);
}

static void a_model_that_cannot_be_judged_does_not_end_the_run(void **state)
{
	(void)state;
	expect(COUNTING SIZES "--out %1$s/wild --lr 1000 --clip 0 --warmup 1 --schedule constant "
	                      "--valid-every 20 --steps 60 --patience 0 --valid-sentences 4 "
	                      "--best bleu --average 2",
	       0, "not measured");
	assert_int_equal(shell("test -s '%s/wild/checkpoint/latest'", folder), 0);
	assert_int_equal(shell("grep -q '\"step\":60' '%s/wild/log.jsonl'", folder), 0);
	assert_int_equal(shell("test -s '%s/wild/config.json'", folder), 0);
}

/* ---- saving ---- */

/* No file may be longer than 200 KB: as on a disk that is full. */
static void a_failed_save_says_what_is_there(void **state)
{
	(void)state;
	char arguments[1024];
	snprintf(arguments, sizeof arguments,
	         "train --task lm --train %1$s/a --width 128 --vocab 280 --decoder-layers 1 "
	         "--threads 1 --batch-tokens 256 --quiet --steps 2 --out %1$s/full",
	         folder);
	result r = run_with("trap '' XFSZ; ulimit -f 400;", arguments);
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "the checkpoint was not saved"));
	assert_non_null(strstr(r.err, "nothing has been saved yet"));
	assert_null(strstr(r.err, "still there"));
	/* The file is named once. */
	const char *first = strstr(r.err, "model.safetensors: ");
	assert_non_null(first);
	assert_true(strncmp(first + strlen("model.safetensors: "), "could not", 9) == 0);
	done(&r);
}

static void a_model_that_could_not_be_kept_is_told_apart(void **state)
{
	(void)state;
	expect(LM "--train %1$s/a --out %1$s/kept --steps 2", 0, "");
	assert_int_equal(
		shell("cd '%s/kept' && rm model.safetensors && mkdir model.safetensors", folder),
		0);
	expect("--resume --out %1$s/kept --steps 3 --quiet", 1,
	       "the checkpoint is saved, but not the model");
	expect("--resume --out %1$s/kept --steps 3 --quiet", 1, "still there");
	assert_int_equal(shell("grep -q step-00000003 '%s/kept/checkpoint/latest'", folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_is_refused_at_once),
		cmocka_unit_test(a_mistake_is_not_in_the_way_of_the_command_without_it),
		cmocka_unit_test(a_length_of_all_positions_can_be_validated),
		cmocka_unit_test(a_model_that_cannot_be_judged_does_not_end_the_run),
		cmocka_unit_test(a_failed_save_says_what_is_there),
		cmocka_unit_test(a_model_that_could_not_be_kept_is_told_apart),
	};
	return cmocka_run_group_tests(tests, make_texts, remove_folder);
}
