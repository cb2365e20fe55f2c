/* transcribe_sound.c — a sound through its windows. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "model/model.h"
#include "task/transcribing.h"

#define FORGETS_ABOVE                                                                              \
	0.5 /* temperature: what was written by much chance is not shown to the next window */

/* ---- begin and end ---- */

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

/* By the logits behind the start alone. */
static hec_status find_language(const transcribe_call *call, sound_state *sound)
{
	const whisper_config *c = &call->t->config;
	const hec_tensor window = sound_window(call, sound, 0);
	const hec_tensor one =
		hec_tensor_3d(window.data, HEC_F32, 1, window.shape[0], window.shape[1]);
	const int32_t *start = &c->start;
	const int64_t count = 1;
	HEC_TRY(hec_session_start_features(call->session, 1, &one));
	HEC_TRY(round_feed(call, &start, &count, false));
	sound->language = c->languages[0].id;
	for (size_t i = 0; i < c->language_count; i++) {
		int32_t id = c->languages[i].id;
		float here = call->logits[id], best = call->logits[sound->language];
		if (here > best || (here == best && id < sound->language))
			sound->language = id;
	}
	return HEC_OK;
}

hec_status sound_begin(const transcribe_call *call, sound_state *sound)
{
	sound->begun = true;
	sound->language = call->choice.language;
	if (sound->count == 0)
		return HEC_OK;
	HEC_TRY(whisper_features_make(&call->t->config, call->t->m.ctx,
	                              transcriber_plain_features(call->t, &call->o, sound->count),
	                              sound->samples, sound->count, &sound->features));
	sound->times = transcriber_writes_times(call->t, &call->o, sound->count);
	sound->previous = mem_zeros((size_t)call->previous + 1, sizeof *sound->previous);
	if (!sound->previous)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for %lld tokens",
		            (long long)call->previous);
	if (call->t->config.multilingual && sound->language < 0)
		HEC_TRY(find_language(call, sound));
	make_prompt(call, sound);
	return HEC_OK;
}

hec_status sound_end(const transcribe_call *call, sound_state *sound)
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

/* ---- a window ---- */

int64_t sound_frames_left(const transcribe_call *call, const sound_state *sound)
{
	return min_i64(sound->features.frames - sound->seek, call->t->config.window);
}

hec_tensor sound_window(const transcribe_call *call, const sound_state *sound, int64_t i)
{
	const int64_t mels = call->t->config.mel.mels, window = call->t->config.window;
	const hec_tensor to =
		hec_tensor_2d(call->features + i * mels * window, HEC_F32, mels, window);
	whisper_window(&sound->features, sound->seek, &to);
	return to;
}

hec_status sound_prompt(const transcribe_call *call, const sound_state *sound, written_window *w)
{
	const hec_transcript *t = &sound->out->seen;
	const int64_t n = sound->previous_count;
	w->start = n > 0 ? 1 + n : 0;
	w->begin_length = w->start + t->prompt_length;
	if (w->begin_length >= call->room)
		return fail(HEC_ERR_UNSUPPORTED,
		            "transcribe: the model writes %lld tokens, and begins with %lld",
		            (long long)call->room, (long long)w->begin_length);
	if (n > 0) {
		w->begin[0] = call->t->config.previous;
		memcpy(w->begin + 1, sound->previous, (size_t)n * sizeof *w->begin);
	}
	memcpy(w->begin + w->start, t->prompt, (size_t)t->prompt_length * sizeof *w->begin);
	return HEC_OK;
}

/* ---- what it gave ---- */

/* As many of the last tokens as are shown. */
static void remember(const transcribe_call *call, sound_state *sound, const int32_t *ids, int64_t n)
{
	const int64_t room = call->previous;
	if (n > room) {
		ids += n - room;
		n = room;
	}
	const int64_t stay = min_i64(sound->previous_count, room - n);
	memmove(sound->previous, sound->previous + sound->previous_count - stay,
	        (size_t)stay * sizeof *ids);
	if (n > 0)
		memcpy(sound->previous + stay, ids, (size_t)n * sizeof *ids);
	sound->previous_count = stay + n;
}

static hec_status take_segment(const transcribe_call *call, sound_state *sound,
                               const written_window *w, const whisper_segment *from)
{
	const whisper_config *c = &call->t->config;
	const double longest = (double)sound->count / (double)c->mel.rate;
	const double window = whisper_seconds(c, sound->seek);
	/* Pairs of times where none were asked for end segments that begin with a word, which says no time. */
	const double earliest = from->words > 0 ? 0 : window,
		     begin = fmin(fmax(from->begin, earliest), longest);
	const hec_segment s = {.begin = begin,
	                       .end = fmax(begin, fmin(from->end, longest)),
	                       .written = w->ids,
	                       .n = from->to - from->from,
	                       .window = window,
	                       .place = from->from,
	                       .temperature = w->temperature,
	                       .log_prob = w->log_prob,
	                       .compression = w->compression,
	                       .words = from->words};
	const int64_t before = sound->out->seen.segments;
	HEC_TRY(transcript_add(sound->out, call->t->m.tokenizer, &s,
	                       from->words > 0 ? w->words.items + from->first : NULL,
	                       c->no_timestamps + 1));
	if (sound->out->seen.segments > before)
		remember(call, sound, w->ids + from->from, s.n);
	return HEC_OK;
}

/* When the last word ended; where there is none, the last segment. */
static double ended(const written_window *w, int64_t count)
{
	for (int64_t i = count - 1; i >= 0; i--) {
		const whisper_segment *s = &w->segments[i];
		if (s->words > 0)
			return w->words.items[s->first + s->words - 1].end;
	}
	return count > 0 ? w->segments[count - 1].end : -1;
}

/* With times of words, the next window begins behind the last of them. Returns how many segments stay. */
static int64_t move_by_words(const transcribe_call *call, const sound_state *sound,
                             written_window *w)
{
	const whisper_config *c = &call->t->config;
	const int64_t left = sound_frames_left(call, sound);
	const double frame = whisper_seconds(c, 1), offset = whisper_seconds(c, sound->seek),
		     last = ended(w, w->cut.count);
	double next = whisper_seconds(c, sound->seek + w->cut.move);
	int64_t stay = w->cut.count;
	if (!w->cut.single_end && last > offset)
		next = last;
	if (call->o.silence > 0) {
		const whisper_guard guard = {.silence = call->o.silence,
		                             .offset = offset,
		                             .end = whisper_seconds(c, sound->seek + left),
		                             .window = whisper_seconds(c, sound->seek + c->window),
		                             .spoken = sound->spoken,
		                             .ended = last,
		                             .all = whisper_seconds(c, sound->features.frames),
		                             .single_end = w->cut.single_end};
		stay = whisper_guard_silence(&guard, &w->words, w->segments, stay, &next);
	}
	/* At least one frame further, or a window could come again for ever. */
	w->cut.move = min_i64(max_i64(llround(next / frame) - sound->seek, 1),
	                      sound->features.frames - sound->seek);
	return stay;
}

hec_status sound_take(const transcribe_call *call, sound_state *sound, written_window *w)
{
	sound->window++;
	if (w->nobody) {
		sound->seek += sound_frames_left(call, sound);
		return HEC_OK;
	}
	const int64_t all = w->cut.count;
	int64_t stay = call->o.words ? move_by_words(call, sound, w) : all;
	if (all > 0 && stay == 0) { /* the guard of silence passes over it: nothing was said */
		sound->seek += w->cut.move;
		return HEC_OK;
	}
	for (int64_t i = 0; i < stay; i++)
		if (call->o.plain || w->segments[i].end != w->segments[i].begin)
			HEC_TRY(take_segment(call, sound, w, &w->segments[i]));
	if (call->o.words && stay > 0)
		sound->spoken = fmax(sound->spoken, ended(w, stay));
	if (w->temperature > FORGETS_ABOVE)
		sound->previous_count = 0;
	sound->seek += w->cut.move;
	return HEC_OK;
}
