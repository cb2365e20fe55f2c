/* test_default_program.c — the model of commands that are told none: found from where the program lies.
 * The model of tests/golden/decode_text stands in for the one that comes with hecate. */
#include <string.h>

#include "support/test.h"

#include "program_run.h"

#define ANSWER "Die Datei konnte nicht geöffnet werden.\n"

/* Runs COMMAND by the shell, with $T the temporary folder. */
static result run_line(const char *command)
{
	char line[2048];
	snprintf(line, sizeof line,
	         "unset HECATE_MODEL; T='%s'; { %s; } >%s/out 2>%s/err </dev/null", folder, command,
	         folder, folder);
	int status = system(line);
	assert_true(WIFEXITED(status));
	return (result){WEXITSTATUS(status), read_all("out"), read_all("err")};
}

static void expect(const char *command, int code, const char *out, const char *err)
{
	result r = run_line(command);
	if (r.code != code || !strstr(r.out, out) || !strstr(r.err, err))
		fail_msg("%s: %d\n%s%s", command, r.code, r.out, r.err);
	done(&r);
}

/* A tree as it is built, one as it is installed, one without a model, all three with the program. */
static int make_trees(void **state)
{
	return make_folder(state) ||
	       shell("cd '%s' && mkdir -p tree/build tree/models installed/bin "
	             "installed/share/hecate/models bare/bin links && "
	             "cp '%s' tree/build/hecate && cp tree/build/hecate installed/bin && "
	             "cp tree/build/hecate bare/bin && cp -r '%s/golden/decode_text' "
	             "tree/models/en-de && cp -r tree/models/en-de installed/share/hecate/models "
	             "&& "
	             "mkdir 'a b' && cp -r installed 'a b/moved' && "
	             "ln -s ../tree/build/hecate links/first && ln -s first links/hecate",
	             folder, program(), TESTS_DIR);
}

static void the_model_is_found_from_where_the_program_lies(void **state)
{
	(void)state;
	static const char *const ways[] = {
		"$T/tree/build/hecate translate 'Please try again later.'",
		"cd $T/tree && build/hecate translate 'Please try again later.'",
		"$T/installed/bin/hecate translate 'Please try again later.'",
		"\"$T/a b/moved/bin/hecate\" translate 'Please try again later.'",
		"cd / && \"$T/links/hecate\" translate 'Please try again later.'",
		"cd / && PATH=\"$T/links:$PATH\" && hecate translate 'Please try again later.'",
		"HECATE_MODEL= $T/tree/build/hecate translate 'Please try again later.'",
		"HECATE_MODEL=$T/tree/models/en-de $T/bare/bin/hecate translate "
		"'Please try again later.'",
		"$T/bare/bin/hecate translate -m $T/tree/models/en-de 'Please try again later.'",
		"HECATE_MODEL=/nowhere $T/bare/bin/hecate translate -m $T/tree/models/en-de "
		"'Please try again later.'",
	};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		expect(ways[i], 0, ANSWER, "");
}

static void every_command_that_takes_a_model_finds_it(void **state)
{
	(void)state;
	expect("$T/tree/build/hecate attend 'Please try again.'", 0, "Cross-attention", "");
	expect("$T/tree/build/hecate info", 0, "/tree/models/en-de\n", "");
	expect("$T/tree/build/hecate info --json", 0, "\"parameters\"", "");
	expect("$T/tree/build/hecate tokenize --json 'Please try'", 0, "\"offsets\"", "");
}

/* A translator answers no questions. */
static void other_commands_want_to_be_told(void **state)
{
	(void)state;
	static const char *const commands[] = {"answer", "classify",  "embed",
	                                       "fill",   "summarize", "transcribe"};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		char line[256];
		snprintf(line, sizeof line, "HECATE_MODEL= $T/tree/build/hecate %s x", commands[i]);
		expect(line, 2, "", "give the model: -m DIR");
	}
}

static void where_there_is_none_the_places_are_named(void **state)
{
	(void)state;
	static const char *const commands[] = {"translate hello", "attend hello", "info",
	                                       "tokenize hello"};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		char line[256], first[256], second[256];
		snprintf(line, sizeof line, "$T/bare/bin/hecate %s", commands[i]);
		snprintf(first, sizeof first, "no model at %s/bare/models/en-de nor at ", folder);
		snprintf(second, sizeof second, " nor at %s/bare/share/hecate/models/en-de; name",
		         folder);
		expect(line, 1, "", first);
		expect(line, 1, "", second);
		expect(line, 1, "", "-m DIR or HECATE_MODEL");
	}
	expect("HECATE_MODEL=/nowhere $T/tree/build/hecate translate hello", 1, "", "/nowhere");
	expect("HECATE_MODEL=$(printf '%05000d' 0) $T/tree/build/hecate info", 1, "",
	       "has 5000 bytes");
}

#ifdef EXAMPLE_TRANSLATE
static void the_example_translates_as_the_program_does(void **state)
{
	(void)state;
	result r = run_line("$T/tree/build/hecate translate 'The file could not be opened.'");
	assert_int_equal(r.code, 0);
	expect("'" EXAMPLE_TRANSLATE "' $T/tree/models/en-de", 0, r.out, "");
	expect("'" EXAMPLE_TRANSLATE "' $T/nowhere", 1, "", "nowhere");
	done(&r);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_is_found_from_where_the_program_lies),
		cmocka_unit_test(every_command_that_takes_a_model_finds_it),
		cmocka_unit_test(other_commands_want_to_be_told),
		cmocka_unit_test(where_there_is_none_the_places_are_named),
#ifdef EXAMPLE_TRANSLATE
		cmocka_unit_test(the_example_translates_as_the_program_does),
#endif
	};
	return cmocka_run_group_tests(tests, make_trees, remove_folder);
}
