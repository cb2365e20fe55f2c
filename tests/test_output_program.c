/* test_output_program.c — results that cannot be written: the reason is told, once, and is not another. */
#include "support/test.h"

#include <string.h>

#include "program_run.h"

#define MODEL TESTS_DIR "/golden/decode_text"

static void a_full_disk_is_named(void **state)
{
	(void)state;
	static const char *const commands[] = {
		"translate -m " MODEL " --beam 1",
		"translate -m " MODEL " --beam 1 --json",
		"tokenize -m " MODEL,
		"tokenize -m " MODEL " --json",
		"attend -m " MODEL " 'The file' --json",
		"attend -m " MODEL " 'The file'",
		"generate -m " MODEL " 'The file' --beam 1 --stream",
		"generate -m " MODEL " --beam 1 --json",
		"info " MODEL " --json",
		"--version",
	};
	if (access("/dev/full", W_OK) != 0)
		skip(); /* nothing else is full for certain */
	/* Many times what a buffer holds. */
	assert_int_equal(shell("yes 'The file could not be opened.' | head -n 300 >%s/in", folder),
	                 0);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		int code = shell("'%s' %s <%s/in >/dev/full 2>%s/err", program(), commands[i],
		                 folder, folder);
		char *err = read_all("err");
		const char *reason = strstr(err, "could not be written: No space left on device");
		if (code != 1 || !reason || strstr(err, "memory") || strstr(err, "cancelled"))
			fail_msg("%s: %d: %s", commands[i], code, err);
		free(err);
	}
}

/* A file as large as files may be: a write that failed, not a signal that ends the program. */
static void a_limit_on_files_is_named(void **state)
{
	(void)state;
	assert_int_equal(shell("yes 'the file' | head -n 50 >%1$s/a && "
	                       "yes 'die Datei' | head -n 50 >%1$s/b",
	                       folder),
	                 0);
	int code =
		shell("ulimit -f 40; '%1$s' train --task translate --train %2$s/a %2$s/b "
	              "--out %2$s/run --width 64 --encoder-layers 1 --decoder-layers 1 --vocab 280 "
	              "--batch-tokens 64 --threads 1 --steps 4 --quiet 2>%2$s/err",
	              program(), folder);
	char *err = read_all("err");
	if (code != 1 || !strstr(err, "File too large"))
		fail_msg("%d: %s", code, err);
	free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_on_files_is_named),
		cmocka_unit_test(a_full_disk_is_named),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
