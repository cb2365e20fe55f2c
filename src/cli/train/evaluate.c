/* evaluate.c — sentences of the validation text, written by the model and compared; or given a
 * label by it. */
#include "cli/train/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include <hecate/decode.h>

#include "cli/command/interrupt.h"
#include "cli/model/reserve.h"
#include "cli/train/texts.h"
#include "cli/command/try.h"

#define SENTENCES_AT_ONCE 32

struct train_evaluator {
	const hec_tokenizer *tokenizer, *target;
	const char *prefix, *language; /* of sources */
	int32_t forced;                /* the first token of what is written; −1: any */
	bool truncate;
	int64_t beams, max_length, n;
	int32_t **ids; /* [n] sources */
	int64_t *lengths;
	char **wanted, **written; /* [n] texts, or labels */
	char **labels;            /* classify: their names, of the data; else NULL */
};

void train_evaluator_close(train_evaluator *e)
{
	if (!e)
		return;
	for (int64_t i = 0; e->ids && i < e->n; i++)
		free(e->ids[i]);
	train_texts_free(e->wanted, e->n);
	train_texts_free(e->written, e->n);
	free(e->ids);
	free(e->lengths);
	free(e->wanted);
	free(e->written);
	free(e);
}

/* ---- the sentences ---- */

/* As a corpus has it: with its prefix, cut where that is wanted, ended where the tokenizer does not. */
static hec_status encode_source(const train_evaluator *e, const char *text, size_t bytes,
                                int32_t eos, hec_encoding *out, bool *end)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	size_t before = e->prefix ? strlen(e->prefix) : 0;
	char *whole = malloc(before + bytes + 1);
	if (!whole)
		return train_no_memory("the sentences of --valid");
	memcpy(whole, e->prefix ? e->prefix : "", before);
	memcpy(whole + before, text, bytes);
	hec_status status = hec_tokenizer_encode(e->tokenizer, whole, before + bytes, &o, out);
	size_t n = out->n;
	*end = eos >= 0 && (n == 0 || (out->ids[n - 1] != eos && out->sequence[n - 1] >= 0));
	if (status == HEC_OK && e->truncate && (int64_t)(n + *end) > e->max_length) {
		o.max_length = e->max_length - *end;
		status = hec_tokenizer_encode(e->tokenizer, whole, before + bytes, &o, out);
	}
	free(whole);
	return status == HEC_OK && e->language
	               ? hec_encoding_set_language(e->tokenizer, e->language, out, NULL)
	               : status;
}

static hec_status take_source(train_evaluator *e, const char *text, size_t bytes, bool *fits)
{
	hec_encoding encoding = HEC_ENCODING_INIT;
	int32_t eos = e->labels ? -1 : hec_tokenizer_role(e->tokenizer, "eos");
	bool end = false;
	hec_status status = encode_source(e, text, bytes, eos, &encoding, &end);
	if (status != HEC_OK) {
		hec_encoding_free(&encoding);
		return status;
	}
	size_t n = encoding.n;
	*fits = (int64_t)(n + end) <= e->max_length;
	int32_t *ids = *fits ? malloc((n + 1) * sizeof *ids) : NULL;
	if (ids) {
		memcpy(ids, encoding.ids, n * sizeof *ids);
		ids[n] = eos;
		e->ids[e->n] = ids;
		e->lengths[e->n] = (int64_t)(n + end);
	}
	hec_encoding_free(&encoding);
	return *fits && !ids ? train_no_memory("the sentences of --valid") : HEC_OK;
}

static hec_status read_sentences(train_evaluator *e, hec_lines *lines, int64_t most)
{
	for (bool more = true; e->n < most;) {
		const char *text[2];
		size_t bytes[2];
		bool fits = false;
		TRY(hec_lines_next_pair(lines, text, bytes, &more));
		if (!more)
			return HEC_OK;
		int source = e->labels ? 1 : 0; /* label, tab, text */
		TRY(take_source(e, text[source], bytes[source], &fits));
		if (!fits)
			continue;
		e->wanted[e->n] = strndup(text[1 - source], bytes[1 - source]);
		if (!e->wanted[e->n++])
			return train_no_memory("the sentences of --valid");
	}
	return HEC_OK;
}

static hec_status open_sentences(train_evaluator *e, const train_settings *s)
{
	size_t most = (size_t)s->valid_sentences;
	e->ids = calloc(most, sizeof *e->ids);
	e->lengths = calloc(most, sizeof *e->lengths);
	e->wanted = calloc(most, sizeof *e->wanted);
	e->written = calloc(most, sizeof *e->written);
	if (!e->ids || !e->lengths || !e->wanted || !e->written)
		return train_no_memory("the sentences of --valid");
	hec_lines *lines;
	TRY(hec_lines_create(s->task_id, s->valid.items, s->valid.count, &lines));
	hec_status status = read_sentences(e, lines, s->valid_sentences);
	hec_lines_destroy(lines);
	return status;
}

hec_status train_evaluator_open(const train_settings *s, const train_data *data,
                                train_evaluator **out)
{
	bool can = !s->sounds && s->task_id != HEC_TASK_LM && s->task_id != HEC_TASK_MLM &&
	           s->task_id != HEC_TASK_ANSWER;
	*out = NULL;
	if (!can || s->valid_sentences == 0 || s->valid.count == 0)
		return HEC_OK;
	train_evaluator *e = calloc(1, sizeof *e);
	if (!e)
		return train_no_memory("the sentences of --valid");
	e->tokenizer = data->tokenizer;
	e->target = data->target ? data->target : data->tokenizer;
	e->prefix = s->task_id == HEC_TASK_CLASSIFY ? NULL : s->source_prefix;
	e->language = s->task_id == HEC_TASK_CLASSIFY ? NULL : s->from_lang;
	e->forced = data->starts ? -1 : data->language;
	e->truncate = s->truncate;
	e->beams = s->valid_beam;
	e->max_length = s->max_length;
	e->labels = s->task_id == HEC_TASK_CLASSIFY ? data->labels : NULL;
	hec_status status = open_sentences(e, s);
	if (status != HEC_OK || e->n == 0) {
		train_evaluator_close(e);
		return status;
	}
	*out = e;
	return HEC_OK;
}

/* ---- writing and comparing ---- */

/* A model may have more rows than there are words (T5: 32,128 for 32,100): these say nothing. */
static hec_status text_of(const hec_tokenizer *t, const hec_hypothesis *h, char **text)
{
	int32_t *words = malloc((size_t)h->n * sizeof *words + 1);
	size_t n = 0;
	if (!words)
		return train_no_memory("the sentences of --valid");
	for (int64_t i = 0; i < h->n; i++)
		if (hec_tokenizer_token(t, h->ids[i]))
			words[n++] = h->ids[i];
	hec_status status = hec_tokenizer_decode(t, words, n, true, text, NULL);
	free(words);
	return status;
}

static hec_status write_all(train_evaluator *e, hec_session *session)
{
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	hec_decoded *decoded;
	int32_t pad = hec_tokenizer_role(e->tokenizer, "pad");
	o.beams = e->beams;
	o.progress = interrupt_stops;
	o.forced_bos = e->forced;
	/* The padding is what a decoder starts with; it is no word. */
	o.suppress = &pad;
	o.suppressed = pad >= 0 ? 1 : 0;
	TRY(hec_decode(session, e->n, (const int32_t *const *)e->ids, e->lengths, &o, &decoded));
	hec_status status = HEC_OK;
	train_texts_free(e->written, e->n);
	for (int64_t i = 0; i < e->n && status == HEC_OK; i++)
		status = text_of(e->target, hec_decoded_at(decoded, i, 0), &e->written[i]);
	hec_decoded_free(decoded);
	return status;
}

/* One more than is learned, for the end; but a decoder has only so many places. */
static int64_t longest_target(const train_evaluator *e, const hec_model *model)
{
	const int64_t max = hec_stack_config_max_positions(&hec_model_config_of(model)->decoder);
	return max <= e->max_length ? max : e->max_length + 1;
}

static hec_status write_and_compare(train_evaluator *e, hec_ctx *ctx, const hec_model *model,
                                    hec_train_scores *scores)
{
	hec_session *session = NULL;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = e->n < SENTENCES_AT_ONCE ? e->n : SENTENCES_AT_ONCE;
	o.beams = e->beams;
	o.max_source = e->max_length;
	o.max_target = longest_target(e, model);
	TRY(hec_session_create(ctx, model, &o, &session));
	hec_status status = write_all(e, session);
	hec_session_destroy(session);
	return status == HEC_OK ? train_texts_compare(e->written, e->wanted, e->n, scores) : status;
}

/* ---- labels ---- */

static int64_t best_of(const float *logits, int64_t n)
{
	int64_t best = 0;
	for (int64_t i = 1; i < n; i++)
		if (logits[i] > logits[best])
			best = i;
	return best;
}

/* What is judged goes through the decoder as well, one place on. */
static hec_status read_again(hec_arena *arena, const hec_model_config *c, const hec_tensor *ids,
                             const int32_t *length, hec_model_input *input)
{
	const int64_t n = ids->shape[0], longest = ids->shape[1];
	TRY(hec_arena_tensor(arena, HEC_I32, 2, ids->shape, &input->decoder_ids));
	for (int64_t i = 0; i < n; i++)
		hec_model_config_shift(c, (const int32_t *)ids->data + i * longest, length[i],
		                       longest, (int32_t *)input->decoder_ids.data + i * longest);
	input->decoder_length = length;
	return HEC_OK;
}

/* Sentences first … first + n − 1, padded to the longest. */
static hec_status label_some(const train_evaluator *e, hec_ctx *ctx, hec_arena *arena,
                             const hec_model *model, int64_t first, int64_t n, int64_t *right)
{
	int64_t longest = 1, labels = hec_model_config_of(model)->labels;
	int32_t length[SENTENCES_AT_ONCE];
	for (int64_t i = 0; i < n; i++) {
		length[i] = (int32_t)e->lengths[first + i];
		longest = length[i] > longest ? length[i] : longest;
	}
	const hec_model_config *c = hec_model_config_of(model);
	hec_tensor ids;
	hec_model_input input = {.size = sizeof input};
	hec_model_output output = {.size = sizeof output};
	TRY(hec_arena_tensor(arena, HEC_I32, 2, (int64_t[]){n, longest}, &ids));
	TRY(hec_arena_tensor(arena, HEC_F32, 2, (int64_t[]){n, labels}, &output.logits));
	memset(ids.data, 0, (size_t)(n * longest) * sizeof(int32_t));
	for (int64_t i = 0; i < n; i++)
		memcpy((int32_t *)ids.data + i * longest, e->ids[first + i],
		       (size_t)length[i] * sizeof(int32_t));
	if (c->encoder.layers > 0) {
		input.ids = ids;
		input.length = length;
	} else {
		input.decoder_ids = ids;
		input.decoder_length = length;
	}
	if (c->encoder.layers > 0 && c->decoder.layers > 0)
		TRY(read_again(arena, c, &ids, length, &input));
	TRY(hec_model_fwd(ctx, arena, model, &input, NULL, &output, NULL));
	for (int64_t i = 0; i < n; i++) {
		int64_t best = best_of((const float *)output.logits.data + i * labels, labels);
		const char *label = hec_model_label(model, best);
		*right += label && strcmp(label, e->wanted[first + i]) == 0;
	}
	return HEC_OK;
}

static hec_status label_and_compare(const train_evaluator *e, hec_ctx *ctx, const hec_model *model,
                                    hec_train_scores *scores)
{
	hec_arena *arena;
	int64_t right = 0;
	TRY(reserve_arena(&arena));
	hec_status status = HEC_OK;
	for (int64_t i = 0; i < e->n && status == HEC_OK; i += SENTENCES_AT_ONCE) {
		int64_t n = e->n - i < SENTENCES_AT_ONCE ? e->n - i : SENTENCES_AT_ONCE;
		hec_arena_rewind(arena, 0);
		status = label_some(e, ctx, arena, model, i, n, &right);
	}
	hec_arena_destroy(arena);
	if (status == HEC_OK)
		hec_train_scores_set(scores, HEC_METRIC_ACCURACY,
		                     100 * (double)right / (double)e->n);
	return status;
}

hec_status train_evaluate(train_evaluator *e, hec_ctx *ctx, const hec_model *model,
                          hec_train_scores *scores)
{
	return e->labels ? label_and_compare(e, ctx, model, scores)
	                 : write_and_compare(e, ctx, model, scores);
}
