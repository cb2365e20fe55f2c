/* test_generate_program.c — `hecate generate` as a user runs it. */
#include "support/models.h"

#include "look_models.h"

static result with_input(const char *input, const char *arguments)
{
	char line[2048];
	write_file("in", input);
	snprintf(line, sizeof line, "'%s' generate -m %s/decoder %s <%s/in >%s/out 2>%s/err",
	         program(), folder, arguments, folder, folder, folder);
	int status = system(line);
	assert_true(WIFEXITED(status));
	return (result){WEXITSTATUS(status), read_all("out"), read_all("err")};
}

static void json_holds_ids_text_and_score_and_no_more(void **state)
{
	(void)state;
	result r =
		run_on("generate", FORM_DECODER, "'the cat' --max-tokens 5 --min-tokens 5 --json");
	json_t *line = json_of(&r);
	assert_int_equal(json_object_size(line), 4);
	assert_int_equal(json_array_size(json_object_get(line, "ids")), 5);
	assert_true(json_is_string(json_object_get(line, "text")));
	assert_true(json_real_value(json_object_get(line, "score")) < 0);
	const char *text = json_string_value(json_object_get(line, "text"));
	result plain = run_on("generate", FORM_DECODER, "'the cat' --max-tokens 5 --min-tokens 5"),
	       echo = run_on("generate", FORM_DECODER,
	                     "'the cat' --max-tokens 5 --min-tokens 5 --echo"),
	       stream = run_on("generate", FORM_DECODER,
	                       "'the cat' --max-tokens 5 --min-tokens 5 --stream");
	char want[1024];
	snprintf(want, sizeof want, "%s\n", text);
	assert_string_equal(plain.out, want);
	assert_string_equal(stream.out, want);
	snprintf(want, sizeof want, "the cat%s\n", text);
	assert_string_equal(echo.out, want);
	json_decref(line);
	done(&r);
	done(&plain);
	done(&echo);
	done(&stream);
}

static void ids_need_no_tokenizer(void **state)
{
	(void)state;
	char line[512];
	for (int beams = 1; beams <= 4; beams += 3) {
		snprintf(line, sizeof line,
		         "generate -m %s/golden/models/llama --ids 5,7,9 --max-tokens 4 --beam %d "
		         "--json",
		         TESTS_DIR, beams);
		result r = run(line);
		json_t *found = json_of(&r);
		assert_true(json_array_size(json_object_get(found, "ids")) > 0);
		assert_true(json_is_null(json_object_get(found, "text")));
		json_decref(found);
		done(&r);
	}
	snprintf(line, sizeof line, "generate -m %s/golden/models/llama hello", TESTS_DIR);
	result r = run(line);
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "tokenizer"));
	done(&r);
	snprintf(line, sizeof line, "generate -m %s/golden/models/t5 --ids 5,7,9 --max-tokens 4",
	         TESTS_DIR);
	r = run(line);
	assert_int_equal(r.code, 0);
	assert_true(strspn(r.out, "0123456789,\n") == strlen(r.out) && strlen(r.out) > 1);
	done(&r);
}

static void lines_keep_their_order_and_words(void **state)
{
	(void)state;
	const char *in = "the cat\nthe dog sat on\na\n";
	result all = with_input(in, "--max-tokens 6"),
	       stream = with_input(in, "--max-tokens 6 --batch 1 --json");
	assert_int_equal(all.code, 0);
	char want[4096] = "";
	const char *at = stream.out;
	for (int i = 0; i < 3; i++) {
		json_t *line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
		assert_non_null(line);
		strcat(want, json_string_value(json_object_get(line, "text")));
		strcat(want, "\n");
		at = strchr(at, '\n') + 1;
		json_decref(line);
	}
	assert_string_equal(all.out, want);
	done(&all);
	done(&stream);
	result bad = with_input("the cat\nbad \xff\n", "--max-tokens 3");
	assert_int_equal(bad.code, 1);
	assert_non_null(strstr(bad.err, "line 2: "));
	assert_non_null(strchr(bad.out, '\n'));
	done(&bad);
}

static void sampling_depends_on_the_seed_alone(void **state)
{
	(void)state;
	const char *way = "'the cat' --max-tokens 12 --min-tokens 12 --json --temperature 2 ";
	char line[256];
	char *outs[3];
	const char *seeds[] = {"--seed 1", "--seed 1 --threads 2", "--seed 2"};
	for (int i = 0; i < 3; i++) {
		snprintf(line, sizeof line, "%s%s", way, seeds[i]);
		result r = run_on("generate", FORM_DECODER, line);
		assert_int_equal(r.code, 0);
		outs[i] = r.out;
		free(r.err);
	}
	assert_string_equal(outs[0], outs[1]);
	assert_string_not_equal(outs[0], outs[2]);
	for (int i = 0; i < 3; i++)
		free(outs[i]);
}

static void a_chat_is_what_the_template_makes_of_it(void **state)
{
	(void)state;
	write_file("decoder/chat_template.jinja",
	           "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}"
	           "{% if add_generation_prompt %}bot:{% endif %}");
	const char *same = "--max-tokens 6 --json ";
	char line[512];
	snprintf(line, sizeof line, "%s --chat --system 'be nice' 'the cat'", same);
	result chat = run_on("generate", FORM_DECODER, line);
	assert_int_equal(chat.code, 0);
	/* The same as of the template's ids, to which nothing is added: the tokenizer of these models
	 * would add </s>. */
	snprintf(line, sizeof line,
	         "tokenize -m %s/decoder --no-special --json \"$(printf 'system: be nice\\nuser: "
	         "the "
	         "cat\\nbot:')\"",
	         folder);
	result tokens = run(line);
	json_t *found = json_of(&tokens), *id;
	int used = snprintf(line, sizeof line, "%s --ids ", same);
	size_t i;
	json_array_foreach(json_object_get(found, "ids"), i, id) used +=
		snprintf(line + used, sizeof line - (size_t)used, "%s%d", i ? "," : "",
	                 (int)json_integer_value(id));
	assert_true(i > 5);
	result ids = run_on("generate", FORM_DECODER, line);
	assert_string_equal(chat.out, ids.out);
	json_decref(found);
	done(&tokens);
	done(&ids);
	done(&chat);
}

#ifdef EXAMPLE_GENERATE
static void the_example_writes_what_the_program_writes(void **state)
{
	(void)state;
	result r = run_on("generate", FORM_DECODER, "'the cat' --max-tokens 5 --echo");
	int code = shell("'%s' %s/decoder 'the cat' 5 >%s/out", EXAMPLE_GENERATE, folder, folder);
	char *out = read_all("out");
	assert_int_equal(code, 0);
	assert_int_equal(strncmp(out, r.out, strlen(r.out)), 0);
	assert_non_null(strstr(out + strlen(r.out), " tokens, log p -"));
	free(out);
	done(&r);
}
#endif

static void a_bad_line_is_named_also_where_words_come_one_by_one(void **state)
{
	(void)state;
	static const char *const ways[] = {"--max-tokens 3", "--max-tokens 3 --stream"};
	result r[2];
	for (int i = 0; i < 2; i++) {
		r[i] = with_input("the cat\na\xff\nthe dog\n", ways[i]);
		assert_int_equal(r[i].code, 1);
		assert_non_null(strstr(r[i].err, "line 2: "));
	}
	assert_string_equal(r[0].out, r[1].out);
	done(&r[0]);
	done(&r[1]);
}

static void wrong_words_are_wrong_usage(void **state)
{
	(void)state;
	static const invocation table[] = {
		{FORM_DECODER, "--ids 1,x", 2, NULL, "--ids"},
		{FORM_DECODER, "--ids 1,2 'the cat'", 2, NULL, "--ids"},
		{FORM_DECODER, "--ids 1,999999", 1, NULL, "999999"},
		{FORM_DECODER, "--system a b", 2, NULL, "--chat"},
		{FORM_DECODER, "a --stream --json", 2, NULL, "--stream"},
		{FORM_DECODER, "a --stream --beam 2", 2, NULL, "one beam"},
		{FORM_DECODER, "a --sample --beam 2", 2, NULL, "one beam"},
		{FORM_DECODER, "a --max-tokens 64", 1, NULL, "64"},
		{FORM_ENCODER, "a", 1, NULL, "decoder"},
		{FORM_BOTH, "a --max-tokens 3 --min-tokens 3", 0, "\n", NULL},
		{FORM_DECODER, "--help", 0, "Example: ", NULL},
	};
	check_invocations("generate", table, sizeof table / sizeof *table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_holds_ids_text_and_score_and_no_more),
		cmocka_unit_test(ids_need_no_tokenizer),
		cmocka_unit_test(lines_keep_their_order_and_words),
		cmocka_unit_test(sampling_depends_on_the_seed_alone),
		cmocka_unit_test(a_chat_is_what_the_template_makes_of_it),
#ifdef EXAMPLE_GENERATE
		cmocka_unit_test(the_example_writes_what_the_program_writes),
#endif
		cmocka_unit_test(a_bad_line_is_named_also_where_words_come_one_by_one),
		cmocka_unit_test(wrong_words_are_wrong_usage),
	};
	return cmocka_run_group_tests(tests, make_models, remove_folder);
}
