/* test_chat_work.c — what a chat template may take: every byte that is looked at and every item that is
 * touched is charged, so that whatever it does ends within a second of processor time, and what it holds
 * is bounded by its work. */
#define _DEFAULT_SOURCE

#include <hecate/chat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/sanitized.h"

#define SECONDS 2.0 /* "within a second", on a machine that is half as fast */
/* A sanitizer makes every step several times as long: there only what happens counts. 0: the library's limit. */
#define WORK (SANITIZED ? (int64_t)4 << 20 : 0)
#define TRIES 3 /* of which the best counts: others use the processor as well */

/* ---- what the templates are given ---- */

typedef struct given {
	char *json;
	size_t bytes;
} given;

#define BIG ((size_t)512 << 10) /* bytes of a text, and items: where time is measured */
#define MANY ((size_t)10000)
#define LONG ((size_t)64 << 10) /* and where work is */
#define ITEMS ((size_t)1000)
static given large, small;

/* A text of n bytes: many of one, then the last. */
static void put_text(FILE *out, const char *name, size_t n, char all, char last)
{
	fprintf(out, ",\"%s\":\"", name);
	for (size_t i = 0; i + 1 < n; i++)
		fputc(all, out);
	fprintf(out, "%c\"", last);
}

static void put_list(FILE *out, const char *name, size_t n, const char *item)
{
	fprintf(out, ",\"%s\":[%s", name, item);
	for (size_t i = 1; i < n; i++)
		fprintf(out, ",%s", item);
	fputc(']', out);
}

/* b: a text; c: the same but for its last byte; v: the same, another value; s: spaces; n: digits; p: points;
 * l, m: lists of numbers, t: of texts, o: of dicts; d: a dict of many; k: a dict whose key is b. */
static void make(given *g, size_t bytes, size_t items)
{
	FILE *out = open_memstream(&g->json, &g->bytes);
	assert_non_null(out);
	fprintf(out, "{\"x\":0");
	put_text(out, "b", bytes, 'a', 'a');
	put_text(out, "c", bytes, 'a', 'b');
	put_text(out, "v", bytes, 'a', 'a');
	put_text(out, "s", bytes, ' ', ' ');
	put_text(out, "n", bytes, '0', '0');
	put_text(out, "p", bytes, '.', '.');
	put_list(out, "l", items, "1");
	put_list(out, "m", items, "1");
	put_list(out, "t", items, "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"");
	put_list(out, "o", items, "{\"a\":{\"a\":\"a\"}}");
	fprintf(out, ",\"d\":{\"\":0");
	for (size_t i = 0; i < items; i++)
		fprintf(out, ",\"%zu\":%zu", i, i);
	fprintf(out, "},\"k\":{\"");
	for (size_t i = 0; i < bytes; i++)
		fputc('a', out);
	fprintf(out, "\":1}}");
	assert_int_equal(fclose(out), 0);
}

static int give_variables(void **state)
{
	(void)state;
	make(&large, BIG, MANY);
	make(&small, LONG, ITEMS);
	return 0;
}

static int free_variables(void **state)
{
	(void)state;
	free(large.json);
	free(small.json);
	return 0;
}

/* The text of a template, or NULL; work 0: the library's limit. */
static char *apply(const char *template, const given *g, int64_t work, hec_status *status)
{
	hec_chat_template *t = NULL;
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	char *text = NULL;
	o.variables = g->json;
	o.variables_bytes = g->bytes;
	if (work > 0)
		o.work = work;
	*status = hec_chat_template_parse(template, strlen(template), &t);
	if (*status == HEC_OK)
		*status = hec_chat_apply(t, NULL, 0, &o, &text, NULL);
	hec_chat_template_destroy(t);
	return text;
}

/* ---- time ---- */

static double seconds_of(const struct rusage *used)
{
	return (double)used->ru_utime.tv_sec + (double)used->ru_stime.tv_sec +
	       1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

/* The processor time of a template, in a process that ends where it takes far too long. */
static double measured(const char *template)
{
	struct rusage used;
	int how;
	const struct rlimit most = {3 * (rlim_t)SECONDS, 3 * (rlim_t)SECONDS + 1};
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		hec_status status;
		(void)setrlimit(RLIMIT_CPU, &most);
		free(apply(template, &large, WORK, &status));
		_exit(status == HEC_OK || status == HEC_ERR_ARGUMENT ||
		                      status == HEC_ERR_UNSUPPORTED
		              ? 0
		              : 1);
	}
	assert_int_equal(wait4(child, &how, 0, &used), child);
	if (!WIFSIGNALED(how) || WTERMSIG(how) != SIGXCPU)
		assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	return seconds_of(&used);
}

static void check_time(const char *template)
{
	hec_chat_template *t = NULL;
	if (hec_chat_template_parse(template, strlen(template), &t) != HEC_OK)
		fail_msg("%s: %s", template, hec_error_message());
	hec_chat_template_destroy(t);
	double seconds = measured(template);
	for (int i = 1; i < TRIES && seconds > SECONDS; i++) {
		double again = measured(template);
		seconds = again < seconds ? again : seconds;
	}
	if (seconds > SECONDS)
		fail_msg("%.2f s of processor time: %s", seconds, template);
}

/* Each again and again, until its work is at its end. */
static void what_looks_at_texts_and_items_ends_within_a_second(void **state)
{
	(void)state;
	static const char *const values[] = {
		/* operators */
		"b == v",
		"b != c",
		"b <= v",
		"b in c",
		"c not in b",
		"b in l",
		"x in l",
		"b in [c, c, c, c, c, c, c, c]",
		"b in d",
		"b in k",
		"missing in l",
		"l == m",
		"t == t|list",
		"d == d",
		"k == k",
		"o == o",
		"l + m",
		"b + c",
		"x ~ 1.5",
		"-x",
		"1 // 2",
		"not x",
		"x if x else x",
		"[1, 2, 3]",
		"{'a': 1, 'b': 2}",
		"{b: 1}",
		"'a' < 'b'",
		"1",
		"x",
		"missing",
		"b",
		"loop",
		"loop.index",
		/* parts */
		"b[0]",
		"b[-1]",
		"b[9999999]",
		"b[-1:]",
		"l[0]",
		"l[::-1]",
		"d[b]",
		"k[b]",
		"d['1']",
		"d.a",
		"x.a",
		/* filters */
		"b|length",
		"l|length",
		"s|trim",
		"''|trim(b)",
		"'b'|trim(b)",
		"b|upper",
		"b|title",
		"b|replace('b', 'c')",
		"b|replace('a', '')",
		"b|replace(c, '')",
		"''|replace(b, b)",
		"1.5|string",
		"1|string",
		"b|list",
		"d|list",
		"b|first",
		"l|last",
		"t|join",
		"l|join(b)",
		"o|map(attribute='a')|list",
		"o|map(attribute=b)|list",
		"o|map(attribute=p)|list",
		"l|select|list",
		"l|select('in', l)|list",
		"t|select('in', b)|list",
		"t|reject('in', d)|list",
		"t|select('eq', 'b')|list",
		"[b, b, b, b, b, b, b, b]|select('==', c)",
		"[b, b, b, b, b, b, b, b]|select('==', v)|list",
		"[b, b, b, b, b, b, b, b]|reject('in', k)|list",
		"l|select(b)|list",
		"l|select('defined')|list",
		"l|rejectattr(b)|list",
		"l|rejectattr('a')|list",
		"l|selectattr(p)|list",
		"l|selectattr(n)|list",
		"o|selectattr('a', 'eq', 'b')|list",
		"o|selectattr(b, 'in', b)|list",
		"d|items|list",
		"k|items",
		"l|reverse|list",
		"b|default(c)",
		"missing|default(b, true)",
		"n|int",
		"s|int",
		"1|int",
		"b|tojson",
		"n|tojson(indent=4)",
		"l|tojson(indent=64)",
		"d|tojson",
		"k|tojson",
		"1.5|tojson",
		/* tests */
		"b is defined",
		"b is eq(c)",
		"b is eq(v)",
		"b is in(c)",
		"b is in(l)",
		"b is in(k)",
		"l is eq(m)",
		/* methods and functions */
		"s.lstrip()",
		"b.rstrip(c)",
		"b.split('b')",
		"b.split('a')",
		"b.split(c)",
		"s.split()",
		"b.split('a', 1)",
		"b.startswith(c)",
		"b.endswith(v)",
		"b.title()",
		"b.replace(c, c)",
		"b.join(l)",
		"d.items()",
		"k.keys()",
		"d.values()",
		"d.get(b)",
		"k.get(b)",
		"d.get('no', b)",
		"range(99999)",
		"range(1)",
		"namespace(a=1, b=2, c=3)",
		"strftime_now('%c%c%c%c%c')",
		"strftime_now('%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s')",
		"strftime_now('a' ~ b)",
	};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char template[512];
		snprintf(template, sizeof template,
		         "{%% set r = range(99999) %%}{%% for i in r %%}{%% for j in r %%}"
		         "{%% set q = %s %%}{%% endfor %%}{%% endfor %%}",
		         values[i]);
		check_time(template);
	}
}

static void statements_end_within_a_second(void **state)
{
	(void)state;
#define AGAIN(what)                                                                                \
	"{% set r = range(99999) %}{% set ns = namespace(x=0, l=[]) %}"                            \
	"{% for i in r %}{% for j in r %}" what "{% endfor %}{% endfor %}"
	static const char *const templates[] = {
		AGAIN(""),
		AGAIN("{{ b }}"),
		AGAIN("{{ 1 }}"),
		AGAIN("{{ 1.5 }}"),
		AGAIN("aaaaaaaaaaaaaaaa"),
		AGAIN("{% if x %}{% endif %}"),
		AGAIN("{% set q %}{% endset %}"),
		AGAIN("{% set q %}{{ b }}{% endset %}"),
		AGAIN("{% set ns.x = 1 %}"),
		AGAIN("{% set ns.x = b %}"),
		AGAIN("{% set ns.l = [ns.l, ns.l] %}"),
		AGAIN("{% set ns.l = ns.l + [1] %}"),
		AGAIN("{% set a, b, c = 'abc' %}"),
		AGAIN("{% set a, b = b %}"),
		AGAIN("{% generation %}{% endgeneration %}"),
		AGAIN("{% continue %}"),
		AGAIN("{% break %}"),
		AGAIN("{% for k in [] %}{% endfor %}"),
		AGAIN("{% for k in b %}{% break %}{% endfor %}"),
		AGAIN("{% for k in d %}{% break %}{% endfor %}"),
		AGAIN("{% for k in l if 0 %}{% endfor %}"),
		AGAIN("{% for k in l if k %}{% break %}{% endfor %}"),
		AGAIN("{% for k in l %}{{ loop.previtem }}{% endfor %}"),
		AGAIN("{% for k, v in d|items %}{% break %}{% endfor %}"),
	};
	for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
		check_time(templates[i]);
}

/* ---- work ---- */

#define ELEMENT 32 /* of a list */

static bool is_too_much(const char *template, int64_t work)
{
	hec_status status;
	char *text = apply(template, &small, work, &status);
	free(text);
	return status == HEC_ERR_ARGUMENT && strstr(hec_error_message(), "takes more");
}

/* A value, and what it takes at least: the bytes that are looked at, the items that are touched. */
static void what_is_looked_at_is_charged_wherever_it_is(void **state)
{
	(void)state;
	static const struct {
		const char *value;
		size_t least;
	} cases[] = {
		/* compared */
		{"b == v", LONG / 16},
		{"b != c", LONG / 16},
		{"b is eq(c)", LONG / 16},
		{"b < c", LONG / 16},
		{"b.startswith(c)", LONG / 16},
		{"b.endswith(v)", LONG / 16},
		{"[c, c, c, c]|select('eq', b)|list", LONG / 4},
		{"l == m", 8 * ITEMS},
		{"d == d", 14 * ITEMS},
		{"o == o", 20 * ITEMS},
		/* searched */
		{"b in c", LONG},
		{"[c, c, c, c]|reject('in', b)|list", 4 * LONG},
		{"b|replace('b', 'c')", 3 * LONG},
		{"b.split('b')", 2 * LONG},
		{"b.split('a')", ELEMENT * LONG},
		{"x in l", 5 * ITEMS},
		/* looked up */
		{"b in d", LONG / 4},
		{"d[b]", LONG / 4},
		{"d.get(b)", LONG / 4},
		{"l|selectattr(b)|list|length", ITEMS * LONG / 4},
		{"o|selectattr(b)|list|length", ITEMS * LONG / 2},
		/* counted, walked */
		{"b|length", LONG / 4},
		{"b[5]", LONG / 4},
		{"b[-9999999]", LONG / 4},
		{"b[5:9]", LONG / 4},
		{"n|int", LONG / 4},
		{"s|trim", LONG},
		{"'x'|trim(b)", LONG},
		{"s.split()", LONG},
		/* made */
		{"b|upper", 2 * LONG},
		{"b ~ c", 4 * LONG},
		{"b|tojson", 2 * LONG},
		{"t|join", 2 * 50 * ITEMS},
		{"l + m", 2 * ELEMENT * ITEMS},
		{"l[::-1]", ELEMENT * ITEMS},
		{"range(1000)", ELEMENT * ITEMS},
		{"b|list", ELEMENT * LONG},
		{"d.keys()", ELEMENT * ITEMS},
		{"d.items()", 3 * ELEMENT * ITEMS},
		{"k.keys()", LONG},
		{"{b: 1}", LONG},
		{"{'a': 1, 'b': 2, 'c': 3}", 3 * 64},
		{"namespace(a=1, b=2, c=3)", 3 * 64},
		{"1.5|string", 32},
		{"strftime_now('%Y')", 256},
		{"strftime_now('%s%s%s%s%s%s%s%s')", 8 * 2 * 100},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char template[256];
		snprintf(template, sizeof template, "{%% set q = %s %%}", cases[i].value);
		if (!is_too_much(template, (int64_t)cases[i].least))
			fail_msg("%s: not refused with work of %zu", cases[i].value,
			         cases[i].least);
		if (is_too_much(template, 0))
			fail_msg("%s: refused", cases[i].value);
	}
}

/* Names are looked for among all that are set, and each turn of a loop sets some. */
static void names_and_turns_are_charged(void **state)
{
	(void)state;
	enum { NAMES = 200, TURNS = 500 };
	char template[16384];
	size_t n = 0;
	for (int i = 0; i < NAMES; i++)
		n += (size_t)sprintf(template + n, "{%% set a%03d = 1 %%}", i);
	sprintf(template + n,
	        "{%% for i in range(%d) %%}{%% if a000 %%}{%% endif %%}{%% endfor %%}", TURNS);
	assert_true(is_too_much(template, NAMES * TURNS));
	assert_false(is_too_much(template, 0));
	assert_true(is_too_much("{% for i in l %}{% endfor %}", 100 * (int64_t)ITEMS));
	assert_true(
		is_too_much("{% for i in l %}{{ loop.index }}{% endfor %}", 600 * (int64_t)ITEMS));
}

/* ---- and yet enough for all that is meant well ---- */

static void long_conversations_are_within_the_limit(void **state)
{
	(void)state;
	static const char *const names[] = {"chatml",  "gemma", "llama2", "llama3",
	                                    "mistral", "qwen",  "smol",   "zephyr"};
	static const char tokens[] = "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\"}";
	static const struct {
		size_t messages, bytes;
	} sizes[] = {{10001, 100}, {1, 2 << 20}};
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		for (size_t j = 0; j < 2; j++) {
			char path[512], *text = NULL;
			size_t n = sizes[j].messages, bytes = sizes[j].bytes, made = 0;
			hec_chat_template *t = NULL;
			hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
			o.variables = tokens;
			o.variables_bytes = sizeof tokens - 1;
			char *content = malloc(bytes + 1);
			hec_chat_message *m = calloc(n, sizeof *m);
			assert_non_null(content);
			assert_non_null(m);
			memset(content, 'x', bytes);
			content[bytes] = '\0';
			for (size_t i = 0; i < n; i++)
				m[i] = (hec_chat_message){i % 2 ? "assistant" : "user", content};
			snprintf(path, sizeof path, TESTS_DIR "/golden/chat/%s.jinja", names[k]);
			assert_int_equal(hec_chat_template_load(path, &t), HEC_OK);
			if (hec_chat_apply(t, m, n, &o, &text, &made) != HEC_OK)
				fail_msg("%s: %s", names[k], hec_error_message());
			if (made < n * bytes)
				fail_msg("%s: %zu bytes", names[k], made);
			free(text);
			free(m);
			free(content);
			hec_chat_template_destroy(t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_looked_at_is_charged_wherever_it_is),
		cmocka_unit_test(names_and_turns_are_charged),
		cmocka_unit_test(long_conversations_are_within_the_limit),
		cmocka_unit_test(what_looks_at_texts_and_items_ends_within_a_second),
		cmocka_unit_test(statements_end_within_a_second),
	};
	return cmocka_run_group_tests(tests, give_variables, free_variables);
}
