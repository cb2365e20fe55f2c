/* test_hostile_tasks.c — the small files beside a model, with hostile values and with ids of no word: what
 * loads is put to its task, and either does it or says why not. */
#include "support/hostile.h"
#include "support/searches.h"
#include "support/tasks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hecate/answer.h>
#include <hecate/classify.h>
#include <hecate/embed.h>
#include <hecate/fill.h>
#include <hecate/generate.h>
#include <hecate/transcribe.h>
#include <hecate/translate.h>

#define TOKENS 3 /* written at most */

static const char *const text[] = {"one two"};

/* ---- each task, on what a folder holds ---- */

static hec_status generate(kit *k, const char *dir)
{
	static const int32_t ids[] = {3, 1};
	const hec_prompt prompt = {.ids = ids, .n = 2};
	hec_generator *g = NULL;
	hec_generations *out;
	hec_status status = hec_generator_load(k->ctx, dir, NULL, &g);
	if (status != HEC_OK)
		return status;
	const int64_t vocab = hec_model_config_of(hec_generator_model(g))->vocab;
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	hec_generator_defaults(g, &decode, sizeof decode);
	decode.max_tokens = TOKENS;
	decode.sample = hec_generator_samples(g) && decode.beams <= 1;
	o.decode = &decode;
	status = hec_generate(g, 1, &prompt, &o, &out);
	const hec_generation *best = hec_generations_at(out, 0, 0);
	assert_int_equal(!best, status != HEC_OK);
	for (int64_t i = 0; best && i < best->n; i++)
		CHECK(k, best->ids[i] >= 0 && best->ids[i] < vocab, "an id of no word");
	CHECK(k, !best || best->n <= TOKENS, "more than was asked for");
	hec_generations_free(out);
	hec_generator_destroy(g);
	return status;
}

static hec_status translate(kit *k, const char *dir)
{
	hec_translator *t = NULL;
	hec_translations *out;
	hec_status status = hec_translator_load(k->ctx, dir, NULL, &t);
	if (status != HEC_OK)
		return status;
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	hec_translator_defaults(t, &decode, sizeof decode);
	decode.max_tokens = TOKENS;
	o.decode = &decode;
	status = hec_translate(t, 1, text, NULL, &o, &out);
	hec_translations_free(out);
	hec_translator_destroy(t);
	return status;
}

static hec_status embed(kit *k, const char *dir)
{
	hec_embedder *e = NULL;
	hec_embeddings *out;
	hec_status status = hec_embedder_load(k->ctx, dir, NULL, &e);
	if (status != HEC_OK)
		return status;
	status = hec_embed(e, 1, text, NULL, NULL, &out);
	hec_embeddings_free(out);
	hec_embedder_destroy(e);
	return status;
}

static hec_status classify(kit *k, const char *dir)
{
	hec_classifier *c = NULL;
	hec_classes *out;
	hec_status status = hec_classifier_load(k->ctx, dir, NULL, &c);
	if (status != HEC_OK)
		return status;
	status = hec_classify(c, 1, text, NULL, NULL, &out);
	hec_classes_free(out);
	hec_classifier_destroy(c);
	return status;
}

static hec_status fill(kit *k, const char *dir)
{
	static const char *const masked[] = {"one [MASK]"};
	hec_filler *f = NULL;
	hec_filled *out;
	hec_status status = hec_filler_load(k->ctx, dir, NULL, &f);
	if (status != HEC_OK)
		return status;
	status = hec_fill(f, 1, masked, NULL, NULL, &out);
	hec_filled_free(out);
	hec_filler_destroy(f);
	return status;
}

static hec_status answer(kit *k, const char *dir)
{
	static const hec_question question = {"what?", "one two", 5, 7};
	hec_answerer *a = NULL;
	hec_answers *out;
	hec_status status = hec_answerer_load(k->ctx, dir, NULL, &a);
	if (status != HEC_OK)
		return status;
	status = hec_answer(a, 1, &question, NULL, &out);
	hec_answers_free(out);
	hec_answerer_destroy(a);
	return status;
}

/* A tenth of a second, or what a window of the folder's rate has. */
static hec_status transcribe(kit *k, const char *dir)
{
	static float samples[1 << 15];
	const float *sound = samples;
	hec_transcriber *t = NULL;
	hec_transcripts *out;
	hec_status status = hec_transcriber_load(k->ctx, dir, NULL, &t);
	if (status != HEC_OK)
		return status;
	const int64_t count = hec_transcriber_rate(t) / 10;
	assert_in_range(count, 1, (int64_t)1 << 15);
	for (int64_t i = 0; i < count; i++)
		samples[i] = (float)sin((double)(i % 1000) / 7);
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	o.max_tokens = TOKENS;
	status = hec_transcribe(t, 1, &sound, &count, &o, &out);
	const hec_transcript *heard = hec_transcripts_at(out, 0);
	assert_int_equal(!heard, status != HEC_OK);
	for (int64_t i = 0; heard && i < heard->segments; i++) {
		const hec_segment *s = hec_transcript_segment(heard, i);
		CHECK(k, s->begin >= 0 && s->end >= s->begin, "a segment from %g to %g", s->begin,
		      s->end);
	}
	hec_transcripts_free(out);
	hec_transcriber_destroy(t);
	return status;
}

static const struct {
	const char *name, *folder; /* of the committed searches; NULL: */
	const char *model;         /* of the golden models */
	hec_status (*use)(kit *k, const char *dir);
} tasks[] = {
	{"generate", NULL, "gpt2", generate},
	{"generate of T5", NULL, "t5", generate},
	{"translate", "decode_text", NULL, translate},
	{"embed", NULL, "bert_base", embed},
	{"classify", NULL, "bert_classify", classify},
	{"fill", "answer_fill/bert_fill", NULL, fill},
	{"answer", "answer_fill/bert_answer", NULL, answer},
	{"transcribe", "transcribe_english", NULL, transcribe},
};
#define TASKS (sizeof tasks / sizeof *tasks)

static const char *task_copy(const kit *k, size_t i, char dir[SCRATCH_PATH])
{
	char from[512];
	if (tasks[i].model)
		return task_folder(k, tasks[i].model, dir);
	searches_path(tasks[i].folder, from);
	scratch_copy(from, scratch_fresh(dir));
	return dir;
}

/* ---- a file with hostile values ---- */

typedef struct trial {
	kit *k;
	size_t task;
	const char *dir;
	int done, refused;
} trial;

static void try_it(void *user, const char *what)
{
	trial *t = user;
	const hec_status status = tasks[t->task].use(t->k, t->dir);
	CHECK(t->k, status == HEC_OK || *hec_error_message(), "%s: %s: no reason",
	      tasks[t->task].name, what);
	t->done += status == HEC_OK;
	t->refused += status != HEC_OK;
}

/* Of the first task that has this file, and of those behind it that do. content: what it holds before; NULL:
 * what the folder has. */
static void try_file(const char *task, const char *name, const char *content)
{
	kit k = kit_open(7700);
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 32];
	trial t = {.k = &k};
	while (strcmp(tasks[t.task].name, task) != 0)
		t.task++;
	t.dir = task_copy(&k, t.task, dir);
	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (content)
		task_file(dir, name, content);
	try_it(&t, "as it is");
	CHECK(&k, t.done == 1, "%s: %s", task, hec_error_message());
	hostile_each(path, try_it, &t);
	CHECK(&k, t.done > 20 && t.refused > 20, "%s: %d done, %d refused", task, t.done,
	      t.refused);
	kit_close(&k);
}

/* Every key that is read, so that each is spoiled; some at values that let the others do something. */
static const char rules[] =
	"{\"num_beams\": 2, \"renormalize_logits\": true, \"length_penalty\": 0.5, "
	"\"repetition_penalty\": 1.5, \"no_repeat_ngram_size\": 2, \"early_stopping\": true, "
	"\"max_length\": 9, \"min_length\": 1, \"max_new_tokens\": 5, \"min_new_tokens\": 1, "
	"\"forced_bos_token_id\": 4, \"forced_eos_token_id\": 2, \"decoder_start_token_id\": 1, "
	"\"eos_token_id\": [2, 5], \"begin_suppress_tokens\": [3], \"suppress_tokens\": [6], "
	"\"bad_words_ids\": [[7], [8]], \"guidance_scale\": 1, \"sequence_bias\": null}";

static const char draws[] =
	"{\"do_sample\": true, \"temperature\": 0.5, \"top_k\": 5, \"top_p\": 0.9, "
	"\"min_p\": 0.01, \"num_beams\": 1, \"eos_token_id\": 2, \"repetition_penalty\": 1.5, "
	"\"suppress_tokens\": [6], \"typical_p\": 1, \"epsilon_cutoff\": 0}";

static void what_loads_of_generation_config_json_writes(void **state)
{
	(void)state;
	static const char *const names[] = {"generate", "generate of T5", "translate"};
	for (int i = 0; i < 3; i++) {
		try_file(names[i], "generation_config.json", rules);
		try_file(names[i], "generation_config.json", draws);
	}
}

static void what_loads_of_the_files_of_whisper_transcribes(void **state)
{
	(void)state;
	try_file("transcribe", "preprocessor_config.json", NULL);
	try_file("transcribe", "generation_config.json", NULL);
	try_file("transcribe", "generation_config.json", rules);
}

/* ---- ids of no word ---- */

static const char *const far[] = {"-1",         "-2", "101",    "102",  "5000", "2147483647",
                                  "2147483648", "[]", "[5000]", "null", "0",    "100"};

static void special_ids_beyond_the_vocabulary_do_no_harm(void **state)
{
	(void)state;
	static const char *const keys[] = {"pad_token_id", "bos_token_id", "eos_token_id",
	                                   "decoder_start_token_id"};
	static const char *const files[] = {"config.json", "generation_config.json"};
	kit k = kit_open(7710);
	trial t = {.k = &k};
	for (size_t i = 0; i < TASKS * 4 * 2; i++) {
		char dir[SCRATCH_PATH], path[SCRATCH_PATH + 32];
		const char *key = keys[i / TASKS % 4];
		t.task = i % TASKS;
		t.dir = task_copy(&k, t.task, dir);
		snprintf(path, sizeof path, "%s/%s", dir, files[i / TASKS / 4]);
		json_t *root = json_load_file(path, 0, NULL);
		for (size_t j = 0; root && j < sizeof far / sizeof *far; j++) {
			char what[100];
			snprintf(what, sizeof what, "%s: %s", key, far[j]);
			json_t *id = json_loads(far[j], JSON_DECODE_ANY, NULL);
			assert_int_equal(json_object_set_new(root, key, id), 0);
			assert_int_equal(json_dump_file(root, path, 0), 0);
			try_it(&t, what);
		}
		json_decref(root);
	}
	CHECK(&k, t.done > 100 && t.refused > 20, "%d done, %d refused", t.done, t.refused);
	kit_close(&k);
}

static void add_tokens(json_t *root, int n)
{
	json_t *list = json_object_get(root, "added_tokens");
	for (int i = 0; i < n; i++) {
		char content[32];
		snprintf(content, sizeof content, "<far %d>", i);
		json_t *added = json_pack("{s:i, s:s, s:b}", "id", 5000 + i, "content", content,
		                          "special", i % 2);
		assert_int_equal(json_array_append_new(list, added), 0);
	}
}

static void a_tokenizer_with_more_ids_than_the_model_is_refused(void **state)
{
	(void)state;
	kit k = kit_open(7720);
	for (size_t i = 0; i < TASKS; i++) {
		char dir[SCRATCH_PATH], path[SCRATCH_PATH + 32];
		task_copy(&k, i, dir);
		snprintf(path, sizeof path, "%s/tokenizer.json", dir);
		OK(&k, tasks[i].use(&k, dir));
		json_t *root = json_load_file(path, 0, NULL);
		assert_non_null(root);
		add_tokens(root, 1000);
		assert_int_equal(json_dump_file(root, path, 0), 0);
		json_decref(root);
		FAILS(&k, HEC_ERR_FORMAT, tasks[i].use(&k, dir), "the tokenizer has 1",
		      " ids, the model ");
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_loads_of_generation_config_json_writes),
		cmocka_unit_test(what_loads_of_the_files_of_whisper_transcribes),
		cmocka_unit_test(special_ids_beyond_the_vocabulary_do_no_harm),
		cmocka_unit_test(a_tokenizer_with_more_ids_than_the_model_is_refused),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
