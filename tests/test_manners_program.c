/* test_manners_program.c — what people type who have not read the help: a model named in any way, a word with a letter
 * too many, another program's model, a file that begins with a byte order mark. */
#define _XOPEN_SOURCE 600 /* terminals */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "program_run.h"

#define ANSWER "Die Datei konnte nicht geöffnet werden.\n"
#define ASKED "'Please try again later.'"

/* $H: the program, $T: small models, $M: a translator among them; in the folder of the test. */
static result in_shell(const char *line)
{
	int code = shell(
		"cd '%s' && export H='%s' T='%s/golden' && M=$T/decode_text && (%s) >out 2>err",
		folder, program(), TESTS_DIR, line);
	return (result){code, read_all("out"), read_all("err")};
}

static void expect(const char *line, int code, const char *out, const char *err)
{
	result r = in_shell(line);
	if (r.code != code || !strstr(r.out, out) || !strstr(r.err, err))
		fail_msg("%s: %d\n%s%s", line, r.code, r.out, r.err);
	done(&r);
}

static void a_model_is_named_in_any_way(void **state)
{
	(void)state;
	static const char *const ways[] = {"-m \"$M\"", "\"-m$M\"", "-m=\"$M\"", "--model \"$M\"",
	                                   "--model=\"$M\""};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		char line[256];
		snprintf(line, sizeof line, "\"$H\" translate %s " ASKED, ways[i]);
		expect(line, 0, ANSWER, "");
		snprintf(line, sizeof line, "\"$H\" info %s --json", ways[i]);
		expect(line, 0, "\"parameters\"", "");
	}
	expect("HECATE_MODEL=\"$M\" \"$H\" translate " ASKED, 0, ANSWER, "");
	expect("\"$H\" info \"$M\" -m \"$M\"", 2, "", "one model");
	expect("\"$H\" translate -m", 2, "", "-m wants a value");
	expect("\"$H\" translate --help", 0, "-m, --model DIR", "");
	expect("\"$H\" help", 0, "HECATE_MODEL", "");
}

static void a_word_that_is_nearly_right_is_answered_with_the_right_one(void **state)
{
	(void)state;
	static const struct {
		const char *line, *said;
	} rows[] = {
		{"trian", "there is no command 'trian'; did you mean 'train'?"},
		{"transalte x", "did you mean 'translate'?"},
		{"sumarize x", "did you mean 'summarize'?"},
		{"help tokenise", "did you mean 'tokenize'?"},
		{"translate --modle x", "there is no option --modle; did you mean --model?"},
		{"translate --max-token 5", "did you mean --max-tokens?"},
		{"embed --similr x", "did you mean --similar?"},
		{"train --batch-token=5", "did you mean --batch-tokens?"},
		{"train --hlep", "did you mean --help?"},
	};
	static const char *const far[] = {"xyzzy", "translate --frobnicate", "translate -x",
	                                  "translate --", "q"};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char line[256];
		snprintf(line, sizeof line, "\"$H\" %s", rows[i].line);
		expect(line, 2, "", rows[i].said);
	}
	for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
		char line[256];
		snprintf(line, sizeof line, "\"$H\" %s </dev/null", far[i]);
		result r = in_shell(line);
		assert_null(strstr(r.err, "did you mean"));
		done(&r);
	}
}

static void a_model_of_another_program_is_told_as_what_it_is(void **state)
{
	(void)state;
	static const struct {
		const char *make, *name, *said;
	} rows[] = {
		{"printf 'GGUF\\3\\0\\0\\0' >some.file", "some.file", "is a GGUF file"},
		{"mkdir -p gguf && printf GGUF >gguf/model.gguf", "gguf", "holds a GGUF file"},
		{"cp \"$M/model.safetensors\" w.safetensors", "w.safetensors",
	         "holds weights alone"},
		{"echo x >m.onnx", "m.onnx", "is an ONNX file"},
		{"echo x >pytorch_model.bin", "pytorch_model.bin", "is a file of PyTorch"},
		{"echo x >plain", "plain", "is a file; Hecate reads a folder"},
		{"mkdir empty", "empty", "has no config.json; Hecate reads"},
		{"mkdir outer && cp -r \"$M\" outer/inner", "outer", "in the folder 'inner'"},
		{"mkdir -p exported/onnx && touch exported/config.json exported/onnx/model.onnx",
	         "exported", "is an export for ONNX"},
		{"mkdir ov && touch ov/config.json ov/openvino_model.xml", "ov",
	         "is an export for OpenVINO"},
		{"mkdir ct && touch ct/config.json ct/model.bin ct/shared_vocabulary.json", "ct",
	         "is a folder of CTranslate2"},
	};
	static const char *const commands[] = {"translate", "embed",  "classify",
	                                       "generate",  "attend", "info"};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		expect(rows[i].make, 0, "", "");
		for (size_t j = 0; j < sizeof commands / sizeof *commands; j++) {
			char line[256];
			snprintf(line, sizeof line, "\"$H\" %s -m %s %s", commands[j], rows[i].name,
			         strcmp(commands[j], "info") == 0 ? "" : "x");
			expect(line, 1, "", rows[i].said);
		}
	}
	/* Beside weights that Hecate reads an export is no hindrance. */
	expect("cp -r \"$M\" both && mkdir both/onnx && touch both/onnx/model.onnx && "
	       "\"$H\" translate -m both " ASKED,
	       0, ANSWER, "");
	expect("\"$H\" translate -m nowhere x", 1, "", "nowhere: could not be opened");
}

static void a_byte_order_mark_is_no_text(void **state)
{
	(void)state;
	expect("printf '\\357\\273\\277Please try again later.\\n' | \"$H\" translate -m \"$M\"", 0,
	       ANSWER, "");
	expect("printf 'a\\nb\\n' >plain.txt; printf '\\357\\273\\277a\\nb\\n' >marked.txt; "
	       "\"$H\" tokenize -m \"$M\" --json <plain.txt >one; "
	       "\"$H\" tokenize -m \"$M\" --json <marked.txt >two; cmp one two",
	       0, "", "");
	expect("\"$H\" score plain.txt marked.txt", 0, "100", "");
	/* In the middle of a text it is one. */
	expect("printf 'a\\n\\357\\273\\277b\\n' >within.txt; "
	       "\"$H\" tokenize -m \"$M\" --json <within.txt >three; cmp -s one three",
	       1, "", "");
}

/* Ends by Ctrl-D, as a person would; whoever reads from a pipe is told nothing. */
static void who_sits_at_a_terminal_is_told_what_is_awaited(void **state)
{
	(void)state;
	char text[4096] = "", model[512];
	size_t length = 0;
	const int master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0);
	snprintf(model, sizeof model, "%s/golden/decode_text", TESTS_DIR);
	const pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (int fd = 0; fd < 3; fd++)
			dup2(terminal, fd);
		alarm(300); /* it may not wait for ever */
		execl(program(), program(), "tokenize", "-m", model, (char *)NULL);
		_exit(97);
	}
	close(terminal);
	assert_int_equal(write(master, "please\n\004", 8), 8);
	for (ssize_t n; length < sizeof text - 1 &&
	                (n = read(master, text + length, sizeof text - 1 - length)) > 0;)
		length += (size_t)n;
	close(master);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_non_null(strstr(text, "waits for lines of text; Ctrl-D ends them"));
	result r = in_shell("echo please | \"$H\" tokenize -m \"$M\"");
	assert_string_equal(r.err, "");
	done(&r);
}

#define COMMANDS_MOST 32

/* The names of all commands, from `hecate help`. */
static size_t take_commands(char **names)
{
	result r = in_shell("\"$H\" help | sed -n '/^Commands:/,/^$/s/^  \\([a-z]*\\) .*/\\1/p'");
	size_t n = 0;
	for (char *word = strtok(r.out, "\n"); word && n < COMMANDS_MOST; word = strtok(NULL, "\n"))
		names[n++] = strdup(word);
	done(&r);
	assert_true(n >= 16);
	return n;
}

/* Calls of the library begin their messages with their own name, which is often the command's. */
static int errors_that_repeat(const char *command, char *err, char **names, size_t count)
{
	int errors = 0;
	for (char *line = strtok(err, "\n"); line; line = strtok(NULL, "\n")) {
		char begin[64], again[64];
		snprintf(begin, sizeof begin, "hecate %s: ", command);
		if (strncmp(line, begin, strlen(begin)) != 0)
			continue;
		errors++;
		for (size_t i = 0; i < count; i++) {
			snprintf(again, sizeof again, ": %s: ", names[i]);
			if (strstr(line, again))
				fail_msg("%s", line);
		}
	}
	return errors;
}

static void an_error_names_the_command_once(void **state)
{
	(void)state;
	static const char *const models[] = {"decode_text",           "answer_fill/bert_answer",
	                                     "answer_fill/bert_fill", "models/whisper",
	                                     "models/gpt2",           "nowhere"};
	static const char *const words[] = {"'the cat'", "\"$(printf '\\377')\"", "--xyzzy",
	                                    "/nowhere/file"};
	char *names[COMMANDS_MOST];
	const size_t count = take_commands(names);
	for (size_t c = 0; c < count; c++) {
		int errors = 0;
		for (size_t i = 0; i < sizeof models / sizeof *models; i++)
			for (size_t j = 0; j < sizeof words / sizeof *words; j++) {
				char line[256];
				snprintf(line, sizeof line,
				         "\"$H\" %s -m \"$T/%s\" %s </dev/null; true", names[c],
				         models[i], words[j]);
				result r = in_shell(line);
				errors += errors_that_repeat(names[c], r.err, names, count);
				done(&r);
			}
		if (errors < 4)
			fail_msg("hecate %s: only %d errors were provoked", names[c], errors);
	}
	for (size_t c = 0; c < count; c++)
		free(names[c]);
	/* A file may be called like a command. */
	result r = in_shell(
		"\"$H\" tokenize -m \"$M\" --file 'translate: none' 'none: train: x'; true");
	if (!strstr(r.err, "translate: none"))
		fail_msg("%s", r.err);
	done(&r);
}

static void the_folders_that_a_run_lies_in_are_made(void **state)
{
	(void)state;
	expect("for i in 1 2 3 4 5 6 7 8 9; do echo \"$i $i\"; done >lines.txt; \"$H\" train "
	       "--task lm "
	       "--train lines.txt --out a/b/c/run --width 16 --decoder-layers 1 --vocab 280 "
	       "--steps 1 "
	       "--quiet && test -s a/b/c/run/config.json",
	       0, "", "");
	expect("\"$H\" train --task lm --train lines.txt --out plain.txt/run --steps 1", 1, "",
	       "plain.txt/run: the folder could not be made");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_is_named_in_any_way),
		cmocka_unit_test(a_word_that_is_nearly_right_is_answered_with_the_right_one),
		cmocka_unit_test(a_model_of_another_program_is_told_as_what_it_is),
		cmocka_unit_test(a_byte_order_mark_is_no_text),
		cmocka_unit_test(who_sits_at_a_terminal_is_told_what_is_awaited),
		cmocka_unit_test(an_error_names_the_command_once),
		cmocka_unit_test(the_folders_that_a_run_lies_in_are_made),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
