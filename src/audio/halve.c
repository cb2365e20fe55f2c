/* halve.c — a half-band filter: every other tap but the middle one is 0. Half a sinc under a Kaiser window with
 * β = 16.8: up to a twelfth of the rate, and so far from half of it where that would fold down, it is off by
 * less than 3e-8, which is less than the steps of f32. */
#include "audio/halve.h"

#include <string.h>

#define SIDE ((HALVE_TAPS + 1) / 4)

/* Taps 1, 3, 5, … from the middle, which is 1/2; they sum to 1/4. */
static const double taps[SIDE] = {
	3.083312916774e-01, -7.948346556932e-02, 2.817160874532e-02, -8.828556502630e-03,
	2.122865024323e-03, -3.423346852842e-04, 2.923065574096e-05, -6.393455257273e-07,
};

int halve_count(int64_t rate, int64_t wanted)
{
	int n = 0;
	while (rate >> n >= 6 * wanted)
		n++;
	return n;
}

void halve_start(halving *h)
{
	/* Silence before the first sample, which is the middle of the first sum. */
	memset(h->line, 0, HALVE_REACH * sizeof *h->line);
	h->held = HALVE_REACH;
}

static float filter_sample(const float *middle)
{
	double sum = 0.5 * (double)middle[0];
	for (int i = 0; i < SIDE; i++)
		sum += taps[i] * ((double)middle[-1 - 2 * i] + (double)middle[1 + 2 * i]);
	return (float)sum;
}

int64_t halve(halving *h, float *samples, int64_t n)
{
	const int64_t end = h->held + n;
	int64_t at = 0, out = 0;
	memcpy(h->line + h->held, samples, (size_t)n * sizeof *samples);
	for (; at + HALVE_TAPS <= end; at += 2)
		samples[out++] = filter_sample(h->line + at + HALVE_REACH);
	h->held = end - at;
	memmove(h->line, h->line + at, (size_t)h->held * sizeof *h->line);
	return out;
}
