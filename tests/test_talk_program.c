/* test_talk_program.c — `hecate generate --chat` on a terminal: what is typed, what is sent, what is kept. */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include "support/models.h"

#include <sys/stat.h>

#include <hecate/width.h>

#include "cli/io/wrap.h"
#include "look_models.h"
#include "terminal_run.h"

#define FOUR "generate -m %F/decoder --chat --max-tokens 4"

static int make_talkers(void **state)
{
	if (make_models(state) != 0)
		return -1;
	/* A conversation of two turns is more than it takes. */
	write_file(
		"decoder/chat_template.jinja",
		"{% if messages|length > 4 %}{{ raise_exception('after ' ~ messages[0].content ~ "
		"' and ' ~ messages[2].content) }}{% endif %}{{ messages[-1].content }}");
	return 0;
}

/* What the terminal shows, for free(); \004 is Ctrl-D. */
static char *talk(const char *line, const char *typed)
{
	const run_call call = {.line = line, .input = typed, .on = TALKING};
	size_t length;
	int code;
	char *text = run_program(&call, &length, &code), shown[SHOWN_BYTES];
	if (code != 0)
		fail_msg("%s: %d: %s", typed, code, visible(text, shown));
	return text;
}

/* The roles of a conversation that was saved, "su…" for the system, the user and so on, and what stands last. */
static void expect_saved(const char *name, const char *roles, const char *words)
{
	char *text = read_all(name), found[16] = "";
	json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_true(json_is_array(all) && json_array_size(all) < sizeof found);
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		found[i] = *json_string_value(json_object_get(one, "role"));
		found[i + 1] = '\0';
		if (words && found[i] != 'a')
			assert_string_equal(json_string_value(json_object_get(one, "content")),
			                    words);
	}
	assert_string_equal(found, roles);
	json_decref(all);
	free(text);
}

static void ctrl_d_ends_a_conversation_and_an_empty_line_does_not(void **state)
{
	(void)state;
	free(talk(FOUR, "\nthe cat\n\n\nthe cat\n/save %F/saved\n\004"));
	expect_saved("saved", "uaua", "the cat");
	/* What is said next comes after what was said and answered before; where it fails, that stays. */
	char *text = talk(FOUR, "the cat\nthe dog\nthe mat\n/save %F/saved\n\004");
	assert_non_null(strstr(text, "after the cat and the dog"));
	expect_saved("saved", "uaua", NULL);
	free(text);
}

static void a_word_with_a_slash_steers_and_two_slashes_send_one(void **state)
{
	(void)state;
	char *text = talk(FOUR, "/help\n/hlep\n/xyzzy\n/\n//etc is full\n/save %F/saved\n\004");
	static const char *const said[] = {"/reset ",
	                                   "/system TEXT ",
	                                   "/save FILE ",
	                                   "Ctrl-D ",
	                                   "there is no /hlep: did you mean /help;",
	                                   "there is no /xyzzy; ",
	                                   "there is no /; "};
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		assert_non_null(strstr(text, said[i]));
	free(text);
	expect_saved("saved", "ua", "/etc is full");
}

static void the_system_and_the_past_can_be_changed(void **state)
{
	(void)state;
	free(talk(FOUR " --system first",
	          "/save %F/a\n/system  x \nx\n/save %F/b\n/reset\n/save %F/c\n/system\nx\n"
	          "/save %F/d\n/system x\n/save  %F/e \n\004"));
	expect_saved("a", "s", "first");
	expect_saved("b", "sua", "x");
	expect_saved("c", "s", "x");
	expect_saved("d", "ua", "x");
	expect_saved("e", "sua", "x");
}

static void a_conversation_is_saved_whole_or_not_at_all(void **state)
{
	(void)state;
	struct stat info;
	write_file("old", "old");
	assert_int_equal(shell("mkdir '%s/folder'", folder), 0);
	char *text = talk(FOUR " --lossy",
	                  "the \"cat\" \xe7\x8c\xab \n/save\n/save %F/\n/save /dev/null\n"
	                  "/save %F/folder\n/save %F/none/x\n/save %F/old\n\004");
	static const char *const said[] = {
		"give the file's name", "/dev/null is not a file", "/folder is not a file",
		"/none/x could not be written: No such file", "/old: 2 messages"};
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		if (!strstr(text, said[i]))
			fail_msg("not said: %s", said[i]);
	free(text);
	assert_true(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
	expect_saved("old", "ua", "the \"cat\" \xe7\x8c\xab ");
	assert_int_equal(shell("ls -A '%s' | grep -q '[.]new$'", folder), 1);
	char line[256];
	snprintf(line, sizeof line, "tokenize -m %s/decoder --chat %s/old", folder, folder);
	result r = run(line);
	assert_int_equal(r.code, 0);
	done(&r);
}

/* ---- lines ---- */

/* The text in pieces of so many bytes, each of whole characters, in lines of so many columns; for free(). */
static char *wrapped(const char *text, int columns, size_t piece)
{
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);
	assert_non_null(f);
	wrap w = {.out = f, .columns = columns};
	for (size_t i = 0, n; text[i]; i += n) {
		for (n = 0; text[i + n] && (n < piece || (text[i + n] & 0xC0) == 0x80);)
			n++;
		wrap_text(&w, text + i, n);
	}
	wrap_end(&w);
	assert_int_equal(fclose(f), 0);
	return out;
}

static void lines_are_cut_at_words(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int columns;
		const char *want;
	} rows[] = {
		{"one two three", 7, "one two\nthree"},
		{"one two three", 8, "one two\nthree"},
		{"one two three", 13, "one two three"},
		{"one\n\ntwo  three", 40, "one\n\ntwo  three"},
		{"  indented  \nline", 10, "  indented\nline"},
		{"abcdefghij kl", 4, "abcd\nefgh\nij\nkl"},
		{"a 思考编程 b", 5, "a 思\n考编\n程 b"},
		{"思考 cafe\xcc\x81 x", 9, "思考 cafe\xcc\x81\nx"},
		{"a\tb", 40, "a       b"},
		{"a\x1b[31mb \x7f", 40, "a\xef\xbf\xbd[31mb \xef\xbf\xbd"},
		{"one two three", 0, "one two three"},
		{"a\x1b[31mb ", 0, "a\x1b[31mb "},
		{"", 10, ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t piece = 1; piece < 16; piece += 7) {
			char *got = wrapped(rows[i].text, rows[i].columns, piece);
			assert_string_equal(got, rows[i].want);
			free(got);
		}
}

/* What is longer than the room for a word is cut, and no byte of it is lost. */
static void a_word_of_any_length_comes_out_whole(void **state)
{
	(void)state;
	char *text = malloc(3 * 5000 + 1), *got;
	for (int i = 0; i < 5000; i++)
		memcpy(text + 3 * i, "e\xcc\x81", 3);
	text[3 * 5000] = '\0';
	got = wrapped(text, 100000, 64);
	assert_string_equal(got, text);
	free(got);
	free(text);
}

static int widest_line(const char *text)
{
	int widest = 0;
	while (*text) {
		text += strncmp(text, "> ", 2) == 0 ? 2
		                                    : 0; /* where a person's own line would end */
		const size_t n = strcspn(text, "\n");
		const int width = hec_display_width(text, n);
		widest = width > widest ? width : widest;
		text += n + (text[n] == '\n');
	}
	return widest;
}

static void remove_spaces(char *text)
{
	char *to = text;
	for (; *text; text++)
		if (*text != ' ' && *text != '\n')
			*to++ = *text;
	*to = '\0';
}

static void an_answer_is_wrapped_at_the_width_of_the_terminal(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"generate -m %F/decoder --chat --max-tokens 60 --min-tokens 60 --temperature 1.5 "
		"--seed 3",
		"generate -m %F/decoder --chat --max-tokens 60 --min-tokens 60 --temperature 1.5 "
		"--seed 3 the"};
	for (int i = 0; i < 2; i++) {
		setenv("COLUMNS", "1000", 1);
		char *wide = talk(lines[i], "the\n\004"), *hello = strchr(wide, '\n') + 1;
		setenv("COLUMNS", "24", 1);
		char *narrow = talk(lines[i], "the\n\004"), *begins = strchr(narrow, '\n') + 1;
		if (i == 0) /* behind how to end it */
			assert_true(widest_line(hello) > 24 && widest_line(begins) <= 24);
		else
			assert_true(widest_line(narrow) <= 24);
		remove_spaces(wide);
		remove_spaces(narrow);
		assert_string_equal(wide, narrow);
		free(wide);
		free(narrow);
	}
	setenv("COLUMNS", "24", 1);
	char line[256];
	snprintf(line, sizeof line,
	         "generate -m %s/decoder --chat --max-tokens 60 --min-tokens 60 "
	         "--temperature 1.5 --seed 3 --stream the",
	         folder);
	result r = run(line); /* into a file: as it is */
	assert_true(widest_line(r.out) > 24);
	done(&r);
	setenv("COLUMNS", "80", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ctrl_d_ends_a_conversation_and_an_empty_line_does_not),
		cmocka_unit_test(a_word_with_a_slash_steers_and_two_slashes_send_one),
		cmocka_unit_test(the_system_and_the_past_can_be_changed),
		cmocka_unit_test(a_conversation_is_saved_whole_or_not_at_all),
		cmocka_unit_test(lines_are_cut_at_words),
		cmocka_unit_test(a_word_of_any_length_comes_out_whole),
		cmocka_unit_test(an_answer_is_wrapped_at_the_width_of_the_terminal),
	};
	return cmocka_run_group_tests(tests, make_talkers, remove_folder);
}
