/* mel.c — the scale is linear up to 1,000 Hz (15 mel) and logarithmic above: 27 mel for a factor of
 * 6.4. The filters' corners are evenly spaced on it; each has the area of a constant. */
#include "audio/mel.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"

#define BEND_HZ 1000.0
#define BEND_MEL 15.0

static double log_step(void)
{
	return log(6.4) / 27.0;
}

static double mel_of(double hz)
{
	return hz < BEND_HZ ? 3.0 * hz / 200.0 : BEND_MEL + log(hz / BEND_HZ) / log_step();
}

static double hz_of(double mel)
{
	return mel < BEND_MEL ? 200.0 * mel / 3.0 : BEND_HZ * exp(log_step() * (mel - BEND_MEL));
}

static double corner_hz(int64_t i, int64_t mels)
{
	return hz_of(mel_of(MEL_HIGHEST) * (double)i / (double)(mels + 1));
}

/* The height of filter i, a triangle, at this frequency. */
static double weight_at(int64_t i, int64_t mels, double hz)
{
	double low = corner_hz(i, mels), mid = corner_hz(i + 1, mels),
	       high = corner_hz(i + 2, mels);
	double up = (hz - low) / (mid - low), down = (high - hz) / (high - mid);
	double least = up < down ? up : down;
	return least > 0 ? least * 2.0 / (high - low) : 0;
}

static double bin_hz(int64_t bin, int64_t bins, int64_t rate)
{
	return (double)(rate / 2) * (double)bin / (double)(bins - 1);
}

/* The bins that lie inside filter i: at most so many overlap that all filters hold 2 · bins weights. */
static void fill_filter(mel_bank *b, int64_t i, int64_t rate, int64_t *at)
{
	double low = corner_hz(i, b->mels), width = bin_hz(1, b->bins, rate);
	int64_t bin = max_i64(0, (int64_t)(low / width) - 1);
	while (bin < b->bins && bin_hz(bin, b->bins, rate) <= low)
		bin++;
	b->bin[i] = bin;
	b->first[i] = *at;
	for (; bin < b->bins && *at < 2 * b->bins; bin++) {
		double w = weight_at(i, b->mels, bin_hz(bin, b->bins, rate));
		if (w <= 0)
			break;
		b->weight[(*at)++] = w;
	}
}

hec_status mel_bank_create(int64_t mels, int64_t bins, int64_t rate, mel_bank *out)
{
	mel_bank b = {.mels = mels, .bins = bins};
	b.bin = mem_alloc((size_t)mels * sizeof *b.bin);
	b.first = mem_alloc(((size_t)mels + 1) * sizeof *b.first);
	b.weight = mem_alloc(2 * (size_t)bins * sizeof *b.weight);
	if (!b.bin || !b.first || !b.weight) {
		mel_bank_free(&b);
		return fail(HEC_ERR_MEMORY, "log-mel: no memory for %lld filters", (long long)mels);
	}
	int64_t at = 0;
	for (int64_t i = 0; i < mels; i++)
		fill_filter(&b, i, rate, &at);
	b.first[mels] = at;
	*out = b;
	return HEC_OK;
}

void mel_bank_free(mel_bank *bank)
{
	mem_free(bank->bin);
	mem_free(bank->first);
	mem_free(bank->weight);
	*bank = (mel_bank){0};
}
