/* test_tokenizelines_program.c — `hecate tokenize` on lines that are bad, long, many, or end in "\r\n". */
#include "support/test.h"

#include <string.h>

#include "program_run.h"

#define LONGEST ((size_t)64 << 20) /* bytes of a line, as src/cli/io/lines.h has it */

static int start(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	return shell(
		"yes 'the cat sat on the mat' | head -n 50 >%s/a && '%s' tokenize --train %s/a "
		"--vocab 270 --out %s/model >%s/out",
		folder, program(), folder, folder, folder);
}

/* Runs with words behind the model, and "in" as standard input. */
static result tokenize(const char *words)
{
	int code = shell("'%s' tokenize -m %s/model %s <%s/in >%s/out 2>%s/err", program(), folder,
	                 words, folder, folder, folder);
	return (result){code, read_all("out"), read_all("err")};
}

static void a_bad_line_is_named_and_those_before_it_are_written_once(void **state)
{
	(void)state;
	write_file("in", "the cat\nsat\na\xff\nmat\n");
	result r = tokenize("--json");
	assert_int_equal(r.code, 1);
	assert_int_equal(lines_of(r.out), 2);
	assert_non_null(strstr(r.err, "line 3: "));
	assert_non_null(strstr(r.err, "byte 1 of 2"));
	done(&r);
	write_file("in", "3\n4 5\n[6, x]\n");
	r = tokenize("--decode");
	assert_int_equal(r.code, 1);
	assert_int_equal(lines_of(r.out), 2);
	assert_non_null(strstr(r.err, "line 3: 'x"));
	done(&r);
	write_file("in", "3\n999999\n");
	r = tokenize("--decode");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "line 2: "));
	done(&r);
}

static void the_end_of_a_line_is_no_part_of_it(void **state)
{
	(void)state;
	write_file("in", "the cat\r\n\r\nsat\r\n");
	result dos = tokenize("--json");
	write_file("in", "the cat\n\nsat\n");
	result unix_ = tokenize("--json");
	assert_int_equal(dos.code, 0);
	assert_int_equal(lines_of(dos.out), 3);
	assert_string_equal(dos.out, unix_.out);
	done(&dos);
	done(&unix_);
	/* One that has no end of its own is a line, too, and keeps what it has. */
	write_file("in", "the\nmat\r");
	result r = tokenize("");
	assert_non_null(strstr(r.out, "4 bytes"));
	done(&r);
}

/* Also what --train reads. */
static void a_line_has_a_longest(void **state)
{
	(void)state;
	assert_int_equal(shell("{ echo cat; head -c %zu /dev/zero | tr '\\0' x; echo; } >%s/in",
	                       LONGEST + 1, folder),
	                 0);
	result r = tokenize("--json");
	assert_int_equal(r.code, 1);
	assert_int_equal(lines_of(r.out), 1);
	assert_non_null(strstr(r.err, "line 2 has more than 67108864 bytes"));
	done(&r);
	int code = shell("'%s' tokenize --train %s/in --out %s/none 2>%s/err", program(), folder,
	                 folder, folder);
	char *err = read_all("err");
	assert_int_equal(code, 1);
	assert_non_null(strstr(err, "in: line 2 has more than 67108864 bytes"));
	free(err);
	assert_int_equal(shell("rm %s/in", folder), 0);
}

static void numbers_are_said_as_people_say_them(void **state)
{
	(void)state;
	write_file("in", "\nthe\n");
	result r = tokenize("--no-special");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.out, "0 tokens, 0 bytes\n"));
	assert_non_null(strstr(r.out, "1 token, 3 bytes\n"));
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_line_is_named_and_those_before_it_are_written_once),
		cmocka_unit_test(the_end_of_a_line_is_no_part_of_it),
		cmocka_unit_test(a_line_has_a_longest),
		cmocka_unit_test(numbers_are_said_as_people_say_them),
	};
	return cmocka_run_group_tests(tests, start, remove_folder);
}
