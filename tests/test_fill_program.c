/* test_fill_program.c — `hecate fill`: its results, errors and exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "program_run.h"
#include "invocations.h"

static result fill(const char *model, const char *arguments)
{
	return invoke("fill", model, arguments);
}

static void an_invocation_ends_as_it_should(void **state)
{
	(void)state;
	write_file("lines", "the [MASK]\n[MASK] of [MASK]\n");
	write_file("bad", "the [MASK]\nno such thing\nthe [MASK]\n");
	static const invocation table[] = {
		{"bert_fill", "'the [MASK]'", 0, 5, NULL},
		{"roberta_fill", "'the <mask>' 'a [MASK]' --top 2", 0, 4, NULL},
		{"bart_fill", "<F/lines", 0, 15, NULL},
		{"bert_fill", "<F/bad", 1, 5, "line 2: the text has no [MASK] to fill"},
		{"roberta_fill", "<F/bad", 1, 5, "line 2: the text has no <mask> to fill"},
		{"bert_fill", "'the [MASK]' --targets the,of,the", 0, 2, NULL},
		{"bert_fill", "'the [MASK]' --targets ofof", 0, 1, "'ofof' is not a token; "},
		{"bert_fill", "'the [MASK]' --targets the,,of", 2, 0, "an empty word"},
		{"bert_answer", "'the [MASK]'", 1, 0, "no head that fills in masked words"},
		{"bert_fill", "--top 0 'the [MASK]'", 2, 0, "--top"},
		{"bert_fill", "", 0, 0, NULL},
	};
	check_invocations("fill", table, sizeof table / sizeof table[0]);
	result r = fill("bert_fill", "--help");
	assert_non_null(strstr(r.out, "The capital of France is [MASK]."));
	done(&r);
}

static void json_has_a_list_for_each_mask(void **state)
{
	(void)state;
	result r = fill("bert_fill", "'[MASK] of [MASK]' --top 3 --json");
	json_error_t error;
	json_t *line = json_loads(r.out, 0, &error);
	assert_non_null(line);
	assert_int_equal(json_object_size(line), 2);
	const json_t *masks = json_object_get(line, "masks");
	assert_int_equal(json_array_size(masks), 2);
	for (size_t m = 0; m < 2; m++) {
		const json_t *list = json_array_get(masks, m);
		assert_int_equal(json_array_size(list), 3);
		for (size_t i = 0; i < 3; i++) {
			const json_t *one = json_array_get(list, i);
			assert_int_equal(json_object_size(one), 4);
			assert_true(json_is_string(json_object_get(one, "token")));
			assert_true(json_is_real(json_object_get(one, "score")));
			assert_true(json_is_integer(json_object_get(one, "id")));
			/* The other mask is still there. */
			assert_non_null(
				strstr(json_string_value(json_object_get(one, "text")), "[MASK]"));
		}
	}
	json_decref(line);
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invocation_ends_as_it_should),
		cmocka_unit_test(json_has_a_list_for_each_mask),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
