/* transcribe_round.c — windows of several sounds, written together until each is good enough.
 *
 *     features → encoder, once → ┌ search or draw → judge ┐→ segments
 *                                └── next temperature ←───┘
 *
 * The encoder's work stays in the session while a window is written again. Windows that are settled leave it. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "model/model.h"
#include "task/transcribing.h"
#include "task/written_text.h"

/* ---- the session ---- */

static hec_status make_session(const transcribe_call *call, int64_t beams, hec_session **session)
{
	hec_session_options o = HEC_SESSION_OPTIONS_INIT, has;
	o.sources = min_i64(call->o.batch, max_i64(call->n, 1));
	o.beams = beams;
	o.keep_attention = call->o.words;
	if (*session) {
		hec_session_options_of(*session, &has, sizeof has);
		if (has.sources == o.sources && has.beams == o.beams &&
		    has.keep_attention == o.keep_attention)
			return HEC_OK;
	}
	hec_session_destroy(*session);
	*session = NULL;
	return hec_session_create(call->t->m.ctx, call->t->m.model, &o, session);
}

/* Drawing takes one row for each window: where the search has more, it gets a session of its own. */
hec_status round_session(transcribe_call *call, int64_t beams)
{
	hec_session **session = beams == call->decode.beams ? &call->t->session : &call->t->drawing;
	HEC_TRY(make_session(call, beams, session));
	call->session = *session;
	return HEC_OK;
}

/* All that are live, anew. */
static hec_status start_windows(const transcribe_call *call)
{
	HEC_TRY(hec_session_keep(call->session, NULL, 0));
	for (int64_t i = 0; i < call->live_count; i++) {
		const sound_state *sound = &call->sounds[call->round[call->live[i]].sound];
		const hec_tensor x = sound_window(call, sound, i),
				 one = hec_tensor_3d(x.data, HEC_F32, 1, x.shape[0], x.shape[1]);
		HEC_TRY(hec_session_add_features(call->session, 1, &one));
	}
	return HEC_OK;
}

hec_status round_feed(const transcribe_call *call, const int32_t *const *ids, const int64_t *counts,
                      bool anew)
{
	hec_session *s = call->session;
	const int64_t beams = session_options(s)->beams, sources = hec_session_sources(s),
		      rows = sources * beams;
	int64_t T = 1;
	for (int64_t i = 0; i < sources; i++)
		T = max_i64(T, counts[i]);
	int32_t *fed = mem_zeros((size_t)(rows * T), sizeof *fed),
		*take = mem_zeros((size_t)rows, sizeof *take);
	for (int64_t i = 0; fed && take && i < sources; i++) {
		take[i * beams] = (int32_t)counts[i];
		if (counts[i] > 0)
			memcpy(fed + i * beams * T, ids[i], (size_t)counts[i] * sizeof *fed);
	}
	hec_tensor in = hec_tensor_2d(fed, HEC_I32, rows, T),
		   logits = hec_tensor_2d(call->logits, HEC_F32, rows,
	                                  hec_model_config_of(call->t->m.model)->vocab);
	hec_status status =
		fed && take ? HEC_OK : fail(HEC_ERR_MEMORY, "transcribe: no memory for a step");
	if (status == HEC_OK && anew)
		status = hec_session_rewind(s);
	if (status == HEC_OK)
		status = hec_session_step(s, &in, take, &logits);
	mem_free(fed);
	mem_free(take);
	return status;
}

/* ---- writing ---- */

/* What a draw depends on: the sound's number, its window and the try. 2²⁴ sounds share none. */
static uint64_t stream_of(const transcribe_call *call, const sound_state *sound,
                          int64_t temperature, int64_t draw)
{
	const uint64_t number = call->o.first + (uint64_t)(sound - call->sounds);
	return number << 40 | ((uint64_t)sound->window & 0xFFFFFFF) << 12 |
	       (uint64_t)(temperature * BEST_OF_MOST + draw);
}

static hec_status decode_live(const transcribe_call *call, int64_t temperature, int64_t draw,
                              hec_decoded **out)
{
	const int32_t *prompts[TRANSCRIBE_BATCH_MOST];
	int64_t lengths[TRANSCRIBE_BATCH_MOST], most[TRANSCRIBE_BATCH_MOST];
	uint64_t streams[TRANSCRIBE_BATCH_MOST];
	hec_decode_options o = call->decode;
	for (int64_t i = 0; i < call->live_count; i++) {
		const written_window *w = &call->round[call->live[i]];
		prompts[i] = w->begin;
		lengths[i] = w->begin_length;
		/* The last token is written, but not fed; Transformers does not count so. */
		most[i] = min_i64(call->longest, call->room + !call->o.plain - w->begin_length);
		streams[i] = stream_of(call, &call->sounds[w->sound], temperature, draw);
	}
	o.prompts = prompts;
	o.prompt_lengths = lengths;
	o.max_tokens_each = most;
	o.streams = streams;
	if (call->temperatures[temperature] > 0) {
		o.sample = true;
		o.temperature = call->temperatures[temperature];
		o.beams = 1;
	}
	hec_status status = hec_decode_live(call->session, &o, out);
	if (status == HEC_OK || hec_error_item() < 0)
		return status;
	return fail_item(status, call->round[call->live[hec_error_item()]].sound);
}

/* Σ log p of what was written. */
static double sum_of(const transcribe_call *call, const hec_hypothesis *h)
{
	return h->n > 0 ? h->score * pow((double)h->n, call->decode.length_penalty) : 0;
}

/* Takes it where it is the best so far, by the mean of a token. */
static hec_status take_draw(const transcribe_call *call, written_window *w, const hec_hypothesis *h,
                            bool first, double *best)
{
	const whisper_config *c = &call->t->config;
	const bool ends = h->n > 0 && h->ids[h->n - 1] == c->end;
	const int64_t n = h->n - ends;
	const double sum = sum_of(call, h), mean = sum / (double)max_i64(n, 1);
	if (!first && mean <= *best)
		return HEC_OK;
	int32_t *ids = mem_resize(w->ids, ((size_t)n + 1) * sizeof *ids);
	if (!ids)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for %lld tokens", (long long)n);
	if (n > 0)
		memcpy(ids, h->ids, (size_t)n * sizeof *ids);
	w->ids = ids;
	w->n = n;
	w->log_prob = sum / (double)(call->o.plain ? max_i64(h->n, 1) : n + 1);
	*best = mean;
	return HEC_OK;
}

static hec_status write_windows(const transcribe_call *call, int64_t temperature)
{
	const int64_t draws = call->temperatures[temperature] > 0 ? call->o.best_of : 1;
	double best[TRANSCRIBE_BATCH_MOST];
	hec_status status = HEC_OK;
	for (int64_t draw = 0; draw < draws && status == HEC_OK; draw++) {
		hec_decoded *decoded = NULL;
		status = decode_live(call, temperature, draw, &decoded);
		for (int64_t i = 0; status == HEC_OK && i < call->live_count; i++)
			status = take_draw(call, &call->round[call->live[i]],
			                   hec_decoded_at(decoded, i, 0), draw == 0, &best[i]);
		hec_decoded_free(decoded);
	}
	return status;
}

/* ---- judging ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static hec_status measure_text(const transcribe_call *call, written_window *w)
{
	const int32_t first_time = call->t->config.no_timestamps + 1;
	int64_t n = 0;
	int32_t *spoken = mem_alloc(((size_t)w->n + 1) * sizeof *spoken);
	char *text = NULL;
	size_t bytes = 0, begin = 0;
	if (!spoken)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for a text");
	for (int64_t i = 0; i < w->n; i++)
		if (w->ids[i] < first_time)
			spoken[n++] = w->ids[i];
	hec_status status = written_text(call->t->m.tokenizer, spoken, n, &text, &bytes);
	mem_free(spoken);
	HEC_TRY(status);
	while (bytes > 0 && is_blank(text[bytes - 1]))
		bytes--;
	while (begin < bytes && is_blank(text[begin]))
		begin++;
	status = whisper_compression(text + begin, bytes - begin, &w->compression);
	mem_free(text);
	return status;
}

double id_probability(const float *logits, int64_t vocab, int32_t id)
{
	double most = -INFINITY, sum = 0;
	for (int64_t i = 0; i < vocab; i++)
		most = fmax(most, (double)logits[i]);
	for (int64_t i = 0; i < vocab; i++)
		sum += exp((double)logits[i] - most);
	return exp((double)logits[id] - most) / sum;
}

static bool is_unlikely(const transcribe_call *call, const written_window *w)
{
	return call->o.no_speech <= 1 && w->n > 0 && w->log_prob < call->o.least_log_prob;
}

/* Whether the model itself says that nobody speaks, right behind the start: asked only where its words are
 * unlikely, and once for each window, as it says the same to each try. */
static hec_status ask_who_speaks(const transcribe_call *call)
{
	const int32_t *ids[TRANSCRIBE_BATCH_MOST];
	int64_t counts[TRANSCRIBE_BATCH_MOST], asked = 0;
	const int64_t beams = session_options(call->session)->beams,
		      vocab = hec_model_config_of(call->t->m.model)->vocab;
	for (int64_t i = 0; i < call->live_count; i++) {
		written_window *w = &call->round[call->live[i]];
		const bool ask = is_unlikely(call, w) && w->no_speech < 0;
		ids[i] = w->begin;
		counts[i] = ask ? w->start + 1 : 0;
		asked += ask;
	}
	if (asked > 0)
		HEC_TRY(round_feed(call, ids, counts, true));
	for (int64_t i = 0; i < call->live_count; i++) {
		written_window *w = &call->round[call->live[i]];
		if (counts[i] > 0)
			w->no_speech = id_probability(call->logits + i * beams * vocab, vocab,
			                              call->t->config.no_timestamps - 1);
		w->nobody = is_unlikely(call, w) && w->no_speech > call->o.no_speech;
	}
	return HEC_OK;
}

static hec_status cut_window(const transcribe_call *call, written_window *w)
{
	const sound_state *sound = &call->sounds[w->sound];
	w->segments = mem_zeros((size_t)w->n + 1, sizeof *w->segments);
	if (!w->segments)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for segments");
	w->cut = whisper_segments(&call->t->config, call->o.plain, w->ids, w->n, sound->seek,
	                          sound_frames_left(call, sound), w->segments);
	return HEC_OK;
}

static hec_status judge(const transcribe_call *call, int64_t temperature, bool last)
{
	HEC_TRY(ask_who_speaks(call));
	for (int64_t i = 0; i < call->live_count; i++) {
		written_window *w = &call->round[call->live[i]];
		HEC_TRY(measure_text(call, w));
		w->temperature = call->temperatures[temperature];
		w->settled = last || w->nobody ||
		             (w->compression <= call->o.max_compression &&
		              w->log_prob >= call->o.least_log_prob);
		if (w->settled)
			HEC_TRY(cut_window(call, w));
	}
	return HEC_OK;
}

/* Settled windows leave the session. */
static hec_status keep_unsettled(transcribe_call *call)
{
	int64_t keep[TRANSCRIBE_BATCH_MOST], n = 0;
	for (int64_t i = 0; i < call->live_count; i++)
		if (!call->round[call->live[i]].settled) {
			keep[n] = i;
			call->live[n++] = call->live[i];
		}
	const bool all = n == call->live_count;
	call->live_count = n;
	return all ? HEC_OK : hec_session_keep(call->session, keep, n);
}

/* ---- a round ---- */

static hec_status write_round(transcribe_call *call)
{
	const int64_t tries = (int64_t)call->o.temperature_count;
	for (int64_t t = 0; t < tries && call->live_count > 0; t++) {
		const int64_t beams = call->temperatures[t] > 0 ? 1 : call->decode.beams;
		const hec_session *before = t > 0 ? call->session : NULL;
		HEC_TRY(round_session(call, beams));
		if (call->session != before)
			HEC_TRY(start_windows(call));
		HEC_TRY(write_windows(call, t));
		HEC_TRY(judge(call, t, t + 1 == tries));
		if (call->finder)
			HEC_TRY(words_find(call));
		HEC_TRY(keep_unsettled(call));
	}
	return HEC_OK;
}

static void clear_window(written_window *w)
{
	mem_free(w->ids);
	mem_free(w->segments);
	whisper_words_free(&w->words);
}

hec_status round_run(transcribe_call *call)
{
	hec_status status = HEC_OK;
	call->live_count = call->count;
	for (int64_t i = 0; i < call->count && status == HEC_OK; i++) {
		written_window *w = &call->round[i];
		call->live[i] = i;
		status = sound_prompt(call, &call->sounds[w->sound], w);
	}
	if (status == HEC_OK)
		status = write_round(call);
	for (int64_t i = 0; i < call->count && status == HEC_OK; i++)
		status = sound_take(call, &call->sounds[call->round[i].sound], &call->round[i]);
	for (int64_t i = 0; i < call->count; i++)
		clear_window(&call->round[i]);
	return status;
}
