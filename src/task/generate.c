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
#include "task/encode.h"
#include "task/generation_config.h"
#include "task/writer.h"
#include "task/written_text.h"

#define TOKENS 256 /* written where neither the caller nor the directory says how many */
#define TOP_K 50   /* of sampling where the directory does not say: as with Transformers */

struct hec_generator {
	task_model m; /* its tokenizer may be NULL */
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
	return hec_model_config_of(g->m.model)->encoder.layers > 0;
}

static hec_status check_model(const hec_generator *g)
{
	const hec_model_config *c = hec_model_config_of(g->m.model);
	if (c->decoder.layers == 0 || c->head != HEC_HEAD_LM)
		return fail(HEC_ERR_UNSUPPORTED,
		            "generate: the model has %lld decoder layers%s; to write takes a "
		            "decoder and a head that writes words",
		            (long long)c->decoder.layers,
		            c->head == HEC_HEAD_LM ? "" : " and another head");
	if (c->front.features > 0)
		return fail(HEC_ERR_UNSUPPORTED, "generate: this model hears, and takes no prompt: "
		                                 "transcribe with it");
	return HEC_OK;
}

static hec_status read_config(hec_generator *g, const char *dir)
{
	generation_config *c = &g->generation;
	HEC_TRY(generation_config_read(dir, hec_model_config_of(g->m.model)->vocab, has_encoder(g),
	                               NULL, c));
	HEC_TRY(generation_config_start(c, g->m.own_model));
	g->max_new = c->options.max_tokens;
	c->options.max_tokens = -1;
	if (!c->says_top_k)
		c->options.top_k = TOP_K;
	return HEC_OK;
}

static hec_status finish(void *handle, const char *dir, const hec_model_load_options *options)
{
	hec_generator *g = handle;
	(void)options;
	g->max_new = -1;
	g->generation.options = (hec_decode_options)HEC_DECODE_OPTIONS_INIT;
	HEC_TRY(check_model(g));
	g->writer = (writer){.ctx = g->m.ctx, .model = g->m.model};
	return dir ? read_config(g, dir) : HEC_OK;
}

static void clear(void *handle)
{
	hec_generator *g = handle;
	writer_close(&g->writer);
	generation_config_free(&g->generation);
	hec_encoding_free(&g->encoding);
}

static const task_kind kind = {.name = "generate",
                               .bytes = sizeof(hec_generator),
                               .may_lack_a_tokenizer = true,
                               .finish = finish,
                               .clear = clear};

hec_status hec_generator_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                              hec_generator **out)
{
	return task_load(&kind, ctx, dir, options, out);
}

hec_status hec_generator_create(hec_ctx *ctx, const hec_model *model,
                                const hec_tokenizer *tokenizer, hec_generator **out)
{
	return task_create(&kind, ctx, model, tokenizer, NULL, out);
}

void hec_generator_destroy(hec_generator *generator)
{
	task_destroy(&kind, generator);
}

const hec_model *hec_generator_model(const hec_generator *generator)
{
	return generator->m.model;
}

const hec_tokenizer *hec_generator_tokenizer(const hec_generator *generator)
{
	return generator->m.tokenizer;
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
	return writer_max_target(generator->m.model);
}

/* ---- prompts to ids ---- */

typedef struct generate_call {
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
} generate_call;

/* Tokens that a row may write after `length` of them. */
static int64_t room(const generate_call *call, int64_t length)
{
	int64_t longest = writer_max_target(call->g->m.model);
	return longest == INT64_MAX ? longest : longest - (has_encoder(call->g) ? 1 : length);
}

/* What may be written where the prompt leaves any room. */
static int64_t wanted(const generate_call *call, int64_t length)
{
	const generation_config *c = &call->g->generation;
	if (call->given.max_tokens > 0)
		return call->given.max_tokens;
	if (call->g->max_new > 0)
		return call->g->max_new;
	return c->max_length > 0 ? max_i64(1, c->max_length - length) : TOKENS;
}

/* The longest prompt: to truncate to. */
static int64_t longest_prompt(const generate_call *call)
{
	if (has_encoder(call->g))
		return task_stack_cut(&hec_model_config_of(call->g->m.model)->encoder);
	int64_t longest = writer_max_target(call->g->m.model);
	int64_t most =
		call->given.max_tokens > 0 ? call->given.max_tokens : min_i64(TOKENS, longest / 2);
	return longest == INT64_MAX ? longest : max_i64(1, longest - most);
}

static hec_status encode(generate_call *call, const hec_prompt *p, const int32_t **ids, int64_t *n)
{
	hec_generator *g = call->g;
	if (!p->text) {
		*ids = p->ids;
		*n = p->n;
		return HEC_OK;
	}
	if (!g->m.tokenizer)
		return fail(HEC_ERR_UNSUPPORTED, "%s", g->m.no_tokenizer);
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = call->o.lossy;
	o.no_special = call->o.no_special;
	o.truncate_left = true;
	if (call->o.truncate && longest_prompt(call) < INT64_MAX)
		o.max_length = longest_prompt(call);
	HEC_TRY(hec_tokenizer_encode(g->m.tokenizer, p->text, p->bytes, &o, &g->encoding));
	*ids = g->encoding.ids;
	*n = (int64_t)g->encoding.n;
	return HEC_OK;
}

static hec_status check_length(const generate_call *call, int64_t n)
{
	const hec_model *model = call->g->m.model;
	int64_t source = writer_max_source(model), target = writer_max_target(model);
	if (has_encoder(call->g))
		HEC_TRY(task_check_length(n, source));
	if (room(call, n) < 1)
		return fail(HEC_ERR_SHAPE,
		            "the prompt has %lld tokens; the model holds %lld, what it writes "
		            "counted in",
		            (long long)n, (long long)target);
	if (call->given.max_tokens > room(call, n))
		return fail(HEC_ERR_SHAPE,
		            "the prompt has %lld tokens and %lld may be written; the model holds "
		            "%lld",
		            (long long)(has_encoder(call->g) ? 1 : n),
		            (long long)call->given.max_tokens, (long long)target);
	return HEC_OK;
}

static hec_status take_prompt(generate_call *call, int64_t i)
{
	const int32_t *ids = NULL;
	int64_t n = 0, vocab = hec_model_config_of(call->g->m.model)->vocab;
	HEC_TRY(encode(call, &call->prompts[i], &ids, &n));
	/* Nothing to go on from but the beginning of a text. */
	int32_t bos = call->g->m.tokenizer ? hec_tokenizer_role(call->g->m.tokenizer, "bos") : -1;
	if (n == 0 && call->prompts[i].text && bos >= 0) {
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
	HEC_TRY(check_length(call, n));
	size_t bytes;
	if (!size_mul((size_t)n, sizeof *ids, &bytes) || !(call->ids[i] = mem_alloc(bytes)))
		return fail(HEC_ERR_MEMORY, "generate: no memory for %lld tokens", (long long)n);
	memcpy(call->ids[i], ids, bytes);
	call->lengths[i] = n;
	call->most[i] = min_i64(wanted(call, n), room(call, n));
	if (call->given.max_tokens_each)
		call->most[i] = min_i64(call->most[i], call->given.max_tokens_each[i]);
	return HEC_OK;
}

static hec_status take_prompts(generate_call *call)
{
	for (int64_t i = 0; i < call->n; i++) {
		hec_status status = take_prompt(call, i);
		if (status != HEC_OK)
			return status == HEC_ERR_MEMORY ? status : fail_item(status, i);
	}
	return HEC_OK;
}

/* ---- as it is written ---- */

static hec_status stream_piece(generate_call *call, int64_t i, int32_t id, bool last)
{
	char *text;
	size_t bytes;
	HEC_TRY(text_stream_add(&call->streams[i], id, last, &text, &bytes));
	const uint64_t before = fail_count();
	hec_status status = bytes > 0 ? call->o.text(call->o.user, i, text, bytes) : HEC_OK;
	mem_free(text);
	return from_callback(status, before, "generate");
}

static hec_status on_token(void *user, int64_t source, int32_t id)
{
	generate_call *call = user;
	if (call->given.token)
		HEC_TRY(call->given.token(call->given.user, call->first + source, id));
	return call->streams ? stream_piece(call, call->first + source, id, false) : HEC_OK;
}

static hec_status on_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	const generate_call *call = user;
	(void)total;
	return call->given.progress(call->given.user, phase, call->first + done, call->n);
}

/* ---- the caller's rules ---- */

static void on_process(void *user, int64_t source, const int32_t *written, int64_t n, float *logits,
                       int64_t vocab)
{
	const generate_call *call = user;
	call->given.process(call->given.user, call->first + source, written, n, logits, vocab);
}

/* ---- ids to texts ---- */

static hec_status take_result(const generate_call *call, hec_hypothesis *h, hec_generation *to)
{
	char *text = NULL;
	if (call->g->m.tokenizer)
		HEC_TRY(written_text(call->g->m.tokenizer, h->ids, h->n, &text, &to->text_bytes));
	to->text = text;
	to->score = h->score;
	to->ids = h->ids;
	to->n = h->n;
	h->ids = NULL;
	return HEC_OK;
}

static hec_status take_results(generate_call *call, int64_t first, int64_t n, hec_decoded *decoded)
{
	const int64_t nbest = call->out->nbest;
	hec_generation *items = call->out->items + first * nbest;
	for (int64_t i = 0; i < n * nbest; i++)
		HEC_TRY(take_result(call, &decoded->hypotheses[i], &items[i]));
	for (int64_t i = 0; i < n; i++) {
		hec_generation *best = &items[i * nbest];
		best->prompt = call->ids[first + i];
		best->prompt_n = call->lengths[first + i];
		call->ids[first + i] = NULL;
	}
	return HEC_OK;
}

/* Prompts first … first + n − 1. */
static hec_status write_some(generate_call *call, int64_t first, int64_t n)
{
	const generation_config *c = &call->g->generation;
	call->first = first;
	call->decode.first_stream = call->given.first_stream + (uint64_t)first;
	if (call->given.streams)
		call->decode.streams = call->given.streams + first;
	if (!has_encoder(call->g) &&
	    !call->o.no_min_length) /* what that counts is known only now */
		call->decode.min_tokens =
			max_i64(call->given.min_tokens, c->min_length - call->lengths[first]);
	hec_decoded *decoded = NULL;
	hec_status status = writer_run(
		&call->g->writer, n, (const int32_t *const *)call->ids + first,
		call->lengths + first, call->most + first, call->o.batch, &call->decode, &decoded);
	if (status != HEC_OK && hec_error_item() >= 0)
		return fail_item(status, first + hec_error_item());
	HEC_TRY(status);
	status = take_results(call, first, n, decoded);
	hec_decoded_free(decoded);
	return status;
}

static hec_status make_room(generate_call *call)
{
	const size_t n = (size_t)call->n;
	bool ok = (call->ids = mem_zeros(n, sizeof *call->ids)) &&
	          (call->lengths = mem_zeros(n, sizeof *call->lengths)) &&
	          (call->most = mem_zeros(n, sizeof *call->most));
	if (ok && call->o.text)
		ok = (call->streams = mem_zeros(n, sizeof *call->streams)) != NULL;
	if (!ok)
		return fail(HEC_ERR_MEMORY, "generate: no memory for %lld prompts",
		            (long long)call->n);
	for (size_t i = 0; call->streams && i < n; i++)
		call->streams[i].tokenizer = call->g->m.tokenizer;
	return HEC_OK;
}

static hec_status generate(generate_call *call)
{
	HEC_TRY(make_room(call));
	HEC_TRY(take_prompts(call));
	/* A least length that counts the prompt is another number for each. */
	bool apart = !has_encoder(call->g) && call->g->generation.min_length > 0;
	for (int64_t i = 0; apart && i < call->n; i++)
		HEC_TRY(write_some(call, i, 1));
	if (!apart)
		HEC_TRY(write_some(call, 0, call->n));
	for (int64_t i = 0; call->streams && i < call->n; i++)
		HEC_TRY(stream_piece(call, i, -1, true));
	return HEC_OK;
}

static void generate_call_free(generate_call *call)
{
	for (int64_t i = 0; i < call->n; i++) {
		if (call->ids)
			mem_free(call->ids[i]);
		if (call->streams)
			text_stream_free(&call->streams[i]);
	}
	mem_free(call->ids);
	mem_free(call->lengths);
	mem_free(call->most);
	mem_free(call->streams);
}

static hec_status take_options(generate_call *call, const hec_generate_options *options)
{
	HEC_TRY(options_take("hec_generate_options", &call->o, sizeof call->o, options));
	HEC_TRY(options_take("hec_decode_options", &call->given, sizeof call->given,
	                     call->o.decode));
	HEC_TRY(writer_check_batch("generate", call->o.batch));
	HEC_TRY(writer_check_decode("generate", &call->given));
	if (call->o.text && !call->g->m.tokenizer)
		return fail(HEC_ERR_UNSUPPORTED, "%s", call->g->m.no_tokenizer);
	call->decode = call->given;
	call->decode.progress = call->given.progress ? on_progress : NULL;
	call->decode.token = call->given.token || call->o.text ? on_token : NULL;
	call->decode.process = call->given.process ? on_process : NULL;
	call->decode.user = call;
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
	generate_call call = {.g = generator,
	                      .o = HEC_GENERATE_OPTIONS_INIT,
	                      .given = generator->generation.options,
	                      .n = n,
	                      .prompts = prompts};
	HEC_TRY(take_options(&call, options));
	HEC_TRY(generations_create(n, call.given.nbest, &call.out));
	hec_status status = n > 0 ? generate(&call) : HEC_OK;
	generate_call_free(&call);
	if (status == HEC_OK)
		*out = call.out;
	else
		hec_generations_free(call.out);
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
