/* test_pipelines_program.c — what pipelines want of every command that takes texts: JSON lines, whole files, and results
 * that say which input they belong to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "program_run.h"

#define LABELS "architectures=[\"BertForSequenceClassification\"]"

/* Commands with a small model of tests/golden, $T; two texts; of a second text of each, how it is called. */
static const struct {
	const char *command, *one, *two;
	const char *field, *second, *beside;
} rows[] = {
	{"translate -m $T/decode_text", "Please try again later.", "Please", "text", NULL, NULL},
	{"summarize -m $T/decode_text", "Please try again later.", "Please", "text", NULL, NULL},
	{"generate -m $T/decode_text --max-tokens 3", "Please try", "again", "text", NULL, NULL},
	{"embed -m $T/decode_text", "Please try", "again", "text", NULL, NULL},
	{"embed -m $T/decode_text --similar Please", "Please try", "again", "text", NULL, NULL},
	{"tokenize -m $T/decode_text", "Please try", "again", "text", NULL, NULL},
	{"fill -m $T/answer_fill/bert_fill --top 2", "the [MASK] runs", "a [MASK]", "text", NULL,
         NULL},
	{"classify -m $T/answer_fill/bert_fill --override '" LABELS "'", "the cat", "a dog", "text",
         NULL, NULL},
	{"classify --pair -m $T/answer_fill/bert_fill --override '" LABELS "'", "the cat", "a dog",
         "text", "text_pair", "runs"},
	{"answer -m $T/answer_fill/bert_answer", "who", "what", "question", "context", "the cat"},
	{"answer -m $T/answer_fill/bert_answer --context context.txt", "who", "what", "question",
         NULL, NULL},
};
#define ROWS (sizeof rows / sizeof *rows)
enum { EMBED_SIMILAR = 4, TOKENIZE = 5, ANSWER = 9, ANSWER_CONTEXT = 10 };

/* By the shell, in the folder, with the program as `hecate` and the small models as $T. */
static result in_shell(const char *format, ...)
{
	char line[4096];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	write_file("command", line);
	const int code = shell("cd '%s' && T='%s/golden' PATH=\"$PWD/bin:$PATH\" COLUMNS=80 "
	                       "sh ./command >out 2>err </dev/null",
	                       folder, TESTS_DIR);
	return (result){code, read_all("out"), read_all("err")};
}

static void expect(result *r, int code, const char *err)
{
	if (r->code != code || (err ? !strstr(r->err, err) : code == 0 && *r->out == '\0'))
		fail_msg("%d, not %d and '%s'\n%s%s", r->code, code, err ? err : "", r->out,
		         r->err);
}

static int make_inputs(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	write_file("context.txt", "the cat sat\n");
	return shell("cd '%s' && mkdir bin && ln -s '%s' bin/hecate", folder, program());
}

/* Files of the two texts: as lines, as JSON lines whose ids are these (NULL: none). */
static void write_inputs(size_t row, const char *id_one, const char *id_two)
{
	const char *texts[] = {rows[row].one, rows[row].two}, *ids[] = {id_one, id_two};
	char lines[512] = "", objects[1024] = "";
	for (int i = 0; i < 2; i++) {
		char *line = lines + strlen(lines), *object = objects + strlen(objects);
		line += sprintf(line, "%s", texts[i]);
		if (rows[row].second)
			line += sprintf(line, "\t%s", rows[row].beside);
		sprintf(line, "\n");
		object += sprintf(object, "{\"more\": [{\"text\": 1}], \"%s\":\"%s\"",
		                  rows[row].field, texts[i]);
		if (rows[row].second)
			object += sprintf(object, ",\"%s\":\"%s\"", rows[row].second,
			                  rows[row].beside);
		if (ids[i])
			object += sprintf(object, ", \"id\" : %s", ids[i]);
		sprintf(object, "}\n");
	}
	write_file("lines", lines);
	write_file("objects", objects);
}

/* A result without what says which input it belongs to. */
static json_t *bare(const char *line, int64_t *number, char id[64], char file[64])
{
	json_t *one = json_loads(
		line, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL,
		NULL);
	assert_non_null(one);
	*number = (int64_t)json_number_value(json_object_get(one, "input"));
	const char *begin = strstr(line, "\"id\":"),
		   *name = json_string_value(json_object_get(one, "file"));
	id[0] = '\0';
	if (json_object_get(one, "id")) {
		const char *end = strpbrk(begin + 6, ",");
		sprintf(id, "%.*s", (int)(end - begin) - 5, begin + 5);
	}
	sprintf(file, "%.60s", name ? name : "");
	json_object_del(one, "input");
	json_object_del(one, "file");
	if (json_is_string(json_object_get(one, "id")) ||
	    json_is_number(json_object_get(one, "id")))
		json_object_del(one, "id");
	return one;
}

/* The results are the same but for their inputs; those of `other` have these. */
static void expect_same(const char *want, const char *other, const char *const ids[2],
                        const int64_t numbers[2], const char *const files[2])
{
	int n = 0;
	while (*want && *other) {
		int64_t number;
		char id[64], file[64];
		json_t *a = bare(want, &number, id, file), *b = bare(other, &number, id, file);
		const int which = number == numbers[0] && strcmp(file, files[0]) == 0 ? 0 : 1;
		if (!json_equal(a, b) || number != numbers[which] || strcmp(id, ids[which]) != 0 ||
		    strcmp(file, files[which]) != 0)
			fail_msg("not input %d, id %s, file %s: %.200s\n%.200s",
			         (int)numbers[which], ids[which], files[which], want, other);
		json_decref(a);
		json_decref(b);
		want = strchr(want, '\n') + 1;
		other = strchr(other, '\n') + 1;
		n++;
	}
	assert_true(*want == *other && n == 2);
}

static const int64_t one_two[] = {1, 2}, ones[] = {1, 1};
static const char *const none[] = {"", ""};

static void json_lines_are_read_as_lines_are(void **state)
{
	(void)state;
	static const char *const ids[] = {"\"a\\u00e9\\\"7\"", "-1.50e+3"};
	for (size_t i = 0; i < ROWS; i++) {
		const char *c = rows[i].command;
		write_inputs(i, ids[0], ids[1]);
		result plain = in_shell("hecate %s <lines", c),
		       same = in_shell("hecate %s --input jsonl <objects", c),
		       json = in_shell("hecate %s --json <lines", c),
		       object = in_shell("hecate %s --json --input jsonl <objects", c);
		expect(&plain, 0, NULL), expect(&same, 0, NULL);
		expect(&json, 0, NULL), expect(&object, 0, NULL);
		assert_string_equal(plain.out, same.out);
		expect_same(json.out, json.out, none, one_two, none);
		expect_same(json.out, object.out, ids, one_two, none);
		done(&plain), done(&same), done(&json), done(&object);
	}
}

static void a_result_names_its_id_as_it_was_written_and_its_file(void **state)
{
	(void)state;
	static const char *const more[] = {"123456789012345678901234567890", "1e400"},
				 *const half[] = {"", "0"}, *const files[] = {"objects", "objects"},
				 *const a_b[] = {"a.txt", "b.txt"};
	for (size_t i = 0; i < ROWS; i++) {
		const char *c = rows[i].command;
		write_inputs(i, more[0], "7");
		result json = in_shell("hecate %s --json <lines", c), r;
		if (i < ANSWER) {
			r = in_shell("hecate %s --json --input jsonl --file objects", c);
			const char *const ids[] = {more[0], "7"};
			expect_same(json.out, r.out, ids, one_two, files);
			done(&r);
			r = in_shell(
				"head -n 1 lines >a.txt; tail -n 1 lines >b.txt; hecate %s --json "
				"--input lines --file a.txt b.txt",
				c);
			expect_same(json.out, r.out, none, ones, a_b);
			done(&r);
		}
		write_inputs(i, NULL, "0");
		r = in_shell("hecate %s --json --input jsonl <objects", c);
		expect_same(json.out, r.out, half, one_two, none);
		done(&r), done(&json);
	}
	/* What a double does not hold is a number, too. */
	write_inputs(TOKENIZE, more[0], more[1]);
	result r = in_shell("hecate tokenize -m $T/decode_text --json --input jsonl <objects");
	assert_int_equal(strncmp(r.out, "{\"input\":1,\"id\":123456789012345678901234567890,", 47),
	                 0);
	assert_non_null(strstr(r.out, "\n{\"input\":2,\"id\":1e400,\"ids\":"));
	done(&r);
}

static void words_and_whole_files_are_numbered_too(void **state)
{
	(void)state;
	static const char *const a_b[] = {"a.txt", "b.txt"};
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].second || i == ANSWER_CONTEXT)
			continue;
		const char *c = rows[i].command, *one = rows[i].one, *two = rows[i].two;
		write_inputs(i, NULL, NULL);
		result json = in_shell("hecate %s --json <lines", c),
		       words = in_shell("hecate %s --json '%s' '%s'", c, one, two),
		       file = in_shell(
			       "printf '%s' >a.txt; printf '%s\\r\\n' >b.txt; hecate %s --json "
			       "--file a.txt b.txt",
			       one, two, c);
		expect_same(json.out, words.out, none, one_two, none);
		expect_same(json.out, file.out, none, one_two, a_b);
		done(&words), done(&file), done(&json);
		/* All line ends but the last one are a part of a whole text, as of a word. */
		words = in_shell("hecate %s --json \"$(printf '%s\\n%s')\"", c, one, one);
		file = in_shell("printf '%s\\n%s\\n' | hecate %s --json --whole", one, one, c);
		expect(&words, 0, NULL);
		assert_string_equal(words.out, file.out);
		done(&file);
		file = in_shell("printf '\\357\\273\\277%s\\n%s' | hecate %s --json --file -", one,
		                one, c);
		assert_string_equal(words.out, file.out);
		done(&words), done(&file);
	}
}

/* ---- lines that are wrong ---- */

static const struct {
	const char *line, *said; /* for printf(1) */
} wrong[] = {
	{"", "column 1: the line is empty; an object is needed"},
	{"x", "column 1: an object is needed"},
	{"[]", "column 1: an object is needed"},
	{"{\"t", "column 4: the line ends within a text"},
	{"{\"text\"}", "column 8: ':' is needed"},
	{"{\"text\":}", "column 9: this is no value of JSON"},
	{"{\"text\":\"a\"", "column 12: ',' or '}' is needed"},
	{"{\"text\":\"a\",}", "column 13: a name in double quotes is needed"},
	{"{\"text\":\"a\"} 5", "column 14: something stands behind the object"},
	{"{\"id\":1}", "column 1: 'text' is missing"},
	{"{\"text\":\"a\",\"text\":\"b\"}", "column 13: 'text' stands twice"},
	{"{\"text\":\"a\",\"te\\\\u0078t\":\"b\"}", "column 13: 'text' stands twice"},
	{"{\"text\":5}", "column 9: 'text' is a number; a text is needed"},
	{"{\"text\":null}", "column 9: 'text' is null; a text is needed"},
	{"{\"text\":[\"a\"]}", "column 9: 'text' is a list; a text is needed"},
	{"{\"text\":\"a\",\"id\":{}}",
         "column 18: 'id' is an object; a text or a number is needed"},
	{"{\"text\":\"a\",\"id\":null}", "column 18: 'id' is null; a text or a number is needed"},
	{"{\"n\":01,\"text\":\"a\"}", "column 7: ',' or '}' is needed"},
	{"{\"n\":1.,\"text\":\"a\"}", "column 6: this is no number"},
	{"{\"n\":[1 2],\"text\":\"a\"}", "column 9: ',' or ']' is needed"},
	{"{\"text\":\"\303\251\\377\"}",
         "column 11: this is not UTF-8; --lossy takes it as U+FFFD"},
	{"{\"text\":\"\\\\ud83d\"}", "column 10: the first half of a surrogate pair stands alone"},
	{"{\"text\":\"\\\\ud83d\\\\u0041\"}", "column 10: the first half of a surrogate pair"},
	{"{\"text\":\"\\\\ude00\"}", "column 10: the second half of a surrogate pair stands alone"},
	{"{\"text\":\"\\\\u12g4\"}", "column 10: \\u wants four hexadecimal digits"},
	{"{\"text\":\"\\\\x\"}", "column 10: JSON has no such escape"},
	{"{\"text\":\"a\tb\"}", "column 11: a control character in a text"},
};
#define WRONG (sizeof wrong / sizeof *wrong)

static void a_line_that_is_wrong_is_told_by_its_place(void **state)
{
	(void)state;
	char said[512];
	for (size_t i = 0; i < WRONG; i++) {
		result r = in_shell("printf '{\"text\":\"a\"}\\n%s\\n{\"text\":\"b\"}\\n' >bad; "
		                    "hecate tokenize "
		                    "-m $T/decode_text --input jsonl --json --file bad",
		                    wrong[i].line);
		snprintf(said, sizeof said, "hecate tokenize: bad: line 2: %s", wrong[i].said);
		expect(&r, 1, said);
		assert_int_equal(lines_of(r.out), 1);
		done(&r);
		r = in_shell(
			"hecate tokenize -m $T/decode_text --input jsonl --json --keep-going <bad");
		snprintf(said, sizeof said, "hecate tokenize: standard input: line 2: %s",
		         wrong[i].said);
		expect(&r, 1, said);
		assert_non_null(strstr(r.err, "1 of 3 texts failed"));
		json_t *one = json_loads(strchr(r.out, '\n'), JSON_DISABLE_EOF_CHECK, NULL);
		assert_int_equal(json_integer_value(json_object_get(one, "input")), 2);
		assert_non_null(
			strstr(json_string_value(json_object_get(one, "error")), wrong[i].said));
		json_decref(one);
		assert_non_null(strstr(r.out, "\n{\"input\":3,\"ids\":"));
		done(&r);
	}
	/* Deeper than anybody writes; and just not too deep. */
	for (int depth = 512; depth <= 513; depth++) {
		result r = in_shell(
			"{ printf '{\"n\":'; printf '[%%.0s' $(seq %d); printf ']%%.0s' $(seq "
			"%d); printf ',\"text\":\"a\"}'; } | hecate tokenize -m $T/decode_text "
			"--input jsonl --json",
			depth, depth);
		expect(&r, depth > 512,
		       depth > 512 ? "column 518: this is nested too deeply" : NULL);
		done(&r);
	}
}

/* In every command: what is wrong with the line, and what the model refuses. */
static void the_others_are_done_and_the_wrong_one_has_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		const char *c = rows[i].command;
		write_inputs(i, "\"a\"", "\"b\"");
		result json = in_shell("hecate %s --json <lines", c),
		       r = in_shell(
			       "{ head -n 1 objects; echo '{\"id\":3}'; echo nonsense; tail -n 1 "
			       "objects; } | hecate %s --json --input jsonl --keep-going",
			       c);
		char said[128];
		snprintf(said, sizeof said, "line 2: column 1: '%s' is missing", rows[i].field);
		expect(&r, 1, said);
		assert_non_null(strstr(r.err, "line 3: column 1: an object is needed"));
		assert_non_null(strstr(r.err, "2 of 4 texts failed"));
		const bool places = i != EMBED_SIMILAR;
		assert_true(!!strstr(r.out, "{\"input\":2,\"id\":3,\"error\":\"column 1: ") ==
		            places);
		assert_true(!!strstr(r.out, "{\"input\":3,\"error\":\"column 1: ") == places);
		/* Without those two, they are the results of the two lines. */
		done(&r);
		r = in_shell(
			"{ head -n 1 objects; echo '{\"id\":3}'; echo nonsense; tail -n 1 objects; "
			"} | hecate %s --json --input jsonl --keep-going | grep -v '\"error\"'",
			c);
		static const char *const ids[] = {"\"a\"", "\"b\""};
		static const int64_t one_four[] = {1, 4};
		expect_same(json.out, r.out, ids, one_four, none);
		done(&r), done(&json);
	}
	/* A text that is refused keeps its id, and its file. */
	result r = in_shell(
		"echo '{\"text\":\"no mask\",\"id\":\"x\"}' >bad; hecate fill -m "
		"$T/answer_fill/bert_fill --input jsonl --json --keep-going --file bad none");
	expect(&r, 1, "bad: line 1: the text has no [MASK]");
	assert_ptr_equal(
		strstr(r.out, "{\"input\":1,\"id\":\"x\",\"file\":\"bad\",\"error\":\"the text"),
		r.out);
	assert_non_null(strstr(r.out, "\n{\"file\":\"none\",\"error\":\"could not be opened: "));
	done(&r);
	/* So does a file that opens and cannot be read: the next one is. */
	r = in_shell("mkdir -p folder; echo 'a word' >after; hecate tokenize -m $T/decode_text "
	             "--input lines "
	             "--json --keep-going --file folder after");
	expect(&r, 1, "folder: could not be read: ");
	assert_ptr_equal(strstr(r.out, "{\"file\":\"folder\",\"error\":\"could not be read: "),
	                 r.out);
	assert_non_null(strstr(r.out, "\n{\"input\":1,\"file\":\"after\",\"ids\":["));
	done(&r);
}

static void fields_have_the_names_that_are_said(void **state)
{
	(void)state;
	static const struct {
		const char *line, *said; /* said NULL: it works */
	} named[] = {
		{"translate -m $T/decode_text --text-field en --id-field n", NULL},
		{"translate -m $T/decode_text --text-field en --id-field m", "'m' is missing"},
		{"translate -m $T/decode_text --text-field de", "'de' is missing"},
		{"answer -m $T/answer_fill/bert_answer --question-field q --context-field en",
	         NULL},
		{"answer -m $T/answer_fill/bert_answer --question-field en --context context.txt",
	         NULL},
		{"classify -m $T/answer_fill/bert_fill --pair --text-field q --pair-field en "
	         "--override '" LABELS "'",
	         NULL},
	};
	write_file("named", "{\"q\":\"who\",\"en\":\"Please\",\"n\":7}\n");
	for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
		result r = in_shell("hecate %s --input jsonl --json <named", named[i].line);
		expect(&r, named[i].said != NULL, named[i].said);
		done(&r);
	}
	/* Escapes and NUL bytes are what they stand for; --lossy takes other bytes as well. */
	result r = in_shell("printf '{\"text\":\"\\\\u0000\\\\ud83d\\\\ude00\\\\t\\377\"}\\n' | "
	                    "hecate tokenize -m "
	                    "$T/decode_text --input jsonl --json --lossy"),
	       plain = in_shell("printf '\\000\\360\\237\\230\\200\\t\\377\\n' | hecate tokenize "
	                        "-m $T/decode_text "
	                        "--json --lossy");
	expect(&r, 0, NULL);
	assert_memory_equal(r.out, plain.out, strcspn(r.out, "]"));
	done(&r), done(&plain);
}

static void what_does_not_go_together_is_wrong_usage(void **state)
{
	(void)state;
	static const char *const rest[] = {
		"--input xml",
		"--input lines --whole",
		"--input jsonl --whole",
		"--input jsonl -- word",
		"--whole word",
		"word --file a",
		"--id-field x",
		"--text-field x --whole",
		"--input jsonl --text-field x --id-field x",
	};
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
		for (size_t c = 0; c < ANSWER; c++) {
			result r = in_shell("hecate %s %s", rows[c].command, rest[i]);
			expect(&r, 2, "Try: hecate ");
			done(&r);
		}
	static const char *const others[] = {
		"answer -m $T/answer_fill/bert_answer --input whole",
		"answer -m $T/answer_fill/bert_answer --input jsonl --question who",
		"answer -m $T/answer_fill/bert_answer --input jsonl --context f --context-field c",
		"classify -m $T/answer_fill/bert_fill --pair --whole",
		"classify -m $T/answer_fill/bert_fill --input jsonl --pair-field x",
		"tokenize -m $T/decode_text --decode --input jsonl",
		"tokenize -m $T/decode_text --chat context.txt --whole",
		"generate -m $T/decode_text --ids 1 --whole",
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		result r = in_shell("hecate %s", others[i]);
		expect(&r, 2, "Try: hecate ");
		done(&r);
	}
	result r =
		in_shell("truncate -s 67108865 big; hecate tokenize -m $T/decode_text --file big");
	expect(&r, 1, "big: is longer than 67108864 bytes");
	done(&r);
}

/* ---- what the page says ---- */

/* The command of the next example before `end`, and the lines that it prints; both for free(). */
static bool next_example(const char **at, const char *end, char **command, char **shown)
{
	const char *line = strstr(*at, "\n$ ");
	if (!line || line > end)
		return false;
	line += 3;
	*command = strndup(line, strcspn(line, "\n"));
	const char *first = strchr(line, '\n') + 1, *next = first;
	while (strncmp(next, "$ ", 2) != 0 && strncmp(next, "```", 3) != 0)
		next = strchr(next, '\n') + 1;
	*shown = strndup(first, (size_t)(next - first));
	*at = next - 1;
	return true;
}

static void the_examples_of_the_page_are_true(void **state)
{
	(void)state;
	if (shell("test -e '%s/../models/en-de/config.json'", TESTS_DIR) != 0)
		skip(); /* a checkout without the model that is bundled */
	assert_int_equal(shell("cp '%s/../docs/applications.md' '%s/page'", TESTS_DIR, folder), 0);
	char *page = read_all("page"), *command, *shown, said[4096];
	const char *at = strstr(page, "\n## Pipelines\n");
	assert_non_null(at);
	const char *end = strstr(at + 1, "\n## ");
	int examples = 0;
	setenv("HECATE_MODEL", TESTS_DIR "/../models/en-de", 1);
	for (; next_example(&at, end, &command, &shown); examples++) {
		result r = in_shell("%s", command);
		snprintf(said, sizeof said, "%s%s", r.out, r.err);
		if (strcmp(said, shown) != 0)
			fail_msg("%s:\n%s", command, said);
		free(command);
		free(shown);
		done(&r);
	}
	unsetenv("HECATE_MODEL");
	assert_int_equal(examples, 5);
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_lines_are_read_as_lines_are),
		cmocka_unit_test(a_result_names_its_id_as_it_was_written_and_its_file),
		cmocka_unit_test(words_and_whole_files_are_numbered_too),
		cmocka_unit_test(a_line_that_is_wrong_is_told_by_its_place),
		cmocka_unit_test(the_others_are_done_and_the_wrong_one_has_its_place),
		cmocka_unit_test(fields_have_the_names_that_are_said),
		cmocka_unit_test(what_does_not_go_together_is_wrong_usage),
		cmocka_unit_test(the_examples_of_the_page_are_true),
	};
	return cmocka_run_group_tests(tests, make_inputs, remove_folder);
}
