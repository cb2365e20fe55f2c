/* transcribe.c — samples → log-mel → windows → encoder → search ⇄ decoder → segments → text (transcribing.h). */
#include <hecate/transcribe.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "model/model.h"
#include "task/transcribing.h"

#define HOTTEST 100 /* temperature */
#define COOLEST 1e-3
#define LATEST_BEGIN 1.0 /* seconds of the first time, where no file says it */

static const double usual_temperatures[] = {0, 0.2, 0.4, 0.6, 0.8, 1};
static const double cold[] = {0};

struct hec_transcripts {
	transcript *items; /* [count] */
	int64_t count;
};

/* ---- a round of windows ---- */

static void apply_rules(void *user, int64_t source, const int32_t *written, int64_t n,
                        float *logits, int64_t vocab)
{
	const transcribe_call *call = user;
	const written_window *w = &call->round[call->live[source]];
	whisper_rules(&call->rules, call->sounds[w->sound].times, written, n, logits, vocab);
}

static double seconds_done(const transcribe_call *call)
{
	double sum = 0;
	for (int64_t i = 0; i < call->n; i++) {
		const sound_state *sound = &call->sounds[i];
		double all = (double)sound->count / (double)call->t->config.mel.rate;
		sum += sound->done ? all
		                   : fmin(whisper_seconds(&call->t->config, sound->seek), all);
	}
	return sum;
}

static hec_status report(const transcribe_call *call)
{
	const int64_t done = llround(1000 * seconds_done(call)),
		      all = llround(1000 * call->seconds);
	const hec_status status =
		call_progress(call->o.progress, call->o.user, "milliseconds", done, all);
	return status == HEC_OK ? status : fail_in(status, "transcribe");
}

/* Of the search within a round: that it still runs. */
static hec_status on_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)phase, (void)done, (void)total;
	return report(user);
}

/* Picks the next windows, and ends what has none left. *who: the sound whose turn it is. */
static hec_status gather(transcribe_call *call, int64_t *who)
{
	call->count = 0;
	for (int64_t i = 0; i < call->n && call->count < call->o.batch; i++) {
		sound_state *sound = &call->sounds[i];
		*who = i;
		if (!sound->done && !sound->begun)
			HEC_TRY(sound_begin(call, sound));
		while (!sound->done && sound->seek < sound->features.frames &&
		       whisper_is_silent(&sound->features, sound->seek,
		                         sound_frames_left(call, sound)))
			sound->seek += sound_frames_left(call, sound);
		if (!sound->done && sound->seek >= sound->features.frames)
			HEC_TRY(sound_end(call, sound));
		if (!sound->done) {
			int32_t *begin = call->begins + call->count * call->room;
			call->round[call->count++] =
				(written_window){.sound = i, .no_speech = -1, .begin = begin};
		}
	}
	*who = -1;
	return HEC_OK;
}

static hec_status run_all(transcribe_call *call)
{
	for (;;) {
		int64_t who = -1;
		hec_status status = gather(call, &who);
		if (status != HEC_OK)
			return status == HEC_ERR_MEMORY ? status : fail_item(status, who);
		HEC_TRY(report(call));
		if (call->count == 0)
			return HEC_OK;
		HEC_TRY(round_run(call));
	}
}

/* ---- a call ---- */

static hec_status take_temperatures(hec_transcribe_options *o, double out[TEMPERATURES_MOST])
{
	if (o->plain) {
		o->temperatures = cold;
		o->temperature_count = 1;
	} else if (!o->temperatures) {
		o->temperatures = usual_temperatures;
		o->temperature_count = sizeof usual_temperatures / sizeof *usual_temperatures;
	}
	const size_t n = o->temperature_count;
	if (n < 1 || n > TEMPERATURES_MOST)
		return fail(HEC_ERR_ARGUMENT, "transcribe: %zu temperatures; 1 to %d are possible",
		            n, TEMPERATURES_MOST);
	for (size_t i = 0; i < n; i++) {
		const double t = out[i] = o->temperatures[i];
		if (t != 0 && !(t >= COOLEST && t <= HOTTEST))
			return fail(
				HEC_ERR_ARGUMENT,
				"transcribe: temperature %zu is %g; 0 and %g to %d are possible",
				i + 1, t, COOLEST, HOTTEST);
	}
	return HEC_OK;
}

static hec_status check_thresholds(const hec_transcribe_options *o)
{
	if (!(o->no_speech >= 0) || !(o->least_log_prob <= 0))
		return fail(HEC_ERR_ARGUMENT, "transcribe: no_speech %g, least_log_prob %g",
		            o->no_speech, o->least_log_prob);
	if (!(o->max_compression > 0))
		return fail(HEC_ERR_ARGUMENT,
		            "transcribe: max_compression is %g; it is more than 0",
		            o->max_compression);
	if (!(o->silence >= 0))
		return fail(HEC_ERR_ARGUMENT, "transcribe: silence of %g seconds", o->silence);
	if (o->silence > 0 && !o->words)
		return fail(HEC_ERR_ARGUMENT,
		            "transcribe: silence around words needs the times of words");
	return HEC_OK;
}

static hec_status take_options(const hec_transcriber *t, const hec_transcribe_options *given,
                               transcribe_call *call)
{
	hec_transcribe_options *o = &call->o;
	*o = (hec_transcribe_options)HEC_TRANSCRIBE_OPTIONS_INIT;
	HEC_TRY(options_take("hec_transcribe_options", o, sizeof *o, given));
	if (o->batch < 1 || o->batch > TRANSCRIBE_BATCH_MOST)
		return fail(HEC_ERR_ARGUMENT, "transcribe: a batch of %lld; 1 to %d are possible",
		            (long long)o->batch, TRANSCRIBE_BATCH_MOST);
	if (o->beams < 0 || o->max_tokens < 0)
		return fail(HEC_ERR_ARGUMENT, "transcribe: %lld beams, %lld tokens",
		            (long long)o->beams, (long long)o->max_tokens);
	if (o->best_of < 1 || o->best_of > BEST_OF_MOST)
		return fail(HEC_ERR_ARGUMENT, "transcribe: best of %lld; 1 to %d are possible",
		            (long long)o->best_of, BEST_OF_MOST);
	HEC_TRY(check_thresholds(o));
	HEC_TRY(take_temperatures(o, call->temperatures));
	if (o->plain)
		o->max_compression = INFINITY;
	return whisper_choose(&t->config, o->language, o->task, &call->choice);
}

/* What openai-whisper does where the files leave it open, or say otherwise. */
static void make_rules(transcribe_call *call)
{
	const whisper_config *c = &call->t->config;
	call->rules = *c;
	call->room = hec_model_config_of(call->t->m.model)->decoder.position.max;
	if (call->o.plain)
		return;
	if (c->max_initial < 0)
		call->rules.max_initial = llround(LATEST_BEGIN / whisper_seconds(c, 2));
	if (call->choice.task < 0 && c->multilingual)
		call->choice.task = c->transcribe;
	/* Half of the room for what was written before, but always some to write. */
	if (call->o.previous && c->previous >= 0)
		call->previous =
			max_i64(0, min_i64(call->room / 2 - 1, call->room - TRANSCRIPT_PROMPT - 2));
}

static void make_decode(transcribe_call *call)
{
	const whisper_config *c = &call->t->config;
	const bool plain = call->o.plain;
	hec_decode_options *d = &call->decode;
	*d = c->generation.options;
	if (call->o.beams > 0)
		d->beams = call->o.beams;
	d->nbest = 1;
	d->forced_bos = d->forced_eos = -1;
	d->min_tokens = 0;
	d->begin_suppressed = 0; /* whisper_rules does it */
	d->max_tokens = -1;      /* max_tokens_each says it for each window */
	d->top_k = -1;
	d->top_p = 1;
	d->min_p = 0;
	d->seed = call->o.seed;
	d->renormalize = d->renormalize || !plain;
	d->score_what_is_left = !plain;
	call->longest = call->o.max_tokens > 0 ? call->o.max_tokens
	                : !plain               ? max_i64(1, call->room / 2)
	                : c->max_length > 0    ? c->max_length
	                                       : INT64_MAX;
	d->process = apply_rules;
	d->progress = on_progress;
	d->user = call;
}

static float *take_floats(int64_t a, int64_t b, int64_t c)
{
	size_t n, bytes;
	return size_mul((size_t)a, (size_t)b, &n) && size_mul(n, (size_t)c, &n) &&
	                       size_mul(n, sizeof(float), &bytes)
	               ? mem_alloc(bytes)
	               : NULL;
}

static hec_status make_memory(transcribe_call *call, const float *const *samples,
                              const int64_t *counts)
{
	const whisper_config *c = &call->t->config;
	const int64_t windows = min_i64(call->o.batch, max_i64(call->n, 1));
	call->sounds = mem_zeros((size_t)call->n + 1, sizeof *call->sounds);
	call->features = take_floats(windows, c->mel.mels, c->window);
	call->logits = take_floats(windows, hec_model_config_of(call->t->m.model)->vocab,
	                           call->decode.beams);
	call->begins = (int32_t *)take_floats(windows, call->room, 1);
	call->round = mem_zeros((size_t)windows, sizeof *call->round);
	if (!call->sounds || !call->features || !call->logits || !call->begins || !call->round)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for %lld sounds",
		            (long long)call->n);
	for (int64_t i = 0; i < call->n; i++) {
		call->sounds[i] = (sound_state){.samples = samples[i],
		                                .count = counts[i],
		                                .language = -1,
		                                .out = &call->out[i]};
		call->seconds += (double)counts[i] / (double)c->mel.rate;
	}
	return call->o.words ? word_finder_create(call, &call->finder) : HEC_OK;
}

static hec_status check_sounds(int64_t n, const float *const *samples, const int64_t *counts)
{
	if (n < 0 || (n > 0 && (!samples || !counts)))
		return fail(HEC_ERR_ARGUMENT, "transcribe: %lld sounds, samples or counts is NULL",
		            (long long)n);
	for (int64_t i = 0; i < n; i++)
		if (counts[i] < 0 || (counts[i] > 0 && !samples[i])) {
			fail(HEC_ERR_ARGUMENT, "transcribe: a sound of %lld samples%s",
			     (long long)counts[i], samples[i] ? "" : " that is NULL");
			return fail_item(HEC_ERR_ARGUMENT, i);
		}
	return HEC_OK;
}

static hec_status transcribe(transcribe_call *call, const float *const *samples,
                             const int64_t *counts)
{
	make_rules(call);
	make_decode(call);
	HEC_TRY(round_session(call, call->decode.beams));
	HEC_TRY(make_memory(call, samples, counts));
	return run_all(call);
}

static void transcribe_call_free(transcribe_call *call)
{
	for (int64_t i = 0; call->sounds && i < call->n; i++) {
		whisper_features_free(&call->sounds[i].features);
		mem_free(call->sounds[i].previous);
	}
	mem_free(call->sounds);
	mem_free(call->features);
	mem_free(call->logits);
	mem_free(call->begins);
	mem_free(call->round);
	word_finder_destroy(call->finder);
	mem_free(call);
}

static hec_status transcripts_create(int64_t count, hec_transcripts **out)
{
	hec_transcripts *t = mem_zeros(1, sizeof *t);
	if (t)
		t->items = mem_zeros((size_t)count + 1, sizeof *t->items);
	if (!t || !t->items) {
		mem_free(t);
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for %lld sounds",
		            (long long)count);
	}
	t->count = count;
	*out = t;
	return HEC_OK;
}

hec_status hec_transcribe(hec_transcriber *transcriber, int64_t n, const float *const *samples,
                          const int64_t *counts, const hec_transcribe_options *options,
                          hec_transcripts **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "transcribe: out is NULL");
	*out = NULL;
	if (!transcriber)
		return fail(HEC_ERR_ARGUMENT, "transcribe: transcriber is NULL");
	HEC_TRY(check_sounds(n, samples, counts));
	transcribe_call *call = mem_zeros(1, sizeof *call); /* too large for some stacks */
	if (!call)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory");
	call->t = transcriber;
	call->n = n;
	hec_transcripts *made = NULL;
	hec_status status = take_options(transcriber, options, call);
	if (status == HEC_OK)
		status = transcripts_create(n, &made);
	if (status == HEC_OK) {
		call->out = made->items;
		status = transcribe(call, samples, counts);
	}
	transcribe_call_free(call);
	if (status == HEC_OK)
		*out = made;
	else
		hec_transcripts_free(made);
	return status;
}

const hec_transcript *hec_transcripts_at(const hec_transcripts *transcripts, int64_t sound)
{
	if (!transcripts || sound < 0 || sound >= transcripts->count)
		return NULL;
	return &transcripts->items[sound].seen;
}

void hec_transcripts_free(hec_transcripts *transcripts)
{
	if (!transcripts)
		return;
	for (int64_t i = 0; i < transcripts->count; i++)
		transcript_free(&transcripts->items[i]);
	mem_free(transcripts->items);
	mem_free(transcripts);
}
