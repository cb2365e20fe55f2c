/* test_chat.c — chat templates against apply_chat_template of Transformers (tests/golden/chat, by
 * tools/goldens/chat_make.py), what is refused, and templates that would run for ages. */
#include <hecate/chat.h>

#include "base/file.h"
#include "format/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN TESTS_DIR "/golden/chat"

static void compare(const json_t *golden, const json_t *one, size_t number)
{
	char path[512], *variables, *text = NULL;
	size_t bytes;
	const char *file = json_string_value(json_object_get(one, "template"));
	const char *name = json_string_value(json_object_get(one, "messages"));
	hec_chat_template *t = NULL;
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	snprintf(path, sizeof path, "%s/%s", GOLDEN, file);
	if (hec_chat_template_load(path, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	json_t *given = json_pack("{s:O, s:s, s:s}", "messages",
	                          json_object_get(json_object_get(golden, "chats"), name),
	                          "bos_token", "<s>", "eos_token", "</s>");
	if (json_is_true(json_object_get(one, "tools")))
		json_object_set(given, "tools", json_object_get(golden, "tools"));
	assert_int_equal(json_text_make(given, false, &variables, &bytes), HEC_OK);
	o.variables = variables;
	o.variables_bytes = bytes;
	o.generation_prompt = json_is_true(json_object_get(one, "prompt"));
	hec_status status = hec_chat_apply(t, NULL, 0, &o, &text, &bytes);
	const char *want = json_string_value(json_object_get(one, "text"));
	const char *raises = json_string_value(json_object_get(one, "raises"));
	if (want && status != HEC_OK)
		fail_msg("case %zu, %s, %s: %s", number, file, name, hec_error_message());
	if (want && strcmp(text, want) != 0)
		fail_msg("case %zu, %s, %s:\n%s\nis not\n%s", number, file, name, text, want);
	if (raises) {
		assert_int_equal(status, HEC_ERR_ARGUMENT);
		if (!strstr(hec_error_message(), raises))
			fail_msg("case %zu: \"%s\" does not say \"%s\"", number,
			         hec_error_message(), raises);
	}
	free(text);
	free(variables);
	json_decref(given);
	hec_chat_template_destroy(t);
}

static void conversations_read_as_in_transformers(void **state)
{
	(void)state;
	json_t *golden, *one;
	size_t i;
	assert_int_equal(json_file_read(GOLDEN "/chat.json", 1 << 22, &golden), HEC_OK);
	json_array_foreach(json_object_get(golden, "cases"), i, one) compare(golden, one, i);
	print_message("             %zu conversations\n", i);
	assert_true(i >= 200);
	json_decref(golden);
}

/* The text of a template with one message, or NULL. */
static char *apply(const char *template, hec_status *status)
{
	hec_chat_template *t = NULL;
	char *text = NULL;
	hec_chat_message m = {"user", "hi"};
	*status = hec_chat_template_parse(template, strlen(template), &t);
	if (*status == HEC_OK)
		*status = hec_chat_apply(t, &m, 1, NULL, &text, NULL);
	hec_chat_template_destroy(t);
	return text;
}

static void messages_come_from_structs_too(void **state)
{
	(void)state;
	hec_status status;
	char *text = apply("{% for m in messages %}{{ m.role }}: {{ m['content'] }}{% endfor %}",
	                   &status);
	assert_int_equal(status, HEC_OK);
	assert_string_equal(text, "user: hi");
	free(text);
}

static void what_is_not_known_is_named_with_its_line(void **state)
{
	(void)state;
	static const struct {
		const char *template, *says;
	} cases[] = {
		{"\n\n{% macro f(x) %}{% endmacro %}", "line 3: the tag 'macro'"},
		{"{% include 'x' %}", "the tag 'include'"},
		{"{% raw %}{% endraw %}", "the tag 'raw'"},
		{"a\n{{ x | batch(2) }}", "line 2: the filter 'batch'"},
		{"{{ x is callable }}", "the test 'callable'"},
		{"{{ 2 ** 3 }}", "'**'"},
		{"{{ x ? y }}", "'?'"},
		{"{% if x %}", "endif"},
		{"{% endfor %}", "endfor"},
		{"{% for x of y %}", "'in'"},
		{"{{ x", "does not end"},
		{"{{ 'x }}", "does not end"},
		{"{# x", "does not end"},
		{"{{ }}", "missing"},
		{"{{ (1 }}", "missing"},
		{"{{ 'a\\q' }}", "escape"},
		{"{% for a in b recursive %}{% endfor %}", "recursive"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		hec_status status;
		char *text = apply(cases[i].template, &status);
		assert_null(text);
		assert_int_equal(status, HEC_ERR_UNSUPPORTED);
		if (!strstr(hec_error_message(), cases[i].says))
			fail_msg("case %zu: \"%s\" does not say \"%s\"", i, hec_error_message(),
			         cases[i].says);
	}
}

static void what_goes_wrong_while_it_runs_is_said(void **state)
{
	(void)state;
	static const struct {
		const char *template, *says;
	} cases[] = {
		{"{{ missing.x }}", "undefined"},
		{"{{ 'a' + 1 }}", "between a text and a number"},
		{"{{ 1 // 0 }}", "division by 0"},
		{"{{ 9223372036854775 * 9223372036854775 }}", "64 bits"},
		{"{{ [1] }}", "tojson"},
		{"{{ messages }}", "tojson"},
		{"{{ 'x'.format(1) }}", "'format'"},
		{"{{ messages() }}", "a call of"},
		{"{% set ns = namespace() %}{% set ns.x = ns %}", "namespace"},
		{"{% set x.y = 1 %}", "no namespace"},
		{"{% for a, b in [1] %}{% endfor %}", "2 values"},
		{"{{ raise_exception('no such\x1b[1m') }}", "it refuses: no such?[1m"},
		{"{{ range(10000000) | length }}", "more than 100000"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		hec_status status;
		char *text = apply(cases[i].template, &status);
		assert_null(text);
		assert_int_equal(status, HEC_ERR_ARGUMENT);
		if (!strstr(hec_error_message(), cases[i].says))
			fail_msg("case %zu: \"%s\" does not say \"%s\"", i, hec_error_message(),
			         cases[i].says);
	}
}

static void hostile_templates_end_in_a_message(void **state)
{
	(void)state;
	static const char *const cases[] = {
		/* a loop in a loop in a loop */
		"{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
		"{% endfor %}{% endfor %}{% endfor %}",
		/* texts that double */
		"{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(99) %}"
		"{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
		"{{ 'aaaaaaaaaaaaaaaa' * 999999999 }}",
		"{{ '' * 999999999999 }}",
		/* lists that hold themselves twice, and deeper and deeper */
		"{% set ns = namespace(x=[1]) %}{% for i in range(60) %}"
		"{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == ns.x }}",
		"{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}"
		"{% set ns.x = [ns.x] %}{% endfor %}",
		"{% for i in range(99999) %}{{ messages | tojson(indent=60) }}{% endfor %}",
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		hec_status status;
		char *text = apply(cases[i], &status);
		if (status == HEC_OK || text)
			fail_msg("case %zu ran to its end", i);
		assert_int_equal(status, HEC_ERR_ARGUMENT);
	}
	/* So deep that a stack would end. */
	char *deep = malloc(400001);
	assert_non_null(deep);
	static const char *const marks[] = {"(", "[", "-", "not ", "{% if 1 %}", "{'a':", "a if "};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		size_t n = strlen(marks[i]);
		strcpy(deep, *marks[i] == '{' && marks[i][1] == '%' ? "" : "{{ ");
		size_t at = strlen(deep);
		for (; at + n < 400000; at += n)
			memcpy(deep + at, marks[i], n);
		deep[at] = '\0';
		hec_status status;
		assert_null(apply(deep, &status));
		assert_int_equal(status, HEC_ERR_UNSUPPORTED);
	}
	free(deep);
}

/* A chain of operators is as deep as it is long. */
static void a_long_chain_is_no_crash(void **state)
{
	(void)state;
	char *text = malloc(100001);
	hec_status status;
	assert_non_null(text);
	strcpy(text, "{{ 1");
	size_t at = 4;
	for (; at < 90000; at += 2)
		memcpy(text + at, "+1", 2);
	strcpy(text + at, " }}");
	char *made = apply(text, &status);
	if (status != HEC_OK)
		assert_non_null(strstr(hec_error_message(), "levels"));
	free(made);
	free(text);
}

static void a_template_cut_anywhere_is_no_crash(void **state)
{
	(void)state;
	static const char *const names[] = {"language.jinja", "qwen.jinja", "mistral.jinja"};
	for (size_t k = 0; k < 3; k++) {
		char path[512], *text;
		size_t bytes;
		snprintf(path, sizeof path, "%s/%s", GOLDEN, names[k]);
		assert_int_equal(file_read(path, 1 << 20, &text, &bytes), HEC_OK);
		for (size_t n = 0; n < bytes; n++) {
			hec_chat_template *t = NULL;
			char *part = malloc(n + 1), *made = NULL;
			assert_non_null(part);
			memcpy(part, text, n);
			if (hec_chat_template_parse(part, n, &t) == HEC_OK) {
				hec_chat_message m = {"user", "hi"};
				if (hec_chat_apply(t, &m, 1, NULL, &made, NULL) != HEC_OK)
					assert_null(made);
			}
			free(made);
			free(part);
			hec_chat_template_destroy(t);
		}
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversations_read_as_in_transformers),
		cmocka_unit_test(messages_come_from_structs_too),
		cmocka_unit_test(what_is_not_known_is_named_with_its_line),
		cmocka_unit_test(what_goes_wrong_while_it_runs_is_said),
		cmocka_unit_test(hostile_templates_end_in_a_message),
		cmocka_unit_test(a_long_chain_is_no_crash),
		cmocka_unit_test(a_template_cut_anywhere_is_no_crash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
