/* test_bench.c — `hecate bench` as other programs use it: names, types and exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "program_run.h"

/* Quick: what is measured does not matter here. */
#define QUICK "bench --json --threads 1 --ms 1 "

static json_t *measured(const char *arguments)
{
	char line[512];
	snprintf(line, sizeof line, QUICK "%s", arguments);
	result r = run(line);
	if (r.code != 0)
		fail_msg("hecate %s ends with %d: %s", line, r.code, r.err);
	json_error_t error;
	json_t *root = json_loads(r.out, 0, &error);
	if (!root)
		fail_msg("hecate %s prints no JSON: %s\n%s", line, error.text, r.out);
	done(&r);
	return root;
}

static double number(const json_t *o, const char *name)
{
	const json_t *x = json_object_get(o, name);
	if (!json_is_number(x))
		fail_msg("there is no number %s", name);
	return json_number_value(x);
}

static const char *text(const json_t *o, const char *name)
{
	const json_t *x = json_object_get(o, name);
	if (!json_is_string(x))
		fail_msg("there is no text %s", name);
	return json_string_value(x);
}

static void the_ceilings_come_first(void **state)
{
	(void)state;
	json_t *root = measured("--op gemm --shape M=8,N=64,K=32");
	const json_t *ceilings = json_object_get(root, "ceilings"), *c;
	assert_true(json_array_size(ceilings) >= 1);
	size_t i;
	json_array_foreach(ceilings, i, c)
	{
		assert_true(strlen(text(c, "isa")) > 0);
		assert_string_equal(text(c, "dtype"), "f32");
		assert_int_equal((int)number(c, "threads"), 1);
		assert_true(number(c, "gflops") > 0);
	}
	assert_true(number(root, "read_gbs") > 0);
	json_decref(root);
}

static const struct example {
	const char *op, *rest, *letters; /* of the shape in the result, at least */
} examples[] = {
	{"gemm", "--shape M=8,N=64,K=32", "MNK"},
	{"attention_fwd", "--shape B=2,H=2,T=16,K=8,D=8 --causal", "BHTKD"},
	{"attention_bwd", "--shape B=1,H=2,T=16,K=8,D=8", "BHTKD"},
	{"attention_step", "--shape B=1,H=2,S=16,K=8,D=8 --variant warm", "BHTSKD"},
	{"encoder_layer_fwd", "--shape B=1,T=8,C=16,F=32,H=2", "BTCFH"},
	{"encoder_layer_bwd", "--shape B=1,T=8,C=16,F=32,H=2", "BTCFH"},
};

static void check_result(const struct example *e, const json_t *r)
{
	assert_string_equal(text(r, "op"), e->op);
	assert_string_equal(text(r, "dtype"), "f32");
	assert_true(strlen(text(r, "isa")) > 0);
	assert_int_equal((int)number(r, "threads"), 1);
	assert_true(json_is_boolean(json_object_get(r, "causal")));
	assert_int_equal(json_is_true(json_object_get(r, "causal")),
	                 strstr(e->rest, "--causal") != NULL);
	static const char *const positive[] = {"gflops", "gbs", "fraction", "ms"};
	for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
		assert_true(number(r, positive[i]) > 0);
	assert_true(number(r, "spread") >= 0);
	for (const char *l = e->letters; *l; l++) {
		const char name[2] = {*l, 0};
		assert_true(number(json_object_get(r, "shape"), name) > 0);
	}
}

static void a_result_has_the_names_that_others_build_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		char arguments[256];
		snprintf(arguments, sizeof arguments, "--op %s %s", examples[i].op,
		         examples[i].rest);
		json_t *root = measured(arguments);
		const json_t *results = json_object_get(root, "results");
		assert_int_equal(json_array_size(results), 1);
		check_result(&examples[i], json_array_get(results, 0));
		json_decref(root);
	}
}

static void several_shapes_are_several_results(void **state)
{
	(void)state;
	json_t *root = measured("--op gemm --shape 'M=8,N=64,K=32;M=1,N=64,K=32'");
	const json_t *results = json_object_get(root, "results");
	assert_int_equal(json_array_size(results), 2);
	assert_int_equal((int)number(json_object_get(json_array_get(results, 1), "shape"), "M"), 1);
	json_decref(root);
}

/* T positions of 8 heads, each taking a row of T scores, would be 8 MB at T = 512. */
static void memory_is_measured(void **state)
{
	(void)state;
	json_t *root = measured("--op attention_memory --shape T=512");
	const json_t *r = json_array_get(json_object_get(root, "results"), 0);
	assert_true(number(r, "fwd_bytes") >= 0 && number(r, "fwd_bytes") < 8e6);
	assert_true(number(r, "bwd_bytes") >= 0 && number(r, "bwd_bytes") < 8e6);
	json_decref(root);
}

/* More threads than any machine here has cores: each waits for the others, and is timed all the
 * same. */
static void a_row_of_waiting_threads_is_still_a_timing(void **state)
{
	(void)state;
	json_t *root = measured("--op gemm --shape M=8,N=64,K=32 --threads 8");
	const json_t *r = json_array_get(json_object_get(root, "results"), 0);
	assert_true(number(r, "ms") > 0);
	assert_null(json_object_get(r, "fwd_bytes"));
	json_decref(root);
}

/* Products of these sizes overflow 64 bits, or ask for more memory than there is. */
static void shapes_that_are_too_large_are_refused(void **state)
{
	(void)state;
	static const char *const shapes[] = {
		"gemm --shape M=2147483647,N=2147483647,K=2147483647",
		"attention_fwd --shape B=2147483647,T=2147483647,H=2147483647",
		"attention_fwd --variant mask --shape B=1,H=1,K=1,T=2000000",
		"attention_step --shape S=2147483647,G=2147483647,B=2147483647",
		"attention_memory --shape B=2147483647,T=2147483647,H=2147483647",
		"encoder_layer_fwd --shape C=2147483647,F=2147483647",
		"norm --shape N=2147483647,C=2147483647",
		"activation --shape N=2147483647,F=2147483647",
		"cross_entropy --shape N=2147483647,V=2147483647",
		"embedding --shape N=2147483647,V=2147483647,C=2147483647",
		"adamw --shape N=2147483647",
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		char line[256];
		snprintf(line, sizeof line, QUICK "--op %s", shapes[i]);
		result r = run(line);
		if (r.code != 1 || !strstr(r.err, "GB of memory"))
			fail_msg("hecate %s ends with %d: %s", line, r.code, r.err);
		assert_string_equal(r.out, "");
		done(&r);
	}
}

/* Copies of a matrix of one number would be forty million. */
static void tiny_shapes_take_little_memory(void **state)
{
	(void)state;
	json_decref(measured("--op gemm --shape M=1,N=1,K=1"));
	json_decref(measured("--op attention_step --shape H=1,S=1,K=1,D=1"));
}

static void people_see_the_ceilings_then_a_line_for_each_row(void **state)
{
	(void)state;
	result r = run("bench --threads 1 --ms 1 --op gemm --shape 'M=8,N=64,K=32;M=9,N=64,K=32'");
	assert_int_equal(r.code, 0);
	char *ceilings = strstr(r.out, "\nceilings "), *first = strstr(r.out, "M 8 N 64 K 32");
	char *second = strstr(r.out, "M 9 N 64 K 32");
	assert_true(ceilings && first && second && ceilings < first && first < second);
	done(&r);
	/* A shape that fails comes after what was measured before it. */
	r = run("bench --threads 1 --ms 1 --op adamw --shape 'N=64;N=2147483647'");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.out, "N 64"));
	done(&r);
}

static void wrong_usage_ends_with_2_and_says_why(void **state)
{
	(void)state;
	static const struct {
		const char *arguments, *says;
	} wrong[] = {
		{"--op nothing", "attention_fwd"},
		{"--op gemm --shape Q=1", "Q=1"},
		{"--op gemm --shape M=0,N=4", "\"M=0\""},
		{"--op gemm --shape M=2147483648", "1 to 2147483647"},
		{"--op gemm --shape 'M=1;N'", "N"},
		{"--shape M=1", "--op"},
		{"--op gemm --variant odd", "cold"},
		{"--op gemm --variant mask", "cold, warm"},
		{"--op norm --variant mask", "none"},
		{"--op gemm --causal", "causal"},
		{"--op gemm --shape B=77", "B=77"},
		{"--op gemm --shape M=1,M=2", "two sizes M"},
		{"--op gemm --shape M=-1", "M=-1"},
		{"--op gemm --shape \"$(yes 'M=1;' | head -n 200 | tr -d '\\n')\"", "128"},
		{"--dtype f16", "f32"},
		{"--threads 0", "threads"},
		{"more", "more"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char line[256];
		snprintf(line, sizeof line, "bench %s", wrong[i].arguments);
		result r = run(line);
		assert_int_equal(r.code, 2);
		assert_string_equal(r.out, "");
		assert_non_null(strstr(r.err, wrong[i].says));
		done(&r);
	}
}

static void check_model(const char *mode, size_t results)
{
	char line[64];
	snprintf(line, sizeof line, "--model transformer-tiny --mode %s", mode);
	json_t *root = measured(line);
	assert_string_equal(text(root, "model"), "transformer-tiny");
	assert_string_equal(text(root, "mode"), mode);
	assert_true(number(root, "parameters") > 10000);
	const json_t *list = json_object_get(root, "results"), *r;
	assert_int_equal(json_array_size(list), results);
	size_t i;
	json_array_foreach(list, i, r)
	{
		assert_true(strlen(text(r, "what")) > 0);
		/* Its own numbers agree with each other. */
		double rate = number(r, "tokens_per_s"), ms = number(r, "ms");
		double again = 1e3 * number(r, "tokens") / ms;
		assert_true(rate > 0 && rate > again * 0.999 && rate < again * 1.001);
		assert_true(number(r, "fraction") > 0 && number(r, "memory_bytes") > 0);
	}
	json_decref(root);
}

static void a_whole_model_learns_and_translates(void **state)
{
	(void)state;
	check_model("train", 1);
	check_model("translate", 3);
}

static void a_model_that_there_is_not_is_wrong_usage(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"bench --model large --mode train",
		"bench --model transformer-tiny",
		"bench --mode train",
		"bench --model transformer-tiny --mode sing",
		"bench --model gpt-small --mode translate",
		"bench --model transformer-tiny --mode train --op gemm"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		result r = run(wrong[i]);
		if (r.code != 2 || *r.out)
			fail_msg("hecate %s ends with %d: %s", wrong[i], r.code, r.out);
		done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ceilings_come_first),
		cmocka_unit_test(a_result_has_the_names_that_others_build_on),
		cmocka_unit_test(several_shapes_are_several_results),
		cmocka_unit_test(memory_is_measured),
		cmocka_unit_test(a_row_of_waiting_threads_is_still_a_timing),
		cmocka_unit_test(shapes_that_are_too_large_are_refused),
		cmocka_unit_test(tiny_shapes_take_little_memory),
		cmocka_unit_test(people_see_the_ceilings_then_a_line_for_each_row),
		cmocka_unit_test(wrong_usage_ends_with_2_and_says_why),
		cmocka_unit_test(a_whole_model_learns_and_translates),
		cmocka_unit_test(a_model_that_there_is_not_is_wrong_usage),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
