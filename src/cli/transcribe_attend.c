/* transcribe_attend.c — the first window and its words once more through the model, all heads kept. */
#include "transcribe_attend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGINS_MOST 4

typedef struct heard {
	float *all, *window; /* [bands, frames] of the whole sound; of the first window */
	int32_t *ids;        /* what was written of it */
	int64_t n;
	int32_t begin[BEGINS_MOST];
	int64_t begins;
} heard;

/* As hec_transcribe makes them: the largest of the whole sound sets the floor. */
static hec_status make_window(hec_ctx *ctx, const hec_audio *audio, int64_t bands, int64_t frames,
                              heard *h)
{
	hec_mel_options mel = HEC_MEL_OPTIONS_INIT;
	mel.mels = bands;
	mel.rate = audio->rate;
	const int64_t hop = 160, fits = frames * hop;
	int64_t made = 0;
	mel.length = audio->count <= fits ? fits : 0;
	hec_status status = hec_log_mel_frames(&mel, audio->count, &made);
	if (status != HEC_OK)
		return status;
	h->all = malloc((size_t)(bands * made) * sizeof *h->all);
	h->window = calloc((size_t)(bands * frames), sizeof *h->window);
	if (!h->all || !h->window)
		return HEC_ERR_MEMORY;
	hec_tensor out = hec_tensor_2d(h->all, HEC_F32, bands, made);
	status = hec_log_mel(ctx, &mel, audio->samples, audio->count, &out);
	for (int64_t b = 0; status == HEC_OK && b < bands; b++)
		memcpy(h->window + b * frames, h->all + b * made,
		       (size_t)(made < frames ? made : frames) * sizeof *h->window);
	return status;
}

static void add_begin(heard *h, const hec_tokenizer *tokenizer, const char *token)
{
	int32_t id = hec_tokenizer_id(tokenizer, token);
	if (id >= 0 && h->begins < BEGINS_MOST)
		h->begin[h->begins++] = id;
}

static void make_begin(const hec_transcriber *t, const hec_transcript *transcript, bool times,
                       heard *h)
{
	const hec_tokenizer *tokenizer = hec_transcriber_tokenizer(t);
	char language[32];
	snprintf(language, sizeof language, "<|%.16s|>", transcript->language);
	add_begin(h, tokenizer, "<|startoftranscript|>");
	if (hec_transcriber_multilingual(t)) {
		add_begin(h, tokenizer, language);
		add_begin(h, tokenizer,
		          transcript->translated ? "<|translate|>" : "<|transcribe|>");
	}
	if (!times)
		add_begin(h, tokenizer, "<|notimestamps|>");
}

static bool take_ids(const hec_transcript *transcript, double window, heard *h)
{
	int64_t n = transcript->segments[0].n; /* wherever it begins */
	for (int64_t i = 1; i < transcript->count && transcript->segments[i].begin < window; i++)
		n += transcript->segments[i].n;
	h->ids = malloc((size_t)n * sizeof *h->ids + 1);
	for (int64_t i = 0; h->ids && h->n < n; i++) {
		const hec_segment *s = &transcript->segments[i];
		memcpy(h->ids + h->n, s->ids, (size_t)s->n * sizeof *h->ids);
		h->n += s->n;
	}
	return h->ids != NULL;
}

int transcribe_attend(attend_flag *f, const command *self, const hec_transcriber *transcriber,
                      const hec_audio *audio, const hec_transcript *transcript,
                      const hec_transcribe_options *options)
{
	if (!attend_flag_wants(f) || transcript->count == 0)
		return EXIT_DONE;
	const hec_model *model = hec_transcriber_model(transcriber);
	const hec_model_config *c = hec_model_config_of(model);
	const int64_t frames = 2 * c->encoder.position.max, bands = c->front.features;
	const double seconds = (double)audio->count / (double)audio->rate,
		     window = hec_transcriber_window(transcriber);
	heard h = {0};
	int code = EXIT_DONE;
	make_begin(transcriber, transcript, options->timestamps || seconds > window, &h);
	if (!take_ids(transcript, window, &h) ||
	    make_window(f->ctx, audio, bands, frames, &h) != HEC_OK)
		code = command_failed(self, "--attend: no features of the sound");
	hec_tensor features = hec_tensor_3d(h.window, HEC_F32, 1, bands, frames);
	attend_pass p = {.ctx = f->ctx,
	                 .model = model,
	                 .tokenizer = hec_transcriber_tokenizer(transcriber),
	                 .begin = h.begin,
	                 .begins = h.begins,
	                 .written = h.ids,
	                 .T = h.n,
	                 .features = &features,
	                 .seconds = seconds};
	/* What a model can hold ends a window that was written in several goes. */
	if (p.begins + p.T - 1 > c->decoder.position.max)
		p.T = c->decoder.position.max - p.begins + 1;
	if (code == EXIT_DONE && h.begins > 0)
		code = attend_flag_pass(f, self, &p, transcript->text);
	free(h.all);
	free(h.window);
	free(h.ids);
	return code;
}
