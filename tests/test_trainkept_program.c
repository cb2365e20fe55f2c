/* test_trainkept_program.c — what a run that is refused leaves alone, what one that was killed leaves
 * behind, and mistakes in the text that are told by the names of its files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program_run.h"
#include "train_texts.h"

static int make_run(void **state)
{
	if (make_texts(state) != 0)
		return -1;
	expect(PAIRS SMALL "--out %1$s/run --steps 4 --quiet", 0, "");
	return 0;
}

static void check_cache_as_it_was(void)
{
	static const char *const files[4] = {"train.tokens", "train.index", "valid.tokens",
	                                     "valid.index"};
	for (size_t i = 0; i < 4; i++) {
		char is[64], was[64];
		snprintf(is, sizeof is, "run/cache/%s", files[i]);
		snprintf(was, sizeof was, "was/%s", files[i]);
		check_same(is, was);
	}
	assert_int_equal(shell("test $(ls -A '%s/run/cache' | wc -l) = 4", folder), 0);
}

/* The ids of a run are not those of another text, because someone tried it. */
static void a_resume_that_is_refused_keeps_the_ids(void **state)
{
	(void)state;
	assert_int_equal(shell("cp -rp '%1$s/run/cache' '%1$s/was'", folder), 0);
	expect("--resume --out %1$s/run --train %1$s/v.en %1$s/v.de --quiet --threads 1", 1,
	       "v.en: gives other ids");
	check_cache_as_it_was();
	expect("--resume --out %1$s/run --valid %1$s/a.en %1$s/a.de --quiet --threads 1", 1,
	       "a.en: gives other ids");
	check_cache_as_it_was();
	/* Made anew where they are gone: then they are the same. */
	assert_int_equal(shell("rm -r '%s/run/cache'", folder), 0);
	expect("--resume --out %1$s/run --steps 6 --quiet --threads 1", 0, "");
	check_cache_as_it_was();
}

/* A swap of best models, and the first file of all. */
static void what_a_killed_run_left_half_done_is_not_in_the_way(void **state)
{
	(void)state;
	assert_int_equal(
		shell("mkdir -p '%1$s/run/best/.new' && echo x > '%1$s/run/best/.new/x'", folder),
		0);
	expect("--resume --out %1$s/run --steps 8 --quiet --threads 1", 0, "");
	assert_int_not_equal(shell("test -e '%s/run/best/.new'", folder), 0);
	assert_int_equal(shell("mkdir '%1$s/first' && echo x > '%1$s/first/.train.json.new' && "
	                       "echo x > '%1$s/first/.hecate-1-1.tmp'",
	                       folder),
	                 0);
	expect(PAIRS SMALL "--out %1$s/first --steps 1 --quiet", 0, "");
}

static void no_example_left_is_told_by_the_files(void **state)
{
	(void)state;
	write_file("bare", "no tab\nnor here\n");
	result r = train("--task seq2seq --train %1$s/pairs --valid %1$s/bare --out %1$s/bad "
	                 "--steps 1 " SMALL);
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "--valid "));
	assert_non_null(strstr(r.err, "/bare: no example is left (2 lines"));
	assert_null(strstr(r.err, "cache"));
	assert_null(strstr(r.err, "memory:"));
	done(&r);
}

/* The number that is said is one that is enough. */
static void a_batch_that_is_too_small_is_told_by_the_longest_example(void **state)
{
	(void)state;
	static const char *const word = "the longest example, of ";
	result r = train(PAIRS SMALL "--out %1$s/tight --steps 1 --batch-tokens 2");
	assert_int_equal(r.code, 1);
	const char *at = strstr(r.err, word);
	assert_non_null(at);
	int longest = atoi(at + strlen(word));
	done(&r);
	char line[1024];
	snprintf(line, sizeof line, PAIRS SMALL "--out %1$s/tight --steps 1 --batch-tokens %2$d",
	         folder, longest);
	expect(line, 0, "");
	snprintf(line, sizeof line, PAIRS SMALL "--out %1$s/tighter --steps 1 --batch-tokens %2$d",
	         folder, longest - 1);
	expect(line, 1, word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_resume_that_is_refused_keeps_the_ids),
		cmocka_unit_test(what_a_killed_run_left_half_done_is_not_in_the_way),
		cmocka_unit_test(no_example_left_is_told_by_the_files),
		cmocka_unit_test(a_batch_that_is_too_small_is_told_by_the_longest_example),
	};
	return cmocka_run_group_tests(tests, make_run, remove_folder);
}
