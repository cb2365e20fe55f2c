/* test_score_program.c — `hecate score`: its results, errors and exit codes, and the memory that it takes. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* wait4 */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "program_run.h"
#include "peak.h"
#include "support/sanitized.h"

#define BASE (16 * MEGABYTE) /* of any process of the program */

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
	write_text("returns", "The cat is here.\r\nIt sleeps all day.\r\n", 38);
	write_text("more", "a\nb\nc\nd", 7);
	assert_int_equal(shell("truncate -s 65M %s/endless", folder), 0);
	assert_int_equal(shell("yes a b | head -n 375000 | tr '\\n' ' ' >%s/turns", folder), 0);
	assert_int_equal(shell("yes b a | head -n 375000 | tr '\\n' ' ' >%s/back", folder), 0);
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
		{"F/returns F/two", 0, "BLEU  100.00\nchrF  100.00\n", NULL},
		{"F/two F/more", 1, NULL, "two has 2 lines and "},
		{"F/more F/two", 1, NULL, "more has 4 lines and "},
		{"F/two F/endless", 1, NULL, "endless: line 1 has more than 67108864 bytes"},
		{"F/endless F/two", 1, NULL, "endless: line 1 has more than 67108864 bytes"},
		{"F/turns F/back --rouge", 1, NULL,
	         "line 1: ROUGE-L: 750000 and 750000 words that both texts have"},
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

/* Letters by chance, and a blank among eight of them. */
static void write_letters(const char *name, size_t n, size_t line, uint32_t seed)
{
	char *text = malloc(n);
	assert_non_null(text);
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = (i + 1) % line == 0 ? '\n'
		          : seed >> 29        ? (char)('a' + (seed >> 20) % 26)
		                              : ' ';
	}
	write_text(name, text, n);
	free(text);
}

static double peak_of_score(void)
{
	char texts[256], references[256];
	snprintf(texts, sizeof texts, "%s/texts", folder);
	snprintf(references, sizeof references, "%s/references", folder);
	char *argv[] = {"hecate", "score", texts, references, NULL};
	return peak_of(argv);
}

/* chrF has 8 bytes a character, BLEU less, and a line is held as it was read. */
static void a_long_line_takes_a_few_times_its_bytes(void **state)
{
	(void)state;
	if (SANITIZED)
		skip();
	const size_t n = 4000000;
	write_letters("texts", n, n, 1);
	write_letters("references", n, n, 2);
	const double peak = peak_of_score(), most = BASE + 14 * 2 * (double)n;
	if (!(peak <= most))
		fail_msg("%.0f MB, more than %.0f", peak / MEGABYTE, most / MEGABYTE);
}

/* Files that are read whole would be 20 MB. */
static void files_of_many_lines_are_not_held_in_memory(void **state)
{
	(void)state;
	if (SANITIZED)
		skip();
	write_letters("texts", 10000000, 500, 1);
	write_letters("references", 10000000, 500, 2);
	const double peak = peak_of_score();
	if (!(peak <= BASE))
		fail_msg("%.1f MB", peak / MEGABYTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invocation_ends_as_it_should),
		cmocka_unit_test(a_long_line_takes_a_few_times_its_bytes),
		cmocka_unit_test(files_of_many_lines_are_not_held_in_memory),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
