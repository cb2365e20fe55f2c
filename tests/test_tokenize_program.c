/* test_tokenize_program.c — `hecate tokenize` as a user runs it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <jansson.h>

#include "program_run.h"

/* Runs with the words, of which %s is the temporary folder. */
static result run_in(const char *words)
{
	char line[1024];
	snprintf(line, sizeof line, words, folder, folder, folder);
	return run(line);
}

static void write_often(const char *name, const char *line)
{
	char text[8192] = "";
	for (int i = 0; i < 50; i++)
		strcat(text, line);
	write_file(name, text);
}

static int start(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	write_often("a", "the cat sat on the mat\nthe dog didn't\n");
	write_often("b", "die Katze saß auf der Matte\nder große Hund nicht\n");
	result r = run_in("tokenize --train %s/a %s/b --vocab 300 --out %s/model");
	int code = r.code;
	done(&r);
	return code;
}

static void a_line_of_json_for_each_text(void **state)
{
	(void)state;
	result r = run_in("tokenize -m %s/model --json 'the große cat' ''");
	assert_int_equal(r.code, 0);
	char *second = strchr(r.out, '\n');
	assert_non_null(second);
	*second++ = '\0';
	json_t *line = json_loads(r.out, 0, NULL);
	json_t *ids = json_object_get(line, "ids"), *tokens = json_object_get(line, "tokens");
	json_t *offsets = json_object_get(line, "offsets");
	size_t n = json_array_size(ids);
	assert_true(n > 1);
	assert_int_equal(json_array_size(tokens), n);
	assert_int_equal(json_array_size(offsets), n);
	assert_string_equal(json_string_value(json_array_get(tokens, n - 1)), "</s>");
	assert_int_equal(json_integer_value(json_array_get(json_array_get(offsets, n - 2), 1)),
	                 strlen("the große cat"));
	json_decref(line);
	assert_string_equal(
		second, "{\"input\":2,\"ids\":[0],\"tokens\":[\"</s>\"],\"offsets\":[[0,0]]}\n");
	done(&r);
}

static void ids_become_text_again(void **state)
{
	(void)state;
	char line[1024];
	snprintf(
		line, sizeof line,
		"tokenize -m %s/model --no-special \"  die große Katze  \" --json | "
		"sed 's/.*\"ids\":\\[\\([0-9,]*\\)\\].*/\\1/' | '%s' tokenize -m %s/model --decode",
		folder, program(), folder);
	char command[2048];
	snprintf(command, sizeof command, "'%s' %s >%s/out 2>%s/err", program(), line, folder,
	         folder);
	assert_int_equal(system(command), 0);
	char *out = read_all("out");
	assert_string_equal(out, "  die große Katze  \n");
	free(out);
}

static void an_invocation_ends_as_it_should(void **state)
{
	(void)state;
	static const struct {
		const char *words;
		int code;
		const char *says;
	} cases[] = {
		{"tokenize --train %s/a", 2, "--out"},
		{"tokenize --train %s/a --out %s/x --byte-level --unicode", 2, "--unicode"},
		{"tokenize --train %s/a --out %s/x --vocab 10", 2, "--vocab"},
		{"tokenize --train %s/none --out %s/x", 1, "none"},
		{"tokenize -m %s/none text", 1, "none"},
		{"tokenize -m %s/model --decode 99999", 1, "99999"},
		{"tokenize -m %s/model --decode 3,-5", 1, "'-5' at byte 2 is not an id"},
		{"tokenize -m %s/model --decode abc", 1, "'abc' at byte 0 is not an id"},
		{"tokenize -m %s/model --decode 1234567890", 1, "is not an id"},
		{"tokenize -m %s/model --decode '[3, 4]' ''", 0, NULL},
		{"tokenize --train %s/a --out %s/model", 1, "is there already"},
		{"tokenize -m %s/model \"$(printf 'a\\377')\"", 1, "byte 1 of 2"},
		{"tokenize -m %s/model --lossy \"$(printf 'a\\377')\"", 0, NULL},
		{"tokenize -m %s/model/tokenizer.json text", 0, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		result r = run_in(cases[i].words);
		if (r.code != cases[i].code || (cases[i].says && !strstr(r.err, cases[i].says)))
			fail_msg("%s: %d: %s", cases[i].words, r.code, r.err);
		done(&r);
	}
}

static void the_table_names_each_token(void **state)
{
	(void)state;
	result r = run_in("tokenize -m %s/model 'the cat'");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.out, "Ġthe"));
	assert_non_null(strstr(r.out, "</s>"));
	assert_non_null(strstr(r.out, "7 bytes"));
	done(&r);
	/* A zero byte is a character like others. */
	char command[2048];
	snprintf(command, sizeof command,
	         "printf 'a\\000bc\\n' | '%s' tokenize -m %s/model >%s/out", program(), folder,
	         folder);
	assert_int_equal(system(command), 0);
	char *out = read_all("out");
	assert_non_null(strstr(out, "4 bytes"));
	free(out);
}

static void windows_and_padding(void **state)
{
	(void)state;
	result r =
		run_in("tokenize -m %s/model --json --no-special --max-length 3 --stride 1 --pad 4 "
	               "'the cat sat on the mat the dog'");
	assert_int_equal(r.code, 0);
	int lines = 0;
	for (const char *c = r.out; *c; c++)
		lines += *c == '\n';
	assert_true(lines >= 2);
	json_t *line = json_loads(r.out, JSON_DISABLE_EOF_CHECK, NULL);
	assert_int_equal(json_array_size(json_object_get(line, "ids")), 4);
	json_decref(line);
	done(&r);
	r = run_in("tokenize -m %s/model --stride 1 x");
	assert_int_equal(r.code, 2);
	done(&r);
}

static void a_conversation_by_its_template(void **state)
{
	(void)state;
	write_file("model/chat_template.jinja",
	           "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
	           "{{ '<assistant>' if add_generation_prompt }}\n");
	write_file("chat.json", "[{\"role\": \"user\", \"content\": \"the cat\"}]");
	result r = run_in("tokenize -m %s/model --chat %s/chat.json --prompt");
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, "<user>the cat<assistant>");
	done(&r);
	r = run_in("tokenize -m %s/model --prompt x");
	assert_int_equal(r.code, 2);
	done(&r);
}

/* What stands in files shall not steer the terminal: not as text, and not as JSON. */
static void on_a_terminal_texts_are_clean(void **state)
{
	(void)state;
	if (shell("command -v script >/dev/null") != 0)
		skip(); /* nothing else here makes a terminal */
	static const char *const ways[] = {"", "--json"};
	if (shell("mkdir -p %s/steer", folder) != 0)
		fail();
	write_file("steer/tokenizer.json",
	           "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{\"a\":0,"
	           "\"x\\u001b]0;y\\u0007\\u009b2J\\u202eé\":1}}}");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(shell("script -qec \"'%s' tokenize -m %s/steer --decode %s 1\" "
		                       "/dev/null </dev/null >%s/seen 2>&1",
		                       program(), folder, ways[i], folder),
		                 0);
		char *seen = read_all("seen");
		assert_non_null(strchr(seen, 'x'));
		assert_null(strchr(seen, '\x1b'));
		assert_null(strstr(seen, "\xc2\x9b"));
		assert_null(strstr(seen, "\xe2\x80\xae"));
		free(seen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_json_for_each_text),
		cmocka_unit_test(windows_and_padding),
		cmocka_unit_test(a_conversation_by_its_template),
		cmocka_unit_test(ids_become_text_again),
		cmocka_unit_test(an_invocation_ends_as_it_should),
		cmocka_unit_test(the_table_names_each_token),
		cmocka_unit_test(on_a_terminal_texts_are_clean),
	};
	return cmocka_run_group_tests(tests, start, remove_folder);
}
