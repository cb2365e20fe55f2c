/* test_answer_program.c — `hecate answer`: its forms, results, errors and exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "program_run.h"
#include "invocations.h"

#define CONTEXT "the water was called one of them"

static void write_bytes(const char *name, const char *text, size_t size)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static result answer(const char *model, const char *arguments)
{
	return invoke("answer", model, arguments);
}

static void an_invocation_ends_as_it_should(void **state)
{
	(void)state;
	write_file("context", CONTEXT "\n");
	write_file("empty", "");
	write_file("pairs", "who\t" CONTEXT "\nwhat\tthe time\n");
	write_file("bad", "who\t" CONTEXT "\nwhat\tthe time\nno tab\nwho\tthe\n");
	write_file("utf", "who\t" CONTEXT "\nwho\tthe \xff time\n");
	write_file("questions", "who\nwhat\n\n");
	write_bytes("zero", "one\0two", 7);
	static const invocation table[] = {
		{"bert_answer", "--question who --context F/context", 0, 1, NULL},
		{"bert_answer", "--question who what --context F/context", 0, 2, NULL},
		{"bert_answer", "--question who --question what --context F/context", 0, 2, NULL},
		{"bert_answer", "--context F/context who what", 0, 2, NULL},
		{"bert_answer", "--question who --context - <F/context", 0, 1, NULL},
		{"bert_answer", "--question who <F/context", 0, 1, NULL},
		{"bert_answer", "who --top 3 <F/context", 0, 3, NULL},
		{"bert_answer", "--question who --context F/empty", 0, 1, NULL},
		{"bert_answer", "--question who --context F/zero", 0, 1, NULL},
		{"bert_answer", "<F/pairs", 0, 2, NULL},
		{"bert_answer", "", 0, 0, NULL},
		{"bert_answer", "<F/bad", 1, 2, "line 3: no tab"},
		{"bert_answer", "<F/utf", 1, 1, "line 2: "},
		{"bert_answer", "--lossy <F/utf", 0, 2, NULL},
		{"bert_answer", "--context F/context <F/questions", 1, 2,
	         "line 3: the question has no word"},
		{"bert_answer", "--question who --context F/missing", 1, 0,
	         "missing: could not be opened: No such file"},
		{"bert_answer", "--question who --context F", 1, 0, "Is a directory"},
		{"bert_answer", "--question who --window 45 --context F/context", 1, 0,
	         "windows of 45 tokens; the model takes 44"},
		{"bart_fill", "--question who --context F/context", 1, 0, "hecate generate"},
		{"bert_answer", "--context -", 2, 0, "name them with --question"},
		{"bert_answer", "what --context F/context --question who", 2, 0,
	         "give all questions by --question"},
		{"bert_answer", "--top 0", 2, 0, "--top"},
		{"bert_answer", "--no-answer 2", 2, 0, "--no-answer"},
	};
	check_invocations("answer", table, sizeof table / sizeof table[0]);
	result r = answer("bert_answer", "--help");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.out, "--question 'Who wrote it?'"));
	done(&r);
}

static void json_has_the_names_that_others_build_on(void **state)
{
	(void)state;
	write_file("context", "größer: " CONTEXT);
	result r = answer("bert_answer", "--question who --context F/context --json");
	json_error_t error;
	json_t *line = json_loads(r.out, 0, &error);
	assert_non_null(line);
	assert_int_equal(json_object_size(line), 5);
	int64_t begin = json_integer_value(json_object_get(line, "begin"));
	int64_t end = json_integer_value(json_object_get(line, "end"));
	const char *text = json_string_value(json_object_get(line, "answer"));
	assert_non_null(text);
	assert_int_equal(strlen(text), end - begin);
	assert_memory_equal(text, &("größer: " CONTEXT)[begin], strlen(text));
	double score = json_real_value(json_object_get(line, "score"));
	assert_true(score > 0 && score < 1);
	/* The plain line says the same. */
	result plain = answer("bert_answer", "--question who --context F/context");
	char want[256];
	snprintf(want, sizeof want, "%s\t%.4f\t%lld\t%lld\n", text, score, (long long)begin,
	         (long long)end);
	assert_string_equal(plain.out, want);
	done(&plain);
	done(&r);
	json_decref(line);
	/* No answer. */
	r = answer("bert_answer",
	           "--question who --context F/context --json --no-answer -1 --top 2");
	line = json_loads(r.out, 0, &error);
	assert_non_null(line);
	assert_string_equal(json_string_value(json_object_get(line, "answer")), "");
	assert_int_equal(json_integer_value(json_object_get(line, "begin")), 0);
	assert_int_equal(json_integer_value(json_object_get(line, "end")), 0);
	assert_int_equal(json_array_size(json_object_get(line, "answers")), 2);
	json_decref(line);
	done(&r);
}

static void an_answer_is_one_line_whatever_is_in_it(void **state)
{
	(void)state;
	write_bytes("odd", "the\nwater\twas\0called\r\nso", 24);
	result r = answer("bert_answer", "--question who --context F/odd --top 60");
	int lines = 0, tabs = 0;
	for (const char *at = r.out; *at; at++) {
		lines += *at == '\n';
		tabs += *at == '\t';
	}
	assert_int_equal(r.code, 0);
	assert_true(lines > 5);
	assert_int_equal(tabs, 3 * lines);
	assert_null(strchr(r.out, '\r'));
	done(&r);
	r = answer("bert_answer", "--question who --context F/odd --top 60 --json");
	assert_non_null(strstr(r.out, "\\u0000"));
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invocation_ends_as_it_should),
		cmocka_unit_test(json_has_the_names_that_others_build_on),
		cmocka_unit_test(an_answer_is_one_line_whatever_is_in_it),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
