/* test_log.c — lines for a program's own log: which come, up to which level, and that they cannot steer a terminal. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

typedef struct book {
	char lines[16][512];
	hec_log_level levels[16];
	int n;
} book;

static void write_down(void *user, hec_log_level level, const char *line)
{
	book *b = user;
	if (b->n == 16)
		return;
	b->levels[b->n] = level;
	snprintf(b->lines[b->n++], sizeof b->lines[0], "%s", line);
}

static bool has(const book *b, hec_log_level level, const char *part)
{
	for (int i = 0; i < b->n; i++)
		if (b->levels[i] == level && strstr(b->lines[i], part))
			return true;
	return false;
}

static void contexts_and_models_are_told_of(void **state)
{
	(void)state;
	book b = {.n = 0};
	hec_log_set(write_down, &b, HEC_LOG_INFO);
	kit k = kit_open(1);
	hec_model *model;
	OK(&k, hec_model_load(k.ctx, TESTS_DIR "/golden/models/marian", NULL, &model));
	hec_log_set(NULL, NULL, HEC_LOG_DEBUG);
	hec_model_destroy(model);
	kit_close(&k);
	assert_int_equal(b.n, 2);
	assert_true(has(&b, HEC_LOG_INFO, "context: level "));
	assert_true(has(&b, HEC_LOG_INFO, "/models/marian: marian, "));
}

static void levels_are_kept_apart(void **state)
{
	(void)state;
	book b = {.n = 0};
	hec_log_set(write_down, &b, HEC_LOG_WARNING);
	assert_true(logs(HEC_LOG_WARNING));
	assert_false(logs(HEC_LOG_INFO));
	log_line(HEC_LOG_WARNING, "one");
	log_line(HEC_LOG_INFO, "two");
	log_line(HEC_LOG_DEBUG, "three");
	hec_log_set(write_down, &b, HEC_LOG_DEBUG);
	log_line(HEC_LOG_DEBUG, "four");
	hec_log_set(NULL, NULL, HEC_LOG_DEBUG);
	log_line(HEC_LOG_WARNING, "five");
	assert_int_equal(b.n, 2);
	assert_string_equal(b.lines[0], "one");
	assert_string_equal(b.lines[1], "four");
	assert_string_equal(hec_log_level_name(HEC_LOG_WARNING), "warning");
	assert_string_equal(hec_log_level_name((hec_log_level)3), "?");
}

static void a_line_cannot_steer_a_terminal(void **state)
{
	(void)state;
	book b = {.n = 0};
	hec_log_set(write_down, &b, HEC_LOG_INFO);
	log_line(HEC_LOG_INFO, "%s", "a\x1b[2J\nb\x7f");
	hec_log_set(NULL, NULL, HEC_LOG_INFO);
	assert_string_equal(b.lines[0], "a?[2J?b?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_and_models_are_told_of),
		cmocka_unit_test(levels_are_kept_apart),
		cmocka_unit_test(a_line_cannot_steer_a_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
