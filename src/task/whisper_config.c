/* whisper_config.c — generation_config.json and preprocessor_config.json of a Whisper directory; what they
 * do not say, the tokenizer's tokens say by their names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/size.h"
#include "task/folder.h"
#include "task/whisper.h"

#define GENERATION "generation_config.json"
#define PREPROCESSOR "preprocessor_config.json"
#define FRAMES_MOST 1000 /* a second; Whisper has 100 */
#define LANGUAGES_MOST 1024
#define HEADS_MOST 65536
#define MULTILINGUAL_VOCAB 51865 /* the English-only vocabularies have fewer */

/* ---- generation_config.json ---- */

static hec_status add_language(whisper_config *c, const char *token, int32_t id)
{
	whisper_language l = {.id = id};
	if (!whisper_code_of_token(token, l.code)) {
		char quoted[QUOTE_TEXT];
		return fail(HEC_ERR_FORMAT, GENERATION ": lang_to_id: '%s' is no language's token",
		            quote(token, quoted));
	}
	if (c->language_count == LANGUAGES_MOST)
		return fail(HEC_ERR_FORMAT, GENERATION ": lang_to_id: more than %d languages",
		            LANGUAGES_MOST);
	if (!c->languages)
		c->languages = mem_zeros(LANGUAGES_MOST, sizeof *c->languages);
	if (!c->languages)
		return fail(HEC_ERR_MEMORY, GENERATION ": no memory for its languages");
	c->languages[c->language_count++] = l;
	return HEC_OK;
}

static hec_status read_languages(const json_scope *s, int64_t vocab, whisper_config *c)
{
	json_scope all;
	bool found = false;
	HEC_TRY(json_want_object(s, "lang_to_id", &all, &found));
	if (!found)
		return HEC_OK;
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)all.object, key, value)
	{
		int64_t id = -1;
		HEC_TRY(json_need_int(&all, key, 0, vocab - 1, &id));
		HEC_TRY(add_language(c, key, (int32_t)id));
	}
	return HEC_OK;
}

static hec_status read_id(const json_scope *s, const char *key, int64_t vocab, int32_t *id)
{
	int64_t value = *id;
	HEC_TRY(json_want_int(s, key, 0, vocab - 1, &value));
	*id = (int32_t)value;
	return HEC_OK;
}

static hec_status read_tasks(const json_scope *s, int64_t vocab, whisper_config *c)
{
	json_scope tasks;
	bool found = false;
	HEC_TRY(json_want_object(s, "task_to_id", &tasks, &found));
	if (!found)
		return HEC_OK;
	HEC_TRY(read_id(&tasks, "transcribe", vocab, &c->transcribe));
	return read_id(&tasks, "translate", vocab, &c->translate);
}

static hec_status read_begin(const json_scope *s, int64_t vocab, whisper_config *c)
{
	json_t *ids = NULL, *id;
	HEC_TRY(json_want_array(s, "begin_suppress_tokens", &ids));
	size_t n = json_array_size(ids), i;
	if (n == 0)
		return HEC_OK;
	c->begin_suppress = mem_zeros(n, sizeof *c->begin_suppress);
	if (!c->begin_suppress)
		return fail(HEC_ERR_MEMORY, GENERATION ": no memory for %zu ids", n);
	json_array_foreach(ids, i, id)
	{
		int64_t value;
		if (!json_whole(id, &value) || value < 0 || value >= vocab)
			return json_wrong(s, "begin_suppress_tokens", id,
			                  "an id of the vocabulary");
		c->begin_suppress[c->begin_suppressed++] = (int32_t)value;
	}
	return HEC_OK;
}

/* Whether the model has them is asked where they are used: they may be those of a larger one. */
static hec_status read_alignment(const json_scope *s, whisper_config *c)
{
	json_t *heads = NULL, *pair;
	HEC_TRY(json_want_array(s, "alignment_heads", &heads));
	size_t n = json_array_size(heads), i;
	if (n == 0)
		return HEC_OK;
	if (n > HEADS_MOST)
		return fail(HEC_ERR_FORMAT,
		            GENERATION ": alignment_heads: %zu; at most %d are read", n,
		            HEADS_MOST);
	c->alignment = mem_zeros(n, sizeof *c->alignment);
	if (!c->alignment)
		return fail(HEC_ERR_MEMORY, GENERATION ": no memory for %zu heads", n);
	json_array_foreach(heads, i, pair)
	{
		struct whisper_head *h = &c->alignment[c->alignment_count++];
		if (json_array_size(pair) != 2 || !json_whole(json_array_get(pair, 0), &h->layer) ||
		    !json_whole(json_array_get(pair, 1), &h->head))
			return json_wrong(s, "alignment_heads", pair, "a layer and a head");
	}
	return HEC_OK;
}

static hec_status read_generation(const json_scope *s, int64_t vocab, whisper_config *c)
{
	HEC_TRY(read_languages(s, vocab, c));
	HEC_TRY(read_tasks(s, vocab, c));
	HEC_TRY(whisper_request_read(s, &c->files));
	HEC_TRY(read_begin(s, vocab, c));
	HEC_TRY(read_alignment(s, c));
	HEC_TRY(read_id(s, "prev_sot_token_id", vocab, &c->previous));
	HEC_TRY(read_id(s, "no_timestamps_token_id", vocab, &c->no_timestamps));
	HEC_TRY(read_id(s, "decoder_start_token_id", vocab, &c->start));
	HEC_TRY(json_want_int(s, "max_initial_timestamp_index", 0, vocab, &c->max_initial));
	HEC_TRY(json_want_int(s, "max_length", 1, (int64_t)1 << 40, &c->max_length));
	HEC_TRY(json_want_int(s, "max_new_tokens", 1, (int64_t)1 << 40, &c->max_length));
	c->multilingual = c->language_count > 0;
	return json_want_bool(s, "is_multilingual", &c->multilingual);
}

/* ---- the tokenizer ---- */

static void name_ids(const hec_tokenizer *tokenizer, whisper_config *c)
{
	c->transcribe = hec_tokenizer_id(tokenizer, "<|transcribe|>");
	c->translate = hec_tokenizer_id(tokenizer, "<|translate|>");
	c->no_timestamps = hec_tokenizer_id(tokenizer, "<|notimestamps|>");
	c->previous = hec_tokenizer_id(tokenizer, "<|startofprev|>");
}

/* Where no file names the languages: the tokens between the start and the first task. */
static hec_status name_languages(const hec_tokenizer *tokenizer, whisper_config *c)
{
	int32_t tasks = c->translate < c->transcribe ? c->translate : c->transcribe;
	for (int32_t id = c->start + 1; c->language_count == 0 || id < tasks; id++) {
		const char *token = id < tasks ? hec_tokenizer_token(tokenizer, id) : NULL;
		if (!token)
			return fail(HEC_ERR_FORMAT,
			            "transcribe: the model knows several languages, "
			            "and nothing names their tokens");
		HEC_TRY(add_language(c, token, id));
	}
	return HEC_OK;
}

static hec_status check(const hec_model_config *model, const hec_tokenizer *tokenizer,
                        whisper_config *c)
{
	if (c->no_timestamps < 1)
		return fail(HEC_ERR_FORMAT,
		            "transcribe: neither " GENERATION " nor the tokenizer says "
		            "which token is <|notimestamps|>");
	if (c->start < 0 || c->end < 0)
		return fail(
			HEC_ERR_FORMAT,
			"transcribe: the model has no token to begin with (%d) or to end with (%d)",
			c->start, c->end);
	if (!c->multilingual)
		return HEC_OK;
	if (c->transcribe < 0 || c->translate < 0)
		return fail(HEC_ERR_FORMAT, "transcribe: the model knows several languages, and "
		                            "nothing says which token is <|transcribe|> or "
		                            "<|translate|>");
	(void)model;
	return c->language_count > 0 ? HEC_OK : name_languages(tokenizer, c);
}

/* ---- preprocessor_config.json ---- */

static hec_status read_mel(const json_scope *s, whisper_config *c, int64_t *seconds)
{
	HEC_TRY(json_want_int(s, "feature_size", 1, 1024, &c->mel.mels));
	HEC_TRY(json_want_int(s, "n_fft", 2, 16384, &c->mel.fft));
	HEC_TRY(json_want_int(s, "hop_length", 1, 16384, &c->mel.hop));
	HEC_TRY(json_want_int(s, "sampling_rate", 4000, 192000, &c->mel.rate));
	HEC_TRY(json_want_int(s, "chunk_length", 1, 3600, seconds));
	double dither = 0;
	HEC_TRY(json_want_double(s, "dither", -1e9, 1e9, &dither));
	return dither == 0 ? HEC_OK
	                   : fail(HEC_ERR_UNSUPPORTED,
	                          "%s: dither is %g; noise is not added to what is read", s->file,
	                          dither);
}

static hec_status check_mel(const hec_model_config *model, whisper_config *c, int64_t seconds)
{
	c->window = 2 * model->encoder.position.max;
	int64_t frames = seconds * c->mel.rate / c->mel.hop;
	if (c->mel.mels != model->front.features)
		return fail(HEC_ERR_FORMAT,
		            PREPROCESSOR ": feature_size is %lld, the model reads %lld mel bands",
		            (long long)c->mel.mels, (long long)model->front.features);
	if (seconds > 0 && frames != c->window)
		return fail(HEC_ERR_FORMAT,
		            PREPROCESSOR
		            ": chunk_length %lld s are %lld frames of %lld samples, the "
		            "model reads %lld",
		            (long long)seconds, (long long)frames, (long long)c->mel.hop,
		            (long long)c->window);
	if (c->mel.rate / c->mel.hop > FRAMES_MOST)
		return fail(HEC_ERR_FORMAT,
		            PREPROCESSOR ": hop_length %lld at sampling_rate %lld are more than %d "
		                         "frames a second",
		            (long long)c->mel.hop, (long long)c->mel.rate, FRAMES_MOST);
	/* What is wrong with the other numbers is said before any sound is read. */
	return hec_log_mel_frames(&c->mel, 0, &frames);
}

static hec_status read_preprocessor(const char *dir, const hec_model_config *model,
                                    whisper_config *c)
{
	char path[PATH_MOST];
	json_t *root = NULL;
	json_scope scope;
	int64_t seconds = 0;
	c->mel = (hec_mel_options){sizeof c->mel, 16000, 400, 160, model->front.features, 0};
	if (dir)
		HEC_TRY(folder_json_if(dir, PREPROCESSOR, path, &root));
	hec_status status = HEC_OK;
	if (root) {
		status = json_scope_root(path, root, &scope);
		if (status == HEC_OK)
			status = read_mel(&scope, c, &seconds);
		json_decref(root);
	}
	return status == HEC_OK ? check_mel(model, c, seconds) : status;
}

/* ---- all of them ---- */

/* Where generation_config.json is silent, older models have it in config.json. */
static hec_status read_forced(const char *dir, whisper_config *c)
{
	char path[PATH_MOST];
	json_t *root = NULL;
	json_scope scope;
	HEC_TRY(folder_json_if(dir, "config.json", path, &root));
	if (!root)
		return HEC_OK;
	hec_status status = json_scope_root(path, root, &scope);
	if (status == HEC_OK)
		whisper_forced_read(&scope, &c->files);
	json_decref(root);
	return status;
}

static hec_status read_all(const char *dir, const hec_model_config *model,
                           const hec_tokenizer *tokenizer, whisper_config *c)
{
	char path[PATH_MOST];
	json_t *root = NULL;
	json_scope scope;
	if (dir)
		HEC_TRY(folder_json_if(dir, GENERATION, path, &root));
	hec_status status = HEC_OK;
	if (root) {
		status = json_scope_root(path, root, &scope);
		if (status == HEC_OK)
			status = read_generation(&scope, model->vocab, c);
		json_decref(root);
	}
	if (status != HEC_OK)
		return status;
	if (dir && !c->files.forced)
		HEC_TRY(read_forced(dir, c));
	if (dir)
		HEC_TRY(generation_config_read(dir, model->vocab, 0, NULL, &c->generation));
	if (c->generation.options.end_count > 0)
		c->end = c->generation.ends[0];
	HEC_TRY(check(model, tokenizer, c));
	return read_preprocessor(dir, model, c);
}

hec_status whisper_config_read(const char *dir, const hec_model_config *model,
                               const hec_tokenizer *tokenizer, whisper_config *out)
{
	whisper_config c = {.generation = {.options = HEC_DECODE_OPTIONS_INIT},
	                    .multilingual = model->vocab >= MULTILINGUAL_VOCAB,
	                    .start = model->start_id,
	                    .end = model->eos_id,
	                    .max_initial = -1,
	                    .files = {.forced_language = -1, .forced_task = -1}};
	name_ids(tokenizer, &c);
	hec_status status = read_all(dir, model, tokenizer, &c);
	if (status != HEC_OK)
		whisper_config_free(&c);
	else
		*out = c;
	return status;
}

void whisper_config_free(whisper_config *c)
{
	generation_config_free(&c->generation);
	mem_free(c->languages);
	mem_free(c->begin_suppress);
	mem_free(c->alignment);
	*c = (whisper_config){0};
}
