/* listen.c — what `hecate transcribe` would write for sounds of --valid, by the rules of DIR/start, beside
 * what is spoken there. Sounds are read a few at a time, at each validation again. */
#include "cli/train/listen.h"

#include <stdlib.h>
#include <string.h>

#include <hecate/transcribe.h>

#include "cli/command/interrupt.h"
#include "cli/train/texts.h"
#include "cli/command/try.h"

#define SOUNDS_AT_ONCE 8
#define PATH_MOST 4096

struct train_listener {
	const hec_tokenizer *tokenizer;
	char rules[PATH_MOST]; /* the directory that has them */
	hec_transcribe_options options;
	hec_audio_options reading;
	char **paths, **wanted, **written; /* [n] */
	int64_t n;
};

void train_listener_close(train_listener *l)
{
	if (!l)
		return;
	train_texts_free(l->paths, l->n);
	train_texts_free(l->wanted, l->n);
	train_texts_free(l->written, l->n);
	free(l->paths);
	free(l->wanted);
	free(l->written);
	free(l);
}

/* ---- the sounds ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* A transcript has no space at its ends. */
static char *trimmed(const char *text, size_t bytes)
{
	for (; bytes > 0 && is_blank(*text); bytes--)
		text++;
	while (bytes > 0 && is_blank(text[bytes - 1]))
		bytes--;
	return strndup(text, bytes);
}

/* Of what kind the file is, whether it is there and how long it is: not what happened to us. */
static bool is_left_out(hec_status status)
{
	return status == HEC_ERR_FORMAT || status == HEC_ERR_IO || status == HEC_ERR_UNSUPPORTED;
}

/* Those that a corpus leaves out are passed over here as well. */
static hec_status read_list(train_listener *l, hec_lines *lines, int64_t most)
{
	for (bool more = true; l->n < most;) {
		const char *text[2];
		size_t bytes[2];
		char path[PATH_MOST];
		hec_audio *audio;
		TRY(hec_lines_next_pair(lines, text, bytes, &more));
		if (!more)
			return HEC_OK;
		TRY(train_data_progress(NULL, "listening", l->n, 0));
		if (hec_lines_sound(lines, text[0], bytes[0], path, sizeof path) != HEC_OK)
			continue;
		const hec_status status = hec_audio_read(path, &l->reading, &audio);
		if (is_left_out(status))
			continue;
		TRY(status);
		const bool good = audio->count > 0 && !audio->cut;
		hec_audio_free(audio);
		if (!good)
			continue;
		l->paths[l->n] = strdup(path);
		l->wanted[l->n] = trimmed(text[1], bytes[1]);
		l->n++;
		if (!l->paths[l->n - 1] || !l->wanted[l->n - 1])
			return train_no_memory("the sounds of --valid");
	}
	return HEC_OK;
}

static hec_status open_list(train_listener *l, const train_settings *s)
{
	size_t most = (size_t)s->valid_sentences;
	l->paths = calloc(most, sizeof *l->paths);
	l->wanted = calloc(most, sizeof *l->wanted);
	l->written = calloc(most, sizeof *l->written);
	if (!l->paths || !l->wanted || !l->written)
		return train_no_memory("the sounds of --valid");
	hec_lines *lines;
	TRY(hec_lines_create(s->task_id, s->valid.items, s->valid.count, &lines));
	hec_status status = read_list(l, lines, s->valid_sentences);
	hec_lines_destroy(lines);
	return status;
}

hec_status train_listener_open(const train_settings *s, const train_data *data,
                               train_listener **out)
{
	*out = NULL;
	if (!s->sounds || s->valid_sentences == 0 || s->valid.count == 0)
		return HEC_OK;
	train_listener *l = calloc(1, sizeof *l);
	if (!l)
		return train_no_memory("the sounds of --valid");
	l->tokenizer = data->tokenizer;
	snprintf(l->rules, sizeof l->rules, "%s/start", s->out);
	l->options = (hec_transcribe_options)HEC_TRANSCRIBE_OPTIONS_INIT;
	const char *language = hec_speech_language(data->speech);
	l->options.language = language[0] ? language : NULL;
	l->options.task = hec_speech_translates(data->speech) ? "translate" : "transcribe";
	l->options.beams = s->valid_beam;
	l->options.batch = SOUNDS_AT_ONCE;
	l->options.no_speech = 2; /* never: somebody speaks there */
	l->options.progress = interrupt_stops;
	l->reading = (hec_audio_options)HEC_AUDIO_OPTIONS_INIT;
	l->reading.rate = hec_speech_rate(data->speech);
	l->reading.max_seconds = hec_speech_window(data->speech);
	hec_status status = open_list(l, s);
	if (status != HEC_OK || l->n == 0) {
		train_listener_close(l);
		return status;
	}
	*out = l;
	return HEC_OK;
}

/* ---- listening and comparing ---- */

static hec_status transcribe(train_listener *l, hec_transcriber *t, int64_t first, int64_t n,
                             hec_audio *const *audio)
{
	const float *samples[SOUNDS_AT_ONCE] = {0};
	int64_t counts[SOUNDS_AT_ONCE] = {0};
	hec_transcripts *out;
	for (int64_t i = 0; i < n; i++) {
		samples[i] = audio[i]->samples;
		counts[i] = audio[i]->count;
	}
	TRY(hec_transcribe(t, n, samples, counts, &l->options, &out));
	hec_status status = HEC_OK;
	for (int64_t i = 0; i < n; i++) {
		l->written[first + i] = strdup(hec_transcripts_at(out, i)->text);
		if (!l->written[first + i])
			status = train_no_memory("the sounds of --valid");
	}
	hec_transcripts_free(out);
	return status;
}

static hec_status listen_some(train_listener *l, hec_transcriber *t, int64_t first, int64_t n)
{
	hec_audio *audio[SOUNDS_AT_ONCE];
	hec_status status = HEC_OK;
	int64_t read = 0;
	while (read < n && status == HEC_OK) {
		status = hec_audio_read(l->paths[first + read], &l->reading, &audio[read]);
		read += status == HEC_OK;
	}
	if (status == HEC_OK)
		status = transcribe(l, t, first, n, audio);
	for (int64_t i = 0; i < read; i++)
		hec_audio_free(audio[i]);
	return status;
}

hec_status train_listener_score(train_listener *l, hec_ctx *ctx, const hec_model *model,
                                hec_train_scores *scores)
{
	hec_transcriber *t;
	TRY(hec_transcriber_create_like(ctx, l->rules, model, l->tokenizer, &t));
	hec_status status = HEC_OK;
	train_texts_free(l->written, l->n);
	for (int64_t i = 0; i < l->n && status == HEC_OK; i += SOUNDS_AT_ONCE)
		status =
			listen_some(l, t, i, l->n - i < SOUNDS_AT_ONCE ? l->n - i : SOUNDS_AT_ONCE);
	hec_transcriber_destroy(t);
	return status == HEC_OK ? train_texts_compare(l->written, l->wanted, l->n, scores) : status;
}
