/* model.c — text ─► ids ─► a pass that is looked at. */
#include "cli/attend/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct look {
	const attend_request *r;
	const hec_model_config *config;
	hec_encoding text; /* what the encoder reads, or the decoder where it is alone */
	int32_t *written;  /* [T] */
	int64_t T;
	bool *usage;
	attend_error error;
} look;

static bool has_encoder(const look *w)
{
	return w->config->encoder.layers > 0;
}

static bool has_decoder(const look *w)
{
	return w->config->decoder.layers > 0;
}

/* ---- what is asked ---- */

bool attend_choose(const hec_model *model, const char *asked, attend_choice *out, char *error,
                   size_t error_size)
{
	static const hec_view_kind kinds[] = {HEC_VIEW_SELF, HEC_VIEW_CROSS, HEC_VIEW_DECODER};
	const hec_model_config *c = hec_model_config_of(model);
	bool encoder = c->encoder.layers > 0, both = encoder && c->decoder.layers > 0;
	hec_view_kind kind = both ? HEC_VIEW_CROSS : HEC_VIEW_SELF;
	for (int i = 0; asked && i < 3; i++)
		if (strcmp(asked, hec_view_kind_name(kinds[i])) == 0)
			kind = kinds[i];
	if (!both && kind != HEC_VIEW_SELF) {
		snprintf(error, error_size, "--kind %s: this model has no %s, only self-attention",
		         asked, encoder ? "decoder" : "encoder");
		return false;
	}
	const hec_stack_config *s = kind == HEC_VIEW_SELF && encoder ? &c->encoder : &c->decoder;
	*out = (attend_choice){kind, s->layers, s->attention.heads};
	return true;
}

/* ---- ids ---- */

static hec_status encode_text(look *w, const hec_tokenizer *tokenizer, const char *text,
                              const char *pair, hec_encoding *out)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = w->r->lossy;
	o.pair = pair;
	o.pair_bytes = pair ? strlen(pair) : 0;
	hec_status status = attend_library(
		&w->error, hec_tokenizer_encode(tokenizer, text, strlen(text), &o, out));
	if (status == HEC_OK && out->n == 0)
		return attend_say(&w->error, HEC_ERR_ARGUMENT, "there is no token in the text");
	return status;
}

static hec_status keep_written(look *w, const int32_t *ids, int64_t n)
{
	w->written = malloc((size_t)n * sizeof *w->written + 1);
	if (!w->written)
		return attend_no_memory(&w->error);
	if (n > 0)
		memcpy(w->written, ids, (size_t)n * sizeof *w->written);
	w->T = n;
	return HEC_OK;
}

/* What the decoder writes, from the target that is given … */
static hec_status read_target(look *w)
{
	hec_encoding target = HEC_ENCODING_INIT;
	const hec_tokenizer *own = w->r->target_tokenizer;
	hec_status status =
		encode_text(w, own ? own : w->r->tokenizer, w->r->target, NULL, &target);
	if (status == HEC_OK)
		status = keep_written(w, target.ids, (int64_t)target.n);
	hec_encoding_free(&target);
	return status;
}

/* … or from what the model itself would write, by its folder's own settings of decoding. */
static hec_status write_translation(look *w)
{
	hec_translations *found = NULL;
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.lossy = w->r->lossy;
	hec_status status = attend_library(
		&w->error, hec_translate(w->r->translator, 1, &w->r->text, NULL, &o, &found));
	const hec_translation *best = status == HEC_OK ? hec_translations_at(found, 0, 0) : NULL;
	if (status == HEC_OK && best->n == 0)
		status = attend_say(&w->error, HEC_ERR_ARGUMENT,
		                    "the model writes nothing for this text");
	if (status == HEC_OK)
		status = keep_written(w, best->ids, best->n);
	hec_translations_free(found);
	return status;
}

/* What a decoder alone writes on is a part of what it then reads: all of it. */
static hec_status write_continuation(look *w)
{
	hec_generations *found = NULL;
	hec_decode_options decode;
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	hec_prompt prompt = {.ids = w->text.ids, .n = (int64_t)w->text.n};
	hec_generator_defaults(w->r->generator, &decode, sizeof decode);
	decode.beams = decode.nbest = 1;
	decode.max_tokens = w->r->write;
	o.decode = &decode;
	hec_status status =
		attend_library(&w->error, hec_generate(w->r->generator, 1, &prompt, &o, &found));
	const hec_generation *more = status == HEC_OK ? hec_generations_at(found, 0, 0) : NULL;
	if (more) {
		w->T = prompt.n + more->n;
		w->written = malloc((size_t)w->T * sizeof *w->written);
		if (!w->written)
			status = attend_no_memory(&w->error);
	}
	if (status == HEC_OK) {
		memcpy(w->written, prompt.ids, (size_t)prompt.n * sizeof *w->written);
		if (more->n > 0)
			memcpy(w->written + prompt.n, more->ids,
			       (size_t)more->n * sizeof *w->written);
	}
	hec_generations_free(found);
	return status;
}

static hec_status read_texts(look *w)
{
	bool both = has_encoder(w) && has_decoder(w);
	if (!has_encoder(w) && w->r->target) {
		*w->usage = true;
		return attend_say(
			&w->error, HEC_ERR_ARGUMENT,
			"this model has a decoder alone: give one text, not also a target");
	}
	hec_status status = encode_text(w, w->r->tokenizer, w->r->text,
	                                has_decoder(w) ? NULL : w->r->target, &w->text);
	if (status != HEC_OK)
		return status;
	if (!both)
		return w->r->generator ? write_continuation(w) : HEC_OK;
	if (w->r->choice.kind == HEC_VIEW_SELF && !w->r->target)
		return HEC_OK; /* what is written does not matter */
	return w->r->target ? read_target(w) : write_translation(w);
}

/* Where each token stands in the text: not those of a pair, and not what is written. */
static hec_status find_spans(look *w, int64_t n, hec_span **out)
{
	hec_span *spans = calloc((size_t)n, sizeof *spans);
	if (!spans)
		return attend_no_memory(&w->error);
	for (size_t i = 0; i < w->text.n; i++)
		if (w->text.sequence[i] == 0)
			spans[i] = w->text.offsets[i];
	*out = spans;
	return HEC_OK;
}

static hec_status compute_weights(look *w, attended *out)
{
	const attend_request *r = w->r;
	hec_status status = read_texts(w);
	if (status != HEC_OK)
		return status;
	const bool both = has_encoder(w) && has_decoder(w), wrote = !both && w->written;
	attend_pass p = {.ctx = r->ctx,
	                 .model = r->model,
	                 .tokenizer = r->tokenizer,
	                 .ids = wrote ? w->written : w->text.ids,
	                 .types = wrote ? NULL : w->text.type_ids,
	                 .n = wrote ? w->T : (int64_t)w->text.n,
	                 .written = both ? w->written : NULL,
	                 .given = r->target != NULL,
	                 .T = both ? w->T : 0};
	hec_span *spans = NULL;
	status = find_spans(w, p.n, &spans);
	p.spans = spans;
	if (status == HEC_OK)
		status = attend_pass_run(&p, &r->choice, out, w->error.text, w->error.size);
	free(spans);
	return status;
}

hec_status attend_compute(const attend_request *r, attended *out, bool *usage, char *error,
                          size_t error_size)
{
	look w = {.r = r,
	          .config = hec_model_config_of(r->model),
	          .text = HEC_ENCODING_INIT,
	          .usage = usage,
	          .error = {error, error_size}};
	*out = (attended){.choice = r->choice};
	*usage = false;
	hec_status status = compute_weights(&w, out);
	hec_encoding_free(&w.text);
	free(w.written);
	return status;
}
