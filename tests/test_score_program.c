/* test_score_program.c — `hecate score`: its results, errors and exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "program_run.h"

/* Unlike write_file, also texts with a zero byte. */
static void write_text(const char *name, const char *text, size_t size)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void an_invocation_ends_as_it_should(void **state)
{
	(void)state;
	write_text("two", "The cat is here.\nIt sleeps all day.\n", 36);
	write_text("unended", "The cat is here.\nIt sleeps all day.", 35);
	write_text("one", "The cat is here.\n", 17);
	write_text("none", "", 0);
	write_text("zero", "a\0b\n", 4);
	static const struct {
		const char *arguments; /* F: the folder */
		int code;
		const char *out, *err; /* part of it; NULL: nothing at all */
	} table[] = {
		{"F/two F/two", 0, "BLEU  100.00\nchrF  100.00\n", NULL},
		{"F/two F/unended", 0, "BLEU  100.00\nchrF  100.00\n", NULL},
		{"- F/one", 1, NULL, "- has 0 lines and "}, /* nothing on standard input */
		{"F/two F/two --json", 0, "{\"lines\": 2, \"bleu\": 100.00000", NULL},
		{"F/two F/two --rouge", 0, "chrF  100.00\nROUGE-L 100.00\n", NULL},
		{"F/two F/two --rouge --json", 0, "\"rouge_l\": 100.0", NULL},
		{"F/two F/one", 1, NULL, "two has 2 lines and "},
		{"F/none F/none", 1, NULL, "have no lines"},
		{"F/zero F/one", 1, NULL, "zero: line 1 holds a zero byte"},
		{"F/missing F/one", 1, NULL, "missing could not be opened: No such file"},
		{"F F/one", 1, NULL, "could not be read: Is a directory"},
		{"F/two", 2, NULL, "give two files"},
		{"F/two F/two F/two", 2, NULL, "give two files"},
		{"- -", 2, NULL, "only one of the files can be standard input"},
		{"--help", 0, "hecate translate <test.en | hecate score - test.de", NULL},
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		char arguments[1024] = "score ";
		for (const char *at = table[i].arguments; *at; at++) {
			size_t length = strlen(arguments);
			snprintf(arguments + length, sizeof arguments - length,
			         *at == 'F' ? "%s" : "%.1s", *at == 'F' ? folder : at);
		}
		result r = run(arguments);
		bool out = table[i].out ? strstr(r.out, table[i].out) != NULL : *r.out == '\0';
		bool err = table[i].err ? strstr(r.err, table[i].err) != NULL : *r.err == '\0';
		if (r.code != table[i].code || !out || !err)
			fail_msg("hecate %s: exit %d (expected %d)\nout: %.300s\nerr: %.300s",
			         arguments, r.code, table[i].code, r.out, r.err);
		done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invocation_ends_as_it_should),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
