/* test_trainconfig_program.c — the architecture of a run is that of its beginning: what --config said is
 * kept in DIR, and a run that is resumed with another is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program_run.h"
#include "train_texts.h"

#define SIZED "--vocab 280 --batch-tokens 128 --max-length 40 --warmup 10 --threads 1 --quiet "

static int make_config(void **state)
{
	if (make_texts(state) != 0)
		return -1;
	expect(PAIRS SMALL "--out %1$s/own --steps 4 --dropout 0.25 --quiet", 0, "");
	return shell("cp '%1$s/own/config.json' '%1$s/c.json'", folder);
}

static const char *act_of(const char *name, json_t **root)
{
	*root = read_json(name);
	return json_string_value(json_object_get(*root, "activation_function"));
}

/* Killed while it reads the text, long before it has a tokenizer. */
static void a_run_with_a_config_that_was_killed_early_is_resumed(void **state)
{
	(void)state;
	write_lines("big.en", 0, 60000);
	write_lines("big.de", 1, 60000);
	assert_int_equal(
		shell("'%1$s' train --task translate --train '%2$s/big.en' '%2$s/big.de' --out "
	              "'%2$s/early' --config '%2$s/c.json' --steps 2 " SIZED "2>/dev/null & p=$!; "
	              "for i in $(seq 1000); do test -e '%2$s/early/train.json' && break; "
	              "sleep 0.01; done; kill -9 $p; wait $p 2>/dev/null; "
	              "test -e '%2$s/early/train.json'",
	              program(), folder),
		0);
	json_t *root = read_json("early/train.json");
	assert_true(json_real_value(json_object_get(root, "dropout")) == 0.25);
	assert_int_equal(json_integer_value(json_object_get(root, "width")), 16);
	json_decref(root);
	expect("--resume --out %1$s/early --quiet --threads 1", 0, "");
}

/* Neither a file that is changed nor one that is gone matters to a run that has begun. */
static void what_becomes_of_the_config_later_does_not_matter(void **state)
{
	(void)state;
	json_t *root;
	assert_int_equal(shell("cp '%1$s/c.json' '%1$s/d.json'", folder), 0);
	expect(PAIRS SIZED "--out %1$s/kept --config %1$s/d.json --steps 4", 0, "");
	check_same("kept/start/config.json", "c.json");
	assert_int_equal(
		shell("sed -i 's/\"relu\"/\"gelu\"/' '%1$s/d.json' && ! cmp -s '%1$s/c.json' "
	              "'%1$s/d.json'",
	              folder),
		0);
	expect("--resume --out %1$s/kept --steps 6 --quiet --threads 1", 0, "");
	assert_string_equal(act_of("kept/config.json", &root), "relu");
	json_decref(root);
	assert_int_equal(shell("rm '%s/d.json'", folder), 0);
	expect("--resume --out %1$s/kept --steps 8 --quiet --threads 1", 0, "");
	expect("--resume --out %1$s/kept --config %1$s/c.json --steps 10", 2,
	       "--config cannot be changed");
}

/* As runs were before DIR kept it: then the checkpoint says what is another model. */
static void a_config_that_is_not_kept_is_compared(void **state)
{
	(void)state;
	assert_int_equal(shell("cp '%1$s/c.json' '%1$s/e.json'", folder), 0);
	expect(PAIRS SIZED "--out %1$s/older --config %1$s/e.json --steps 4", 0, "");
	assert_int_equal(shell("rm -r '%1$s/older/start' && "
	                       "sed -i 's/\"relu\"/\"gelu\"/' '%1$s/e.json'",
	                       folder),
	                 0);
	expect("--resume --out %1$s/older --steps 6 --quiet --threads 1", 1,
	       "'encoder.feed_forward.act' is \"relu\" there and \"gelu\" here");
	assert_int_not_equal(shell("test -e '%s/older/start/config.json'", folder), 0);
	assert_int_equal(shell("cp '%1$s/c.json' '%1$s/e.json'", folder), 0);
	expect("--resume --out %1$s/older --steps 6 --quiet --threads 1", 0, "");
}

static void other_heads_are_another_model(void **state)
{
	(void)state;
	assert_int_equal(shell("cp '%1$s/own/train.json' '%1$s/before'", folder), 0);
	expect("--resume --out %1$s/own --heads 4 --steps 6 --quiet --threads 1", 1,
	       "'encoder.attention.heads' is 2 there and 4 here");
	check_same("own/train.json", "before");
	expect("--resume --out %1$s/own --dropout 0.1 --steps 6 --quiet --threads 1", 0, "");
}

static void a_setting_that_cannot_be_is_said_with_what_could(void **state)
{
	(void)state;
	static const struct {
		const char *json, *is, *must;
	} rows[] = {
		{"\"dropout\": 1.5", "'dropout' is 1.5,", "a number from 0 to 1"},
		{"\"keep\": 0.5", "'keep' is 0.5,", "a whole number from 1 to 1000"},
		{"\"truncate\": \"yes\"", "'truncate' is \"yes\",", "true or false"},
		{"\"best\": 3", "'best' is 3,", "a text"},
		{"\"valid\": [1]", "'valid' is [1],", "a list of at most"},
		{"\"seed\": 7", "'seed' is 7,", "a whole number as a text"},
	};
	assert_int_equal(shell("mkdir '%s/wrong'", folder), 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[512];
		snprintf(text, sizeof text,
		         "{\"task\": \"lm\", \"train\": [\"%s/a.en\"], \"steps\": 1, %s}", folder,
		         rows[i].json);
		write_file("wrong/train.json", text);
		expect("--resume --out %1$s/wrong", 1, rows[i].is);
		expect("--resume --out %1$s/wrong", 1, rows[i].must);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_with_a_config_that_was_killed_early_is_resumed),
		cmocka_unit_test(what_becomes_of_the_config_later_does_not_matter),
		cmocka_unit_test(a_config_that_is_not_kept_is_compared),
		cmocka_unit_test(other_heads_are_another_model),
		cmocka_unit_test(a_setting_that_cannot_be_is_said_with_what_could),
	};
	return cmocka_run_group_tests(tests, make_config, remove_folder);
}
