/* transcribe_words.c — the text of a window once more through the decoder, its heads kept.
 *
 * The model is fed the text without times, token by token, of all settled windows at once; that gives each token's
 * probability, and the session keeps what the cross-attention of every layer looked at. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/size.h"
#include "model/model.h"
#include "task/transcribing.h"

struct word_finder {
	bool *heads; /* [layers, heads] those that are asked */
	int64_t layers, head_count;
	int64_t rows, frames;   /* the most: tokens, and positions of the encoder */
	float *weights;         /* [heads, rows, frames] of a layer */
	float *matrix, *work;   /* [rows, frames], [2 · frames] */
	float *cost;            /* [2, rows + 1] */
	int8_t *trace;          /* [rows + 1, frames + 1] */
	int32_t *starts;        /* [rows] frames */
	double *begins;         /* [rows + 1] seconds */
	int32_t *fed;           /* [batch, rows] what each window is fed: */
	double *probabilities;  /* [batch, rows] of each of its words; */
	int64_t *length, *text; /* [batch] tokens in all, and those of words */
};

/* ---- which heads, how much memory ---- */

static hec_status take_heads(const transcribe_call *call, word_finder *f)
{
	const whisper_config *c = &call->t->config;
	for (size_t i = 0; i < c->alignment_count; i++) {
		const struct whisper_head *h = &c->alignment[i];
		if (h->layer < 0 || h->layer >= f->layers || h->head < 0 ||
		    h->head >= f->head_count)
			return fail(
				HEC_ERR_FORMAT,
				"transcribe: alignment_heads[%zu] of generation_config.json is "
				"layer %lld, head %lld; the decoder has %lld layers of %lld heads",
				i, (long long)h->layer, (long long)h->head, (long long)f->layers,
				(long long)f->head_count);
		f->heads[h->layer * f->head_count + h->head] = true;
	}
	/* Nobody says which: those of the upper half. */
	for (int64_t i = f->layers / 2 * f->head_count;
	     c->alignment_count == 0 && i < f->layers * f->head_count; i++)
		f->heads[i] = true;
	return HEC_OK;
}

/* Numbers of so many bytes each; *total counts all that was asked for. */
static void *take(int64_t a, int64_t b, size_t each, size_t *total)
{
	size_t n, bytes;
	if (!size_mul((size_t)a, (size_t)b, &n) || !size_mul(n, each, &bytes) ||
	    !size_add(*total, bytes, total))
		return NULL;
	return mem_zeros(n > 0 ? n : 1, each);
}

#define TAKE(to, a, b) ((to) = take(a, b, sizeof *(to), &total))

static hec_status take_memory(const transcribe_call *call, word_finder *f)
{
	const int64_t batch = call->o.batch, rows = f->rows, frames = f->frames;
	size_t total = 0;
	const bool all = TAKE(f->heads, f->layers, f->head_count) &&
	                 TAKE(f->weights, f->head_count * rows, frames) &&
	                 TAKE(f->matrix, rows, frames) && TAKE(f->work, ALIGN_WORK(frames), 1) &&
	                 TAKE(f->cost, rows + 1, 2) && TAKE(f->trace, rows + 1, frames + 1) &&
	                 TAKE(f->starts, rows, 1) && TAKE(f->begins, rows + 1, 1) &&
	                 TAKE(f->fed, batch, rows) && TAKE(f->probabilities, batch, rows) &&
	                 TAKE(f->length, batch, 1) && TAKE(f->text, batch, 1);
	if (!all)
		return fail(HEC_ERR_MEMORY,
		            "transcribe: no memory for the times of %lld tokens in %lld frames",
		            (long long)rows, (long long)frames);
	log_line(HEC_LOG_DEBUG, "transcribe: times of words: %.1f MB", (double)total / 1e6);
	return HEC_OK;
}

hec_status word_finder_create(const transcribe_call *call, word_finder **out)
{
	const hec_model_config *c = hec_model_config_of(call->t->m.model);
	word_finder *f = mem_zeros(1, sizeof *f);
	if (!f)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for times of words");
	f->layers = c->decoder.layers;
	f->head_count = c->decoder.attention.heads;
	f->rows = call->room;
	f->frames = c->encoder.position.max;
	hec_status status = take_memory(call, f);
	if (status == HEC_OK)
		status = take_heads(call, f);
	if (status == HEC_OK)
		*out = f;
	else
		word_finder_destroy(f);
	return status;
}

void word_finder_destroy(word_finder *f)
{
	if (!f)
		return;
	void *const all[] = {f->heads, f->weights,       f->matrix, f->work,
	                     f->cost,  f->trace,         f->starts, f->begins,
	                     f->fed,   f->probabilities, f->length, f->text};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		mem_free(all[i]);
	mem_free(f);
}

/* ---- feeding ---- */

static bool is_text(const transcribe_call *call, int32_t id)
{
	return id < call->t->config.end;
}

/* What the window's segments say, with what stands before and behind it; what is beyond the model's room is
 * left out. */
static void lay_out(const transcribe_call *call, const written_window *w, int64_t i)
{
	word_finder *f = call->finder;
	int32_t *to = f->fed + i * f->rows;
	int64_t n = w->begin_length - w->start;
	f->text[i] = f->length[i] = 0;
	if (n + 2 > f->rows) /* so small a model has no room for the marks around the words */
		return;
	memcpy(to, w->begin + w->start, (size_t)n * sizeof *to);
	to[n++] = call->t->config.no_timestamps;
	const int64_t before = n;
	for (int64_t s = 0; s < w->cut.count; s++)
		for (int64_t k = w->segments[s].from; k < w->segments[s].to; k++)
			if (is_text(call, w->ids[k]) && n + 1 < f->rows)
				to[n++] = w->ids[k];
	f->text[i] = n - before;
	to[n++] = call->t->config.end;
	f->length[i] = f->text[i] > 0 ? n : 0;
}

/* Token by token, all windows at once: what stands before the words in one go. */
static hec_status feed_all(const transcribe_call *call)
{
	word_finder *f = call->finder;
	const int32_t *ids[TRANSCRIBE_BATCH_MOST];
	int64_t counts[TRANSCRIBE_BATCH_MOST], at[TRANSCRIBE_BATCH_MOST] = {0};
	const int64_t vocab = hec_model_config_of(call->t->m.model)->vocab,
		      beams = session_options(call->session)->beams;
	for (bool first = true, more = true; more; first = false) {
		more = false;
		for (int64_t i = 0; i < call->live_count; i++) {
			const int64_t left = f->length[i] - at[i];
			ids[i] = f->fed + i * f->rows + at[i];
			counts[i] = left <= 0 ? 0 : first ? left - f->text[i] - 1 : 1;
			more = more || counts[i] > 0;
		}
		if (more)
			HEC_TRY(round_feed(call, ids, counts, first));
		for (int64_t i = 0; i < call->live_count; i++) {
			at[i] += counts[i];
			const int64_t word = at[i] - (f->length[i] - f->text[i] - 1);
			if (counts[i] > 0 && word < f->text[i])
				f->probabilities[i * f->rows + word] = id_probability(
					call->logits + i * beams * vocab, call->t->config.end,
					f->fed[i * f->rows + at[i]]);
		}
	}
	return HEC_OK;
}

/* ---- where the heads looked ---- */

static hec_status look(const transcribe_call *call, int64_t i, int64_t frames)
{
	word_finder *f = call->finder;
	const int64_t T = f->length[i], row = i * session_options(call->session)->beams;
	memset(f->matrix, 0, (size_t)(T * frames) * sizeof *f->matrix);
	for (int64_t l = 0; l < f->layers; l++) {
		const bool *wanted = f->heads + l * f->head_count;
		if (!memchr(wanted, true, (size_t)f->head_count))
			continue;
		hec_tensor out = hec_tensor_3d(f->weights, HEC_F32, f->head_count, T, f->frames);
		HEC_TRY(hec_session_weights(call->session, HEC_ATTENTION_CROSS, l, row, &out));
		for (int64_t h = 0; h < f->head_count; h++)
			if (wanted[h])
				whisper_align_add(f->weights + h * T * f->frames, T, f->frames,
				                  frames, f->matrix, f->work);
	}
	return HEC_OK;
}

/* The rows that say something of the words: each looks for the token that follows it. */
static hec_status find_begins(const transcribe_call *call, const written_window *w, int64_t i)
{
	word_finder *f = call->finder;
	const sound_state *sound = &call->sounds[w->sound];
	const int64_t frames = min_i64(sound_frames_left(call, sound) / 2, f->frames),
		      rows = f->text[i] + 1, first = f->length[i] - rows - 1;
	memset(f->begins, 0, (size_t)(rows + 1) * sizeof *f->begins);
	if (frames < 1)
		return HEC_OK;
	HEC_TRY(look(call, i, frames));
	whisper_align_path(f->matrix + first * frames, rows, frames, f->trace, f->cost, f->starts);
	for (int64_t r = 0; r < rows; r++)
		f->begins[r] = whisper_seconds(&call->t->config, 2 * f->starts[r]);
	return HEC_OK;
}

/* How many tokens of each segment are words. */
static int64_t *count_tokens(const transcribe_call *call, const written_window *w)
{
	int64_t *tokens = mem_zeros((size_t)w->cut.count + 1, sizeof *tokens);
	for (int64_t s = 0; tokens && s < w->cut.count; s++)
		for (int64_t k = w->segments[s].from; k < w->segments[s].to; k++)
			tokens[s] += is_text(call, w->ids[k]);
	return tokens;
}

static hec_status find_in_window(const transcribe_call *call, written_window *w, int64_t i)
{
	word_finder *f = call->finder;
	const whisper_config *c = &call->t->config;
	const sound_state *sound = &call->sounds[w->sound];
	HEC_TRY(find_begins(call, w, i));
	int64_t *tokens = count_tokens(call, w);
	if (!tokens)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for words");
	const whisper_spoken spoken = {.ids = f->fed + i * f->rows + f->length[i] - f->text[i] - 1,
	                               .probabilities = f->probabilities + i * f->rows,
	                               .begins = f->begins,
	                               .n = f->text[i],
	                               .tokens = tokens,
	                               .segments = w->cut.count};
	const hec_status status =
		whisper_words_make(call->t->m.tokenizer, &spoken,
	                           whisper_language_code(c, sound->language), &w->words);
	mem_free(tokens);
	if (status == HEC_OK)
		whisper_words_place(&w->words, w->segments, w->cut.count,
		                    whisper_seconds(c, sound->seek), sound->spoken,
		                    (double)sound->count / (double)c->mel.rate);
	return status;
}

hec_status words_find(transcribe_call *call)
{
	word_finder *f = call->finder;
	bool any = false;
	for (int64_t i = 0; i < call->live_count; i++) {
		const written_window *w = &call->round[call->live[i]];
		f->length[i] = f->text[i] = 0;
		if (w->settled && !w->nobody)
			lay_out(call, w, i);
		any = any || f->length[i] > 0;
	}
	if (!any)
		return HEC_OK;
	HEC_TRY(feed_all(call));
	for (int64_t i = 0; i < call->live_count; i++)
		if (f->length[i] > 0)
			HEC_TRY(find_in_window(call, &call->round[call->live[i]], i));
	return HEC_OK;
}
