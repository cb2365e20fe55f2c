/* test_large_program.c — text of more bytes than the program may have memory: it learns all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program_run.h"
#include "support/sanitized.h"

#include <sys/stat.h>

#define LIMIT_KILOBYTES 56000 /* of addresses: libraries, stacks and all */
#define TEXT_BYTES ((long)LIMIT_KILOBYTES * 1024 + (1 << 20))

static void write_text(const char *name, long bytes)
{
	static const char *const words[8] = {"ab", "cde", "f", "ghij", "kl", "mno", "p", "qr"};
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	uint32_t x = 1;
	for (long n = 0; n < bytes;) {
		for (int i = 0; i < 12; i++) {
			x = x * 1664525u + 1013904223u;
			n += fprintf(f, "%s%c", words[x >> 29], i < 11 ? ' ' : '\n');
		}
	}
	assert_int_equal(fclose(f), 0);
}

static long size_of(const char *name)
{
	char path[256];
	struct stat info;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(stat(path, &info), 0);
	return (long)info.st_size;
}

static result train(const char *format)
{
	char arguments[2048] = "train ", limit[64];
	snprintf(arguments + 6, sizeof arguments - 6, format, folder);
	snprintf(limit, sizeof limit, "ulimit -v %d;", LIMIT_KILOBYTES);
	return run_with(limit, arguments);
}

static void text_larger_than_memory_is_learned_from(void **state)
{
	(void)state;
	if (SANITIZED)
		skip(); /* a sanitizer wants terabytes of addresses */
	static const char *const tasks[] = {
		"--task lm --decoder-layers 1 --train %1$s/text --out %1$s/lm ",
		"--task translate --encoder-layers 1 --decoder-layers 1 --train %1$s/half "
		"%1$s/half "
		"--out %1$s/pairs ",
	};
	write_text("text", TEXT_BYTES);
	write_text("half", TEXT_BYTES / 2);
	for (int i = 0; i < 2; i++) {
		char line[1024];
		snprintf(line, sizeof line,
		         "%s --width 16 --heads 2 --hidden 32 --vocab 300 --batch-tokens 256 "
		         "--max-length 48 --threads 1 --steps 3 --quiet",
		         tasks[i]);
		result r = train(line);
		if (r.code != 0)
			fail_msg("%s: %d: %s", line, r.code, r.err);
		done(&r);
		assert_true(size_of(i ? "pairs/cache/train.tokens" : "lm/cache/train.tokens") >
		            TEXT_BYTES);
		assert_int_equal(shell("rm -r '%s/%s'", folder, i ? "pairs" : "lm"), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_larger_than_memory_is_learned_from),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
