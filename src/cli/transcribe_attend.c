/* transcribe_attend.c — the first window with words in it, once more through the model, all heads kept. */
#include "transcribe_attend.h"

#include <stdlib.h>
#include <string.h>

typedef struct heard {
	float *window; /* [bands, frames] */
	int32_t *ids;  /* [n] what was written of it */
	int64_t n;
} heard;

/* Those of the segments that were heard in the window of the first: other windows' words have other sounds. */
static bool take_ids(const hec_transcript *transcript, heard *h)
{
	const hec_segment *s = transcript->segments;
	int64_t n = 0, count = 0;
	for (; count < transcript->count && s[count].window == s[0].window; count++)
		n += s[count].n;
	h->ids = malloc((size_t)n * sizeof *h->ids + 1);
	for (int64_t i = 0; h->ids && i < count; i++) {
		memcpy(h->ids + h->n, s[i].ids, (size_t)s[i].n * sizeof *h->ids);
		h->n += s[i].n;
	}
	return h->ids != NULL;
}

static hec_status take_sound(const hec_transcriber *t, const hec_audio *audio, double begin,
                             int64_t bands, int64_t frames, heard *h)
{
	h->window = malloc((size_t)(bands * frames) * sizeof *h->window);
	if (!h->window)
		return HEC_ERR_MEMORY;
	hec_tensor out = hec_tensor_2d(h->window, HEC_F32, bands, frames);
	return hec_transcriber_features(t, audio->samples, audio->count, begin, &out);
}

int transcribe_attend(attend_flag *f, const command *self, const hec_transcriber *transcriber,
                      const hec_audio *audio, const hec_transcript *transcript)
{
	if (!attend_flag_wants(f) || transcript->count == 0)
		return EXIT_DONE;
	const hec_model *model = hec_transcriber_model(transcriber);
	const hec_model_config *c = hec_model_config_of(model);
	const int64_t positions = c->encoder.position.max, frames = 2 * positions;
	const double begin = transcript->segments[0].window;
	heard h = {0};
	int code = EXIT_DONE;
	if (!take_ids(transcript, &h) ||
	    take_sound(transcriber, audio, begin, c->front.features, frames, &h) != HEC_OK)
		code = command_failed(self, "--attend: no features of the sound");
	hec_tensor features = hec_tensor_3d(h.window, HEC_F32, 1, c->front.features, frames);
	attend_pass p = {
		.ctx = f->ctx,
		.model = model,
		.tokenizer = hec_transcriber_tokenizer(transcriber),
		.begin = transcript->prompt,
		.begins = transcript->prompt_length,
		.written = h.ids,
		.T = h.n,
		.features = &features,
		.sound = {.begin = begin,
	                  .end = (double)audio->count / (double)audio->rate,
	                  .position = hec_transcriber_window(transcriber) / (double)positions}};
	if (code == EXIT_DONE)
		code = attend_flag_pass(f, self, &p, transcript->text);
	free(h.window);
	free(h.ids);
	return code;
}
