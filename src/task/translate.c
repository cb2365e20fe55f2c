/* translate.c — text → ids → encoder → beam search ⇄ decoder → ids → text. */
#include <hecate/translate.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "decode/decoded.h"
#include "task/generation_config.h"
#include "task/sources.h"
#include "task/writer.h"
#include "task/written_text.h"
#include "text/vocab/language.h"

#define TIMES_SOURCE 3 /* a translation has at most so many tokens for each of its source's, */
#define TOKENS_MORE 50 /* and these: where neither the caller nor the model says how many */
/* From the stream of one piece of a text to the next one's. */
#define PIECE_STREAMS ((uint64_t)1 << 40)

struct hec_translator {
	task_model m;
	generation_config generation;
	writer writer;
};

struct hec_translations {
	hec_translation *items; /* [texts · nbest] */
	int64_t texts, nbest;
};

/* ---- making one ---- */

static hec_status check_model(const hec_model *model)
{
	const hec_model_config *c = hec_model_config_of(model);
	if (c->encoder.layers == 0 || c->decoder.layers == 0 || c->head != HEC_HEAD_LM)
		return fail(HEC_ERR_UNSUPPORTED,
		            "translate: the model has %lld encoder and %lld decoder layers; to "
		            "translate takes both, and a head that writes words",
		            (long long)c->encoder.layers, (long long)c->decoder.layers);
	if (c->front.features > 0)
		return fail(HEC_ERR_UNSUPPORTED, "translate: this model hears, and reads no text: "
		                                 "transcribe with it");
	return HEC_OK;
}

static hec_status finish(void *handle, const char *dir, const hec_model_load_options *options)
{
	hec_translator *t = handle;
	hec_model_load_options o = HEC_MODEL_LOAD_OPTIONS_INIT;
	t->generation.options = (hec_decode_options)HEC_DECODE_OPTIONS_INIT;
	HEC_TRY(check_model(t->m.model));
	t->writer = (writer){.ctx = t->m.ctx, .model = t->m.model};
	if (!dir)
		return HEC_OK;
	HEC_TRY(options_take("hec_model_load_options", &o, sizeof o, options));
	HEC_TRY(generation_config_read(dir, hec_model_config_of(t->m.model)->vocab, 1, o.task,
	                               &t->generation));
	return generation_config_start(&t->generation, t->m.own_model);
}

static void clear(void *handle)
{
	hec_translator *t = handle;
	writer_close(&t->writer);
	generation_config_free(&t->generation);
}

static const task_kind kind = {
	.name = "translate", .bytes = sizeof(hec_translator), .finish = finish, .clear = clear};

hec_status hec_translator_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                               hec_translator **out)
{
	return task_load(&kind, ctx, dir, options, out);
}

hec_status hec_translator_create(hec_ctx *ctx, const hec_model *model,
                                 const hec_tokenizer *tokenizer, hec_translator **out)
{
	return task_create(&kind, ctx, model, tokenizer, NULL, out);
}

void hec_translator_destroy(hec_translator *translator)
{
	task_destroy(&kind, translator);
}

const hec_model *hec_translator_model(const hec_translator *translator)
{
	return translator->m.model;
}

const hec_tokenizer *hec_translator_tokenizer(const hec_translator *translator)
{
	return translator->m.tokenizer;
}

bool hec_translator_knows_task(const hec_translator *translator)
{
	return translator->generation.knows_task;
}

const char *hec_translator_prefix(const hec_translator *translator)
{
	return translator->generation.prefix ? translator->generation.prefix : "";
}

void hec_translator_defaults(const hec_translator *translator, hec_decode_options *out, size_t size)
{
	options_give(out, size, &translator->generation.options, sizeof *out);
}

int64_t hec_translator_max_tokens(const hec_translator *translator)
{
	return writer_max_source(translator->m.model);
}

size_t hec_translator_session_bytes(const hec_translator *translator)
{
	const hec_session *session = translator->writer.session;
	return session ? hec_session_bytes(session) : 0;
}

/* ---- texts to ids ---- */

typedef struct translate_call {
	hec_translator *t;
	hec_translate_options o;
	hec_decode_options decode,
		given; /* for the search, by sources; as the caller gave them, by texts */
	source_rules rules;
	int64_t n;
	const char *const *texts;
	const size_t *bytes;
	sources sources;        /* of the texts that have words */
	int64_t *most;          /* [sources] tokens that each may become */
	int32_t start;          /* what the decoder begins with; −1: as the model says */
	const int32_t **starts; /* [sources] that, for each */
	int64_t *start_lengths; /* [sources] */
	uint64_t *streams;      /* [sources] */
	hec_translations *out;
} translate_call;

/* Models of many languages begin what they write with the language: as the first token, or as the start. */
static hec_status set_languages(translate_call *call)
{
	const hec_tokenizer *tokenizer = call->t->m.tokenizer;
	int32_t to;
	call->rules.language = call->start = -1;
	if (call->o.from_language)
		HEC_TRY(language_id(tokenizer, call->o.from_language, &call->rules.language));
	if (!call->o.to_language)
		return HEC_OK;
	HEC_TRY(language_id(tokenizer, call->o.to_language, &to));
	const char *start =
		hec_tokenizer_token(tokenizer, hec_model_config_of(call->t->m.model)->start_id);
	if (start && is_language(start))
		call->start = to;
	else
		call->decode.forced_bos = to;
	return HEC_OK;
}

static hec_status set_rules(translate_call *call)
{
	const hec_model *model = call->t->m.model;
	source_rules *r = &call->rules;
	r->model = &call->t->m;
	r->prefix = call->o.prefix ? call->o.prefix : call->t->generation.prefix;
	r->longest = writer_max_source(model);
	r->truncate = call->o.truncate;
	r->lossy = call->o.lossy;
	r->windows = call->o.windows;
	if (r->windows && call->out->nbest > 1)
		return fail(HEC_ERR_ARGUMENT,
		            "translate: windows give one result, and nbest is %lld",
		            (long long)call->out->nbest);
	if (r->windows) /* what learned distances can read any length, but not well */
		r->longest = hec_model_config_of(model)->encoder.position.max;
	return set_languages(call);
}

static hec_status encode_all(translate_call *call)
{
	for (int64_t i = 0; i < call->n; i++) {
		if (!call->texts[i]) {
			fail(HEC_ERR_ARGUMENT, "translate: text %lld is NULL", (long long)i);
			return fail_item(HEC_ERR_ARGUMENT, i);
		}
		size_t bytes = call->bytes ? call->bytes[i] : strlen(call->texts[i]);
		hec_status status =
			sources_add(&call->sources, &call->rules, i, call->texts[i], bytes);
		if (status != HEC_OK)
			return status == HEC_ERR_MEMORY ? status : fail_item(status, i);
	}
	return HEC_OK;
}

/* Where nobody says how long a translation may get, its source does: by itself, so that a text gets the
 * same translation whatever others it comes with. */
static void bound_each(translate_call *call)
{
	const hec_decode_options *o = &call->given;
	/* As Transformers counts: the start is a token of the whole. T5 has no end. */
	const int64_t room = max_i64(1, writer_max_target(call->t->m.model) - 1);
	for (int64_t i = 0; i < call->sources.n; i++) {
		int64_t most = o->max_tokens > 0 ? o->max_tokens : room;
		if (o->max_tokens_each)
			most = min_i64(most, o->max_tokens_each[call->sources.which[i]]);
		else if (o->max_tokens == -1)
			most = TIMES_SOURCE * call->sources.lengths[i] + TOKENS_MORE;
		call->most[i] = min_i64(most, room);
	}
}

/* Whoever samples: a text draws by its own number. Those before it may have no words, or several pieces. */
static void number_streams(translate_call *call)
{
	const hec_decode_options *o = &call->given;
	uint64_t piece = 0;
	for (int64_t i = 0; i < call->sources.n; i++) {
		int64_t text = call->sources.which[i];
		piece = i > 0 && call->sources.which[i - 1] == text ? piece + 1 : 0;
		call->streams[i] = o->streams ? o->streams[text] : o->first_stream + (uint64_t)text;
		call->streams[i] += piece * PIECE_STREAMS;
	}
	call->decode.streams = call->streams;
}

/* What the decoder begins with: the language to write, or what the caller says for each text. */
static void set_starts(translate_call *call)
{
	const hec_decode_options *o = &call->given;
	if (call->start < 0 && (!o->prompts || !o->prompt_lengths))
		return; /* one without the other: the search refuses it */
	for (int64_t i = 0; i < call->sources.n; i++) {
		const int64_t text = call->sources.which[i];
		call->starts[i] = call->start >= 0 ? &call->start : o->prompts[text];
		call->start_lengths[i] = call->start >= 0 ? 1 : o->prompt_lengths[text];
	}
	call->decode.prompts = call->starts;
	call->decode.prompt_lengths = call->start_lengths;
}

static hec_status write_all(translate_call *call, hec_decoded **decoded)
{
	const size_t n = (size_t)call->sources.n;
	call->most = mem_zeros(n, sizeof *call->most);
	call->starts = mem_zeros(n, sizeof *call->starts);
	call->start_lengths = mem_zeros(n, sizeof *call->start_lengths);
	call->streams = mem_zeros(n, sizeof *call->streams);
	if (!call->most || !call->starts || !call->start_lengths || !call->streams)
		return fail(HEC_ERR_MEMORY, "translate: no memory for %zu texts", n);
	bound_each(call);
	number_streams(call);
	set_starts(call);
	hec_status status = writer_run(
		&call->t->writer, call->sources.n, (const int32_t *const *)call->sources.ids,
		call->sources.lengths, call->most, call->o.batch, &call->decode, decoded);
	if (status != HEC_OK && hec_error_item() >= 0)
		return fail_item(status, call->sources.which[hec_error_item()]);
	return status;
}

/* ---- the caller's callbacks, which know texts and not sources ---- */

static hec_status on_token(void *user, int64_t source, int32_t id)
{
	const translate_call *call = user;
	return call->given.token(call->given.user, call->sources.which[source], id);
}

static void on_process(void *user, int64_t source, const int32_t *written, int64_t n, float *logits,
                       int64_t vocab)
{
	const translate_call *call = user;
	call->given.process(call->given.user, call->sources.which[source], written, n, logits,
	                    vocab);
}

static hec_status on_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	const translate_call *call = user;
	return call->given.progress(call->given.user, phase, done, total);
}

/* ---- ids to texts ---- */

/* One more piece behind those of the same text: a space between, the score of all by their tokens. */
static hec_status append(hec_translation *to, const char *text, size_t more,
                         const hec_hypothesis *h)
{
	size_t old = to->text_bytes, n = (size_t)to->n, m = (size_t)h->n;
	char *joined = mem_resize(mem_own(to->text), old + more + 2);
	if (joined)
		to->text = joined;
	int32_t *ids = mem_resize(mem_own(to->ids), (n + m + 1) * sizeof *ids);
	if (ids)
		to->ids = ids;
	if (!joined || !ids)
		return fail(HEC_ERR_MEMORY, "translate: no memory for a text");
	if (old > 0 && more > 0)
		joined[old++] = ' ';
	memcpy(joined + old, text, more + 1);
	to->text_bytes = old + more;
	if (m > 0)
		memcpy(ids + n, h->ids, m * sizeof *ids);
	to->score =
		(to->score * (double)n + h->score * (double)m) / (double)max_i64(1, to->n + h->n);
	to->n += h->n;
	return HEC_OK;
}

/* Result `rank` of a source. */
static hec_status take_result(translate_call *call, int64_t source, int64_t rank,
                              hec_decoded *decoded)
{
	const int64_t nbest = call->out->nbest;
	hec_hypothesis *h = &decoded->hypotheses[source * nbest + rank];
	hec_translation *to = &call->out->items[call->sources.which[source] * nbest + rank];
	char *text;
	size_t bytes;
	HEC_TRY(written_text(call->t->m.tokenizer, h->ids, h->n, &text, &bytes));
	if (to->text) {
		hec_status status = append(to, text, bytes, h);
		mem_free(text);
		return status;
	}
	to->text = text;
	to->text_bytes = bytes;
	to->score = h->score;
	to->ids = h->ids;
	to->n = h->n;
	h->ids = NULL;
	if (rank > 0)
		return HEC_OK;
	to->source = call->sources.ids[source];
	to->source_n = call->sources.lengths[source];
	to->start =
		call->start >= 0 ? call->start : hec_model_config_of(call->t->m.model)->start_id;
	call->sources.ids[source] = NULL;
	return HEC_OK;
}

static hec_status take_results(translate_call *call, hec_decoded *decoded)
{
	const int64_t nbest = call->out->nbest;
	for (int64_t i = 0; i < call->sources.n * nbest; i++)
		HEC_TRY(take_result(call, i / nbest, i % nbest, decoded));
	/* What has no words has no translation. */
	for (int64_t i = 0; i < call->n * nbest; i++) {
		hec_translation *item = &call->out->items[i];
		if (!item->text && !(item->text = mem_zeros(1, 1)))
			return fail(HEC_ERR_MEMORY, "translate: no memory for a text");
	}
	return HEC_OK;
}

static hec_status translate(translate_call *call)
{
	hec_decoded *decoded = NULL;
	HEC_TRY(set_rules(call));
	HEC_TRY(encode_all(call));
	if (call->sources.n > 0)
		HEC_TRY(write_all(call, &decoded));
	hec_status status = take_results(call, decoded);
	hec_decoded_free(decoded);
	return status;
}

static void translate_call_free(translate_call *call)
{
	sources_free(&call->sources);
	mem_free(call->starts);
	mem_free(call->start_lengths);
	mem_free(call->streams);
	mem_free(call->most);
}

static hec_status take_options(translate_call *call, const hec_translate_options *options)
{
	HEC_TRY(options_take("hec_translate_options", &call->o, sizeof call->o, options));
	HEC_TRY(options_take("hec_decode_options", &call->given, sizeof call->given,
	                     call->o.decode));
	HEC_TRY(writer_check_batch("translate", call->o.batch));
	HEC_TRY(writer_check_decode("translate", &call->given));
	call->decode = call->given;
	call->decode.progress = call->given.progress ? on_progress : NULL;
	call->decode.token = call->given.token ? on_token : NULL;
	call->decode.process = call->given.process ? on_process : NULL;
	call->decode.user = call;
	return HEC_OK;
}

static hec_status translations_create(int64_t texts, int64_t nbest, hec_translations **out)
{
	size_t items;
	hec_translations *t = mem_zeros(1, sizeof *t);
	if (t && size_mul((size_t)texts, (size_t)nbest, &items))
		t->items = mem_zeros(items + 1, sizeof *t->items);
	if (!t || !t->items) {
		mem_free(t);
		return fail(HEC_ERR_MEMORY, "translate: no memory for %lld texts",
		            (long long)texts);
	}
	t->texts = texts;
	t->nbest = nbest;
	*out = t;
	return HEC_OK;
}

hec_status hec_translate(hec_translator *translator, int64_t n, const char *const *texts,
                         const size_t *bytes, const hec_translate_options *options,
                         hec_translations **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "translate: out is NULL");
	*out = NULL;
	if (!translator || n < 0 || (n > 0 && !texts))
		return fail(HEC_ERR_ARGUMENT, "translate: %lld texts, translator %s, texts %s",
		            (long long)n, translator ? "given" : "NULL", texts ? "given" : "NULL");
	translate_call call = {.t = translator,
	                       .o = HEC_TRANSLATE_OPTIONS_INIT,
	                       .given = translator->generation.options,
	                       .n = n,
	                       .texts = texts,
	                       .bytes = bytes};
	HEC_TRY(take_options(&call, options));
	HEC_TRY(translations_create(n, call.given.nbest, &call.out));
	hec_status status = n > 0 ? translate(&call) : HEC_OK;
	translate_call_free(&call);
	if (status == HEC_OK)
		*out = call.out;
	else
		hec_translations_free(call.out);
	return status;
}

const hec_translation *hec_translations_at(const hec_translations *translations, int64_t text,
                                           int64_t rank)
{
	if (!translations || text < 0 || text >= translations->texts || rank < 0 ||
	    rank >= translations->nbest)
		return NULL;
	return &translations->items[text * translations->nbest + rank];
}

void hec_translations_free(hec_translations *translations)
{
	if (!translations)
		return;
	for (int64_t i = 0; i < translations->texts * translations->nbest; i++) {
		const hec_translation *t = &translations->items[i];
		mem_free(mem_own(t->text));
		mem_free(mem_own(t->ids));
		mem_free(mem_own(t->source));
	}
	mem_free(translations->items);
	mem_free(translations);
}
