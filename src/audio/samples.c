/* samples.c — memory grows by half of what there is, and is cut to size at the end. */
#include "audio/samples.h"

#include <stdlib.h>
#include <string.h>

#include <hecate/audio.h>

#include "base/memory.h"
#include "base/size.h"

#define FIRST 16384

hec_status samples_add(samples *s, const char *name, const float *data, int64_t n)
{
	if (n > s->capacity - s->count) {
		int64_t capacity = max_i64(s->count + n, max_i64(FIRST, s->capacity / 2 * 3));
		size_t bytes;
		float *grown = size_mul((size_t)capacity, sizeof *grown, &bytes)
		                       ? mem_resize(s->data, bytes)
		                       : NULL;
		if (!grown)
			return fail(HEC_ERR_MEMORY, "%s: no memory for %lld samples", name,
			            (long long)capacity);
		s->data = grown;
		s->capacity = capacity;
	}
	if (n > 0)
		memcpy(s->data + s->count, data, (size_t)n * sizeof *data);
	s->count += n;
	return HEC_OK;
}

void samples_give(samples *s, const float **data, int64_t *count)
{
	float *cut = s->count > 0 ? mem_resize(s->data, (size_t)s->count * sizeof *cut) : NULL;
	*data = cut ? cut : s->data;
	*count = s->count;
	*s = (samples){0};
}

void samples_free(samples *s)
{
	mem_free(s->data);
	*s = (samples){0};
}

void hec_audio_free(hec_audio *audio)
{
	if (!audio)
		return;
	mem_free((float *)audio->samples);
	mem_free(audio);
}
