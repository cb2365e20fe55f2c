/* whisper_features.c — log-mel features of a whole sound, and the windows that the encoder reads of them.
 *
 * They are made of the whole sound at once, as the loudest of them bounds all others. What a window has behind
 * them are zeros. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "task/whisper.h"

double whisper_seconds(const whisper_config *c, int64_t frames)
{
	return (double)(frames * c->mel.hop) / (double)c->mel.rate;
}

/* Mirrored at its ends, a sound must be longer than half a frame: a shorter one is filled up in any case. A frame
 * reaches half of fft behind its middle: with all of fft no frame that counts is mirrored. */
hec_status whisper_features_make(const whisper_config *c, hec_ctx *ctx, bool plain,
                                 const float *samples, int64_t count, whisper_features *out)
{
	hec_mel_options mel = c->mel;
	const int64_t fits = c->window * mel.hop;
	*out = (whisper_features){.bands = mel.mels};
	mel.length = !plain ? count + mel.fft : count <= fits ? fits : 0;
	HEC_TRY(hec_log_mel_frames(&mel, count, &out->pitch));
	out->frames = plain ? out->pitch : count / mel.hop;
	size_t bytes;
	if (!size_mul((size_t)out->pitch, (size_t)mel.mels * sizeof(float), &bytes) ||
	    !(out->data = mem_alloc(bytes)))
		return fail(HEC_ERR_MEMORY, "transcribe: no memory for features [%lld, %lld]",
		            (long long)mel.mels, (long long)out->pitch);
	hec_tensor all = hec_tensor_2d(out->data, HEC_F32, mel.mels, out->pitch);
	hec_status status = hec_log_mel(ctx, &mel, samples, count, &all);
	if (status != HEC_OK)
		whisper_features_free(out);
	return status;
}

void whisper_features_free(whisper_features *f)
{
	mem_free(f->data);
	*f = (whisper_features){0};
}

void whisper_window(const whisper_features *f, int64_t from, const hec_tensor *to)
{
	const int64_t frames = to->shape[1], have = min_i64(f->frames - from, frames);
	for (int64_t b = 0; b < f->bands; b++) {
		float *row = (float *)to->data + b * to->stride[0];
		for (int64_t t = 0; t < frames; t++)
			row[t * to->stride[1]] = t < have ? f->data[b * f->pitch + from + t] : 0;
	}
}

bool whisper_is_silent(const whisper_features *f, int64_t from, int64_t frames)
{
	const float first = f->data[from];
	for (int64_t b = 0; b < f->bands; b++)
		for (int64_t t = 0; t < frames; t++)
			if (f->data[b * f->pitch + from + t] != first)
				return false;
	return true;
}
