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
#include "task/transcript.h"

#define BATCH_MOST 256

struct hec_transcripts {
	transcript *items; /* [count] */
	int64_t count;
};

/* One sound on its way. */
typedef struct job {
	const float *samples;
	int64_t count;
	whisper_features features; /* none before its turn and after it */
	int64_t seek;              /* its frame that comes next */
	bool begun, done;
	bool times;
	int32_t language; /* its id; −1: not known yet, or none */
	transcript *out;
} job;

typedef struct work {
	hec_transcriber *t;
	hec_transcribe_options o;
	whisper_choice choice;
	int64_t n;
	job *jobs;
	hec_transcripts *out;
	float *windows; /* [batch, mels, window] */
	float *logits;  /* [vocab] */
	int64_t round[BATCH_MOST];
	int64_t count; /* windows of this round */
	hec_decode_options decode;
	int64_t longest; /* tokens of a window */
	double seconds;  /* of all sounds */
} work;

/* ---- a sound begins ---- */

static void make_prompt(const work *w, const job *j)
{
	const whisper_config *c = &w->t->config;
	int32_t *prompt = j->out->prompt;
	int64_t n = 0;
	prompt[n++] = c->start;
	if (c->multilingual) {
		prompt[n++] = j->language;
		if (w->choice.task >= 0)
			prompt[n++] = w->choice.task;
	}
	if (!j->times)
		prompt[n++] = c->no_timestamps;
	j->out->seen.prompt = prompt;
	j->out->seen.prompt_length = n;
}

static int64_t frames_left(const work *w, const job *j)
{
	return min_i64(j->features.frames - j->seek, w->t->config.window);
}

/* The next window's features into slot i. */
static hec_tensor put_window(const work *w, const job *j, int64_t i)
{
	const int64_t mels = w->t->config.mel.mels, window = w->t->config.window;
	const hec_tensor to = hec_tensor_2d(w->windows + i * mels * window, HEC_F32, mels, window);
	whisper_window(&j->features, j->seek, &to);
	return to;
}

/* Logits behind the start alone, of one window. */
static hec_status first_logits(const work *w, const hec_tensor *window)
{
	hec_session *s = w->t->session;
	int64_t rows = hec_session_options_of(s)->beams;
	int64_t vocab = hec_model_config_of(w->t->base.model)->vocab;
	hec_tensor one =
		hec_tensor_3d(window->data, HEC_F32, 1, window->shape[0], window->shape[1]);
	int32_t *start = mem_alloc((size_t)rows * sizeof *start);
	if (!start)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for a step");
	for (int64_t i = 0; i < rows; i++)
		start[i] = w->t->config.start;
	hec_tensor ids = hec_tensor_2d(start, HEC_I32, rows, 1);
	hec_tensor logits = hec_tensor_2d(w->logits, HEC_F32, rows, vocab);
	hec_status status = hec_session_start_features(s, 1, &one);
	if (status == HEC_OK)
		status = hec_session_step(s, &ids, NULL, &logits);
	mem_free(start);
	return status;
}

static hec_status find_language(const work *w, job *j)
{
	const whisper_config *c = &w->t->config;
	hec_tensor window = put_window(w, j, 0);
	HEC_TRY(first_logits(w, &window));
	j->language = c->languages[0].id;
	for (size_t i = 0; i < c->language_count; i++) {
		int32_t id = c->languages[i].id;
		float here = w->logits[id], best = w->logits[j->language];
		if (here > best || (here == best && id < j->language))
			j->language = id;
	}
	return HEC_OK;
}

static hec_status begin_job(const work *w, job *j)
{
	j->begun = true;
	j->language = w->choice.language;
	if (j->count == 0)
		return HEC_OK;
	HEC_TRY(whisper_features_make(&w->t->config, w->t->base.ctx, j->samples, j->count,
	                              &j->features));
	j->times = w->o.timestamps || j->features.frames > w->t->config.window;
	if (w->t->config.multilingual && j->language < 0)
		HEC_TRY(find_language(w, j));
	make_prompt(w, j);
	return HEC_OK;
}

static hec_status end_job(const work *w, job *j)
{
	transcript *t = j->out;
	const char *code = w->t->config.multilingual
	                           ? whisper_language_code(&w->t->config, j->language)
	                           : "en";
	memcpy(t->language, code, strlen(code) + 1);
	t->seen.language = t->language;
	t->seen.translated = w->choice.translates;
	whisper_features_free(&j->features);
	j->done = true;
	return transcript_finish(t);
}

/* ---- a round of windows ---- */

static void apply_rules(void *user, int64_t source, const int32_t *written, int64_t n,
                        float *logits, int64_t vocab)
{
	const work *w = user;
	whisper_rules(&w->t->config, w->jobs[w->round[source]].times, written, n, logits, vocab);
}

static double seconds_done(const work *w)
{
	double sum = 0;
	for (int64_t i = 0; i < w->n; i++) {
		const job *j = &w->jobs[i];
		double all = (double)j->count / (double)w->t->config.mel.rate;
		sum += j->done ? all : fmin(whisper_seconds(&w->t->config, j->seek), all);
	}
	return sum;
}

static hec_status report(const work *w)
{
	const int64_t done = llround(1000 * seconds_done(w)), all = llround(1000 * w->seconds);
	const hec_status status =
		call_progress(w->o.progress, w->o.user, "milliseconds", done, all);
	return status == HEC_OK ? status : fail_in(status, "transcribe");
}

/* Of the search within a round: that it still runs. */
static hec_status on_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)phase, (void)done, (void)total;
	return report(user);
}

/* Picks the next windows, and ends what has none left. *who: the sound at work. */
static hec_status gather(work *w, int64_t *who)
{
	w->count = 0;
	for (int64_t i = 0; i < w->n && w->count < w->o.batch; i++) {
		job *j = &w->jobs[i];
		*who = i;
		if (!j->done && !j->begun)
			HEC_TRY(begin_job(w, j));
		while (!j->done && j->seek < j->features.frames &&
		       whisper_is_silent(&j->features, j->seek, frames_left(w, j)))
			j->seek += frames_left(w, j);
		if (!j->done && j->seek >= j->features.frames)
			HEC_TRY(end_job(w, j));
		if (!j->done)
			w->round[w->count++] = i;
	}
	*who = -1;
	return HEC_OK;
}

/* Whether the model itself says that nobody speaks: asked only where its words are unlikely. */
static hec_status nobody_speaks(const work *w, const hec_tensor *window, const hec_hypothesis *h,
                                bool *nobody)
{
	*nobody = false;
	if (w->o.no_speech > 1 || h->n == 0)
		return HEC_OK;
	/* The mean of a token, whatever lengths count for in the search. */
	if (h->score * pow((double)h->n, w->decode.length_penalty - 1) >= w->o.least_log_prob)
		return HEC_OK;
	HEC_TRY(first_logits(w, window));
	int64_t vocab = hec_model_config_of(w->t->base.model)->vocab;
	double most = -INFINITY, sum = 0;
	for (int64_t i = 0; i < vocab; i++)
		most = fmax(most, (double)w->logits[i]);
	for (int64_t i = 0; i < vocab; i++)
		sum += exp((double)w->logits[i] - most);
	double p = exp((double)w->logits[w->t->config.no_timestamps - 1] - most) / sum;
	*nobody = p > w->o.no_speech;
	return HEC_OK;
}

static hec_status take_window(const work *w, job *j, const hec_hypothesis *h)
{
	const whisper_config *c = &w->t->config;
	int64_t n = h->n, count = 0, frames = frames_left(w, j);
	if (n > 0 && h->ids[n - 1] == c->end)
		n--;
	whisper_segment *segments = mem_zeros((size_t)n + 1, sizeof *segments);
	if (!segments)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for segments");
	int64_t move = whisper_segments(c, h->ids, n, j->seek, frames, segments, &count);
	const double longest = (double)j->count / (double)c->mel.rate;
	const double window = whisper_seconds(c, j->seek);
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
		status = transcript_add(j->out, w->t->base.tokenizer, &s, c->no_timestamps + 1);
	}
	mem_free(segments);
	j->seek += move;
	return status;
}

static hec_status take_round(const work *w, const hec_tensor *windows, const hec_decoded *decoded)
{
	for (int64_t i = 0; i < w->count; i++) {
		job *j = &w->jobs[w->round[i]];
		const hec_hypothesis *h = hec_decoded_at(decoded, i, 0);
		bool nobody;
		HEC_TRY(nobody_speaks(w, &windows[i], h, &nobody));
		if (nobody)
			j->seek += frames_left(w, j);
		else
			HEC_TRY(take_window(w, j, h));
	}
	return HEC_OK;
}

static hec_status run_round(work *w)
{
	hec_tensor windows[BATCH_MOST];
	const int32_t *prompts[BATCH_MOST];
	int64_t lengths[BATCH_MOST], most[BATCH_MOST];
	int64_t room = hec_model_config_of(w->t->base.model)->decoder.position.max;
	for (int64_t i = 0; i < w->count; i++) {
		const job *j = &w->jobs[w->round[i]];
		windows[i] = put_window(w, j, i);
		prompts[i] = j->out->prompt;
		lengths[i] = j->out->seen.prompt_length;
		most[i] = min_i64(w->longest, room - lengths[i]);
		if (most[i] < 1)
			return fail(
				HEC_ERR_UNSUPPORTED,
				"transcribe: the model writes %lld tokens, and begins with %lld",
				(long long)room, (long long)lengths[i]);
	}
	hec_decode_options o = w->decode;
	o.prompts = prompts;
	o.prompt_lengths = lengths;
	o.max_tokens_each = most;
	hec_decoded *decoded;
	hec_status status = hec_decode_features(w->t->session, w->count, windows, &o, &decoded);
	if (status != HEC_OK && hec_error_item() >= 0)
		return fail_item(status, w->round[hec_error_item()]);
	if (status == HEC_OK)
		status = take_round(w, windows, decoded);
	hec_decoded_free(decoded);
	return status;
}

static hec_status run_all(work *w)
{
	for (;;) {
		int64_t who = -1;
		hec_status status = gather(w, &who);
		if (status != HEC_OK)
			return status == HEC_ERR_MEMORY ? status : fail_item(status, who);
		HEC_TRY(report(w));
		if (w->count == 0)
			return HEC_OK;
		HEC_TRY(run_round(w));
	}
}

/* ---- a call ---- */

static hec_status take_options(const hec_transcriber *t, const hec_transcribe_options *given,
                               work *w)
{
	hec_transcribe_options *o = &w->o;
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
	return whisper_choose(&t->config, o->language, o->task, &w->choice);
}

static void make_decode(work *w)
{
	const whisper_config *c = &w->t->config;
	hec_decode_options *d = &w->decode;
	*d = c->generation.options;
	if (w->o.beams > 0)
		d->beams = w->o.beams;
	d->nbest = 1;
	d->forced_bos = d->forced_eos = -1;
	d->min_tokens = 0;
	d->begin_suppressed = 0; /* whisper_rules does it */
	d->max_tokens = -1;      /* max_tokens_each says it for each window */
	w->longest = w->o.max_tokens > 0 ? w->o.max_tokens
	             : c->max_length > 0 ? c->max_length
	                                 : INT64_MAX;
	d->process = apply_rules;
	d->progress = on_progress;
	d->user = w;
}

static hec_status make_session(work *w)
{
	hec_transcriber *t = w->t;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = min_i64(w->o.batch, max_i64(w->n, 1));
	o.beams = w->decode.beams;
	if (t->session && t->made.sources == o.sources && t->made.beams == o.beams)
		return HEC_OK;
	hec_session_destroy(t->session);
	t->session = NULL;
	HEC_TRY(hec_session_create(t->base.ctx, t->base.model, &o, &t->session));
	t->made = o;
	return HEC_OK;
}

static hec_status make_memory(work *w, const float *const *samples, const int64_t *counts)
{
	const whisper_config *c = &w->t->config;
	size_t windows, logits;
	w->jobs = mem_zeros((size_t)w->n + 1, sizeof *w->jobs);
	if (size_mul((size_t)w->o.batch * (size_t)c->mel.mels, (size_t)c->window * sizeof(float),
	             &windows))
		w->windows = mem_alloc(windows);
	if (size_mul((size_t)hec_model_config_of(w->t->base.model)->vocab,
	             (size_t)w->decode.beams * sizeof(float), &logits))
		w->logits = mem_alloc(logits);
	if (!w->jobs || !w->windows || !w->logits)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for %lld sounds",
		            (long long)w->n);
	for (int64_t i = 0; i < w->n; i++) {
		w->jobs[i] = (job){.samples = samples[i],
		                   .count = counts[i],
		                   .language = -1,
		                   .out = &w->out->items[i]};
		w->seconds += (double)counts[i] / (double)c->mel.rate;
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

static hec_status transcribe(work *w, const float *const *samples, const int64_t *counts)
{
	make_decode(w);
	HEC_TRY(make_session(w));
	HEC_TRY(make_memory(w, samples, counts));
	return run_all(w);
}

static void work_free(work *w)
{
	for (int64_t i = 0; w->jobs && i < w->n; i++)
		whisper_features_free(&w->jobs[i].features);
	mem_free(w->jobs);
	mem_free(w->windows);
	mem_free(w->logits);
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
	work w = {.t = transcriber, .n = n};
	HEC_TRY(check_sounds(n, samples, counts));
	HEC_TRY(take_options(transcriber, options, &w));
	HEC_TRY(transcripts_create(n, &w.out));
	hec_status status = transcribe(&w, samples, counts);
	work_free(&w);
	if (status == HEC_OK)
		*out = w.out;
	else
		hec_transcripts_free(w.out);
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
