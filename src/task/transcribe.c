/* transcribe.c — samples → log-mel → windows → encoder → search ⇄ decoder → segments → text.
 *
 * A sound's windows depend on one another (where one ends, the next begins), so what runs side by side
 * are windows of different sounds: each round takes the next window of each of the first `batch` sounds
 * that are not done. */
#include "task/transcriber.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "model/model.h"
#include "task/transcript.h"

#define BATCH_MOST 256

struct hec_transcripts {
	transcript *items; /* [count] */
	int64_t count;
};

/* One sound on its way. */
typedef struct sound_state {
	const float *samples;
	int64_t count;
	whisper_features features; /* none before its turn and after it */
	int64_t seek;              /* its frame that comes next */
	bool begun, done;
	bool times;
	int32_t language; /* its id; −1: not known yet, or none */
	transcript *out;
} sound_state;

typedef struct transcribe_call {
	hec_transcriber *t;
	hec_transcribe_options o;
	whisper_choice choice;
	int64_t n;
	sound_state *sounds;
	hec_transcripts *out;
	float *windows; /* [batch, mels, window] */
	float *logits;  /* [vocab] */
	int64_t round[BATCH_MOST];
	int64_t count; /* windows of this round */
	hec_decode_options decode;
	int64_t longest; /* tokens of a window */
	double seconds;  /* of all sounds */
} transcribe_call;

/* ---- a sound begins ---- */

static void make_prompt(const transcribe_call *call, const sound_state *sound)
{
	const whisper_config *c = &call->t->config;
	int32_t *prompt = sound->out->prompt;
	int64_t n = 0;
	prompt[n++] = c->start;
	if (c->multilingual) {
		prompt[n++] = sound->language;
		if (call->choice.task >= 0)
			prompt[n++] = call->choice.task;
	}
	if (!sound->times)
		prompt[n++] = c->no_timestamps;
	sound->out->seen.prompt = prompt;
	sound->out->seen.prompt_length = n;
}

static int64_t frames_left(const transcribe_call *call, const sound_state *sound)
{
	return min_i64(sound->features.frames - sound->seek, call->t->config.window);
}

/* The next window's features into slot i. */
static hec_tensor put_window(const transcribe_call *call, const sound_state *sound, int64_t i)
{
	const int64_t mels = call->t->config.mel.mels, window = call->t->config.window;
	const hec_tensor to =
		hec_tensor_2d(call->windows + i * mels * window, HEC_F32, mels, window);
	whisper_window(&sound->features, sound->seek, &to);
	return to;
}

/* Logits behind the start alone, of one window. */
static hec_status first_logits(const transcribe_call *call, const hec_tensor *window)
{
	hec_session *s = call->t->session;
	int64_t rows = session_options(s)->beams;
	int64_t vocab = hec_model_config_of(call->t->m.model)->vocab;
	hec_tensor one =
		hec_tensor_3d(window->data, HEC_F32, 1, window->shape[0], window->shape[1]);
	int32_t *start = mem_alloc((size_t)rows * sizeof *start);
	if (!start)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for a step");
	for (int64_t i = 0; i < rows; i++)
		start[i] = call->t->config.start;
	hec_tensor ids = hec_tensor_2d(start, HEC_I32, rows, 1);
	hec_tensor logits = hec_tensor_2d(call->logits, HEC_F32, rows, vocab);
	hec_status status = hec_session_start_features(s, 1, &one);
	if (status == HEC_OK)
		status = hec_session_step(s, &ids, NULL, &logits);
	mem_free(start);
	return status;
}

static hec_status find_language(const transcribe_call *call, sound_state *sound)
{
	const whisper_config *c = &call->t->config;
	hec_tensor window = put_window(call, sound, 0);
	HEC_TRY(first_logits(call, &window));
	sound->language = c->languages[0].id;
	for (size_t i = 0; i < c->language_count; i++) {
		int32_t id = c->languages[i].id;
		float here = call->logits[id], best = call->logits[sound->language];
		if (here > best || (here == best && id < sound->language))
			sound->language = id;
	}
	return HEC_OK;
}

static hec_status begin_sound(const transcribe_call *call, sound_state *sound)
{
	sound->begun = true;
	sound->language = call->choice.language;
	if (sound->count == 0)
		return HEC_OK;
	HEC_TRY(whisper_features_make(&call->t->config, call->t->m.ctx, sound->samples,
	                              sound->count, &sound->features));
	sound->times = call->o.timestamps || sound->features.frames > call->t->config.window;
	if (call->t->config.multilingual && sound->language < 0)
		HEC_TRY(find_language(call, sound));
	make_prompt(call, sound);
	return HEC_OK;
}

static hec_status end_sound(const transcribe_call *call, sound_state *sound)
{
	transcript *t = sound->out;
	const char *code = call->t->config.multilingual
	                           ? whisper_language_code(&call->t->config, sound->language)
	                           : "en";
	memcpy(t->language, code, strlen(code) + 1);
	t->seen.language = t->language;
	t->seen.translated = call->choice.translates;
	whisper_features_free(&sound->features);
	sound->done = true;
	return transcript_finish(t);
}

/* ---- a round of windows ---- */

static void apply_rules(void *user, int64_t source, const int32_t *written, int64_t n,
                        float *logits, int64_t vocab)
{
	const transcribe_call *call = user;
	whisper_rules(&call->t->config, call->sounds[call->round[source]].times, written, n, logits,
	              vocab);
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
			HEC_TRY(begin_sound(call, sound));
		while (!sound->done && sound->seek < sound->features.frames &&
		       whisper_is_silent(&sound->features, sound->seek, frames_left(call, sound)))
			sound->seek += frames_left(call, sound);
		if (!sound->done && sound->seek >= sound->features.frames)
			HEC_TRY(end_sound(call, sound));
		if (!sound->done)
			call->round[call->count++] = i;
	}
	*who = -1;
	return HEC_OK;
}

/* Whether the model itself says that nobody speaks: asked only where its words are unlikely. */
static hec_status nobody_speaks(const transcribe_call *call, const hec_tensor *window,
                                const hec_hypothesis *h, bool *nobody)
{
	*nobody = false;
	if (call->o.no_speech > 1 || h->n == 0)
		return HEC_OK;
	/* The mean of a token, whatever lengths count for in the search. */
	if (h->score * pow((double)h->n, call->decode.length_penalty - 1) >= call->o.least_log_prob)
		return HEC_OK;
	HEC_TRY(first_logits(call, window));
	int64_t vocab = hec_model_config_of(call->t->m.model)->vocab;
	double most = -INFINITY, sum = 0;
	for (int64_t i = 0; i < vocab; i++)
		most = fmax(most, (double)call->logits[i]);
	for (int64_t i = 0; i < vocab; i++)
		sum += exp((double)call->logits[i] - most);
	double p = exp((double)call->logits[call->t->config.no_timestamps - 1] - most) / sum;
	*nobody = p > call->o.no_speech;
	return HEC_OK;
}

static hec_status take_window(const transcribe_call *call, sound_state *sound,
                              const hec_hypothesis *h)
{
	const whisper_config *c = &call->t->config;
	int64_t n = h->n, count = 0, frames = frames_left(call, sound);
	if (n > 0 && h->ids[n - 1] == c->end)
		n--;
	whisper_segment *segments = mem_zeros((size_t)n + 1, sizeof *segments);
	if (!segments)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for segments");
	int64_t move = whisper_segments(c, h->ids, n, sound->seek, frames, segments, &count);
	const double longest = (double)sound->count / (double)c->mel.rate;
	const double window = whisper_seconds(c, sound->seek);
	hec_status status = HEC_OK;
	for (int64_t i = 0; i < count && status == HEC_OK; i++) {
		/* Pairs of times where none were asked for end segments that begin with a word, which
		 * says no time. */
		const double begin = fmin(fmax(segments[i].begin, window), longest);
		const hec_segment s = {.begin = begin,
		                       .end = fmax(begin, fmin(segments[i].end, longest)),
		                       .written = h->ids,
		                       .n = segments[i].to - segments[i].from,
		                       .window = window,
		                       .place = segments[i].from};
		status = transcript_add(sound->out, call->t->m.tokenizer, &s, c->no_timestamps + 1);
	}
	mem_free(segments);
	sound->seek += move;
	return status;
}

static hec_status take_round(const transcribe_call *call, const hec_tensor *windows,
                             const hec_decoded *decoded)
{
	for (int64_t i = 0; i < call->count; i++) {
		sound_state *sound = &call->sounds[call->round[i]];
		const hec_hypothesis *h = hec_decoded_at(decoded, i, 0);
		bool nobody;
		HEC_TRY(nobody_speaks(call, &windows[i], h, &nobody));
		if (nobody)
			sound->seek += frames_left(call, sound);
		else
			HEC_TRY(take_window(call, sound, h));
	}
	return HEC_OK;
}

static hec_status run_round(transcribe_call *call)
{
	hec_tensor windows[BATCH_MOST];
	const int32_t *prompts[BATCH_MOST];
	int64_t lengths[BATCH_MOST], most[BATCH_MOST];
	int64_t room = hec_model_config_of(call->t->m.model)->decoder.position.max;
	for (int64_t i = 0; i < call->count; i++) {
		const sound_state *sound = &call->sounds[call->round[i]];
		windows[i] = put_window(call, sound, i);
		prompts[i] = sound->out->prompt;
		lengths[i] = sound->out->seen.prompt_length;
		most[i] = min_i64(call->longest, room - lengths[i]);
		if (most[i] < 1)
			return fail(
				HEC_ERR_UNSUPPORTED,
				"transcribe: the model writes %lld tokens, and begins with %lld",
				(long long)room, (long long)lengths[i]);
	}
	hec_decode_options o = call->decode;
	o.prompts = prompts;
	o.prompt_lengths = lengths;
	o.max_tokens_each = most;
	hec_decoded *decoded;
	hec_status status =
		hec_decode_features(call->t->session, call->count, windows, &o, &decoded);
	if (status != HEC_OK && hec_error_item() >= 0)
		return fail_item(status, call->round[hec_error_item()]);
	if (status == HEC_OK)
		status = take_round(call, windows, decoded);
	hec_decoded_free(decoded);
	return status;
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
		HEC_TRY(run_round(call));
	}
}

/* ---- a call ---- */

static hec_status take_options(const hec_transcriber *t, const hec_transcribe_options *given,
                               transcribe_call *call)
{
	hec_transcribe_options *o = &call->o;
	*o = (hec_transcribe_options)HEC_TRANSCRIBE_OPTIONS_INIT;
	HEC_TRY(options_take("hec_transcribe_options", o, sizeof *o, given));
	if (o->batch < 1 || o->batch > BATCH_MOST)
		return fail(HEC_ERR_ARGUMENT, "transcribe: a batch of %lld; 1 to %d are possible",
		            (long long)o->batch, BATCH_MOST);
	if (o->beams < 0 || o->max_tokens < 0)
		return fail(HEC_ERR_ARGUMENT, "transcribe: %lld beams, %lld tokens",
		            (long long)o->beams, (long long)o->max_tokens);
	if (!(o->no_speech >= 0) || !(o->least_log_prob <= 0))
		return fail(HEC_ERR_ARGUMENT, "transcribe: no_speech %g, least_log_prob %g",
		            o->no_speech, o->least_log_prob);
	return whisper_choose(&t->config, o->language, o->task, &call->choice);
}

static void make_decode(transcribe_call *call)
{
	const whisper_config *c = &call->t->config;
	hec_decode_options *d = &call->decode;
	*d = c->generation.options;
	if (call->o.beams > 0)
		d->beams = call->o.beams;
	d->nbest = 1;
	d->forced_bos = d->forced_eos = -1;
	d->min_tokens = 0;
	d->begin_suppressed = 0; /* whisper_rules does it */
	d->max_tokens = -1;      /* max_tokens_each says it for each window */
	call->longest = call->o.max_tokens > 0 ? call->o.max_tokens
	                : c->max_length > 0    ? c->max_length
	                                       : INT64_MAX;
	d->process = apply_rules;
	d->progress = on_progress;
	d->user = call;
}

static hec_status make_session(transcribe_call *call)
{
	hec_transcriber *t = call->t;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = min_i64(call->o.batch, max_i64(call->n, 1));
	o.beams = call->decode.beams;
	if (t->session && t->made.sources == o.sources && t->made.beams == o.beams)
		return HEC_OK;
	hec_session_destroy(t->session);
	t->session = NULL;
	HEC_TRY(hec_session_create(t->m.ctx, t->m.model, &o, &t->session));
	t->made = o;
	return HEC_OK;
}

static hec_status make_memory(transcribe_call *call, const float *const *samples,
                              const int64_t *counts)
{
	const whisper_config *c = &call->t->config;
	size_t windows, logits;
	call->sounds = mem_zeros((size_t)call->n + 1, sizeof *call->sounds);
	if (size_mul((size_t)call->o.batch * (size_t)c->mel.mels, (size_t)c->window * sizeof(float),
	             &windows))
		call->windows = mem_alloc(windows);
	if (size_mul((size_t)hec_model_config_of(call->t->m.model)->vocab,
	             (size_t)call->decode.beams * sizeof(float), &logits))
		call->logits = mem_alloc(logits);
	if (!call->sounds || !call->windows || !call->logits)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for %lld sounds",
		            (long long)call->n);
	for (int64_t i = 0; i < call->n; i++) {
		call->sounds[i] = (sound_state){.samples = samples[i],
		                                .count = counts[i],
		                                .language = -1,
		                                .out = &call->out->items[i]};
		call->seconds += (double)counts[i] / (double)c->mel.rate;
	}
	return HEC_OK;
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
	make_decode(call);
	HEC_TRY(make_session(call));
	HEC_TRY(make_memory(call, samples, counts));
	return run_all(call);
}

static void transcribe_call_free(transcribe_call *call)
{
	for (int64_t i = 0; call->sounds && i < call->n; i++)
		whisper_features_free(&call->sounds[i].features);
	mem_free(call->sounds);
	mem_free(call->windows);
	mem_free(call->logits);
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
	transcribe_call call = {.t = transcriber, .n = n};
	HEC_TRY(check_sounds(n, samples, counts));
	HEC_TRY(take_options(transcriber, options, &call));
	HEC_TRY(transcripts_create(n, &call.out));
	hec_status status = transcribe(&call, samples, counts);
	transcribe_call_free(&call);
	if (status == HEC_OK)
		*out = call.out;
	else
		hec_transcripts_free(call.out);
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
