/* test_whisper_rules.c — the rules by which times are written and segments cut are Transformers'; what
 * Whisper's files say is checked. */
#include "support/golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"
#include "task/whisper.h"

/* ---- rules ---- */

static void compare_rules(kit *k, const golden *g)
{
	const hec_tensor *begin = golden_get(g, "begin"), *suppress = golden_get(g, "suppress");
	whisper_config c = {.no_timestamps = (int32_t)golden_number(g, "config", 0),
	                    .max_initial = (int64_t)golden_number(g, "config", 1),
	                    .end = (int32_t)golden_number(g, "config", 2),
	                    .begin_suppress = begin->data,
	                    .begin_suppressed = (size_t)begin->shape[0]};
	char ids[32], scores[32], processed[32];
	int cases = 0;
	for (;; cases++) {
		snprintf(ids, sizeof ids, "ids%d", cases);
		snprintf(scores, sizeof scores, "scores%d", cases);
		snprintf(processed, sizeof processed, "processed%d", cases);
		if (!golden_has(g, ids))
			break;
		hec_tensor x = make_copy(k, golden_get(g, scores));
		for (int64_t i = 0; i < suppress->shape[0]; i++)
			put(&x, (int64_t)get(suppress, i), -INFINITY);
		whisper_rules(&c, true, golden_get(g, ids)->data, golden_get(g, ids)->shape[0],
		              x.data, x.shape[0]);
		check_same_bits(k, processed, &x, golden_get(g, processed));
	}
	CHECK(k, cases >= 30, "%s has %d cases", g->path, cases);
}

static void what_may_follow_is_as_in_transformers(void **state)
{
	(void)state;
	golden_each("whisper_rules_", compare_rules);
}

/* ---- segments ---- */

static void compare_segments(kit *k, const golden *g)
{
	whisper_config c = {.no_timestamps = (int32_t)golden_number(g, "config", 0) - 1,
	                    .mel = {.hop = 160, .rate = 16000}};
	char name[32];
	int cases = 0;
	for (;; cases++) {
		snprintf(name, sizeof name, "tokens%d", cases);
		if (!golden_has(g, name))
			break;
		const hec_tensor *tokens = golden_get(g, name);
		snprintf(name, sizeof name, "segments%d", cases);
		const hec_tensor *want = golden_get(g, name);
		snprintf(name, sizeof name, "frames%d", cases);
		int64_t frames = (int64_t)golden_number(g, name, 0);
		int64_t before = (int64_t)golden_number(g, name, 1);
		snprintf(name, sizeof name, "move%d", cases);
		int64_t move = (int64_t)golden_number(g, name, 0);
		whisper_segment got[64];
		const whisper_cut cut = whisper_segments(&c, true, tokens->data, tokens->shape[0],
		                                         before, frames, got);
		const int64_t moved = cut.move, count = cut.count;
		/* Where theirs would stand still, or go beyond the window, ours takes all of it. */
		CHECK(k, moved == (move > 0 && move < frames ? move : frames),
		      "case %d moves by %lld, not %lld", cases, (long long)moved, (long long)move);
		CHECK(k, count == want->shape[0], "case %d has %lld segments, not %lld", cases,
		      (long long)count, (long long)want->shape[0]);
		for (int64_t i = 0; i < count; i++) {
			CHECK(k,
			      fabs(got[i].begin - get(want, 4 * i)) < 1e-9 &&
			              fabs(got[i].end - get(want, 4 * i + 1)) < 1e-9,
			      "case %d, segment %lld: %g to %g, not %g to %g", cases, (long long)i,
			      got[i].begin, got[i].end, get(want, 4 * i), get(want, 4 * i + 1));
			CHECK(k,
			      (double)got[i].from == get(want, 4 * i + 2) &&
			              (double)got[i].to == get(want, 4 * i + 3),
			      "case %d, segment %lld has other tokens", cases, (long long)i);
		}
	}
	CHECK(k, cases >= 20, "%s has %d cases", g->path, cases);
}

static void segments_are_cut_as_in_transformers(void **state)
{
	(void)state;
	golden_each("whisper_segments_", compare_segments);
}

/* ---- files ---- */

typedef struct folder {
	char path[64];
	hec_model_config model;
	hec_tokenizer *tokenizer;
} folder;

static void put_file(const folder *f, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", f->path, name);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static folder open_folder(kit *k)
{
	folder f = {0};
	assert_int_equal(scratch_folder(f.path, sizeof f.path), 0);
	f.model.vocab = 101;
	f.model.front.features = 14;
	f.model.encoder.position.max = 50;
	f.model.start_id = 40;
	f.model.eos_id = 39;
	OK(k, hec_tokenizer_load(TESTS_DIR "/golden/transcribe_many", &f.tokenizer));
	return f;
}

static void close_folder(folder *f)
{
	assert_int_equal(scratch_folder_remove(f->path), 0);
	hec_tokenizer_destroy(f->tokenizer);
}

#define GENERATION(text) put_file(&f, "generation_config.json", text)
#define PREPROCESSOR(text) put_file(&f, "preprocessor_config.json", text)
#define READ(c) whisper_config_read(f.path, &f.model, f.tokenizer, c)

static void what_the_files_say_is_taken(void **state)
{
	(void)state;
	kit k = kit_open(1);
	folder f = open_folder(&k);
	whisper_config c;
	GENERATION("{\"is_multilingual\": true, \"lang_to_id\": {\"<|en|>\": 41, \"<|yue|>\": 43}, "
	           "\"task_to_id\": {\"transcribe\": 45, \"translate\": 44}, \"suppress_tokens\": "
	           "[5, 7], "
	           "\"begin_suppress_tokens\": [3], \"no_timestamps_token_id\": 49, "
	           "\"max_initial_timestamp_index\": 12, \"decoder_start_token_id\": 40, "
	           "\"eos_token_id\": 39, \"max_length\": 20}");
	PREPROCESSOR("{\"feature_size\": 14, \"n_fft\": 100, \"hop_length\": 40, "
	             "\"sampling_rate\": 4000, "
	             "\"chunk_length\": 1}");
	OK(&k, READ(&c));
	int32_t id = -1;
	OK(&k, whisper_language_find(&c, "yue", &id));
	CHECK(&k, id == 43 && c.multilingual && c.transcribe == 45 && c.translate == 44, "ids");
	OK(&k, whisper_language_find(&c, "<|en|>", &id));
	CHECK(&k, id == 41 && strcmp(whisper_language_code(&c, 43), "yue") == 0, "languages");
	CHECK(&k, c.no_timestamps == 49 && c.max_initial == 12 && c.begin_suppressed == 1, "rules");
	CHECK(&k, c.generation.options.suppressed == 2 && c.max_length == 20, "suppressed");
	CHECK(&k, c.mel.fft == 100 && c.mel.hop == 40 && c.mel.rate == 4000 && c.window == 100,
	      "mel");
	FAILS(&k, HEC_ERR_ARGUMENT, whisper_language_find(&c, "xx", &id), "'xx'", "en, yue");
	whisper_config_free(&c);
	close_folder(&f);
	kit_close(&k);
}

static void check_choice(kit *k, const whisper_config *c, const char *language, const char *task,
                         int32_t want, int32_t wants)
{
	whisper_choice choice;
	OK(k, whisper_choose(c, language, task, &choice));
	CHECK(k,
	      choice.language == want && choice.task == wants && choice.translates == (wants == 44),
	      "%s, %s: language %d, task %d", language ? language : "-", task ? task : "-",
	      choice.language, choice.task);
}
#define CHOOSES(language, task, id, task_id) check_choice(&k, &c, language, task, id, task_id)

static void what_the_files_say_holds_where_nobody_asks(void **state)
{
	(void)state;
	kit k = kit_open(4);
	folder f = open_folder(&k);
	whisper_config c;
	whisper_choice choice;
	GENERATION("{\"is_multilingual\": true, \"lang_to_id\": {\"<|en|>\": 41, \"<|de|>\": 42}, "
	           "\"language\": \"de\", \"task\": \"translate\"}");
	OK(&k, READ(&c));
	CHOOSES(NULL, NULL, 42, 44);
	CHOOSES("en", NULL, 41, 44);
	CHOOSES("auto", NULL, -1, 44);
	CHOOSES(NULL, "transcribe", 42, 45);
	CHOOSES("<|EN|>", "translate", 41, 44);
	FAILS(&k, HEC_ERR_ARGUMENT, whisper_choose(&c, NULL, "sing", &choice), "'sing'");
	whisper_config_free(&c);
	GENERATION("{\"is_multilingual\": true, \"lang_to_id\": {\"<|en|>\": 41}, "
	           "\"language\": \"English\"}");
	OK(&k, READ(&c));
	CHOOSES(NULL, NULL, 41, 45);
	CHOOSES("EN", NULL, 41, 45);
	whisper_config_free(&c);
	GENERATION("{\"is_multilingual\": true, \"lang_to_id\": {\"<|en|>\": 41}, "
	           "\"language\": \"elvish\"}");
	OK(&k, READ(&c));
	FAILS(&k, HEC_ERR_ARGUMENT, whisper_choose(&c, NULL, NULL, &choice),
	      "generation_config.json", "'elvish'");
	whisper_config_free(&c);
	close_folder(&f);
	kit_close(&k);
}

#define LANGUAGES                                                                                  \
	"\"is_multilingual\": true, \"lang_to_id\": {\"<|en|>\": 41, \"<|de|>\": 42}, "            \
	"\"task_to_id\": {\"transcribe\": 45, \"translate\": 44}"

/* As Transformers takes them: only where nobody says a language or a task. */
static void ids_of_older_files_hold_where_nothing_else_does(void **state)
{
	(void)state;
	kit k = kit_open(5);
	folder f = open_folder(&k);
	whisper_config c;
	GENERATION("{" LANGUAGES ", \"forced_decoder_ids\": [[1, 42], [2, 44], [3, 49]]}");
	OK(&k, READ(&c));
	CHOOSES(NULL, NULL, 42, 44);
	CHOOSES("en", NULL, 41, 45);
	CHOOSES(NULL, "translate", -1, 44);
	whisper_config_free(&c);
	GENERATION("{" LANGUAGES ", \"forced_decoder_ids\": [[1, null], [2, 45]]}");
	put_file(&f, "config.json", "{\"forced_decoder_ids\": [[1, 42], [2, 44]]}");
	OK(&k, READ(&c));
	CHOOSES(NULL, NULL, -1, 45);
	whisper_config_free(&c);
	GENERATION("{" LANGUAGES "}");
	put_file(&f, "config.json", "{}");
	OK(&k, READ(&c));
	CHOOSES(NULL, NULL, -1, -1);
	CHOOSES("de", NULL, 42, 45);
	whisper_config_free(&c);
	/* Older ones still have them in config.json. */
	put_file(&f, "config.json", "{\"forced_decoder_ids\": [[1, 42], [2, 44]]}");
	GENERATION("{" LANGUAGES ", \"forced_decoder_ids\": null}");
	OK(&k, READ(&c));
	CHOOSES(NULL, NULL, 42, 44);
	whisper_config_free(&c);
	GENERATION("{" LANGUAGES ", \"task\": \"transcribe\"}");
	OK(&k, READ(&c));
	CHOOSES(NULL, NULL, -1, 45);
	whisper_config_free(&c);
	char path[SCRATCH_PATH + 32];
	snprintf(path, sizeof path, "%s/generation_config.json", f.path);
	assert_int_equal(unlink(path), 0);
	f.model.vocab = 51865; /* of many languages, which the tokenizer names */
	OK(&k, READ(&c));
	CHOOSES(NULL, NULL, 42, 44);
	whisper_config_free(&c);
	close_folder(&f);
	kit_close(&k);
}

static void what_is_missing_is_found_in_the_tokenizer(void **state)
{
	(void)state;
	kit k = kit_open(2);
	folder f = open_folder(&k);
	whisper_config c;
	f.model.vocab = 51865;
	OK(&k, whisper_config_read(NULL, &f.model, f.tokenizer, &c));
	CHECK(&k, c.multilingual && c.language_count == 3 && c.no_timestamps == 49, "%zu languages",
	      c.language_count);
	CHECK(&k, c.transcribe == 45 && c.translate == 44 && c.mel.hop == 160, "tasks");
	whisper_config_free(&c);
	close_folder(&f);
	kit_close(&k);
}

static void wrong_files_are_refused(void **state)
{
	(void)state;
	kit k = kit_open(3);
	folder f = open_folder(&k);
	whisper_config c;
	GENERATION("{\"no_timestamps_token_id\": 101}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "no_timestamps_token_id", "100");
	GENERATION("{\"lang_to_id\": {\"en\": 41}}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "'en' is no language's token");
	GENERATION("{\"lang_to_id\": {\"<|aVeryLongLanguage|>\": 41}}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "no language's token");
	GENERATION("{\"lang_to_id\": {\"<|en|>\": -1}}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "<|en|>");
	GENERATION("{\"begin_suppress_tokens\": [1, 500]}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "begin_suppress_tokens");
	GENERATION("{\"task\": \"trans\"}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "task", "transcribe or translate");
	GENERATION("[]");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "generation_config.json");
	GENERATION("{}");
	PREPROCESSOR("{\"feature_size\": 80, \"sampling_rate\": 4000, \"hop_length\": 40}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "feature_size is 80", "14 mel bands");
	PREPROCESSOR("{\"feature_size\": 14, \"chunk_length\": 30}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "3000 frames", "reads 100");
	PREPROCESSOR("{\"hop_length\": 1, \"sampling_rate\": 192000}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "1000 frames a second");
	PREPROCESSOR("{\"hop_length\": 0}");
	FAILS(&k, HEC_ERR_FORMAT, READ(&c), "hop_length");
	PREPROCESSOR("{\"dither\": 0.001}");
	FAILS(&k, HEC_ERR_UNSUPPORTED, READ(&c), "dither");
	close_folder(&f);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_follow_is_as_in_transformers),
		cmocka_unit_test(segments_are_cut_as_in_transformers),
		cmocka_unit_test(what_the_files_say_is_taken),
		cmocka_unit_test(what_the_files_say_holds_where_nobody_asks),
		cmocka_unit_test(ids_of_older_files_hold_where_nothing_else_does),
		cmocka_unit_test(what_is_missing_is_found_in_the_tokenizer),
		cmocka_unit_test(wrong_files_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
