/* test_numbers_program.c — the example of docs/train.md, learned for a few steps: the same model again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program_run.h"
#include "train_call.h"

/* As examples/numbers/run trains, but for fewer pairs and steps. */
#define EXAMPLE                                                                                    \
	"--task seq2seq --train %1$s/train.txt --valid %1$s/valid.txt --width 64 "                 \
	"--encoder-layers 2 --decoder-layers 2 --heads 4 --vocab 330 --max-length 48 "             \
	"--batch-tokens 1024 --lr 3e-3 --schedule cosine --warmup 10 --steps 30 --valid-every 15 " \
	"--valid-sentences 20 --dropout 0.1 --quiet "

static int make_numbers(void **state)
{
	return make_folder(state) ||
	       shell("'%2$s' 2000 1 train >'%1$s/train.txt' && '%2$s' 50 2 test >'%1$s/valid.txt'",
	             folder, EXAMPLE_NUMBERS);
}

static void the_same_model_comes_at_any_number_of_threads(void **state)
{
	(void)state;
	static const char *const files[] = {"model.safetensors", "tokenizer.json", "config.json"};
	done(&(result[]){train_well(EXAMPLE "--threads 1 --out %1$s/one")}[0]);
	done(&(result[]){train_well(EXAMPLE "--threads 2 --out %1$s/two")}[0]);
	done(&(result[]){train_well(EXAMPLE "--threads 3 --out %1$s/three")}[0]);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char one[64], other[64];
		snprintf(one, sizeof one, "one/%s", files[i]);
		snprintf(other, sizeof other, "two/%s", files[i]);
		check_same(one, other);
		snprintf(other, sizeof other, "three/%s", files[i]);
		check_same(one, other);
	}
	/* And the comparison can fail: another seed is another model. */
	done(&(result[]){train_well(EXAMPLE "--threads 2 --seed 2 --out %1$s/other")}[0]);
	assert_int_not_equal(shell("cmp -s '%1$s/one/model.safetensors' "
	                           "'%1$s/other/model.safetensors'",
	                           folder),
	                     0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_model_comes_at_any_number_of_threads),
	};
	return cmocka_run_group_tests(tests, make_numbers, remove_folder);
}
