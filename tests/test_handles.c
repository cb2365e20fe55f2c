/* test_handles.c — a call that makes something and fails leaves NULL where its handle or result was to be:
 * destroying or freeing that is always right. Every such call of the public headers is tried. */
#include "support/models.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/hecate.h>

#include "base/file.h"

#define NOWHERE "/nowhere/at/all"
#define TRIED_MOST 64

static const char *tried[TRIED_MOST];
static size_t tried_count;

static void note(const char *name)
{
	for (size_t i = 0; i < tried_count; i++)
		if (strcmp(tried[i], name) == 0)
			return;
	assert_true(tried_count < TRIED_MOST);
	tried[tried_count++] = name;
}

/* What is there is of something else before the call, as a caller's may be that is used again. */
#define LEAVES_NULL(call, type, ...)                                                               \
	do {                                                                                       \
		char other;                                                                        \
		type *out = (type *)(void *)&other;                                                \
		hec_status status = call(__VA_ARGS__);                                             \
		note(#call);                                                                       \
		if (status == HEC_OK || out)                                                       \
			fail_msg(#call "(" #__VA_ARGS__ "): %s, out is %s",                        \
			         hec_status_name(status), out ? "not NULL" : "NULL");              \
	} while (0)

static void of_layers_and_models(kit *k)
{
	hec_ctx_options no_level = HEC_CTX_OPTIONS_INIT;
	hec_model_config empty = {.size = sizeof empty}, fine;
	hec_session_options no_size = {0};
	hec_trainer_options no_trainer = {0};
	no_level.threads = -3;
	LEAVES_NULL(hec_ctx_create, hec_ctx, &no_level, &out);
	LEAVES_NULL(hec_ctx_create_dry, hec_ctx, &no_level, &out);
	LEAVES_NULL(hec_arena_create, hec_arena, SIZE_MAX, &out);
	LEAVES_NULL(hec_arena_create_reserved, hec_arena, SIZE_MAX, &out);
	LEAVES_NULL(hec_model_create, hec_model, k->ctx, &empty, HEC_F32, 1, &out);
	LEAVES_NULL(hec_model_create, hec_model, NULL, &empty, HEC_F32, 1, &out);
	LEAVES_NULL(hec_model_load, hec_model, k->ctx, NOWHERE, NULL, &out);
	LEAVES_NULL(hec_model_load, hec_model, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_model_create_like, hec_model, NULL, &out);
	fine = model_variant(FORM_DECODER, 1, HEC_HEAD_LM, 0);
	hec_model *m = model_open(k, &fine, HEC_F32);
	LEAVES_NULL(hec_session_create, hec_session, k->ctx, m, &no_size, &out);
	LEAVES_NULL(hec_session_create, hec_session, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_trainer_create, hec_trainer, k->ctx, m, &no_trainer, &out);
	LEAVES_NULL(hec_trainer_create, hec_trainer, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_trainer_plan, hec_trainer_memory, k->ctx, m, &no_trainer, &out);
	LEAVES_NULL(hec_trainer_plan, hec_trainer_memory, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_train, hec_train_result, k->ctx, m, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_train, hec_train_result, NULL, NULL, NULL, NULL, NULL, &out);
	hec_model_destroy(m);
}

static hec_status no_line(void *user, const char **line, size_t *bytes)
{
	(void)user, (void)bytes;
	*line = NULL;
	return hec_arena_create(SIZE_MAX, &(hec_arena *){NULL}); /* any failure */
}

static void of_texts_and_training(void)
{
	const char *missing[] = {NOWHERE};
	hec_corpus_options no_task = {.size = sizeof no_task, .files = missing, .n = 1};
	hec_training_options no_training = HEC_TRAINING_OPTIONS_INIT;
	LEAVES_NULL(hec_tokenizer_load, hec_tokenizer, NOWHERE, &out);
	LEAVES_NULL(hec_tokenizer_load, hec_tokenizer, NULL, &out);
	LEAVES_NULL(hec_tokenizer_parse, hec_tokenizer, "{", 1, NULL, 0, &out);
	LEAVES_NULL(hec_tokenizer_parse, hec_tokenizer, NULL, 0, NULL, 0, &out);
	LEAVES_NULL(hec_bpe_train, hec_tokenizer, NULL, no_line, NULL, &out);
	LEAVES_NULL(hec_bpe_train, hec_tokenizer, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_chat_template_load, hec_chat_template, NOWHERE, &out);
	LEAVES_NULL(hec_chat_template_load, hec_chat_template, NULL, &out);
	LEAVES_NULL(hec_chat_template_parse, hec_chat_template, "{{", 2, &out);
	LEAVES_NULL(hec_chat_template_parse, hec_chat_template, NULL, 0, &out);
	LEAVES_NULL(hec_lines_create, hec_lines, HEC_TASK_LM, missing, 0, &out);
	LEAVES_NULL(hec_corpus_create, hec_corpus, &no_task, &out);
	LEAVES_NULL(hec_corpus_create, hec_corpus, NULL, &out);
	LEAVES_NULL(hec_squad_load, hec_squad, missing, 1, &out);
	LEAVES_NULL(hec_squad_load, hec_squad, NULL, 1, &out);
	LEAVES_NULL(hec_tokenizer_load_target, hec_tokenizer, NULL, &out);
	LEAVES_NULL(hec_training_create, hec_training, &no_training, &out);
	LEAVES_NULL(hec_training_create, hec_training, NULL, &out);
	LEAVES_NULL(hec_training_learn, hec_train_result, NULL, &out);
	LEAVES_NULL(hec_training_memory_of, hec_training_memory, NULL, &out);
	LEAVES_NULL(hec_train_lock_create, hec_train_lock, "/dev/null/run", &out);
	LEAVES_NULL(hec_train_lock_create, hec_train_lock, NULL, &out);
	LEAVES_NULL(hec_scorer_create, hec_scorer, (hec_score)-1, &out);
	LEAVES_NULL(hec_audio_read, hec_audio, NOWHERE, NULL, &out);
	LEAVES_NULL(hec_audio_read, hec_audio, NULL, NULL, &out);
	LEAVES_NULL(hec_audio_read_memory, hec_audio, "x", "", 0, NULL, &out);
	LEAVES_NULL(hec_audio_read_memory, hec_audio, NULL, NULL, 1, NULL, &out);
	LEAVES_NULL(hec_info_read, hec_info, NOWHERE, &out);
	LEAVES_NULL(hec_info_read, hec_info, NULL, &out);
	LEAVES_NULL(hec_speech_load, hec_speech, NOWHERE, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_speech_load, hec_speech, NULL, NULL, NULL, NULL, &out);
}

/* The calls of the applications, of nobody: their own tests have the failures of those that are there. */
static void of_results(void)
{
	LEAVES_NULL(hec_answer, hec_answers, NULL, 0, NULL, NULL, &out);
	LEAVES_NULL(hec_classify, hec_classes, NULL, 0, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_classify_tokens, hec_token_classes, NULL, 0, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_decode, hec_decoded, NULL, 0, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_decode_features, hec_decoded, NULL, 0, NULL, NULL, &out);
	LEAVES_NULL(hec_decode_live, hec_decoded, NULL, NULL, &out);
	LEAVES_NULL(hec_embed, hec_embeddings, NULL, 0, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_fill, hec_filled, NULL, 0, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_generate, hec_generations, NULL, 0, NULL, NULL, &out);
	LEAVES_NULL(hec_transcribe, hec_transcripts, NULL, 0, NULL, NULL, NULL, &out);
	LEAVES_NULL(hec_translate, hec_translations, NULL, 0, NULL, NULL, NULL, &out);
}

/* One application: from a folder that is not there, and from nothing. */
#define OF_APPLICATION(name)                                                                       \
	LEAVES_NULL(hec_##name##_load, hec_##name, k->ctx, NOWHERE, NULL, &out);                   \
	LEAVES_NULL(hec_##name##_load, hec_##name, NULL, NULL, NULL, &out);                        \
	LEAVES_NULL(hec_##name##_create, hec_##name, k->ctx, NULL, NULL, &out)

static void of_applications(kit *k)
{
	OF_APPLICATION(answerer);
	OF_APPLICATION(classifier);
	OF_APPLICATION(embedder);
	OF_APPLICATION(filler);
	OF_APPLICATION(generator);
	OF_APPLICATION(transcriber);
	LEAVES_NULL(hec_transcriber_create_like, hec_transcriber, k->ctx, NULL, NULL, NULL, &out);
	OF_APPLICATION(translator);
}

/* Every function of the header with a handle or a result to make was tried. */
static void check_header(const char *path)
{
	char *text;
	size_t bytes;
	assert_int_equal(file_read(path, 1 << 20, &text, &bytes), HEC_OK);
	for (char *at = text; (at = strstr(at, " **out")); at++) {
		const char *name = at, *behind = at + strlen(" **out");
		if (*behind != ')' && strncmp(behind, " /*", 3) != 0)
			continue; /* the text of a comment */
		while (name > text && strncmp(name, "hec_status", 10) != 0)
			name--;
		name += strcspn(name, " \n");
		name += strspn(name, " \n\t");
		char call[64];
		snprintf(call, sizeof call, "%.*s", (int)strcspn(name, "("), name);
		size_t i = 0;
		while (i < tried_count && strcmp(tried[i], call) != 0)
			i++;
		if (i == tried_count && strcmp(call, "hec_arena_alloc") != 0) /* no handle */
			fail_msg("%s: %s was not tried", path, call);
	}
	free(text);
}

static void what_could_not_be_made_is_null(void **state)
{
	(void)state;
	kit k = kit_open(9100);
	of_layers_and_models(&k);
	of_texts_and_training();
	of_applications(&k);
	of_results();
	kit_close(&k);
	static const char folder[] = TESTS_DIR "/../include/hecate";
	DIR *headers = opendir(folder);
	assert_non_null(headers);
	int count = 0;
	for (struct dirent *e; (e = readdir(headers));) {
		char path[1024];
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		check_header(path);
		count++;
	}
	closedir(headers);
	assert_true(count > 40);
	assert_int_equal(tried_count, 55);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_could_not_be_made_is_null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
