/* translate.c — text → ids → encoder → beam search ⇄ decoder → ids → text. */
#include <hecate/translate.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "task/generation_config.h"
#include "task/writer.h"
#include "task/written_text.h"

#define TIMES_SOURCE 3 /* a translation has at most so many tokens for each of its source's, */
#define TOKENS_MORE 50 /* and these: where neither the caller nor the model says how many */

struct hec_translator {
	hec_ctx *ctx;
	const hec_model *model;
	const hec_tokenizer *tokenizer;
	hec_model *own_model; /* NULL: the caller's */
	hec_tokenizer *own_tokenizer;
	generation_config generation;
	writer writer;
	hec_encoding encoding;
};

/* ---- making one ---- */

static hec_status check_model(const hec_model *model, const hec_tokenizer *tokenizer)
{
	const hec_model_config *c = hec_model_config_of(model);
	if (c->encoder.layers == 0 || c->decoder.layers == 0 || c->head != HEC_HEAD_LM)
		return fail(HEC_ERR_UNSUPPORTED,
		            "translate: the model has %lld encoder and %lld decoder layers; to "
		            "translate takes both, and a head that writes words",
		            (long long)c->encoder.layers, (long long)c->decoder.layers);
	if (hec_tokenizer_vocab(tokenizer) > c->vocab)
		return fail(HEC_ERR_FORMAT, "translate: the tokenizer has %lld ids, the model %lld",
		            (long long)hec_tokenizer_vocab(tokenizer), (long long)c->vocab);
	return HEC_OK;
}

static hec_status translator_new(hec_ctx *ctx, hec_translator **out)
{
	hec_translator *t = calloc(1, sizeof *t);
	if (!t)
		return fail(HEC_ERR_MEMORY, "translate: no memory for a translator");
	t->ctx = ctx;
	t->generation.options = (hec_decode_options)HEC_DECODE_OPTIONS_INIT;
	t->encoding = (hec_encoding)HEC_ENCODING_INIT;
	*out = t;
	return HEC_OK;
}

hec_status hec_translator_create(hec_ctx *ctx, const hec_model *model,
                                 const hec_tokenizer *tokenizer, hec_translator **out)
{
	if (!ctx || !model || !tokenizer || !out)
		return fail(HEC_ERR_ARGUMENT, "translate: ctx, model, tokenizer or out is NULL");
	HEC_TRY(check_model(model, tokenizer));
	hec_translator *t;
	HEC_TRY(translator_new(ctx, &t));
	t->model = model;
	t->tokenizer = tokenizer;
	t->writer = (writer){.ctx = ctx, .model = model};
	*out = t;
	return HEC_OK;
}

static hec_status load(hec_translator *t, const char *dir, const char *task)
{
	HEC_TRY(hec_tokenizer_load(dir, &t->own_tokenizer));
	HEC_TRY(hec_model_load(t->ctx, dir, &t->own_model));
	t->tokenizer = t->own_tokenizer;
	t->model = t->own_model;
	HEC_TRY(check_model(t->model, t->tokenizer));
	t->writer = (writer){.ctx = t->ctx, .model = t->model};
	return generation_config_read(dir, hec_model_config_of(t->model)->vocab, 1, task,
	                              &t->generation);
}

hec_status hec_translator_load(hec_ctx *ctx, const char *dir, hec_translator **out)
{
	return hec_translator_load_task(ctx, dir, NULL, out);
}

hec_status hec_translator_load_task(hec_ctx *ctx, const char *dir, const char *task,
                                    hec_translator **out)
{
	if (!ctx || !dir || !out)
		return fail(HEC_ERR_ARGUMENT, "translate: ctx, dir or out is NULL");
	hec_translator *t;
	HEC_TRY(translator_new(ctx, &t));
	hec_status status = load(t, dir, task);
	if (status != HEC_OK)
		hec_translator_destroy(t);
	else
		*out = t;
	return status;
}

void hec_translator_destroy(hec_translator *translator)
{
	if (!translator)
		return;
	writer_close(&translator->writer);
	hec_model_destroy(translator->own_model);
	hec_tokenizer_destroy(translator->own_tokenizer);
	generation_config_free(&translator->generation);
	hec_encoding_free(&translator->encoding);
	free(translator);
}

const hec_model *hec_translator_model(const hec_translator *translator)
{
	return translator->model;
}

const hec_tokenizer *hec_translator_tokenizer(const hec_translator *translator)
{
	return translator->tokenizer;
}

const char *hec_translator_prefix(const hec_translator *translator)
{
	return translator->generation.prefix ? translator->generation.prefix : "";
}

const hec_decode_options *hec_translator_defaults(const hec_translator *translator)
{
	return &translator->generation.options;
}

int64_t hec_translator_max_source(const hec_translator *translator)
{
	return writer_max_source(translator->model);
}

size_t hec_translator_session_bytes(const hec_translator *translator)
{
	const hec_session *session = translator->writer.session;
	return session ? hec_session_bytes(session) : 0;
}

/* ---- texts to ids ---- */

typedef struct job {
	hec_translator *t;
	hec_translate_options o;
	hec_decode_options decode;
	const char *prefix; /* or NULL */
	int64_t n;
	const char *const *texts;
	const size_t *bytes;
	int32_t **ids;    /* [n] sources of those that have words */
	int64_t *lengths; /* [n] */
	int64_t *which;   /* [n] the text of each source */
	int64_t *most;    /* [n] tokens that each source may become */
	int64_t sources;
	hec_translations *out;
} job;

static bool has_words(const hec_encoding *e)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->sequence[i] >= 0)
			return true;
	}
	return false;
}

/* Takes tokens of the text away from its end, so that what was added stays. */
static void shorten(hec_encoding *e, size_t most)
{
	size_t extra = e->n - most;
	for (size_t i = e->n; i-- > 0 && extra > 0;) {
		if (e->sequence[i] < 0)
			continue;
		memmove(e->ids + i, e->ids + i + 1, (e->n - i - 1) * sizeof *e->ids);
		memmove(e->sequence + i, e->sequence + i + 1, (e->n - i - 1) * sizeof *e->sequence);
		e->n--;
		extra--;
	}
}

static bool is_blank(const char *text, size_t bytes)
{
	while (bytes > 0 && strchr(" \t\r\n\f\v", *text) && *text)
		text++, bytes--;
	return bytes == 0;
}

/* With the prefix before it. An invalid byte is told by its place in the text itself, which is why that is
 * looked at alone then. */
static hec_status encode_after(const job *j, const char *text, size_t bytes,
                               const hec_encode_options *o, hec_encoding *e)
{
	const char *prefix = j->prefix ? j->prefix : "";
	size_t before = strlen(prefix), all;
	if (before == 0 || is_blank(text, bytes))
		return hec_tokenizer_encode(j->t->tokenizer, text, bytes, o, e);
	char *whole = size_add(before, bytes, &all) && all < SIZE_MAX ? malloc(all + 1) : NULL;
	if (!whole)
		return fail(HEC_ERR_MEMORY, "translate: no memory for a text of %zu bytes", bytes);
	memcpy(whole, prefix, before + 1);
	memcpy(whole + before, text, bytes);
	hec_status status = hec_tokenizer_encode(j->t->tokenizer, whole, all, o, e);
	free(whole);
	if (status == HEC_ERR_FORMAT)
		HEC_TRY(hec_tokenizer_encode(j->t->tokenizer, text, bytes, o, e));
	return status;
}

static hec_status encode(job *j, int64_t i)
{
	hec_translator *t = j->t;
	hec_encoding *e = &t->encoding;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = j->o.lossy;
	size_t bytes = j->bytes ? j->bytes[i] : strlen(j->texts[i]);
	HEC_TRY(encode_after(j, j->texts[i], bytes, &o, e));
	if (!has_words(e))
		return HEC_OK;
	size_t most = (size_t)hec_translator_max_source(t);
	if (e->n > most && j->o.truncate)
		shorten(e, most);
	if (e->n > most)
		return fail(HEC_ERR_SHAPE, "the text has %zu tokens; the model takes %zu", e->n,
		            most);
	size_t size = e->n * sizeof *e->ids;
	int32_t *ids = malloc(size);
	if (!ids)
		return fail(HEC_ERR_MEMORY, "translate: no memory for %zu tokens", e->n);
	memcpy(ids, e->ids, size);
	j->ids[j->sources] = ids;
	j->lengths[j->sources] = (int64_t)e->n;
	j->which[j->sources++] = i;
	return HEC_OK;
}

static hec_status encode_all(job *j)
{
	for (int64_t i = 0; i < j->n; i++) {
		if (!j->texts[i])
			return fail(HEC_ERR_ARGUMENT, "translate: text %lld is NULL", (long long)i);
		hec_status status = encode(j, i);
		if (status != HEC_OK) {
			if (status != HEC_ERR_MEMORY)
				j->out->failed = i;
			return status;
		}
	}
	return HEC_OK;
}

/* Where nobody says how long a translation may get, its source does: by itself, so that a text gets the
 * same translation whatever others it comes with. */
static void bound_each(job *j)
{
	const hec_decode_options *o = &j->decode;
	/* As Transformers counts: the start is a token of the whole. */
	const int64_t room = max_i64(1, hec_model_config_of(j->t->model)->decoder.position.max - 1);
	for (int64_t i = 0; i < j->sources; i++) {
		int64_t most = o->max_tokens > 0 ? o->max_tokens : room;
		if (o->most)
			most = min_i64(most, o->most[j->which[i]]);
		else if (o->max_tokens == 0)
			most = TIMES_SOURCE * j->lengths[i] + TOKENS_MORE;
		j->most[i] = min_i64(most, room);
	}
}

/* ---- ids to texts ---- */

static hec_status give(job *j, hec_hypothesis *h, hec_translation *to)
{
	HEC_TRY(written_text(j->t->tokenizer, h->ids, h->n, &to->text));
	to->score = h->score;
	to->ids = h->ids;
	to->n = h->n;
	h->ids = NULL;
	return HEC_OK;
}

static hec_status give_all(job *j, hec_decoded *decoded)
{
	int64_t nbest = j->out->nbest;
	for (int64_t i = 0; i < j->sources * nbest; i++)
		HEC_TRY(give(j, &decoded->hypotheses[i],
		             &j->out->items[j->which[i / nbest] * nbest + i % nbest]));
	/* What has no words has no translation. */
	for (int64_t i = 0; i < j->n * nbest; i++) {
		hec_translation *item = &j->out->items[i];
		if (!item->text && !(item->text = calloc(1, 1)))
			return fail(HEC_ERR_MEMORY, "translate: no memory for a text");
	}
	return HEC_OK;
}

static hec_status work(job *j)
{
	size_t n = (size_t)j->n, items;
	if (!size_mul(n, (size_t)j->out->nbest, &items) ||
	    !(j->out->items = calloc(items, sizeof *j->out->items)) ||
	    !(j->ids = calloc(n, sizeof *j->ids)) ||
	    !(j->lengths = calloc(n, sizeof *j->lengths)) ||
	    !(j->which = calloc(n, sizeof *j->which)) || !(j->most = calloc(n, sizeof *j->most)))
		return fail(HEC_ERR_MEMORY, "translate: no memory for %lld texts", (long long)j->n);
	j->out->texts = j->n;
	HEC_TRY(encode_all(j));
	hec_decoded decoded = {.size = sizeof decoded};
	if (j->sources > 0) {
		bound_each(j);
		HEC_TRY(writer_run(&j->t->writer, j->sources, (const int32_t *const *)j->ids,
		                   j->lengths, j->most, j->o.batch, &j->decode, &decoded));
	}
	hec_status status = give_all(j, &decoded);
	hec_decoded_free(&decoded);
	return status;
}

hec_status hec_translate(hec_translator *translator, int64_t n, const char *const *texts,
                         const size_t *bytes, const hec_translate_options *options,
                         hec_translations *out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "translate: out is NULL");
	*out = (hec_translations){.size = sizeof *out, .failed = -1};
	if (!translator || n < 0 || (n > 0 && !texts))
		return fail(HEC_ERR_ARGUMENT, "translate: %lld texts, translator %s, texts %s",
		            (long long)n, translator ? "given" : "NULL", texts ? "given" : "NULL");
	job j = {.t = translator,
	         .o = HEC_TRANSLATE_OPTIONS_INIT,
	         .decode = translator->generation.options,
	         .n = n,
	         .texts = texts,
	         .bytes = bytes,
	         .out = out};
	HEC_TRY(options_take("hec_translate_options", &j.o, sizeof j.o, options));
	HEC_TRY(options_take("hec_decode_options", &j.decode, sizeof j.decode, j.o.decode));
	HEC_TRY(writer_check_batch("translate", &j.o.batch));
	HEC_TRY(writer_check_beams("translate", &j.decode));
	out->nbest = j.decode.nbest;
	j.prefix = j.o.prefix ? j.o.prefix : translator->generation.prefix;
	if (n == 0)
		return HEC_OK;
	hec_status status = work(&j);
	for (int64_t i = 0; i < j.sources; i++)
		free(j.ids[i]);
	free(j.ids);
	free(j.lengths);
	free(j.which);
	free(j.most);
	if (status != HEC_OK) {
		int64_t failed = out->failed;
		hec_translations_free(out);
		out->failed = failed;
	}
	return status;
}

void hec_translations_free(hec_translations *translations)
{
	if (!translations)
		return;
	for (int64_t i = 0; translations->items && i < translations->texts * translations->nbest;
	     i++) {
		free(translations->items[i].text);
		free(translations->items[i].ids);
	}
	free(translations->items);
	*translations = (hec_translations){.size = sizeof *translations, .failed = -1};
}
