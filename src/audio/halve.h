/* halve.h — half the rate, for a tenth of what libsamplerate takes: its best filter grows with the rate of
 * the file, so that a rate far above the wanted one costs far more than what is wanted. */
#ifndef AUDIO_HALVE_H
#define AUDIO_HALVE_H

#include <stdint.h>

#define HALVE_PIECE 16384 /* samples of a call */
#define HALVE_TAPS 31
#define HALVE_REACH (HALVE_TAPS / 2) /* samples to each side */

/* Starts zeroed but for held, which halve_start sets. */
typedef struct halving {
	float line[HALVE_TAPS + HALVE_PIECE];
	int64_t held; /* samples that the next call needs again */
} halving;

/* How often a rate is to be halved: while half the wanted rate is at most a twelfth of it, below which sound
 * stays as it was. */
int halve_count(int64_t rate, int64_t wanted);

void halve_start(halving *h);
/* n samples (at most HALVE_PIECE) become about half as many in the same place; how many. Sample i of what comes
 * is sample 2 i of what went in, and HALVE_REACH zeros at the end bring out the last. */
int64_t halve(halving *h, float *samples, int64_t n);

#endif
