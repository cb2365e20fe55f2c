/* attend_model.c — text ─► ids ─► one forward pass ─► the weights of every head.
 *
 * A row of cross-attention is labelled by the token that is being written there: the decoder reads
 * the start and the tokens before it, and looks at the source to choose the next. Rows and columns
 * of self-attention are what the stack reads. */
#include "attend_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reserve.h"

#define WEIGHTS_MOST ((size_t)1 << 30) /* numbers */

typedef struct work {
	const attend_request *r;
	const hec_model_config *config;
	hec_encoding text; /* what the encoder reads, or the decoder where it is alone */
	int32_t *decoder_ids, *written; /* [T]: what the decoder reads, and writes */
	int64_t T;
	bool *usage;
	char *error;
	size_t error_size;
} work;

static hec_status say(work *w, hec_status status, const char *message)
{
	snprintf(w->error, w->error_size, "%s", message);
	return status;
}

static hec_status library(work *w, hec_status status)
{
	return status == HEC_OK ? status : say(w, status, hec_error_message());
}

static hec_status no_memory(work *w)
{
	return say(w, HEC_ERR_MEMORY, "out of memory");
}

static bool has_encoder(const work *w)
{
	return w->config->encoder.layers > 0;
}

static bool has_decoder(const work *w)
{
	return w->config->decoder.layers > 0;
}

/* ---- what is asked ---- */

bool attend_choose(const hec_model *model, const char *asked, attend_choice *out, char *error,
                   size_t error_size)
{
	const hec_model_config *c = hec_model_config_of(model);
	bool encoder = c->encoder.layers > 0, both = encoder && c->decoder.layers > 0;
	hec_view_kind kind = both ? HEC_VIEW_CROSS : HEC_VIEW_SELF;
	for (int i = 0; asked && i < HEC_VIEW_KINDS; i++)
		if (strcmp(asked, hec_view_kind_name((hec_view_kind)i)) == 0)
			kind = (hec_view_kind)i;
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

static hec_status encode(work *w, const char *text, const char *pair, hec_encoding *out)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = true;
	o.pair = pair;
	o.pair_bytes = pair ? strlen(pair) : 0;
	hec_status status =
		library(w, hec_tokenizer_encode(w->r->tokenizer, text, strlen(text), &o, out));
	if (status == HEC_OK && out->n == 0)
		return say(w, HEC_ERR_ARGUMENT, "there is no token in the text");
	return status;
}

static hec_status keep_written(work *w, const int32_t *ids, int64_t n)
{
	w->written = malloc((size_t)n * sizeof *w->written);
	if (!w->written)
		return no_memory(w);
	memcpy(w->written, ids, (size_t)n * sizeof *w->written);
	w->T = n;
	return HEC_OK;
}

/* What the decoder writes, from the target that is given … */
static hec_status take_target(work *w)
{
	hec_encoding target = HEC_ENCODING_INIT;
	hec_status status = encode(w, w->r->target, NULL, &target);
	if (status == HEC_OK)
		status = keep_written(w, target.ids, (int64_t)target.n);
	hec_encoding_free(&target);
	return status;
}

/* … or from what the model itself would write, by its folder's own settings of decoding. */
static hec_status translate(work *w)
{
	hec_translations found = {0};
	hec_translate_options o = HEC_TRANSLATE_OPTIONS_INIT;
	o.lossy = true;
	hec_status status =
		library(w, hec_translate(w->r->translator, 1, &w->r->text, NULL, &o, &found));
	if (status == HEC_OK && found.items[0].n == 0)
		status = say(w, HEC_ERR_ARGUMENT, "the model writes nothing for this text");
	if (status == HEC_OK)
		status = keep_written(w, found.items[0].ids, found.items[0].n);
	hec_translations_free(&found);
	return status;
}

/* What the decoder reads: the start, then all that it writes but the last. */
static hec_status shift_target(work *w)
{
	w->decoder_ids = malloc((size_t)w->T * sizeof *w->decoder_ids);
	if (!w->decoder_ids)
		return no_memory(w);
	w->decoder_ids[0] = w->config->start_id;
	for (int64_t t = 1; t < w->T; t++)
		w->decoder_ids[t] = w->written[t - 1];
	return HEC_OK;
}

static hec_status read_texts(work *w, hec_view_kind kind)
{
	bool both = has_encoder(w) && has_decoder(w);
	if (!has_encoder(w) && w->r->target) {
		*w->usage = true;
		return say(w, HEC_ERR_ARGUMENT,
		           "this model has a decoder alone: give one text, not also a target");
	}
	hec_status status = encode(w, w->r->text, has_decoder(w) ? NULL : w->r->target, &w->text);
	if (status != HEC_OK || !both)
		return status;
	if (kind == HEC_VIEW_SELF && !w->r->target) { /* what is written does not matter */
		status = keep_written(w, &w->config->start_id, 1);
	} else {
		status = w->r->target ? take_target(w) : translate(w);
	}
	return status == HEC_OK ? shift_target(w) : status;
}

/* ---- forward ---- */

static hec_status make_weights(work *w, attended *out)
{
	size_t count = (size_t)out->choice.layers;
	const size_t parts[] = {(size_t)out->choice.heads, (size_t)out->query.count,
	                        (size_t)out->key.count};
	for (int i = 0; i < 3; i++) {
		if (count > WEIGHTS_MOST / parts[i]) {
			snprintf(w->error, w->error_size,
			         "%" PRId64 " by %" PRId64 " tokens in %" PRId64
			         " layers of %" PRId64
			         " heads are more weights than can be shown: give less text",
			         out->query.count, out->key.count, out->choice.layers,
			         out->choice.heads);
			return HEC_ERR_MEMORY;
		}
		count *= parts[i];
	}
	out->weights = malloc(count * sizeof(float));
	return out->weights ? HEC_OK : no_memory(w);
}

static hec_status forward(work *w, attended *out)
{
	hec_status status = make_weights(w, out);
	hec_arena *arena = NULL;
	if (status == HEC_OK)
		status = library(w, reserve_arena(&arena));
	if (status != HEC_OK)
		return status;
	int64_t n = (int64_t)w->text.n;
	hec_model_input input = {.size = sizeof input};
	hec_model_output output = {.size = sizeof output};
	if (has_encoder(w))
		input.ids = hec_tensor_2d(w->text.ids, HEC_I32, 1, n);
	if (w->config->types > 0)
		input.types = hec_tensor_2d(w->text.type_ids, HEC_I32, 1, n);
	if (has_encoder(w) && has_decoder(w))
		input.decoder_ids = hec_tensor_2d(w->decoder_ids, HEC_I32, 1, w->T);
	else if (has_decoder(w))
		input.decoder_ids = hec_tensor_2d(w->text.ids, HEC_I32, 1, n);
	hec_tensor weights = hec_tensor_4d(out->weights, HEC_F32, out->choice.layers,
	                                   out->choice.heads, out->query.count, out->key.count);
	if (out->choice.kind == HEC_VIEW_CROSS)
		output.cross_weights = weights;
	else if (out->choice.kind == HEC_VIEW_SELF && has_encoder(w))
		output.encoder_weights = weights;
	else
		output.decoder_weights = weights;
	status = library(w,
	                 hec_model_fwd(w->r->ctx, arena, w->r->model, &input, NULL, &output, NULL));
	hec_arena_destroy(arena);
	return status;
}

/* ---- axes ---- */

static hec_status make_axis(work *w, const int32_t *ids, int64_t count, bool causal, axis *a)
{
	const hec_tokenizer *tokenizer = w->r->tokenizer;
	bool byte_level = tokenizer_is_byte_level(tokenizer);
	size_t n = (size_t)count;
	a->ids = malloc(n * sizeof *a->ids);
	a->tokens = malloc(n * sizeof *a->tokens);
	a->labels = calloc(n, sizeof *a->labels);
	a->sink = malloc(n * sizeof *a->sink);
	if (!a->ids || !a->tokens || !a->labels || !a->sink)
		return no_memory(w);
	a->count = count;
	for (size_t i = 0; i < n; i++) {
		const char *token = hec_tokenizer_token(tokenizer, ids[i]);
		a->ids[i] = ids[i];
		a->tokens[i] = token ? token : "?";
		a->labels[i] = token_label(a->tokens[i], byte_level);
		a->sink[i] = hec_tokenizer_is_special(tokenizer, ids[i]) || (causal && i == 0);
		if (!a->labels[i])
			return no_memory(w);
	}
	return HEC_OK;
}

static hec_status make_axes(work *w, attended *out)
{
	int64_t n = (int64_t)w->text.n;
	bool causal = out->choice.kind == HEC_VIEW_DECODER || !has_encoder(w);
	const int32_t *reads = out->choice.kind == HEC_VIEW_DECODER ? w->decoder_ids : w->text.ids;
	int64_t count = out->choice.kind == HEC_VIEW_DECODER ? w->T : n;
	hec_status status = make_axis(w, reads, count, causal, &out->key);
	if (status != HEC_OK)
		return status;
	bool cross = out->choice.kind == HEC_VIEW_CROSS;
	return make_axis(w, cross ? w->written : reads, cross ? w->T : count, causal, &out->query);
}

static hec_status compute(work *w, attended *out)
{
	hec_status status = read_texts(w, out->choice.kind);
	if (status == HEC_OK)
		status = make_axes(w, out);
	return status == HEC_OK ? forward(w, out) : status;
}

hec_status attend_compute(const attend_request *r, attended *out, bool *usage, char *error,
                          size_t error_size)
{
	work w = {.r = r,
	          .config = hec_model_config_of(r->model),
	          .text = HEC_ENCODING_INIT,
	          .usage = usage,
	          .error = error,
	          .error_size = error_size};
	*out = (attended){.choice = r->choice};
	*usage = false;
	hec_status status = compute(&w, out);
	hec_encoding_free(&w.text);
	free(w.decoder_ids);
	free(w.written);
	if (status != HEC_OK)
		attended_free(out);
	return status;
}

static void axis_free(axis *a)
{
	for (int64_t i = 0; i < a->count; i++)
		free(a->labels[i]);
	free(a->ids);
	free(a->tokens);
	free(a->labels);
	free(a->sink);
}

void attended_free(attended *a)
{
	axis_free(&a->query);
	axis_free(&a->key);
	free(a->weights);
	*a = (attended){0};
}
