/* test_classify_program.c — `hecate classify` and `hecate embed` as a user runs them, with tiny models. */
#include <math.h>
#include <string.h>

#include "support/tasks.h"

#include "program_run.h"

static char models[4][SCRATCH_PATH];
enum { TEXTS_MODEL, TOKENS_MODEL, BASE_MODEL, PROBLEM_MODEL };

static int make_folders(void **state)
{
	if (scratch_group_make(state) != 0 || scratch_folder(folder, sizeof folder) != 0)
		return -1;
	kit k = kit_open(1);
	task_folder(&k, "bert_classify", models[TEXTS_MODEL]);
	task_config(models[TEXTS_MODEL], "id2label",
	            json_pack("{s:s, s:s, s:s}", "0", "bad", "1", "good", "2", "so so"));
	task_folder(&k, "bert_tokens", models[TOKENS_MODEL]);
	task_folder(&k, "bert_base", models[BASE_MODEL]);
	task_folder(&k, "bert_classify", models[PROBLEM_MODEL]);
	task_config(models[PROBLEM_MODEL], "problem_type", json_string("regression"));
	kit_close(&k);
	return 0;
}

static int remove_folders(void **state)
{
	if (scratch_folder_remove(folder) != 0)
		return -1;
	return scratch_group_remove(state);
}

static result feed(const char *input, int model, const char *command, const char *arguments)
{
	char line[4096];
	write_file("in", input);
	(void)snprintf(line, sizeof line, "'%s' %s -m '%s' %s <%s/in >%s/out 2>%s/err", program(),
	               command, models[model], arguments, folder, folder, folder);
	int status = system(line);
	assert_true(WIFEXITED(status));
	return (result){WEXITSTATUS(status), read_all("out"), read_all("err")};
}

static void labels_come_out_in_the_order_of_the_lines(void **state)
{
	(void)state;
	const char *in = "The film is good.\n\nthe cats, not bad!\n";
	result r = feed(in, TEXTS_MODEL, "classify", ""),
	       all = feed(in, TEXTS_MODEL, "classify", "--top 9 --threads 2"),
	       json = feed(in, TEXTS_MODEL, "classify", "--json");
	assert_int_equal(r.code, 0);
	assert_string_equal(r.err, "");
	assert_int_equal(lines_of(r.out), 3);
	assert_int_equal(lines_of(all.out), 9);
	assert_int_equal(lines_of(json.out), 3);
	/* The first of every three is the line that comes out alone. */
	const char *at = all.out;
	for (const char *line = r.out; *line; line = strchr(line, '\n') + 1) {
		assert_memory_equal(line, at, (size_t)(strchr(line, '\n') - line) + 1);
		for (int i = 0; i < 3; i++)
			at = strchr(at, '\n') + 1;
	}
	json_t *line = json_loads(json.out, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(line);
	assert_int_equal(json_object_size(line), 4);
	const char *label = json_string_value(json_object_get(line, "label"));
	const double score = json_real_value(json_object_get(line, "score"));
	json_t *each = json_object_get(line, "all");
	assert_int_equal(json_object_size(each), 3);
	assert_true(json_real_value(json_object_get(each, label)) == score);
	double sum = 0;
	for (void *i = json_object_iter(each); i; i = json_object_iter_next(each, i))
		sum += json_real_value(json_object_iter_value(i));
	assert_true(fabs(sum - 1) < 1e-6);
	assert_memory_equal(r.out, label, strlen(label));
	assert_non_null(json_object_get(each, "so so"));
	json_decref(line);
	done(&r);
	r = run_with("", "classify --help");
	assert_non_null(strstr(r.out, "Example: "));
	done(&r);
	done(&all);
	done(&json);
	/* Numbers, as the model's problem is: they may be anything. */
	r = feed("a\n", PROBLEM_MODEL, "classify", "--top 3");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.out, "\t-"));
	done(&r);
}

static void every_label_has_its_score(void **state)
{
	(void)state;
	kit k = kit_open(3);
	char *kept = strdup(models[TEXTS_MODEL]);
	task_folder(&k, "bert_classify", models[TEXTS_MODEL]);
	task_config(models[TEXTS_MODEL], "id2label",
	            json_pack("{s:s, s:s, s:s}", "0", "same", "1", "same", "2", "same"));
	kit_close(&k);
	result r = feed("a\n", TEXTS_MODEL, "classify", "--json");
	json_t *line = json_loads(r.out, 0, NULL), *all = json_object_get(line, "all");
	assert_int_equal(json_object_size(all), 3);
	assert_true(
		json_equal(json_object_get(all, json_string_value(json_object_get(line, "label"))),
	                   json_object_get(line, "score")));
	json_decref(line);
	done(&r);
	strcpy(models[TEXTS_MODEL], kept);
	free(kept);
}

static void pairs_are_two_texts_with_a_tab_between(void **state)
{
	(void)state;
	result r = feed("The film is good.\tIt is bad.\na\tb\n", TEXTS_MODEL, "classify", "--pair"),
	       joined = feed("The film is good. It is bad.\na b\n", TEXTS_MODEL, "classify", "");
	assert_int_equal(r.code, 0);
	assert_int_equal(lines_of(r.out), 2);
	assert_string_not_equal(r.out, joined.out);
	done(&r);
	done(&joined);
	r = feed("a\tb\nc\n", TEXTS_MODEL, "classify", "--pair");
	assert_int_equal(r.code, 1);
	assert_int_equal(lines_of(r.out), 1);
	assert_non_null(strstr(r.err, "line 2"));
	assert_non_null(strstr(r.err, "<TAB>"));
	done(&r);
	r = feed("a\tb\n\xff\tb\n", TEXTS_MODEL, "classify", "--pair");
	assert_int_equal(r.code, 1);
	assert_int_equal(lines_of(r.out), 1);
	assert_non_null(strstr(r.err, "line 2"));
	done(&r);
}

static void tokens_have_labels_and_places(void **state)
{
	(void)state;
	result r = feed("cats\n\n", TOKENS_MODEL, "classify", "--tokens"),
	       json = feed("cats\n\n", TOKENS_MODEL, "classify", "--tokens --json");
	assert_int_equal(r.code, 0);
	assert_int_equal(lines_of(r.out), 4);
	assert_memory_equal(r.out, "cat\tLABEL_", 10);
	assert_non_null(strstr(r.out, "\t0\t3\n##s\tLABEL_"));
	assert_non_null(strstr(r.out, "\t3\t4\n\n\n"));
	json_t *line = json_loads(json.out, JSON_DISABLE_EOF_CHECK, NULL),
	       *one = json_array_get(json_object_get(line, "tokens"), 1);
	assert_int_equal(json_object_size(line), 2);
	assert_int_equal(json_object_size(one), 5);
	assert_string_equal(json_string_value(json_object_get(one, "token")), "##s");
	assert_int_equal(json_integer_value(json_object_get(one, "begin")), 3);
	assert_int_equal(json_integer_value(json_object_get(one, "end")), 4);
	assert_non_null(strstr(json.out, "\n{\"input\":2,\"tokens\":[]}\n"));
	json_decref(line);
	done(&r);
	done(&json);
	r = feed("cats\n", TEXTS_MODEL, "classify", "--tokens");
	assert_int_equal(r.code, 2);
	done(&r);
	r = feed("cats\n", TOKENS_MODEL, "classify", "");
	assert_int_equal(r.code, 2);
	done(&r);
}

static void vectors_come_out_as_numbers_or_json(void **state)
{
	(void)state;
	result r = feed("The film is good.\na\n", BASE_MODEL, "embed", ""),
	       json = feed("The film is good.\na\n", BASE_MODEL, "embed", "--json");
	assert_int_equal(r.code, 0);
	assert_int_equal(lines_of(r.out), 2);
	json_t *line = json_loads(json.out, JSON_DISABLE_EOF_CHECK, NULL),
	       *list = json_object_get(line, "embedding");
	assert_int_equal(json_object_size(line), 2);
	assert_int_equal(json_array_size(list), 30);
	char *at = r.out;
	for (size_t i = 0; i < 30; i++)
		assert_true(strtod(at, &at) == json_real_value(json_array_get(list, i)));
	assert_int_equal(*at, '\n');
	json_decref(line);
	done(&r);
	done(&json);
	static const char *const ways[] = {"--pooling cls", "--pooling max", "--normalize"};
	char *before = strdup("");
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		r = feed("The film is good.\n", BASE_MODEL, "embed", ways[i]);
		assert_int_equal(r.code, 0);
		assert_string_not_equal(r.out, before);
		free(before);
		before = strdup(r.out);
		done(&r);
	}
	free(before);
}

static void lines_are_ranked_by_their_likeness(void **state)
{
	(void)state;
	const char *in = "a\nthe cats, not bad!\nThe film is good.\n";
	result r = feed(in, BASE_MODEL, "embed", "--similar 'the film is good.'"),
	       top = feed(in, BASE_MODEL, "embed", "--similar 'the film is good.' --top 1 --json");
	assert_int_equal(r.code, 0);
	assert_int_equal(lines_of(r.out), 3);
	assert_memory_equal(r.out, "1.000000\tThe film is good.\n", 27);
	double last = 2;
	for (const char *line = r.out; *line; line = strchr(line, '\n') + 1) {
		assert_true(atof(line) <= last);
		last = atof(line);
	}
	json_t *line = json_loads(top.out, 0, NULL);
	assert_non_null(line);
	assert_string_equal(json_string_value(json_object_get(line, "text")), "The film is good.");
	assert_int_equal(json_integer_value(json_object_get(line, "input")), 3);
	json_decref(line);
	done(&r);
	done(&top);
}

/* Whatever bytes a line has, it comes out whole. */
static void a_line_that_is_like_another_comes_out_as_it_was_read(void **state)
{
	(void)state;
	static const char in[] = "a\\0b\\nx\\377y\\342\\202z\\n";
	for (int json = 0; json < 2; json++) {
		(void)shell("printf '%s' | '%s' embed -m '%s' --similar a --lossy %s | "
		            "tr '\\000' '@' >%s/out",
		            in, program(), models[BASE_MODEL], json ? "--json" : "", folder);
		char *out = read_all("out");
		assert_int_equal(lines_of(out), 2);
		assert_non_null(strstr(out, json ? "\"text\":\"a\\u0000b\"" : "\ta@b\n"));
		assert_non_null(strstr(out, json ? "\"text\":\"x\xef\xbf\xbdy\xef\xbf\xbdz\""
		                                 : "\tx\xef\xbf\xbdy\xef\xbf\xbdz\n"));
		free(out);
	}
}

#ifdef EXAMPLE_SIMILAR
static void the_example_finds_the_text_that_is_most_like_another(void **state)
{
	(void)state;
	int code = shell("'%s' '%s' 'a cat' 'the film' 'A cat' 'not' >%s/out", EXAMPLE_SIMILAR,
	                 models[BASE_MODEL], folder);
	char *out = read_all("out");
	assert_int_equal(code, 0);
	assert_int_equal(lines_of(out), 4);
	assert_non_null(strstr(out, "\n1.000  A cat\n"));
	assert_non_null(strstr(out, "\nmost like \"a cat\": \"A cat\"\n"));
	free(out);
}
#endif

static void what_is_wrong_is_said_with_its_line(void **state)
{
	(void)state;
	char many[256] = "a\n";
	for (int i = 0; i < 30; i++)
		strcat(many, "a ");
	for (int way = 0; way < 2; way++) {
		const int model = way ? BASE_MODEL : TEXTS_MODEL;
		const char *command = way ? "embed" : "classify";
		result r = feed("a\nbad \xff\na\n", model, command, "");
		assert_int_equal(r.code, 1);
		assert_int_equal(lines_of(r.out), 1);
		assert_non_null(strstr(r.err, "line 2"));
		assert_non_null(strstr(r.err, "byte 4"));
		done(&r);
		r = feed("a\nbad \xff\na\n", model, command, "--lossy");
		assert_int_equal(r.code, 0);
		assert_int_equal(lines_of(r.out), 3);
		done(&r);
		r = feed(many, model, command, "");
		assert_int_equal(r.code, 1);
		assert_non_null(
			strstr(r.err, "line 2: the text has 32 tokens; the model takes 24"));
		done(&r);
		r = feed(many, model, command, "--truncate");
		assert_int_equal(r.code, 0);
		done(&r);
		r = feed("", model, command, "");
		assert_int_equal(r.code, 0);
		assert_string_equal(r.out, "");
		done(&r);
		r = feed("a\n", model, command, "--tops");
		assert_int_equal(r.code, 2);
		done(&r);
	}
	result r = feed("a\n", TEXTS_MODEL, "classify",
	                "--override num_hidden_layers=1 --override hidden_dropout_prob=0");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.err, "loaded: "));
	done(&r);
	r = feed("a\n", BASE_MODEL, "embed", "--override num_hidden_layers=1");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.err, "loaded: "));
	done(&r);
	r = feed("a\n", BASE_MODEL, "embed", "--override num_hidden_layers=many");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "num_hidden_layers"));
	done(&r);
	r = run_with("env -u HECATE_MODEL", "classify hello");
	assert_int_equal(r.code, 2);
	assert_non_null(strstr(r.err, "-m DIR"));
	done(&r);
	r = feed("a\n", BASE_MODEL, "classify", "");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "no head that gives labels"));
	done(&r);
	r = feed("a\n", BASE_MODEL, "embed", "--pooling middle");
	assert_int_equal(r.code, 2);
	done(&r);
	r = feed("a\n", BASE_MODEL, "embed", "--top 3");
	assert_int_equal(r.code, 2);
	done(&r);
}

static void weights_that_are_no_numbers_are_refused(void **state)
{
	(void)state;
	kit k = kit_open(2);
	for (int i = TEXTS_MODEL; i <= BASE_MODEL; i++)
		task_spoil(&k, models[i]);
	kit_close(&k);
	static const struct {
		int model;
		const char *command, *arguments, *word;
	} runs[] = {{TEXTS_MODEL, "classify", "", "logit of label 0"},
	            {TEXTS_MODEL, "classify", "--json", "logit of label 0"},
	            {TOKENS_MODEL, "classify", "--tokens", "logit of label 0"},
	            {TOKENS_MODEL, "classify", "--tokens --json", "logit of label 0"},
	            {BASE_MODEL, "embed", "", "hidden states"},
	            {BASE_MODEL, "embed", "--json", "hidden states"},
	            {BASE_MODEL, "embed", "--similar x", "--similar: number 0"}};
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		result r = feed("a\nb\n", runs[i].model, runs[i].command, runs[i].arguments);
		assert_int_equal(r.code, 1);
		assert_string_equal(r.out, "");
		assert_non_null(strstr(r.err, runs[i].word));
		assert_non_null(strstr(r.err, "nan"));
		done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_come_out_in_the_order_of_the_lines),
		cmocka_unit_test(every_label_has_its_score),
		cmocka_unit_test(pairs_are_two_texts_with_a_tab_between),
		cmocka_unit_test(tokens_have_labels_and_places),
		cmocka_unit_test(vectors_come_out_as_numbers_or_json),
		cmocka_unit_test(lines_are_ranked_by_their_likeness),
		cmocka_unit_test(a_line_that_is_like_another_comes_out_as_it_was_read),
#ifdef EXAMPLE_SIMILAR
		cmocka_unit_test(the_example_finds_the_text_that_is_most_like_another),
#endif
		cmocka_unit_test(what_is_wrong_is_said_with_its_line),
		cmocka_unit_test(weights_that_are_no_numbers_are_refused), /* spoils the models */
	};
	return cmocka_run_group_tests_name("classify_program", tests, make_folders, remove_folders);
}
