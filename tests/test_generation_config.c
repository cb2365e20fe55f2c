/* test_generation_config.c — Hugging Face's generation_config.json as options of decoding. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"
#include "support/test.h"
#include "task/generation_config.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	return scratch_folder(folder, sizeof folder);
}

static int remove_folder(void **state)
{
	(void)state;
	return scratch_folder_remove(folder);
}

static hec_status read_text(const kit *k, const char *text, generation_config *out)
{
	char path[128];
	snprintf(path, sizeof path, "%s/generation_config.json", folder);
	FILE *f = fopen(path, "w");
	CHECK(k, f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
	return generation_config_read(folder, 100, 1, NULL, out);
}

static void a_missing_file_gives_the_defaults(void **state)
{
	(void)state;
	kit k = kit_open(1);
	generation_config g;
	OK(&k, generation_config_read("/nowhere", 100, 1, NULL, &g));
	assert_int_equal(g.options.beams, 1);
	assert_int_equal(g.options.max_tokens, -1);
	assert_int_equal(g.options.top_k, -1);
	assert_int_equal(g.options.forced_eos, -1);
	assert_null(g.options.ends);
	generation_config_free(&g);
	kit_close(&k);
}

static void every_key_becomes_its_option(void **state)
{
	(void)state;
	kit k = kit_open(2);
	generation_config g;
	OK(&k,
	   read_text(&k,
	             "{\"num_beams\": 6, \"length_penalty\": 0.6, \"early_stopping\": \"never\","
	             "\"max_length\": 50, \"min_length\": 5, \"no_repeat_ngram_size\": 3,"
	             "\"renormalize_logits\": true,"
	             "\"repetition_penalty\": 1.2, \"bad_words_ids\": [[99], [0], [7], [99]],"
	             "\"suppress_tokens\": [4, 3, 4], \"forced_bos_token_id\": 8,"
	             "\"begin_suppress_tokens\": [6, 5, 6], \"guidance_scale\": 1.0,"
	             "\"num_beam_groups\": 1, \"sequence_bias\": null, \"typical_p\": 0.5,"
	             "\"forced_eos_token_id\": 0, \"eos_token_id\": [2, 0, 2],"
	             "\"transformers_version\": \"5.22.2\", \"unheard_of\": {}}",
	             &g));
	const hec_decode_options *o = &g.options;
	assert_int_equal(o->beams, 6);
	assert_true(o->length_penalty == 0.6 && o->repetition_penalty == 1.2);
	assert_true(o->renormalize);
	assert_int_equal(o->early, HEC_EARLY_NEVER);
	assert_int_equal(o->max_tokens, 49); /* the start counts as one */
	assert_int_equal(o->min_tokens, 4);
	assert_int_equal(o->no_repeat_ngram, 3);
	assert_int_equal(o->forced_bos, 8);
	assert_int_equal(o->forced_eos, 0);
	assert_int_equal(o->end_count, 2);
	assert_int_equal(o->ends[1], 2);
	assert_int_equal(o->begin_suppressed, 2);
	assert_true(o->begin_suppress[0] == 5 && o->begin_suppress[1] == 6);
	/* A bad word that is an end is none. */
	const int32_t suppress[] = {3, 4, 7, 99};
	assert_int_equal(o->suppressed, 4);
	assert_memory_equal(o->suppress, suppress, sizeof suppress);
	generation_config_free(&g);
	OK(&k, read_text(&k,
	                 "{\"max_length\": 50, \"max_new_tokens\": 7, \"min_new_tokens\": 2,"
	                 "\"eos_token_id\": 5, \"early_stopping\": true, \"num_beams\": null}",
	                 &g));
	assert_int_equal(o->max_tokens, 7);
	assert_int_equal(o->min_tokens, 2);
	assert_int_equal(o->early, HEC_EARLY_TRUE);
	assert_int_equal(o->beams, 1);
	assert_int_equal(o->end_count, 1);
	generation_config_free(&g);
	kit_close(&k);
}

/* As Transformers takes them: of ids that the vocabulary does not have nothing comes, 0 of top_k is all, of
 * top_p the likeliest, of temperature nothing that is said; new tokens say more than lengths. */
static void edges_are_what_they_are_to_transformers(void **state)
{
	(void)state;
	kit k = kit_open(4);
	generation_config g;
	OK(&k,
	   read_text(&k,
	             "{\"eos_token_id\": [3, 50256], \"suppress_tokens\": [50257, 4], "
	             "\"bad_words_ids\": [[50258]], \"forced_eos_token_id\": [2], \"top_k\": 0, "
	             "\"top_p\": 0, \"temperature\": 0, \"min_length\": 9, \"min_new_tokens\": 0, "
	             "\"max_new_tokens\": 1099511627776}",
	             &g));
	CHECK(&k, g.options.end_count == 1 && g.ends[0] == 3, "ends");
	CHECK(&k, g.options.suppressed == 1 && g.suppress[0] == 4, "suppressed");
	CHECK(&k, g.options.forced_eos == 2, "forced");
	CHECK(&k, g.says_top_k && g.options.top_k == -1, "top_k");
	CHECK(&k, g.options.top_p == 0 && g.options.temperature == 1, "top_p, temperature");
	CHECK(&k, g.min_length == 0 && g.options.min_tokens == 0, "min_length");
	CHECK(&k, g.options.max_tokens == 1 << 20, "max_tokens");
	generation_config_free(&g);
	OK(&k, read_text(&k, "{\"eos_token_id\": 50256}", &g));
	CHECK(&k, g.options.ends && g.options.end_count == 0 && !g.says_top_k, "no end");
	generation_config_free(&g);
	kit_close(&k);
}

static void wrong_values_are_named(void **state)
{
	(void)state;
	kit k = kit_open(3);
	generation_config g;
	const struct {
		const char *text, *word;
		hec_status status;
	} wrong[] = {
		{"[]", "generation_config.json", HEC_ERR_FORMAT},
		{"{\"num_beams\": 0}", "num_beams", HEC_ERR_FORMAT},
		{"{\"num_beams\": \"four\"}", "num_beams", HEC_ERR_FORMAT},
		{"{\"early_stopping\": \"often\"}", "early_stopping", HEC_ERR_FORMAT},
		{"{\"eos_token_id\": -1}", "eos_token_id", HEC_ERR_FORMAT},
		{"{\"eos_token_id\": [1, -2]}", "eos_token_id", HEC_ERR_FORMAT},
		{"{\"suppress_tokens\": [1, \"a\"]}", "suppress_tokens", HEC_ERR_FORMAT},
		{"{\"bad_words_ids\": [[1], [2, 3]]}", "bad_words_ids[1]", HEC_ERR_UNSUPPORTED},
		{"{\"forced_eos_token_id\": 100}", "forced_eos_token_id", HEC_ERR_FORMAT},
		{"{\"forced_eos_token_id\": [1, 2]}", "forced_eos_token_id", HEC_ERR_FORMAT},
		{"{\"length_penalty\": 1e9}", "length_penalty", HEC_ERR_FORMAT},
		{"{\"begin_suppress_tokens\": 5}", "begin_suppress_tokens", HEC_ERR_FORMAT},
		{"{\"guidance_scale\": 3}", "'guidance_scale' is 3", HEC_ERR_UNSUPPORTED},
		{"{\"encoder_repetition_penalty\": 1.5}", "encoder_repetition_penalty",
	         HEC_ERR_UNSUPPORTED},
		{"{\"sequence_bias\": [[[5], 30.0]]}", "sequence_bias", HEC_ERR_UNSUPPORTED},
		{"{\"exponential_decay_length_penalty\": [2, 1.9]}",
	         "exponential_decay_length_penalty", HEC_ERR_UNSUPPORTED},
		{"{\"do_sample\": true, \"typical_p\": 0.5}", "typical_p", HEC_ERR_UNSUPPORTED},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		FAILS(&k, wrong[i].status, read_text(&k, wrong[i].text, &g), wrong[i].word,
		      "generation_config.json");
	kit_close(&k);
}

static void write_config(const kit *k, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/config.json", folder);
	FILE *f = fopen(path, "w");
	CHECK(k, f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

/* As T5 comes: the task says more than generation_config.json. */
static void a_task_has_its_own_say(void **state)
{
	(void)state;
	kit k = kit_open(4);
	generation_config g;
	OK(&k, read_text(&k,
	                 "{\"num_beams\": 2, \"max_length\": 20, \"do_sample\": true, "
	                 "\"temperature\": 0.6, \"top_p\": 0.9, \"top_k\": 7}",
	                 &g));
	assert_true(g.sample && !g.options.sample);
	assert_true(g.options.temperature == 0.6 && g.options.top_p == 0.9 && g.options.top_k == 7);
	generation_config_free(&g);
	write_config(&k, "{\"num_beams\": 9, \"task_specific_params\": {\"summarization\": "
	                 "{\"prefix\": \"summarize: \", \"early_stopping\": true, "
	                 "\"length_penalty\": 2.0, \"max_length\": 200, \"min_length\": 30, "
	                 "\"no_repeat_ngram_size\": 3, \"num_beams\": 4}}}");
	OK(&k, generation_config_read(folder, 100, 1, "summarization", &g));
	assert_string_equal(g.prefix, "summarize: ");
	assert_int_equal(g.options.beams, 4);
	assert_int_equal(g.options.max_tokens, 199);
	assert_int_equal(g.options.min_tokens, 29);
	assert_int_equal(g.options.no_repeat_ngram, 3);
	assert_int_equal(g.options.early, HEC_EARLY_TRUE);
	assert_true(g.options.length_penalty == 2);
	generation_config_free(&g);
	OK(&k, generation_config_read(folder, 100, 1, "translation_en_to_de", &g));
	assert_null(g.prefix);
	assert_int_equal(g.options.beams, 2);
	generation_config_free(&g);
	/* A length that counts the prompt is nobody's number of tokens. */
	OK(&k, generation_config_read(folder, 100, 0, NULL, &g));
	assert_int_equal(g.options.max_tokens, -1);
	assert_int_equal(g.max_length, 20);
	generation_config_free(&g);
	/* Without generation_config.json, config.json says it. */
	char path[128];
	snprintf(path, sizeof path, "%s/generation_config.json", folder);
	unlink(path);
	OK(&k, generation_config_read(folder, 100, 1, NULL, &g));
	assert_int_equal(g.options.beams, 9);
	generation_config_free(&g);
	snprintf(path, sizeof path, "%s/config.json", folder);
	unlink(path);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_file_gives_the_defaults),
		cmocka_unit_test(every_key_becomes_its_option),
		cmocka_unit_test(edges_are_what_they_are_to_transformers),
		cmocka_unit_test(wrong_values_are_named),
		cmocka_unit_test(a_task_has_its_own_say),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
