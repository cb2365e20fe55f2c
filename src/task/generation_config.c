/* generation_config.c — Hugging Face's names for hec_decode_options. What is read later holds. */
#include "task/generation_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "task/folder.h"

#define FILE_NAME "generation_config.json"
/* Of what a file may ask for, where the model itself has no end: room for them is made before. */
#define TOKENS_MOST ((int64_t)1 << 20)

/* Adds an id to a list that is large enough. What is beyond the vocabulary is never written: it is passed
 * over. */
static hec_status take_id(const json_scope *s, const char *key, const json_t *value, int64_t vocab,
                          int32_t *list, size_t *count)
{
	int64_t id;
	if (!json_whole(value, &id) || id < 0)
		return json_wrong(s, key, value, "an id from 0 up");
	if (id < vocab)
		list[(*count)++] = (int32_t)id;
	return HEC_OK;
}

static hec_status new_list(size_t n, int32_t **out)
{
	mem_free(*out);
	*out = mem_zeros(n + 1, sizeof **out);
	return *out ? HEC_OK : fail(HEC_ERR_MEMORY, FILE_NAME ": no memory for %zu ids", n);
}

static int by_id(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return x < y ? -1 : x > y;
}

/* In order and each once: a file may say one a million times. */
static void tidy(int32_t *ids, size_t *n)
{
	size_t kept = 0;
	if (*n > 0)
		qsort(ids, *n, sizeof *ids, by_id);
	for (size_t i = 0; i < *n; i++) {
		if (kept == 0 || ids[i] != ids[kept - 1])
			ids[kept++] = ids[i];
	}
	*n = kept;
}

/* A number or an array of them. */
static hec_status read_ends(const json_scope *s, int64_t vocab, generation_config *g)
{
	const char *key = "eos_token_id";
	json_t *value = json_object_get(s->object, key);
	if (!value || json_is_null(value))
		return HEC_OK;
	size_t n = json_is_array(value) ? json_array_size(value) : 1;
	HEC_TRY(new_list(n, &g->ends));
	g->options.ends = g->ends;
	g->options.end_count = 0;
	for (size_t i = 0; i < n; i++)
		HEC_TRY(take_id(s, key, json_is_array(value) ? json_array_get(value, i) : value,
		                vocab, g->ends, &g->options.end_count));
	tidy(g->ends, &g->options.end_count);
	return HEC_OK;
}

static bool is_end(const generation_config *g, int32_t id)
{
	size_t n = g->options.end_count;
	return n > 0 && bsearch(&id, g->ends, n, sizeof id, by_id);
}

/* bad_words_ids holds sequences; those of one token are suppressed tokens, except for an end. */
static hec_status read_bad_words(const json_scope *s, const json_t *words, int64_t vocab,
                                 generation_config *g)
{
	size_t i;
	json_t *word;
	json_array_foreach(words, i, word)
	{
		if (!json_is_array(word) || json_array_size(word) != 1)
			return fail(HEC_ERR_UNSUPPORTED,
			            "%s: bad_words_ids[%zu] is no array of one id; longer ones are "
			            "not supported",
			            s->file, i);
		size_t *n = &g->options.suppressed, before = *n;
		HEC_TRY(take_id(s, "bad_words_ids", json_array_get(word, 0), vocab, g->suppress,
		                n));
		if (*n > before && is_end(g, g->suppress[before]))
			*n = before;
	}
	return HEC_OK;
}

static hec_status read_suppressed(const json_scope *s, int64_t vocab, generation_config *g)
{
	json_t *ids = NULL, *words = NULL;
	HEC_TRY(json_want_array(s, "suppress_tokens", &ids));
	HEC_TRY(json_want_array(s, "bad_words_ids", &words));
	size_t n;
	if (!size_add(json_array_size(ids), json_array_size(words), &n) || n == 0)
		return HEC_OK;
	HEC_TRY(new_list(n, &g->suppress));
	g->options.suppress = g->suppress;
	g->options.suppressed = 0;
	size_t i;
	json_t *id;
	json_array_foreach(ids, i, id) HEC_TRY(
		take_id(s, "suppress_tokens", id, vocab, g->suppress, &g->options.suppressed));
	HEC_TRY(read_bad_words(s, words, vocab, g));
	tidy(g->suppress, &g->options.suppressed);
	return HEC_OK;
}

static hec_status read_begin(const json_scope *s, int64_t vocab, generation_config *g)
{
	static const char key[] = "begin_suppress_tokens";
	json_t *ids = NULL, *id;
	size_t i;
	HEC_TRY(json_want_array(s, key, &ids));
	if (json_array_size(ids) == 0)
		return HEC_OK;
	HEC_TRY(new_list(json_array_size(ids), &g->begin_suppress));
	g->options.begin_suppress = g->begin_suppress;
	g->options.begin_suppressed = 0;
	json_array_foreach(ids, i, id) HEC_TRY(
		take_id(s, key, id, vocab, g->begin_suppress, &g->options.begin_suppressed));
	tidy(g->begin_suppress, &g->options.begin_suppressed);
	return HEC_OK;
}

/* What is not done here and would change what is written. */
static hec_status refuse_unsupported(const json_scope *s, bool sample)
{
	static const char *const objects[] = {"sequence_bias", "exponential_decay_length_penalty",
	                                      "watermarking_config"};
	static const struct {
		const char *key;
		double none;
		bool samples; /* only where tokens are drawn */
	} numbers[] = {{"guidance_scale", 1, false},
	               {"encoder_repetition_penalty", 1, false},
	               {"encoder_no_repeat_ngram_size", 0, false},
	               {"num_beam_groups", 1, false},
	               {"typical_p", 1, true},
	               {"epsilon_cutoff", 0, true},
	               {"eta_cutoff", 0, true}};
	for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
		const json_t *value = json_object_get(s->object, objects[i]);
		if (value && !json_is_null(value))
			return fail(HEC_ERR_UNSUPPORTED, "%s: '%s' is not supported", s->file,
			            objects[i]);
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		double value = numbers[i].none;
		HEC_TRY(json_want_double(s, numbers[i].key, -1e30, 1e30, &value));
		if (value != numbers[i].none && (sample || !numbers[i].samples))
			return fail(HEC_ERR_UNSUPPORTED, "%s: '%s' is %g, which is not supported",
			            s->file, numbers[i].key, value);
	}
	return HEC_OK;
}

static hec_status read_early(const json_scope *s, generation_config *g)
{
	json_t *early = json_object_get(s->object, "early_stopping");
	if (!early || json_is_null(early))
		return HEC_OK;
	if (json_is_false(early))
		g->options.early = HEC_EARLY_FALSE;
	else if (json_is_true(early))
		g->options.early = HEC_EARLY_TRUE;
	else if (json_is_string(early) && strcmp(json_string_value(early), "never") == 0)
		g->options.early = HEC_EARLY_NEVER;
	else
		return json_wrong(s, "early_stopping", early, "true, false or \"never\"");
	return HEC_OK;
}

static hec_status read_forced(const json_scope *s, const char *key, int64_t vocab, int32_t *out)
{
	const json_t *value = json_object_get(s->object, key);
	int64_t id = *out;
	if (json_is_array(value)) { /* any of several is not one that is forced */
		if (json_array_size(value) != 1 || !json_whole(json_array_get(value, 0), &id) ||
		    id < 0 || id >= vocab)
			return json_wrong(s, key, value,
			                  "an id of the vocabulary, or a list of one");
	} else {
		HEC_TRY(json_want_int(s, key, 0, vocab - 1, &id));
	}
	*out = (int32_t)id;
	return HEC_OK;
}

static hec_status read_start(const json_scope *s, int64_t vocab, int32_t *start)
{
	int64_t id = *start;
	HEC_TRY(json_want_int(s, "decoder_start_token_id", -1, INT32_MAX, &id));
	*start = id < vocab ? (int32_t)id : -1;
	return HEC_OK;
}

/* Where both are given, new tokens win, as with Transformers. */
static hec_status read_lengths(const json_scope *s, generation_config *g)
{
	const int64_t most = (int64_t)1 << 40;
	hec_decode_options *o = &g->options;
	int64_t max_new = 0, min_new = -1;
	HEC_TRY(json_want_int(s, "max_length", 1, most, &g->max_length));
	HEC_TRY(json_want_int(s, "min_length", 0, most, &g->min_length));
	HEC_TRY(json_want_int(s, "max_new_tokens", 1, most, &max_new));
	HEC_TRY(json_want_int(s, "min_new_tokens", 0, most, &min_new));
	g->max_length = min_i64(g->max_length, TOKENS_MOST);
	if (min_new >= 0) {
		o->min_tokens = min_new;
		g->min_length = 0;
	}
	if (max_new > 0) {
		o->max_tokens = min_i64(max_new, TOKENS_MOST);
		g->max_length = 0;
	} else if (g->max_length > 0) {
		o->max_tokens = -1;
	}
	return HEC_OK;
}

static hec_status read_sampling(const json_scope *s, generation_config *g)
{
	hec_decode_options *o = &g->options;
	HEC_TRY(json_want_bool(s, "do_sample", &g->sample));
	int64_t top_k = -1;
	double temperature = 0;
	HEC_TRY(json_want_double(s, "temperature", 0, 1e6, &temperature));
	if (temperature > 0) /* 0 stands in files of models that are not to be sampled */
		o->temperature = temperature;
	HEC_TRY(json_want_int(s, "top_k", 0, INT32_MAX, &top_k));
	if (top_k >= 0) {
		o->top_k = top_k > 0 ? top_k : -1;
		g->says_top_k = true;
	}
	HEC_TRY(json_want_double(s, "top_p", 0, 1, &o->top_p));
	return json_want_double(s, "min_p", 0, 1, &o->min_p);
}

static hec_status read_all(const json_scope *s, int64_t vocab, generation_config *g)
{
	hec_decode_options *o = &g->options;
	HEC_TRY(json_want_int(s, "num_beams", 1, 1024, &o->beams));
	HEC_TRY(json_want_bool(s, "renormalize_logits", &o->renormalize));
	HEC_TRY(json_want_double(s, "length_penalty", -8, 8, &o->length_penalty));
	HEC_TRY(json_want_double(s, "repetition_penalty", 1e-3, 1e3, &o->repetition_penalty));
	HEC_TRY(json_want_int(s, "no_repeat_ngram_size", 0, 1 << 20, &o->no_repeat_ngram));
	HEC_TRY(read_early(s, g));
	HEC_TRY(read_lengths(s, g));
	HEC_TRY(read_sampling(s, g));
	HEC_TRY(read_forced(s, "forced_bos_token_id", vocab, &o->forced_bos));
	HEC_TRY(read_forced(s, "forced_eos_token_id", vocab, &o->forced_eos));
	HEC_TRY(read_start(s, vocab, &g->start));
	HEC_TRY(read_ends(s, vocab, g));
	HEC_TRY(read_begin(s, vocab, g));
	HEC_TRY(refuse_unsupported(s, g->sample));
	return read_suppressed(s, vocab, g);
}

/* What config.json says for the task. */
static hec_status read_task(const json_scope *s, const char *task, int64_t vocab,
                            generation_config *g)
{
	json_scope tasks, own;
	bool found = false;
	HEC_TRY(json_want_object(s, "task_specific_params", &tasks, &found));
	if (!found)
		return HEC_OK;
	HEC_TRY(json_want_object(&tasks, task, &own, &found));
	if (!found)
		return HEC_OK;
	g->knows_task = true;
	HEC_TRY(read_all(&own, vocab, g));
	const char *prefix = NULL;
	HEC_TRY(json_want_string(&own, "prefix", &prefix));
	if (prefix && !(g->prefix = mem_copy_text(prefix)))
		return fail(HEC_ERR_MEMORY, "%s: no memory for a prefix", s->file);
	return HEC_OK;
}

/* A file of the directory; *root NULL: it is not there. */
static hec_status open_file(const char *dir, const char *name, char path[PATH_MOST], json_t **root,
                            json_scope *scope)
{
	HEC_TRY(folder_json_if(dir, name, path, root));
	if (!*root)
		return HEC_OK;
	hec_status status = json_scope_root(path, *root, scope);
	if (status != HEC_OK) {
		json_decref(*root);
		*root = NULL;
	}
	return status;
}

static hec_status read_files(const char *dir, int64_t vocab, const char *task, generation_config *g)
{
	char path[PATH_MOST];
	json_t *root;
	json_scope scope;
	hec_status status = open_file(dir, FILE_NAME, path, &root, &scope);
	const bool own = root != NULL;
	if (status == HEC_OK && own)
		status = read_all(&scope, vocab, g);
	json_decref(root);
	if (status != HEC_OK || (own && !task))
		return status;
	status = open_file(dir, "config.json", path, &root, &scope);
	if (status == HEC_OK && root && !own)
		status = read_all(&scope, vocab, g);
	if (status == HEC_OK && root && task)
		status = read_task(&scope, task, vocab, g);
	json_decref(root);
	return status;
}

hec_status generation_config_read(const char *dir, int64_t vocab, int64_t start, const char *task,
                                  generation_config *out)
{
	generation_config g = {.options = HEC_DECODE_OPTIONS_INIT, .start = -1};
	*out = g;
	hec_status status = read_files(dir, vocab, task, &g);
	if (status != HEC_OK) {
		generation_config_free(&g);
		return status;
	}
	hec_decode_options *o = &g.options;
	if (start > 0 && g.max_length > 0)
		o->max_tokens = max_i64(1, g.max_length - start);
	if (start > 0)
		o->min_tokens = max_i64(o->min_tokens, g.min_length - start);
	*out = g;
	return HEC_OK;
}

void generation_config_free(generation_config *g)
{
	mem_free(g->suppress);
	mem_free(g->begin_suppress);
	mem_free(g->ends);
	mem_free(g->prefix);
	*g = (generation_config){.options = HEC_DECODE_OPTIONS_INIT, .start = -1};
}

hec_status generation_config_start(const generation_config *g, hec_model *model)
{
	const hec_model_config *c = hec_model_config_of(model);
	const bool both = c->encoder.layers > 0 && c->decoder.layers > 0;
	return both && g->start >= 0 ? hec_model_set_start(model, g->start) : HEC_OK;
}
