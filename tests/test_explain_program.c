/* test_explain_program.c — the program around the numbers: its errors and exit codes, and what people
 * see on a terminal and elsewhere. */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include <hecate/width.h>

#include "program_run.h"

#define MANUAL_MOST (1 << 18) /* bytes of a page */

static void an_invocation_ends_as_it_should(void **state)
{
	(void)state;
	static const struct {
		const char *arguments;
		int code;
		const char *out, *err; /* part of it; NULL: nothing at all */
	} table[] = {
		{"explain two-by-two-as-printed --json", 1, NULL,
	         "X has shape [1, 3] and W_Q has shape [2, 2]"},
		{"explain two-by-two-as-printed", 1, "[ 1  2  3 ]", "[1, 3]"},
		{"explain five-by-two --json", 1, NULL, "5 does not divide by 2"},
		{"explain five-by-two", 1, NULL, "5 does not divide by 2"},
		{"explain two-heads --heads 3", 1, NULL, "4 does not divide by 3"},
		{"explain four-words --heads 3 --json", 1, NULL, "4 does not divide by 3"},
		{"explain base --heads 4096", 1, NULL, "512 does not divide by 4096"},
		{"explain two-heads --heads 0", 2, NULL, "--heads wants a whole number from 1"},
		{"explain two-heads --heads 2x", 2, NULL, "not '2x'"},
		{"explain two-heads --heads", 2, NULL, "--heads wants a value"},
		{"explain two-heads --seed -1", 2, NULL, "--seed wants"},
		{"explain two-heads --seed 18446744073709551616", 2, NULL, "--seed wants"},
		{"explain two-heads --json=yes", 2, NULL, "--json takes no value"},
		{"explain two-heads --colour", 2, NULL, "there is no option --colour"},
		{"explain two-heads four-words", 2, NULL, "give one example"},
		{"explain", 2, NULL, "give one example"},
		{"explain nothing", 2, NULL, "there is no example 'nothing'"},
		{"explain two-heads --file x", 2, NULL, "not both"},
		{"explain --file x --heads 2", 2, NULL, "stands in the file"},
		{"explain positions --causal", 2, NULL, "no heads and no mask"},
		{"explain positions --seed 1", 2, NULL, "nothing random"},
		{"explain four-words --seed 1", 2, NULL, "no random weights"},
		{"explain --file x --seed 1", 2, NULL, "--seed has no use"},
		{"explain positions --backward", 2, NULL, "positions has no gradient"},
		{"explain rotary --backward", 2, NULL, "rotary has no gradient"},
		{"explain rotary --heads 2", 2, NULL, "rotary has no heads"},
		{"explain --list --backward", 2, NULL, "--list stands alone"},
		{"explain two-by-two-as-printed --backward --json", 1, NULL,
	         "X has shape [1, 3] and W_Q has shape [2, 2]"},
		{"explain --list --heads 2", 2, NULL, "--list stands alone"},
		{"explain --list --seed 2", 2, NULL, "--list stands alone"},
		{"explain base --heads 64", 0, "… and 32 more heads", NULL},
		{"help explain more", 2, NULL, "'more'"},
		{"--version more", 2, NULL, "'more'"},
		{"explain --list two-heads", 2, NULL, "--list stands alone"},
		{"explain --list", 0, "five-by-two-free", NULL},
		{"explain --list --json", 0, "\"name\": \"five-by-two-free\"", NULL},
		{"explain --help", 0, "hecate explain two-by-two", NULL},
		{"explain -- two-by-two", 0, "W_K", NULL},
		{"help", 0, "explain", NULL},
		{"--help", 0, "explain", NULL},
		{"help explain", 0, "--causal", NULL},
		{"help nothing", 2, NULL, "there is no command 'nothing'"},
		{"nothing", 2, NULL, "there is no command 'nothing'"},
		{"", 2, NULL, "Usage: hecate COMMAND"},
		{"--version", 0, "compiler", NULL},
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		result r = run(table[i].arguments);
		bool out = table[i].out ? strstr(r.out, table[i].out) != NULL : *r.out == '\0';
		bool err = table[i].err ? strstr(r.err, table[i].err) != NULL : *r.err == '\0';
		if (r.code != table[i].code || !out || !err)
			fail_msg("hecate %s: exit %d (expected %d)\nout: %.300s\nerr: %.300s",
			         table[i].arguments, r.code, table[i].code, r.out, r.err);
		done(&r);
	}
}

/* The words of an example are about the example, not about what options made of it. */
static void words_of_an_example_go_when_it_is_changed(void **state)
{
	(void)state;
	static const char summary[] = "two heads of d_k = d_v = 2", note[] = "another --seed";
	result r = run("explain two-heads --seed 3");
	assert_non_null(strstr(r.out, summary));
	assert_non_null(strstr(r.out, note));
	done(&r);
	static const char *const changed[] = {"explain two-heads --heads 4",
	                                      "explain two-heads --causal"};
	for (size_t i = 0; i < 2; i++) {
		r = run(changed[i]);
		assert_int_equal(r.code, 0);
		assert_null(strstr(r.out, summary));
		assert_null(strstr(r.out, note));
		done(&r);
	}
}

/* Nobody need know where an example was published before: its words say what was printed there. */
static void no_example_speaks_of_something_unseen(void **state)
{
	(void)state;
	result list = run("explain --list");
	int seen = 0;
	for (char *save = NULL, *line = strtok_r(list.out, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save), seen++) {
		char arguments[96];
		snprintf(arguments, sizeof arguments, "explain %.*s", (int)strcspn(line, " "),
		         line);
		result r = run(arguments);
		if (strstr(line, "utorial") || strstr(r.out, "utorial") || strstr(r.err, "utorial"))
			fail_msg("%s speaks of a tutorial", arguments);
		done(&r);
	}
	assert_true(seen >= 11);
	done(&list);
}

static void the_version_names_levels_and_parts(void **state)
{
	(void)state;
	result r = run_with("HECATE_ISA=ref HECATE_THREADS=1", "--version");
	assert_int_equal(r.code, 0);
	assert_int_equal(strncmp(r.out, "hecate 0.", 9), 0);
	assert_non_null(strstr(r.out, "jansson"));
	assert_non_null(strstr(r.out, "ref (yes)"));
	assert_non_null(strstr(r.out, "in use    ref, 1 thread\n"));
	done(&r);
	r = run_with("HECATE_ISA=none-such", "--version");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "none-such"));
	done(&r);
	r = run_with("HECATE_ISA=none-such", "explain two-heads");
	assert_int_equal(r.code, 1);
	assert_string_equal(r.out, "");
	assert_non_null(strstr(r.err, "none-such"));
	done(&r);
}

static void a_result_that_cannot_be_written_ends_with_1(void **state)
{
	(void)state;
	assert_int_equal(shell("'%s' explain two-heads >/dev/full 2>/dev/null", program()), 1);
	assert_int_equal(shell("'%s' --version >/dev/full 2>/dev/null", program()), 1);
	assert_int_equal(shell("'%s' explain two-heads >&- 2>/dev/null", program()), 1);
	assert_int_equal(shell("('%s' explain base --json 2>%s/err; echo $? >%s/code) | head -c 1 "
	                       ">/dev/null",
	                       program(), folder, folder),
	                 0);
	char *code = read_all("code");
	assert_string_equal(code, "1\n");
	free(code);
	char *said = read_all("err"); /* who closed the pipe has seen enough: no message */
	assert_string_equal(said, "");
	free(said);
}

/* ---- what people see ---- */

static void no_line_is_wider_than_the_window(void **state)
{
	(void)state;
	static const char *const names[] = {"pronoun",
	                                    "two-heads --backward",
	                                    "four-words --backward",
	                                    "two-by-two",
	                                    "two-by-two --backward",
	                                    "five-by-two-free",
	                                    "ten-by-128 --backward",
	                                    "base",
	                                    "base --backward",
	                                    "positions",
	                                    "rotary"};
	static const int columns[] = {40, 60, 80, 120}; /* 60 is the least */
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
			char prefix[32], arguments[64];
			snprintf(prefix, sizeof prefix, "COLUMNS=%d", columns[c]);
			snprintf(arguments, sizeof arguments, "explain %s", names[i]);
			result r = run_with(prefix, arguments);
			assert_int_equal(r.code, 0);
			assert_null(strchr(r.out, '\x1b'));
			for (char *line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n")) {
				size_t length = strlen(line);
				if (hec_display_width(line, length) >
				    (columns[c] < 60 ? 60 : columns[c]))
					fail_msg("%s at %d: %s", names[i], columns[c], line);
				if (length > 0 && line[length - 1] == ' ')
					fail_msg("%s: space at the end of '%s'", names[i], line);
			}
			done(&r);
		}
}

/* Chinese tokens of one and two characters: the bracket after each stands in the same column. */
static void chinese_tokens_line_up(void **state)
{
	(void)state;
	static const char *const words[] = {"思考", "编程", "很", "有趣"};
	static const char *const brackets[] = {"⎡", "⎢", "⎢", "⎣"};
	result r = run("explain four-words");
	assert_non_null(strstr(r.out, "NaN")); /* what happens without the maximum */
	int found = 0;
	for (char *line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n"))
		for (int i = 0; i < 4; i++) {
			char lead[16];
			snprintf(lead, sizeof lead, "  %s ", words[i]);
			char *bracket = strstr(line, brackets[i]);
			if (strncmp(line, lead, strlen(lead)) != 0 || !bracket)
				continue;
			assert_int_equal(hec_display_width(line, (size_t)(bracket - line)), 7);
			found++;
		}
	assert_int_equal(found, 4 * 6); /* X, Q, scores, scaled, weights, output begin a line */
	done(&r);
}

/* Runs the program on a pseudo-terminal; its output, up to size − 1 bytes. */
static void run_on_terminal(const char *const *environment, char *out, size_t size)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(slave, STDOUT_FILENO);
		unsetenv("NO_COLOR");
		unsetenv("COLORTERM");
		setenv("TERM", "xterm", 1);
		for (; *environment; environment += 2)
			setenv(environment[0], environment[1], 1);
		execl(program(), program(), "explain", "two-by-two", (char *)NULL);
		_exit(127);
	}
	close(slave); /* so that reading ends with the child */
	size_t used = 0;
	for (ssize_t n; used + 1 < size && (n = read(master, out + used, size - 1 - used)) > 0;)
		used += (size_t)n;
	out[used] = '\0';
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	close(master);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_non_null(strstr(out, "W_K"));
}

static void colour_is_for_terminals_that_want_it(void **state)
{
	(void)state;
	static char out[1 << 16];
	run_on_terminal((const char *const[]){NULL}, out, sizeof out);
	assert_non_null(strstr(out, "\x1b[48;5;"));
	run_on_terminal((const char *const[]){"COLORTERM", "truecolor", NULL}, out, sizeof out);
	assert_non_null(strstr(out, "\x1b[48;2;"));
	run_on_terminal((const char *const[]){"NO_COLOR", "1", NULL}, out, sizeof out);
	assert_null(strchr(out, '\x1b'));
	run_on_terminal((const char *const[]){"TERM", "dumb", NULL}, out, sizeof out);
	assert_null(strchr(out, '\x1b'));
}

/* Runs a command line of the manual as a reader would, from the top of the project. */
static char *run_line(const char *line)
{
	char directory[512];
	snprintf(directory, sizeof directory, "%s", program());
	char *slash = strrchr(directory, '/');
	assert_non_null(slash);
	*slash = '\0';
	shell("cd '%s/..' && export PATH='%s':\"$PATH\" HECATE_ISA=ref && { %s; } >%s/all 2>&1",
	      TESTS_DIR, directory, line, folder);
	return read_all("all");
}

static void read_manual(const char *page, char *manual, size_t size)
{
	char path[512];
	snprintf(path, sizeof path, TESTS_DIR "/../%s", page);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	manual[fread(manual, 1, size - 1, f)] = '\0';
	fclose(f);
}

/* Each block of C in docs/attention.md is a whole program. */
static void the_programs_of_the_manual_compile(void **state)
{
	(void)state;
	static const char begin[] = "```c\n", end[] = "```";
	static char manual[MANUAL_MOST];
	int programs = 0;
	read_manual("docs/attention.md", manual, sizeof manual);
	for (char *block = manual; (block = strstr(block, begin)); programs++) {
		block += strlen(begin);
		char *stop = strstr(block, end);
		assert_non_null(stop);
		*stop = '\0';
		write_file("manual.c", block);
		if (shell("'%s' -std=c11 -Wall -Wextra -Werror -fsyntax-only -I'%s/../include' "
		          "%s/manual.c",
		          HECATE_COMPILER, TESTS_DIR, folder) != 0)
			fail_msg("does not compile:\n%s", block);
		block = stop + 1;
	}
	assert_int_equal(programs, 2);
}

/* Each block "$ command" of a page: what follows is printed by the command, in this order, where a line […]
 * leaves something out. Returns how many pieces of output there are. */
static int check_page(const char *page)
{
	static const char begin[] = "```text\n$ ", gap[] = "[…]\n", end[] = "```";
	static char manual[MANUAL_MOST];
	read_manual(page, manual, sizeof manual);
	int pieces = 0;
	for (char *block = manual; (block = strstr(block, begin));) {
		char *line = block + strlen(begin), *rest = strchr(line, '\n') + 1;
		char *stop = strstr(rest, end);
		assert_non_null(stop);
		rest[-1] = *stop = '\0';
		char *output = run_line(line), *from = output;
		for (char *piece = rest; *piece; pieces++) {
			char *next = strstr(piece, gap);
			if (next)
				*next = '\0';
			from = strstr(from, piece);
			if (!from)
				fail_msg("%s:\n$ %s\ndoes not print:\n%s\nbut:\n%s", page, line,
				         piece, output);
			piece = next ? next + strlen(gap) : stop;
		}
		free(output);
		block = stop + 1;
	}
	return pieces;
}

static void the_manual_shows_what_the_program_prints(void **state)
{
	(void)state;
	assert_true(check_page("docs/attention.md") > 60);
	assert_true(check_page("README.md") > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invocation_ends_as_it_should),
		cmocka_unit_test(words_of_an_example_go_when_it_is_changed),
		cmocka_unit_test(no_example_speaks_of_something_unseen),
		cmocka_unit_test(the_version_names_levels_and_parts),
		cmocka_unit_test(a_result_that_cannot_be_written_ends_with_1),
		cmocka_unit_test(no_line_is_wider_than_the_window),
		cmocka_unit_test(chinese_tokens_line_up),
		cmocka_unit_test(colour_is_for_terminals_that_want_it),
		cmocka_unit_test(the_manual_shows_what_the_program_prints),
		cmocka_unit_test(the_programs_of_the_manual_compile),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
