/* samples.h — samples that become more. */
#ifndef AUDIO_SAMPLES_H
#define AUDIO_SAMPLES_H

#include "base/status.h"

typedef struct samples {
	float *data; /* NULL while empty */
	int64_t count, capacity;
} samples;

hec_status samples_add(samples *s, const char *name, const float *data, int64_t n);
/* Gives the memory away, cut to what is used. */
void samples_give(samples *s, const float **data, int64_t *count);
void samples_free(samples *s);

#endif
