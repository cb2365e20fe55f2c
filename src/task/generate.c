/* generate.c — prompt → ids → decoding ⇄ model → ids → text, the text also as it is written. */
#include <hecate/generate.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "decode/decoded.h"
#include "task/generation_config.h"
#include "task/task_model.h"
#include "task/writer.h"
#include "task/written_text.h"

#define TOKENS 256 /* written where neither the caller nor the directory says how many */
#define TOP_K 50   /* of sampling where the directory does not say: as with Transformers */
#define REASON 512

struct hec_generator {
	hec_ctx *ctx;
	const hec_model *model;
	const hec_tokenizer *tokenizer; /* or NULL */
	hec_model *own_model;           /* NULL: the caller's */
	hec_tokenizer *own_tokenizer;
	char no_tokenizer[REASON]; /* why there is none */
	generation_config generation;
	int64_t max_new; /* what the directory says; −1: nothing */
	writer writer;
	hec_encoding encoding;
};

struct hec_generations {
	hec_generation *items; /* [prompts · nbest] */
	int64_t prompts, nbest;
};

/* ---- making one ---- */

static bool has_encoder(const hec_generator *g)
{
	return hec_model_config_of(g->model)->encoder.layers > 0;
}

static hec_status check_model(const hec_generator *g)
{
	const hec_model_config *c = hec_model_config_of(g->model);
	if (c->decoder.layers == 0 || c->head != HEC_HEAD_LM)
		return fail(HEC_ERR_UNSUPPORTED,
		            "generate: the model has %lld decoder layers%s; to write takes a "
		            "decoder and a head that writes words",
		            (long long)c->decoder.layers,
		            c->head == HEC_HEAD_LM ? "" : " and another head");
	if (c->front.features > 0)
		return fail(HEC_ERR_UNSUPPORTED, "generate: this model hears, and takes no prompt: "
		                                 "transcribe with it");
	if (g->tokenizer && hec_tokenizer_vocab(g->tokenizer) > c->vocab)
		return fail(HEC_ERR_FORMAT, "generate: the tokenizer has %lld ids, the model %lld",
		            (long long)hec_tokenizer_vocab(g->tokenizer), (long long)c->vocab);
	return HEC_OK;
}

static hec_status generator_new(hec_ctx *ctx, hec_generator **out)
{
	hec_generator *g = mem_zeros(1, sizeof *g);
	if (!g)
		return fail(HEC_ERR_MEMORY, "generate: no memory for a generator");
	g->ctx = ctx;
	g->max_new = -1;
	g->generation.options = (hec_decode_options)HEC_DECODE_OPTIONS_INIT;
	g->encoding = (hec_encoding)HEC_ENCODING_INIT;
	snprintf(g->no_tokenizer, sizeof g->no_tokenizer, "generate: there is no tokenizer");
	*out = g;
	return HEC_OK;
}

static hec_status settle(hec_generator *g)
{
	HEC_TRY(check_model(g));
	g->writer = (writer){.ctx = g->ctx, .model = g->model};
	return HEC_OK;
}

hec_status hec_generator_create(hec_ctx *ctx, const hec_model *model,
                                const hec_tokenizer *tokenizer, hec_generator **out)
{
	if (out)
		*out = NULL;
	if (!ctx || !model || !out)
		return fail(HEC_ERR_ARGUMENT, "generate: ctx, model or out is NULL");
	hec_generator *g;
	HEC_TRY(generator_new(ctx, &g));
	g->model = model;
	g->tokenizer = tokenizer;
	hec_status status = settle(g);
	if (status != HEC_OK)
		hec_generator_destroy(g);
	else
		*out = g;
	return status;
}

static hec_status load(hec_generator *g, const char *dir, const hec_model_load_options *options)
{
	hec_status status = hec_tokenizer_load(dir, &g->own_tokenizer);
	if (status == HEC_ERR_MEMORY)
		return status;
	if (status != HEC_OK)
		snprintf(g->no_tokenizer, sizeof g->no_tokenizer, "%s", hec_error_message());
	HEC_TRY(hec_model_load(g->ctx, dir, options, &g->own_model));
	g->tokenizer = g->own_tokenizer;
	g->model = g->own_model;
	HEC_TRY(settle(g));
	generation_config *c = &g->generation;
	HEC_TRY(generation_config_read(dir, hec_model_config_of(g->model)->vocab, has_encoder(g),
	                               NULL, c));
	HEC_TRY(generation_config_start(c, g->own_model));
	g->max_new = c->options.max_tokens;
	c->options.max_tokens = -1;
	if (!c->says_top_k)
		c->options.top_k = TOP_K;
	return HEC_OK;
}

hec_status hec_generator_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                              hec_generator **out)
{
	if (out)
		*out = NULL;
	if (!ctx || !dir || !out)
		return fail(HEC_ERR_ARGUMENT, "generate: ctx, dir or out is NULL");
	hec_generator *g;
	HEC_TRY(generator_new(ctx, &g));
	hec_status status = load(g, dir, options);
	if (status != HEC_OK)
		hec_generator_destroy(g);
	else
		*out = g;
	return status;
}

void hec_generator_destroy(hec_generator *generator)
{
	if (!generator)
		return;
	writer_close(&generator->writer);
	hec_model_destroy(generator->own_model);
	hec_tokenizer_destroy(generator->own_tokenizer);
	generation_config_free(&generator->generation);
	hec_encoding_free(&generator->encoding);
	mem_free(generator);
}

const hec_model *hec_generator_model(const hec_generator *generator)
{
	return generator->model;
}

const hec_tokenizer *hec_generator_tokenizer(const hec_generator *generator)
{
	return generator->tokenizer;
}

void hec_generator_defaults(const hec_generator *generator, hec_decode_options *out, size_t size)
{
	options_give(out, size, &generator->generation.options, sizeof *out);
}

bool hec_generator_samples(const hec_generator *generator)
{
	return generator->generation.sample;
}

int64_t hec_generator_max_tokens(const hec_generator *generator)
{
	return writer_max_target(generator->model);
}

/* ---- prompts to ids ---- */

typedef struct job {
	hec_generator *g;
	hec_generate_options o;
	hec_decode_options decode, given; /* for the search; as the caller gave them */
	int64_t n;
	const hec_prompt *prompts;
	int32_t **ids; /* [n] */
	int64_t *lengths, *most;
	text_stream *streams; /* [n]; NULL: nothing is streamed */
	int64_t first;        /* of this search */
	hec_generations *out;
} job;

/* Tokens that a row may write after `length` of them. */
static int64_t room(const job *j, int64_t length)
{
	int64_t longest = writer_max_target(j->g->model);
	return longest == INT64_MAX ? longest : longest - (has_encoder(j->g) ? 1 : length);
}

/* What may be written where the prompt leaves any room. */
static int64_t wanted(const job *j, int64_t length)
{
	const generation_config *c = &j->g->generation;
	if (j->given.max_tokens > 0)
		return j->given.max_tokens;
	if (j->g->max_new > 0)
		return j->g->max_new;
	return c->max_length > 0 ? max_i64(1, c->max_length - length) : TOKENS;
}

/* The longest prompt: to truncate to. */
static int64_t longest_prompt(const job *j)
{
	if (has_encoder(j->g))
		return task_stack_cut(&hec_model_config_of(j->g->model)->encoder);
	int64_t longest = writer_max_target(j->g->model);
	int64_t most = j->given.max_tokens > 0 ? j->given.max_tokens : min_i64(TOKENS, longest / 2);
	return longest == INT64_MAX ? longest : max_i64(1, longest - most);
}

static hec_status encode(job *j, const hec_prompt *p, const int32_t **ids, int64_t *n)
{
	hec_generator *g = j->g;
	if (!p->text) {
		*ids = p->ids;
		*n = p->n;
		return HEC_OK;
	}
	if (!g->tokenizer)
		return fail(HEC_ERR_UNSUPPORTED, "%s", g->no_tokenizer);
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = j->o.lossy;
	o.no_special = j->o.no_special;
	o.truncate_left = true;
	if (j->o.truncate && longest_prompt(j) < INT64_MAX)
		o.max_length = longest_prompt(j);
	HEC_TRY(hec_tokenizer_encode(g->tokenizer, p->text, p->bytes, &o, &g->encoding));
	*ids = g->encoding.ids;
	*n = (int64_t)g->encoding.n;
	return HEC_OK;
}

static hec_status check_length(const job *j, int64_t n)
{
	const hec_model *model = j->g->model;
	int64_t source = writer_max_source(model), target = writer_max_target(model);
	if (has_encoder(j->g) && n > source)
		return fail(HEC_ERR_SHAPE, "the text has %lld tokens; the model takes %lld",
		            (long long)n, (long long)source);
	if (room(j, n) < 1)
		return fail(HEC_ERR_SHAPE,
		            "the prompt has %lld tokens; the model holds %lld, what it writes "
		            "counted in",
		            (long long)n, (long long)target);
	if (j->given.max_tokens > room(j, n))
		return fail(HEC_ERR_SHAPE,
		            "the prompt has %lld tokens and %lld may be written; the model holds "
		            "%lld",
		            (long long)(has_encoder(j->g) ? 1 : n), (long long)j->given.max_tokens,
		            (long long)target);
	return HEC_OK;
}

static hec_status take_prompt(job *j, int64_t i)
{
	const int32_t *ids = NULL;
	int64_t n = 0, vocab = hec_model_config_of(j->g->model)->vocab;
	HEC_TRY(encode(j, &j->prompts[i], &ids, &n));
	/* Nothing to go on from but the beginning of a text. */
	int32_t bos = j->g->tokenizer ? hec_tokenizer_role(j->g->tokenizer, "bos") : -1;
	if (n == 0 && j->prompts[i].text && bos >= 0) {
		ids = &bos;
		n = 1;
	}
	if (n < 1 || !ids)
		return fail(HEC_ERR_ARGUMENT, "the prompt has no tokens");
	for (int64_t k = 0; k < n; k++) {
		if (ids[k] < 0 || ids[k] >= vocab)
			return fail(HEC_ERR_ARGUMENT,
			            "token %lld of the prompt is %d; the vocabulary has %lld",
			            (long long)k, ids[k], (long long)vocab);
	}
	HEC_TRY(check_length(j, n));
	size_t bytes;
	if (!size_mul((size_t)n, sizeof *ids, &bytes) || !(j->ids[i] = mem_alloc(bytes)))
		return fail(HEC_ERR_MEMORY, "generate: no memory for %lld tokens", (long long)n);
	memcpy(j->ids[i], ids, bytes);
	j->lengths[i] = n;
	j->most[i] = min_i64(wanted(j, n), room(j, n));
	if (j->given.max_tokens_each)
		j->most[i] = min_i64(j->most[i], j->given.max_tokens_each[i]);
	return HEC_OK;
}

static hec_status take_prompts(job *j)
{
	for (int64_t i = 0; i < j->n; i++) {
		hec_status status = take_prompt(j, i);
		if (status != HEC_OK)
			return status == HEC_ERR_MEMORY ? status : fail_item(status, i);
	}
	return HEC_OK;
}

/* ---- as it is written ---- */

static hec_status stream_piece(job *j, int64_t i, int32_t id, bool last)
{
	char *text;
	size_t bytes;
	HEC_TRY(text_stream_add(&j->streams[i], id, last, &text, &bytes));
	const uint64_t before = fail_count();
	hec_status status = bytes > 0 ? j->o.text(j->o.user, i, text, bytes) : HEC_OK;
	mem_free(text);
	return from_callback(status, before, "generate");
}

static hec_status on_token(void *user, int64_t source, int32_t id)
{
	job *j = user;
	if (j->given.token)
		HEC_TRY(j->given.token(j->given.user, j->first + source, id));
	return j->streams ? stream_piece(j, j->first + source, id, false) : HEC_OK;
}

static hec_status on_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	const job *j = user;
	(void)total;
	return j->given.progress(j->given.user, phase, j->first + done, j->n);
}

/* ---- the caller's rules ---- */

static void on_process(void *user, int64_t source, const int32_t *written, int64_t n, float *logits,
                       int64_t vocab)
{
	const job *j = user;
	j->given.process(j->given.user, j->first + source, written, n, logits, vocab);
}

/* ---- ids to texts ---- */

static hec_status take_result(const job *j, hec_hypothesis *h, hec_generation *to)
{
	char *text = NULL;
	if (j->g->tokenizer)
		HEC_TRY(written_text(j->g->tokenizer, h->ids, h->n, &text, &to->text_bytes));
	to->text = text;
	to->score = h->score;
	to->ids = h->ids;
	to->n = h->n;
	h->ids = NULL;
	return HEC_OK;
}

static hec_status take_results(job *j, int64_t first, int64_t n, hec_decoded *decoded)
{
	const int64_t nbest = j->out->nbest;
	hec_generation *items = j->out->items + first * nbest;
	for (int64_t i = 0; i < n * nbest; i++)
		HEC_TRY(take_result(j, &decoded->hypotheses[i], &items[i]));
	for (int64_t i = 0; i < n; i++) {
		hec_generation *best = &items[i * nbest];
		best->prompt = j->ids[first + i];
		best->prompt_n = j->lengths[first + i];
		j->ids[first + i] = NULL;
	}
	return HEC_OK;
}

/* Prompts first … first + n − 1. */
static hec_status write_some(job *j, int64_t first, int64_t n)
{
	const generation_config *c = &j->g->generation;
	j->first = first;
	j->decode.first_stream = j->given.first_stream + (uint64_t)first;
	if (j->given.streams)
		j->decode.streams = j->given.streams + first;
	if (!has_encoder(j->g) && !j->o.no_min_length) /* what that counts is known only now */
		j->decode.min_tokens =
			max_i64(j->given.min_tokens, c->min_length - j->lengths[first]);
	hec_decoded *decoded = NULL;
	hec_status status =
		writer_run(&j->g->writer, n, (const int32_t *const *)j->ids + first,
	                   j->lengths + first, j->most + first, j->o.batch, &j->decode, &decoded);
	if (status != HEC_OK && hec_error_item() >= 0)
		return fail_item(status, first + hec_error_item());
	HEC_TRY(status);
	status = take_results(j, first, n, decoded);
	hec_decoded_free(decoded);
	return status;
}

static hec_status make_room(job *j)
{
	const size_t n = (size_t)j->n;
	bool ok = (j->ids = mem_zeros(n, sizeof *j->ids)) &&
	          (j->lengths = mem_zeros(n, sizeof *j->lengths)) &&
	          (j->most = mem_zeros(n, sizeof *j->most));
	if (ok && j->o.text)
		ok = (j->streams = mem_zeros(n, sizeof *j->streams)) != NULL;
	if (!ok)
		return fail(HEC_ERR_MEMORY, "generate: no memory for %lld prompts",
		            (long long)j->n);
	for (size_t i = 0; j->streams && i < n; i++)
		j->streams[i].tokenizer = j->g->tokenizer;
	return HEC_OK;
}

static hec_status generate(job *j)
{
	HEC_TRY(make_room(j));
	HEC_TRY(take_prompts(j));
	/* A least length that counts the prompt is another number for each. */
	bool apart = !has_encoder(j->g) && j->g->generation.min_length > 0;
	for (int64_t i = 0; apart && i < j->n; i++)
		HEC_TRY(write_some(j, i, 1));
	if (!apart)
		HEC_TRY(write_some(j, 0, j->n));
	for (int64_t i = 0; j->streams && i < j->n; i++)
		HEC_TRY(stream_piece(j, i, -1, true));
	return HEC_OK;
}

static void job_free(job *j)
{
	for (int64_t i = 0; i < j->n; i++) {
		if (j->ids)
			mem_free(j->ids[i]);
		if (j->streams)
			text_stream_free(&j->streams[i]);
	}
	mem_free(j->ids);
	mem_free(j->lengths);
	mem_free(j->most);
	mem_free(j->streams);
}

static hec_status take_options(job *j, const hec_generate_options *options)
{
	HEC_TRY(options_take("hec_generate_options", &j->o, sizeof j->o, options));
	HEC_TRY(options_take("hec_decode_options", &j->given, sizeof j->given, j->o.decode));
	HEC_TRY(writer_check_batch("generate", j->o.batch));
	HEC_TRY(writer_check_decode("generate", &j->given));
	if (j->o.text && !j->g->tokenizer)
		return fail(HEC_ERR_UNSUPPORTED, "%s", j->g->no_tokenizer);
	j->decode = j->given;
	j->decode.progress = j->given.progress ? on_progress : NULL;
	j->decode.token = j->given.token || j->o.text ? on_token : NULL;
	j->decode.process = j->given.process ? on_process : NULL;
	j->decode.user = j;
	return HEC_OK;
}

static hec_status generations_create(int64_t prompts, int64_t nbest, hec_generations **out)
{
	size_t items;
	hec_generations *g = mem_zeros(1, sizeof *g);
	if (g && size_mul((size_t)prompts, (size_t)nbest, &items))
		g->items = mem_zeros(items + 1, sizeof *g->items);
	if (!g || !g->items) {
		mem_free(g);
		return fail(HEC_ERR_MEMORY, "generate: no memory for %lld prompts",
		            (long long)prompts);
	}
	g->prompts = prompts;
	g->nbest = nbest;
	*out = g;
	return HEC_OK;
}

hec_status hec_generate(hec_generator *generator, int64_t n, const hec_prompt *prompts,
                        const hec_generate_options *options, hec_generations **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "generate: out is NULL");
	*out = NULL;
	if (!generator || n < 0 || (n > 0 && !prompts))
		return fail(HEC_ERR_ARGUMENT, "generate: %lld prompts, generator %s, prompts %s",
		            (long long)n, generator ? "given" : "NULL", prompts ? "given" : "NULL");
	job j = {.g = generator,
	         .o = HEC_GENERATE_OPTIONS_INIT,
	         .given = generator->generation.options,
	         .n = n,
	         .prompts = prompts};
	HEC_TRY(take_options(&j, options));
	HEC_TRY(generations_create(n, j.given.nbest, &j.out));
	hec_status status = n > 0 ? generate(&j) : HEC_OK;
	job_free(&j);
	if (status == HEC_OK)
		*out = j.out;
	else
		hec_generations_free(j.out);
	return status;
}

const hec_generation *hec_generations_at(const hec_generations *generations, int64_t prompt,
                                         int64_t rank)
{
	if (!generations || prompt < 0 || prompt >= generations->prompts || rank < 0 ||
	    rank >= generations->nbest)
		return NULL;
	return &generations->items[prompt * generations->nbest + rank];
}

void hec_generations_free(hec_generations *generations)
{
	if (!generations)
		return;
	for (int64_t i = 0; i < generations->prompts * generations->nbest; i++) {
		const hec_generation *g = &generations->items[i];
		mem_free(mem_own(g->text));
		mem_free(mem_own(g->ids));
		mem_free(mem_own(g->prompt));
	}
	mem_free(generations->items);
	mem_free(generations);
}
