/* transcribe_attend.c — the first window with words in it, once more through the model, all heads kept. */
#include "cli/tasks/transcribe_attend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many segments there are of the first one's window: words of another window have another sound. */
static int64_t count_of_window(const hec_transcript *t)
{
	const hec_segment *first = hec_transcript_segment(t, 0), *s;
	int64_t n = 1;
	while ((s = hec_transcript_segment(t, n)) && s->window == first->window)
		n++;
	return n;
}

/* What is spoken in the first n segments, for free(). */
static char *text_of(const hec_transcript *t, int64_t n)
{
	size_t bytes = 1;
	for (int64_t i = 0; i < n; i++)
		bytes += strlen(hec_transcript_segment(t, i)->text) + 1;
	char *text = malloc(bytes), *to = text;
	for (int64_t i = 0; text && i < n; i++)
		to += snprintf(to, bytes - (size_t)(to - text), "%s%s", to > text ? " " : "",
		               hec_transcript_segment(t, i)->text);
	return text;
}

static hec_status take_sound(const hec_transcriber *t, const hec_audio *audio, double begin,
                             const hec_transcribe_options *options, int64_t bands, int64_t frames,
                             float **window)
{
	*window = malloc((size_t)(bands * frames) * sizeof **window);
	if (!*window)
		return HEC_ERR_MEMORY;
	hec_tensor out = hec_tensor_2d(*window, HEC_F32, bands, frames);
	return hec_transcriber_features(t, audio->samples, audio->count, begin, options, &out);
}

int transcribe_attend(attend_flag *f, const command *self, const hec_transcriber *transcriber,
                      const hec_audio *audio, const hec_transcribe_options *options,
                      const hec_transcript *transcript)
{
	if (!attend_flag_wants(f) || transcript->segments == 0)
		return EXIT_DONE;
	const hec_model *model = hec_transcriber_model(transcriber);
	const hec_model_config *c = hec_model_config_of(model);
	const int64_t positions = c->encoder.position.max, frames = 2 * positions;
	const int64_t n = count_of_window(transcript);
	const hec_segment *last = hec_transcript_segment(transcript, n - 1);
	float *window = NULL;
	char *text = text_of(transcript, n);
	int code = EXIT_DONE;
	if (!text || take_sound(transcriber, audio, last->window, options, c->front.features,
	                        frames, &window) != HEC_OK)
		code = command_failed(self, "--attend: no features of the sound");
	hec_tensor features = hec_tensor_3d(window, HEC_F32, 1, c->front.features, frames);
	attend_pass p = {
		.ctx = f->ctx,
		.model = model,
		.tokenizer = hec_transcriber_tokenizer(transcriber),
		.begin = transcript->prompt,
		.begins = transcript->prompt_length,
		.written = last->written,
		.T = last->place + last->n,
		.features = &features,
		.sound = {.begin = last->window,
	                  .end = (double)audio->count / (double)audio->rate,
	                  .position = hec_transcriber_window(transcriber) / (double)positions}};
	if (code == EXIT_DONE)
		code = attend_flag_pass(f, self, &p, text);
	free(window);
	free(text);
	return code;
}
