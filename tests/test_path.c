/* test_path.c — the names of files, up to what the system opens. */
#include "support/test.h"

#include <string.h>

#include "base/path.h"

static void a_slash_stands_between_and_only_one(void **state)
{
	(void)state;
	static const struct {
		const char *path, *name, *joined, *beside;
	} rows[] = {
		{"a", "b", "a/b", "b"},       {"a/", "b", "a/b", "a/b"}, {"/", "b", "/b", "/b"},
		{"a/c", "b", "a/c/b", "a/b"}, {"/c", "b", "/c/b", "/b"}, {"a/c", "", "a/c", "a/"},
	};
	kit k = {0};
	char out[PATH_MOST];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		OK(&k, path_in(out, rows[i].path, rows[i].name));
		assert_string_equal(out, rows[i].joined);
		OK(&k, path_beside(out, rows[i].path, rows[i].name));
		assert_string_equal(out, rows[i].beside);
	}
}

static void what_is_too_long_is_refused(void **state)
{
	(void)state;
	kit k = {0};
	char folder[2 * PATH_MOST], out[PATH_MOST];
	for (size_t n = PATH_MOST - 8; n < PATH_MOST + 8; n++) {
		memset(folder, 'a', n);
		folder[n] = '\0';
		if (n + strlen("/bc") < PATH_MOST) {
			OK(&k, path_in(out, folder, "bc"));
			assert_int_equal(strlen(out), n + strlen("/bc"));
		} else {
			FAILS(&k, HEC_ERR_IO, path_in(out, folder, "bc"), "aaa", "4095");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slash_stands_between_and_only_one),
		cmocka_unit_test(what_is_too_long_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
