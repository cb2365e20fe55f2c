/* test_output_program.c — results that cannot be written: the reason is told, once, and is not another. */
#include "support/test.h"

#include <string.h>

#include "explain_run.h"

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
		skip();
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_is_named),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
