/* test_memory_program.c — the memory that the program really takes, as the system counts it, against
 * what `hecate info` says. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* wait4 */
#endif
#include "support/models.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "program_run.h"
#include "peak.h"
#include "support/sanitized.h"

#define VOCAB 24000
#define BASE (16 * MEGABYTE) /* of any process of the program: code, stacks, tokenizer, text */

static char *in_folder(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", folder, name);
	return path;
}

/* memory.WHAT.WHICH of `hecate info DIR … --json`. */
static double said(const char *arguments, const char *what, const char *which)
{
	result r = run(arguments);
	assert_int_equal(r.code, 0);
	json_t *root = json_loads(r.out, 0, NULL);
	assert_non_null(root);
	json_t *value =
		json_object_get(json_object_get(json_object_get(root, "memory"), what), which);
	assert_true(json_is_integer(value));
	double bytes = (double)json_integer_value(value);
	json_decref(root);
	done(&r);
	return bytes;
}

/* ---- translating ---- */

static void write_tokenizer(const char *dir)
{
	char path[300];
	snprintf(path, sizeof path, "%s/tokenizer.json", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("{\"added_tokens\":[], \"normalizer\":null, "
	      "\"pre_tokenizer\":{\"type\":\"Whitespace\"}, "
	      "\"post_processor\":null, \"decoder\":null, \"model\":{\"type\":\"WordPiece\", "
	      "\"unk_token\":\"w0\", \"continuing_subword_prefix\":\"##\", "
	      "\"max_input_chars_per_word\":100, \"vocab\":{",
	      f);
	for (int i = 0; i < VOCAB; i++)
		fprintf(f, "%s\"w%d\":%d", i ? "," : "", i, i);
	fputs("}}}\n", f);
	assert_int_equal(fclose(f), 0);
}

static hec_stack_config stack(void)
{
	hec_stack_config s = {.layers = 2,
	                      .embedding_scale = 1,
	                      .position = {.kind = HEC_POSITION_SINUSOIDAL,
	                                   .max = 64,
	                                   .sinusoid = HEC_SINUSOID_HALVES}};
	s.attention = (hec_multi_head_config){.size = sizeof s.attention, .heads = 8};
	s.feed_forward = (hec_feed_forward_config){.size = sizeof s.feed_forward, .hidden = 2048};
	return s;
}

/* As wide as a base model, but with fewer layers: more than 100 MB, most of it in the embedding. */
static void make_wide(hec_dtype dtype, const char *dir)
{
	kit k = kit_open(8100);
	hec_model_config c = {.size = sizeof c,
	                      .vocab = VOCAB,
	                      .width = 512,
	                      .head = HEC_HEAD_LM,
	                      .output_bias = true,
	                      .bos_id = -1,
	                      .eos_id = 0,
	                      .encoder = stack(),
	                      .decoder = stack()};
	c.pad_id = c.start_id = VOCAB - 1;
	hec_model *m = NULL;
	OK(&k, hec_model_create(k.ctx, &c, HEC_F32, 7, &m));
	OK(&k, hec_model_save(k.ctx, m, dtype, dir));
	hec_model_destroy(m);
	kit_close(&k);
	write_tokenizer(dir);
}

/* Weights, once, the cache, and 64 MB: while loading and while running, from 32 bits and from 16. */
static void translating_takes_the_weights_once_the_cache_and_64_MB(void **state)
{
	(void)state;
	static const hec_dtype types[] = {HEC_F32, HEC_BF16};
	for (int i = 0; i < 2; i++) {
		char dir[256], line[512];
		make_wide(types[i], in_folder(hec_dtype_name(types[i]), dir));
		snprintf(line, sizeof line, "info %s --length 32 --json", dir);
		double weights = said(line, "running", "weights"),
		       cache = said(line, "running", "session");
		const double numbers = 512.0 * VOCAB + 2 * (4 * 512 * 512 + 2 * 512 * 2048) +
		                       2 * (8 * 512 * 512 + 2 * 512 * 2048);
		if (weights < 4 * numbers || weights > 4.2 * numbers)
			fail_msg("%.0f bytes for %.0f parameters", weights, numbers);
		char *const info[] = {"hecate", "info", dir, "--length", "32", NULL};
		double looking = peak_of(info);
		if (looking > 64 * MEGABYTE && !SANITIZED)
			fail_msg("%s: info takes %.1f MB, and needs no weight", dir,
			         looking / MEGABYTE);
		char *const argv[] = {"hecate",
		                      "translate",
		                      "-m",
		                      dir,
		                      "--beam",
		                      "1",
		                      "--batch",
		                      "1",
		                      "--max-tokens",
		                      "12",
		                      "--threads",
		                      "2",
		                      "w5 w17 w23 w10000 w7",
		                      NULL};
		double peak = peak_of(argv);
		if (peak > weights + cache + 64 * MEGABYTE && !SANITIZED)
			fail_msg("%s: %.1f MB at the peak; weights %.1f, cache %.1f", dir,
			         peak / MEGABYTE, weights / MEGABYTE, cache / MEGABYTE);
	}
}

/* ---- learning ---- */

#define LINES 1200
#define WORDS 23

/* Lines of one length: the largest batch that is planned for is one that comes. */
static void write_text(const char *name, int lines, int seed)
{
	char path[256];
	FILE *f = fopen(in_folder(name, path), "w");
	assert_non_null(f);
	unsigned x = (unsigned)seed;
	for (int i = 0; i < lines; i++) {
		for (int w = 0; w < WORDS; w++) {
			x = x * 1664525u + 1013904223u;
			fprintf(f, "%s%c", w ? " " : "", 'a' + (int)(x >> 28));
		}
		fputc('\n', f);
	}
	assert_int_equal(fclose(f), 0);
}

static void learning_takes_what_was_said_before(void **state)
{
	(void)state;
	write_text("a", LINES, 1);
	write_text("b", LINES, 2);
	write_text("va", 12, 3);
	write_text("vb", 12, 4);
	char a[256], b[256], va[256], vb[256];
	in_folder("a", a);
	in_folder("b", b);
	in_folder("va", va);
	in_folder("vb", vb);
	static char *const types[] = {"f32", "bf16"};
	double first = 0;
	for (int i = 0; i < 2; i++) {
		char dir[256], line[512];
		in_folder(i ? "model16" : "model32", dir);
		char *const argv[] = {"hecate",
		                      "train",
		                      "--task",
		                      "translate",
		                      "--train",
		                      a,
		                      b,
		                      "--valid",
		                      va,
		                      vb,
		                      "--out",
		                      dir,
		                      "--width",
		                      "96",
		                      "--heads",
		                      "4",
		                      "--encoder-layers",
		                      "1",
		                      "--decoder-layers",
		                      "1",
		                      "--vocab",
		                      "320",
		                      "--max-length",
		                      "32",
		                      "--batch-tokens",
		                      "6144",
		                      "--accumulate",
		                      "1",
		                      "--steps",
		                      "1",
		                      "--dtype",
		                      types[i],
		                      "--threads",
		                      "2",
		                      NULL};
		double peak = peak_of(argv), plan = told("memory: "), beside = told("beside it ");
		double all = plan + beside;
		if ((peak < 0.9 * all || peak > 1.1 * all) && !SANITIZED)
			fail_msg("%s: %.1f MB at the peak, %.1f and %.1f were said", types[i],
			         peak / MEGABYTE, plan / MEGABYTE, beside / MEGABYTE);
		assert_true(plan > 4 * BASE); /* else the test could not fail */
		snprintf(line, sizeof line, "info %s --length 32 --batch-tokens 6144 --json", dir);
		double info = said(line, "training", "total");
		if (fabs(info - plan) > 0.02 * plan)
			fail_msg("info says %.1f MB, train %.1f", info / MEGABYTE, plan / MEGABYTE);
		first = i ? first : plan;
		assert_true(fabs(plan - first) < 0.01 * first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(translating_takes_the_weights_once_the_cache_and_64_MB),
		cmocka_unit_test(learning_takes_what_was_said_before),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
