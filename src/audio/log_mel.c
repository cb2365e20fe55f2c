/* log_mel.c — samples → windowed frames → power spectrum → mel filters → logarithm.
 *
 * A frame of 400 samples as a product with the 400 × 402 matrix of the transform takes 160,800
 * multiplications, by fft.c about 4,000; so it is done that way, in double, and every level gives the
 * same bits. Eight frames are one task of the pool. */
#include <hecate/audio.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/fft.h"
#include "audio/mel.h"
#include "backend/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "tensor/check.h"

#define LANES FFT_LANES
#define RATE_MOST 1000000
#define MELS_MOST 1024
#define LENGTH_MOST ((int64_t)1 << 40)
#define LEAST 1e-10 /* power */
#define RANGE 8.0   /* decades below the largest */

typedef struct work {
	hec_mel_options options;
	const float *samples;
	int64_t given;  /* samples there are; silence from there to `length` */
	int64_t length; /* all of them */
	int64_t frames;
	fft *transform;
	mel_bank bank;
	double *window; /* [fft] */
	hec_tensor *out;
	char *scratch;
	size_t stride;
} work;

static hec_status read_options(const hec_mel_options *given, hec_mel_options *o)
{
	*o = (hec_mel_options)HEC_MEL_OPTIONS_INIT;
	HEC_TRY(options_take("hec_mel_options", o, sizeof *o, given));
	if (o->rate < 2 || o->rate > RATE_MOST)
		return fail(HEC_ERR_ARGUMENT,
		            "log-mel: %lld samples a second; 2 to %d are possible",
		            (long long)o->rate, RATE_MOST);
	if (o->fft < 1)
		return fail(HEC_ERR_ARGUMENT, "log-mel: frames of %lld samples", (long long)o->fft);
	if (o->hop < 1 || o->hop > FFT_LENGTH_MOST || o->mels < 1 || o->mels > MELS_MOST)
		return fail(
			HEC_ERR_ARGUMENT,
			"log-mel: a hop of %lld samples and %lld filters; at most %d and %d are "
			"possible",
			(long long)o->hop, (long long)o->mels, FFT_LENGTH_MOST, MELS_MOST);
	if (o->length < 0 || o->length > LENGTH_MOST)
		return fail(HEC_ERR_ARGUMENT, "log-mel: a length of %lld samples",
		            (long long)o->length);
	return HEC_OK;
}

static hec_status count_frames(const hec_mel_options *o, int64_t n, int64_t *length,
                               int64_t *frames)
{
	if (n < 0 || n > LENGTH_MOST)
		return fail(HEC_ERR_ARGUMENT, "log-mel: %lld samples", (long long)n);
	*length = o->length > 0 ? o->length : n;
	*frames = *length / o->hop;
	return HEC_OK;
}

hec_status hec_log_mel_frames(const hec_mel_options *options, int64_t n, int64_t *frames)
{
	HEC_TRY(CHECK_GIVEN("log-mel", frames));
	hec_mel_options o;
	int64_t length;
	HEC_TRY(read_options(options, &o));
	return count_frames(&o, n, &length, frames);
}

/* ---- eight frames ---- */

/* Sample i of the whole, mirrored at its ends (which it passes by less than the length). */
static double sample_at(const work *w, int64_t i)
{
	if (i < 0)
		i = -i;
	if (i >= w->length)
		i = 2 * (w->length - 1) - i;
	return i < w->given ? (double)w->samples[i] : 0;
}

static void read_frame(const work *w, int64_t frame, int lane, double *x)
{
	int64_t n = w->options.fft, begin = frame * w->options.hop - n / 2;
	if (frame >= w->frames) {
		for (int64_t i = 0; i < n; i++)
			x[i * LANES + lane] = 0;
	} else if (begin >= 0 && begin + n <= w->given) {
		for (int64_t i = 0; i < n; i++)
			x[i * LANES + lane] = w->window[i] * (double)w->samples[begin + i];
	} else {
		for (int64_t i = 0; i < n; i++)
			x[i * LANES + lane] = w->window[i] * sample_at(w, begin + i);
	}
}

static void write_frame(const work *w, int64_t frame, int lane, const double *power)
{
	float *out = w->out->data;
	for (int64_t m = 0; m < w->bank.mels; m++) {
		double sum = 0;
		const double *p = power + w->bank.bin[m] * LANES + lane;
		for (int64_t i = w->bank.first[m]; i < w->bank.first[m + 1]; i++, p += LANES)
			sum += w->bank.weight[i] * *p;
		out[m * w->out->stride[0] + frame * w->out->stride[1]] =
			(float)log10(sum > LEAST ? sum : LEAST);
	}
}

/* Whether these frames see silence alone: what fills up to the length, away from its mirror. */
static bool is_silent(const work *w, int64_t frame)
{
	int64_t half = w->options.fft / 2;
	return frame * w->options.hop - half >= w->given && w->length - 1 - half >= w->given + half;
}

static void run_frames(void *arg, int64_t task, int worker)
{
	const work *w = arg;
	int64_t n = w->options.fft, first = task * LANES;
	double *x = (double *)(w->scratch + (size_t)worker * w->stride);
	double *power = x + n * LANES, *transform = power + (n / 2 + 1) * LANES;
	if (is_silent(w, first)) {
		memset(power, 0, (size_t)(n / 2 + 1) * LANES * sizeof *power);
	} else {
		for (int lane = 0; lane < LANES; lane++)
			read_frame(w, first + lane, lane, x);
		fft_power(w->transform, x, transform, power);
	}
	for (int lane = 0; lane < LANES && first + lane < w->frames; lane++)
		write_frame(w, first + lane, lane, power);
}

/* ---- all of them ---- */

static void scale_all(const work *w)
{
	float *out = w->out->data;
	const int64_t *stride = w->out->stride;
	float largest = -INFINITY;
	for (int64_t m = 0; m < w->bank.mels; m++)
		for (int64_t t = 0; t < w->frames; t++)
			largest = fmaxf(largest, out[m * stride[0] + t * stride[1]]);
	float least = largest - (float)RANGE;
	for (int64_t m = 0; m < w->bank.mels; m++)
		for (int64_t t = 0; t < w->frames; t++) {
			float *value = &out[m * stride[0] + t * stride[1]];
			*value = (fmaxf(*value, least) + 4.0F) / 4.0F;
		}
}

static hec_status make_window(work *w)
{
	int64_t n = w->options.fft;
	w->window = mem_alloc((size_t)n * sizeof *w->window);
	if (!w->window)
		return fail(HEC_ERR_MEMORY, "log-mel: no memory for a window of %lld samples",
		            (long long)n);
	for (int64_t i = 0; i < n; i++)
		w->window[i] = 0.5 - 0.5 * cos(2 * 3.14159265358979323846 * (double)i / (double)n);
	return HEC_OK;
}

static hec_status compute_log_mel(hec_ctx *ctx, work *w)
{
	int64_t n = w->options.fft;
	HEC_TRY(fft_create(n, &w->transform));
	HEC_TRY(make_window(w));
	HEC_TRY(mel_bank_create(w->options.mels, n / 2 + 1, w->options.rate, &w->bank));
	size_t doubles = (size_t)(n + n / 2 + 1) * LANES + fft_work(w->transform);
	HEC_TRY(ctx_scratch(ctx, doubles * sizeof(double), &w->scratch, &w->stride));
	pool_run(ctx_pool(ctx), div_up(w->frames, LANES), run_frames, w);
	scale_all(w);
	return HEC_OK;
}

static hec_status check_samples(const float *samples, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(samples[i]))
			return fail(HEC_ERR_ARGUMENT, "log-mel: sample %lld is not a finite number",
			            (long long)i);
	return HEC_OK;
}

hec_status hec_log_mel(hec_ctx *ctx, const hec_mel_options *options, const float *samples,
                       int64_t n, hec_tensor *out)
{
	HEC_TRY(CHECK_GIVEN("log-mel", ctx));
	HEC_TRY(CHECK_GIVEN("log-mel", out));
	work w = {.samples = samples, .out = out};
	HEC_TRY(read_options(options, &w.options));
	HEC_TRY(count_frames(&w.options, n, &w.length, &w.frames));
	w.given = min_i64(n, w.length);
	if (w.given > 0)
		HEC_TRY(CHECK_GIVEN("log-mel", samples));
	HEC_TRY(CHECK_2D("log-mel: out", out, HEC_F32, w.options.mels, w.frames));
	if (w.length <= w.options.fft / 2)
		return fail(HEC_ERR_ARGUMENT,
		            "log-mel: %lld samples; more than %lld, half a frame, are needed",
		            (long long)w.length, (long long)w.options.fft / 2);
	HEC_TRY(check_samples(samples, w.given));
	hec_status status = compute_log_mel(ctx, &w);
	fft_destroy(w.transform);
	mel_bank_free(&w.bank);
	mem_free(w.window);
	return status;
}
