/* test_chat.c — chat templates against apply_chat_template of Transformers (tests/golden/chat, by
 * tools/goldens/chat_make.py), what is refused, and templates that would run for ages. */
#include <hecate/chat.h>

#include "alloc/refuse.h"
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
	hec_free(text);
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
	hec_free(text);
}

typedef struct refusal {
	const char *template, *says;
} refusal;

static void check_refusals(const refusal *cases, size_t n, hec_status want)
{
	for (size_t i = 0; i < n; i++) {
		hec_status status;
		char *text = apply(cases[i].template, &status);
		assert_null(text);
		if (status != want || !strstr(hec_error_message(), cases[i].says))
			fail_msg("%s: status %d, not %d; \"%s\" does not say \"%s\"",
			         cases[i].template, (int)status, (int)want, hec_error_message(),
			         cases[i].says);
	}
}

static void what_is_not_known_is_named_with_its_line(void **state)
{
	(void)state;
	static const refusal cases[] = {
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
		{"{{ 1 < 2 < 3 }}", "chain of comparisons"},
		{"{{ 'a' 'b' }}", "goes on where it should end"},
		{"{% break %}", "outside of a loop"},
		{"{% for a in b %}{% else %}{% continue %}{% endfor %}", "outside of a loop"},
		{"{{ 3 / 2 }}", "'/'"},
		{"{% set a, b.c = x %}", "several names"},
		{"{{ {'a':} }}", "an expression is missing"},
		{"{{ {'a': 1, 'b':} }}", "an expression is missing"},
		{"{{ {'a'} }}", "missing"},
		{"{{ 1e3 }}", "the number '1e'"},
		{"{{ 0x10 }}", "the number '0x'"},
	};
	check_refusals(cases, sizeof cases / sizeof *cases, HEC_ERR_UNSUPPORTED);
}

/* What Jinja would do: the caller can tell it from what the template says of the messages. */
static void what_is_not_known_while_it_runs_is_named_too(void **state)
{
	(void)state;
	static const refusal cases[] = {
		{"{{ 9223372036854775 * 9223372036854775 }}", "64 bits"},
		{"{{ [1] }}", "tojson"},
		{"{{ [[1]] | map(attribute='0') | join }}", "'map' by a number"},
		{"{{ [{'a': {'b': 'x'}}] | map(attribute='a.b') | join }}",
	         "'map' by an attribute with a dot"},
		{"{{ [{'a': {'b': 1}}] | selectattr('a.b', 'equalto', 2) | list }}",
	         "'selectattr' by an attribute with a dot"},
		{"{{ 'ab' | reverse }}", "'reverse' of a text"},
		{"{{ [{}] | map(attribute='items') | join }}", "'map' of a method"},
		{"{{ [{}] | map(attribute='copy') | join }}", "'copy' of a dict"},
		{"{{ ['a'] | map(attribute='') | join }}", "a list of what is undefined"},
		{"{{ [{'a': 1}, {}] | map(attribute='a') | select('defined') | list }}",
	         "a list of what is undefined"},
		{"{{ '1e3' | int }}{{ 1 }}", "'int' of a text that is no whole number"},
		{"{{ '1.9' | int }}", "'int' of a text that is no whole number"},
		{"{{ '' | int }}{{ 1 }}", "'int' of a text that is no whole number"},
		{"{{ '-' | int }}", "'int' of a text that is no whole number"},
		{"{{ '1x' | int }}", "'int' of a text that is no whole number"},
		{"{{ '1_000' | int }}", "'int' of a text that is no whole number"},
		{"{{ '٣' | int }}", "'int' of a text that is no whole number"},
		{"{{ '9223372036854775808' | int }}", "64 bits"},
		{"{{ messages }}", "tojson"},
		{"{{ 'x'.format(1) }}", "line 1: 'format' of a text"},
		{"{{ [].append(1) }}", "'append' of a list"},
		/* an argument is never ignored */
		{"{{ 'a b c'.split(' ', 1, 2) }}", "'split' with 3 arguments"},
		{"{{ 'aa'.replace('a', 'b', 1) }}", "'replace' with 3 arguments"},
		{"{{ 'aa' | replace('a', 'b', count=1) }}", "'replace' with 'count'"},
		{"{{ 1 | tojson(sort_keys=true) }}", "'tojson' with 'sort_keys'"},
		{"{{ messages | map('upper') }}", "'map' with 1 arguments"},
		{"{{ messages | selectattr('role', 'odd') }}", "the test 'odd'"},
		{"{{ 'a b'.split(none, 1) }}", "white space"},
		{"{{ 'É' | lower }}", "ASCII"},
		{"{{ '99999999999999999999' | int }}", "64 bits"},
		{"{{ -(-999999999999999999 * 9 - 223372036854775817) // 1 }}", "64 bits"},
		{"{{ (-999999999999999999 * 9 - 223372036854775817) // -1 }}", "64 bits"},
		{"{{ 'abc'[::2] }}", "with a step"},
		{"\n{{ 'abc'.find('c') }}", "line 2: 'find' of a text"},
		{"{{ messages[0].update({}) }}", "'update' of a dict"},
		{"{{ 'a%s' % 'b' }}", "'%' between a text and a text"},
		{"{{ 'a' * 3 }}", "'*' between a text and a number"},
		{"{{ true + 1 }}", "'+' between a truth value and a number"},
		{"{{ 1.5 + 1 }}", "'+' between a number and a number"},
		{"{{ -1.5 }}", "minus a number"},
		{"{{ true < 2 }}", "a truth value compared with a number"},
		{"{{ messages[0].content.split() }}", "tojson"},
		{"{% for a in messages %}{{ loop.cycle('a', 'b') }}{% endfor %}", "'cycle'"},
		{"{{ joiner(', ') }}", "the function 'joiner'"},
		{"{{ {1: 2} | length }}", "a key that is a number"},
		{"{{ 'a' | replace('', 'b') }}", "'replace' of an empty text"},
		{"{% set ns = namespace(x=namespace()) %}", "namespace"},
		{"{% set ns = namespace() %}{% set ns.x = ns %}", "namespace"},
	};
	check_refusals(cases, sizeof cases / sizeof *cases, HEC_ERR_UNSUPPORTED);
}

static void check_texts(const char *const (*cases)[2], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		hec_status status;
		char *text = apply(cases[i][0], &status);
		if (status != HEC_OK)
			fail_msg("case %zu: %s", i, hec_error_message());
		assert_string_equal(text, cases[i][1]);
		free(text);
	}
}

/* A name that a text or list has not is undefined, and may be asked for. */
static void unknown_attributes_are_undefined(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"{{ 'x' if messages[0].content.content is defined else 'y' }}", "y"},
		{"{{ messages.foo is defined }}{{ (5).foo is defined }}", "FalseFalse"},
		{"{{ 'x'.foo }}{{ messages.content }}{{ none.x }}.", "."},
		{"{{ ['a'] | selectattr('role') | list | length }}", "0"},
		{"{{ [{'copy': 'C', 'items': 'I'}] | map(attribute='copy') | join }}", "C"},
		{"{{ [{'copy': 'C', 'items': 'I'}] | map(attribute='items') | join }}", "I"},
		{"{{ '19' | int }} {{ ' 12 ' | int }} {{ '-3' | int }} {{ '+5' | int }}",
	         "19 12 -3 5"},
		{"{{ '-9223372036854775808' | int }}", "-9223372036854775808"},
		{"{{ 1.5 }} {{ 0.1 }} {{ 1.0 }} {{ 0.00001 }}", "1.5 0.1 1.0 1e-05"},
		{"{{ 1 in {'a': 1} }}{{ missing | items | list | length }}", "False0"},
		{"{% for a in [1, 2] %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}", "1010"},
	};
	check_texts(cases, sizeof cases / sizeof *cases);
}

/* Where Jinja is not what one would guess. */
static void odd_ways_of_jinja_are_its_own(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		/* else: no turn came to its end */
		{"{% for a in [1, 2] %}{{ a }}{% break %}{% else %}e{% endfor %}", "1e"},
		{"{% for a in [1, 2] %}{{ a }}{% continue %}{% else %}e{% endfor %}", "12e"},
		{"{% for a in [1, 2] %}{{ a }}{% if a == 2 %}{% break %}{% endif %}{% else %}e{% "
	         "endfor %}",
	         "12"},
		{"{% for a in [] %}a{% else %}e{% endfor %}", "e"},
		/* what is set inside is not known outside */
		{"{% set a = 1 %}{% set b %}{% set a = 2 %}{{ a }}{% endset %}{{ b }}{{ a }}",
	         "21"},
		{"{% set a = 1 %}{% generation %}{% set a = 2 %}{{ a }}{% endgeneration %}{{ a }}",
	         "21"},
		{"{% set n = namespace(a=1) %}{% set b %}{% set n.a = 2 %}{% endset %}{{ n.a }}",
	         "2"},
		{"{% for a in [1, 2] %}{% set b %}{{ a }}{% break %}{% endset %}{{ b }}{% endfor "
	         "%}.",
	         "."},
		/* texts and dicts are several values, too */
		{"{% set a, b = 'xß' %}{{ b }}{{ a }}{% set a, b = {'p': 1, 'q': 2} %}{{ a }}{{ b "
	         "}}",
	         "ßxpq"},
		{"{% for a, b in ['xy'] %}{{ b }}{{ a }}{% endfor %}", "yx"},
		{"{{ {'a': 1, 'b': 2} | reverse | join }}{{ [1, 2] | reverse | join }}", "ba21"},
		/* what is made item by item is there, even without any, and only once */
		{"{{ 'x' if [] | select else 'y' }}{{ 'x' if [] | select | list else 'y' }}", "xy"},
		{"{% set a = [1, 2] | select %}{{ a | join }}{{ a | join }}.{{ 1 in a }}",
	         "12.False"},
		{"{% set a = {'k': 1} | items %}{% for k, v in a %}{{ k }}{{ v }}{% endfor %}"
	         "{{ a | list | length }}",
	         "k10"},
		{"{{ ([0] | select) is iterable }}{{ ([0] | select) is sequence }}", "TrueFalse"},
		{"{{ 2 in [1, 2] | reverse }}{{ ','.join(['a', 'b'] | reverse) }}", "Trueb,a"},
		{"{% set a, b = [1, 2] | reverse %}{{ a }}{{ b }}", "21"},
		{"{{ missing in {'a': 1} }}{{ missing in ['a'] }}", "FalseFalse"},
	};
	check_texts(cases, sizeof cases / sizeof *cases);
}

static void what_goes_wrong_while_it_runs_is_said(void **state)
{
	(void)state;
	static const refusal cases[] = {
		{"{{ missing.x }}", "undefined"},
		{"{{ 'a' + 1 }}", "between a text and a number"},
		{"{{ 1 // 0 }}", "division by 0"},
		{"{{ 1 is defined(2) }}", "'defined' with 1 arguments"},
		{"{{ 1 % 0 }}", "division by 0"},
		{"{{ range(1, 2, 0) }}", "a step of 0"},
		{"{{ [1][::0] }}", "a step of 0"},
		{"{{ [1][missing:] }}", "a slice by undefined"},
		/* the line of what went wrong, not of what was looked at last */
		{"a\n{{ 'a' +\n\n 1 }}\n", "line "},
		{"{{ messages() }}", "a call of"},
		{"{% set x.y = 1 %}", "no namespace"},
		{"{% for a, b in [1] %}{% endfor %}", "2 values"},
		{"{{ raise_exception('no such\x1b[1m') }}", "it refuses: no such?[1m"},
		{"{{ range(10000000) | length }}", "more than 100000"},
		{"{{ range(-999999999999999999 * 9, 999999999999999999 * 9) }}", "100000"},
	};
	check_refusals(cases, sizeof cases / sizeof *cases, HEC_ERR_ARGUMENT);
}

#define LONG_TEXT                                                                                  \
	"{% set ns = namespace(x='        ') %}{% for i in range(18) %}"                           \
	"{% set ns.x = ns.x + ns.x %}{% endfor %}{% for i in range(99999) %}"
#define LONG_END "{% endfor %}"

/* Numbers at the end of what 64 bits hold. */
static void ranges_and_slices_go_to_the_ends_of_the_numbers(void **state)
{
	(void)state;
	static const char most[] = "999999999999999999 * 9 + 223372036854775816";
	static const char *const cases[][2] = {
		{"{{ range(m - 1, m, 2) | length }}", "1"},
		{"{{ range(m - 1, m, m) | length }}", "1"},
		{"{{ range(-m - 1, m, m) | length }}", "3"},
		{"{{ range(m, -m - 1, -m - 1) | length }}", "2"},
		{"{{ range(m, m) | length }}", "0"},
		{"{{ (-m - 1) % -1 }}", "0"},
		{"{{ [1, 2][-m - 1:m] | length }}{{ [1, 2][m:-m] | length }}", "20"},
		{"{{ 'äb'[-m - 1:m] }}{{ 'äb'[m] }}{{ 'äb'[-m - 1] }}", "äb"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char template[256];
		hec_status status;
		snprintf(template, sizeof template, "{%% set m = %s %%}%s", most, cases[i][0]);
		char *text = apply(template, &status);
		if (status != HEC_OK)
			fail_msg("case %zu: %s", i, hec_error_message());
		assert_string_equal(text, cases[i][1]);
		free(text);
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
		/* lists that stay: memory for each number */
		"{% set ns = namespace(x=[]) %}{% for i in range(99999) %}"
		"{% set ns.x = ns.x + [range(99999)] %}{% endfor %}",
		/* a long text that is looked at again and again */
		LONG_TEXT "{{ ns.x | length }}" LONG_END,
		LONG_TEXT "{{ ns.x | trim | length }}" LONG_END,
		LONG_TEXT "{{ ns.x.startswith(ns.x) }}" LONG_END,
		LONG_TEXT "{{ ns.x <= ns.x }}" LONG_END,
		LONG_TEXT "{{ ns.x[-9999999] }}" LONG_END,
		LONG_TEXT "{{ messages[0][ns.x] }}" LONG_END,
		LONG_TEXT "{{ ns.x | int }}" LONG_END,
		LONG_TEXT "{{ ns.x.strip(ns.x) }}" LONG_END,
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		hec_status status;
		char *text = apply(cases[i], &status);
		if (status == HEC_OK || text)
			fail_msg("case %zu ran to its end", i);
		assert_true(status == HEC_ERR_ARGUMENT || status == HEC_ERR_UNSUPPORTED);
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

/* Parts that are as many as a template is long: in linear time, and no deeper than a stack. */
static void many_parts_are_no_crash_and_no_hang(void **state)
{
	(void)state;
	static const struct {
		const char *first, *part, *last;
		bool numbered;
	} cases[] = {
		{"{{ 1", "+1", " }}", false},
		{"{{ 1", " is eq 1", " }}", false},
		{"{{ 'a'", "'a'", " }}", false},
		{"{{ a", ".a", " }}", false},
		{"{{ a", "|trim", " }}", false},
		{"{{ 'x' ", "if 1 else 1 ", " }}", false},
		{"", "{% set a_%06zu = 1 %}", "", true},
		{"", "{% generation %}{% endgeneration %}", "", false},
		{"{% if 0 %}", "{% elif 0 %}", "{% endif %}", false},
	};
	enum { MOST = 2000000 };
	char *text = malloc(MOST + 100);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		hec_status status;
		size_t at = strlen(cases[i].first), n = strlen(cases[i].part), number = 0;
		strcpy(text, cases[i].first);
		while (at < MOST)
			if (cases[i].numbered) {
				at += (size_t)sprintf(text + at, "{%% set a_%06zu = 1 %%}",
				                      number++);
			} else {
				memcpy(text + at, cases[i].part, n);
				at += n;
			}
		strcpy(text + at, cases[i].last);
		free(apply(text, &status));
		if (status != HEC_OK)
			assert_non_null(strstr(hec_error_message(), "line "));
	}
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
			hec_free(made);
			free(part);
			hec_chat_template_destroy(t);
		}
		free(text);
	}
}

static void texts_that_are_not_utf8_are_named(void **state)
{
	(void)state;
	hec_chat_template *t = NULL;
	char *text = NULL;
	assert_int_equal(hec_chat_template_parse("ab\xff", 3, &t), HEC_ERR_FORMAT);
	assert_non_null(strstr(hec_error_message(), "byte 2"));
	assert_int_equal(hec_chat_template_parse("a\0b", 3, &t), HEC_ERR_FORMAT);
	assert_non_null(strstr(hec_error_message(), "byte 1"));
	assert_null(t);
	assert_int_equal(hec_chat_template_parse("x", 1, &t), HEC_OK);
	hec_chat_message m = {"user", "abc\xc3"};
	assert_int_equal(hec_chat_apply(t, &m, 1, NULL, &text, NULL), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "message 0: byte 3"));
	assert_null(text);
	hec_chat_template_destroy(t);
}

static void every_refused_allocation_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	json_set_alloc_funcs(malloc, free); /* through refuse.c, like ours */
	static const char *const names[] = {"language.jinja", "mistral.jinja"};
	static const char variables[] =
		"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"bos_token\":\"<s>\"}";
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	o.variables = variables;
	o.variables_bytes = sizeof variables - 1;
	for (size_t k = 0; k < 2; k++) {
		char path[512];
		snprintf(path, sizeof path, "%s/%s", GOLDEN, names[k]);
		long n = 1;
		for (bool fired = true; fired; n++) {
			hec_chat_template *t = NULL;
			char *text = NULL;
			long before = refuse_live();
			refuse_request(n, false);
			hec_status status = hec_chat_template_load(path, &t);
			if (status == HEC_OK)
				status = hec_chat_apply(t, NULL, 0, &o, &text, NULL);
			fired = refuse_fired();
			refuse_request(0, false);
			/* FORMAT: Jansson takes a string without memory for a wrong one. */
			if (fired && status != HEC_OK && status != HEC_ERR_MEMORY &&
			    !(status == HEC_ERR_FORMAT && strstr(hec_error_message(), "variables")))
				fail_msg("%s, request %ld: %s", names[k], n, hec_error_message());
			assert_true((status == HEC_OK) == (text != NULL));
			hec_free(text);
			hec_chat_template_destroy(t);
			assert_int_equal(refuse_live(), before);
		}
		assert_true(n > 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversations_read_as_in_transformers),
		cmocka_unit_test(messages_come_from_structs_too),
		cmocka_unit_test(what_is_not_known_is_named_with_its_line),
		cmocka_unit_test(what_is_not_known_while_it_runs_is_named_too),
		cmocka_unit_test(unknown_attributes_are_undefined),
		cmocka_unit_test(odd_ways_of_jinja_are_its_own),
		cmocka_unit_test(what_goes_wrong_while_it_runs_is_said),
		cmocka_unit_test(hostile_templates_end_in_a_message),
		cmocka_unit_test(ranges_and_slices_go_to_the_ends_of_the_numbers),
		cmocka_unit_test(many_parts_are_no_crash_and_no_hang),
		cmocka_unit_test(a_template_cut_anywhere_is_no_crash),
		cmocka_unit_test(texts_that_are_not_utf8_are_named),
		cmocka_unit_test(every_refused_allocation_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
