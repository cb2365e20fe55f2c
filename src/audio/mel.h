/* mel.h — triangular filters on Slaney's mel scale. */
#ifndef AUDIO_MEL_H
#define AUDIO_MEL_H

#include "base/status.h"

#define MEL_HIGHEST 8000.0 /* Hz */

/* Filter i is weight[first[i + 1] − first[i] numbers from first[i]], over bins from bin[i]. */
typedef struct mel_bank {
	int64_t mels, bins;
	int64_t *bin;   /* [mels] */
	int64_t *first; /* [mels + 1] */
	double *weight;
} mel_bank;

hec_status mel_bank_create(int64_t mels, int64_t bins, int64_t rate, mel_bank *out);
void mel_bank_free(mel_bank *bank); /* takes a zeroed one */

#endif
