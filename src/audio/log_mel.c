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

typedef struct mel_call {
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
} mel_call;

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
static double sample_at(const mel_call *call, int64_t i)
{
	if (i < 0)
		i = -i;
	if (i >= call->length)
		i = 2 * (call->length - 1) - i;
	return i < call->given ? (double)call->samples[i] : 0;
}

static void read_frame(const mel_call *call, int64_t frame, int lane, double *x)
{
	int64_t n = call->options.fft, begin = frame * call->options.hop - n / 2;
	if (frame >= call->frames) {
		for (int64_t i = 0; i < n; i++)
			x[i * LANES + lane] = 0;
	} else if (begin >= 0 && begin + n <= call->given) {
		for (int64_t i = 0; i < n; i++)
			x[i * LANES + lane] = call->window[i] * (double)call->samples[begin + i];
	} else {
		for (int64_t i = 0; i < n; i++)
			x[i * LANES + lane] = call->window[i] * sample_at(call, begin + i);
	}
}

static void write_frame(const mel_call *call, int64_t frame, int lane, const double *power)
{
	float *out = call->out->data;
	for (int64_t m = 0; m < call->bank.mels; m++) {
		double sum = 0;
		const double *p = power + call->bank.bin[m] * LANES + lane;
		for (int64_t i = call->bank.first[m]; i < call->bank.first[m + 1]; i++, p += LANES)
			sum += call->bank.weight[i] * *p;
		out[m * call->out->stride[0] + frame * call->out->stride[1]] =
			(float)log10(sum > LEAST ? sum : LEAST);
	}
}

/* Whether these frames see silence alone: what fills up to the length, away from its mirror. */
static bool is_silent(const mel_call *call, int64_t frame)
{
	int64_t half = call->options.fft / 2;
	return frame * call->options.hop - half >= call->given &&
	       call->length - 1 - half >= call->given + half;
}

static void run_frames(void *arg, int64_t task, int worker)
{
	const mel_call *call = arg;
	int64_t n = call->options.fft, first = task * LANES;
	double *x = (double *)(call->scratch + (size_t)worker * call->stride);
	double *power = x + n * LANES, *transform = power + (n / 2 + 1) * LANES;
	if (is_silent(call, first)) {
		memset(power, 0, (size_t)(n / 2 + 1) * LANES * sizeof *power);
	} else {
		for (int lane = 0; lane < LANES; lane++)
			read_frame(call, first + lane, lane, x);
		fft_power(call->transform, x, transform, power);
	}
	for (int lane = 0; lane < LANES && first + lane < call->frames; lane++)
		write_frame(call, first + lane, lane, power);
}

/* ---- all of them ---- */

static void scale_all(const mel_call *call)
{
	float *out = call->out->data;
	const int64_t *stride = call->out->stride;
	float largest = -INFINITY;
	for (int64_t m = 0; m < call->bank.mels; m++)
		for (int64_t t = 0; t < call->frames; t++)
			largest = fmaxf(largest, out[m * stride[0] + t * stride[1]]);
	float least = largest - (float)RANGE;
	for (int64_t m = 0; m < call->bank.mels; m++)
		for (int64_t t = 0; t < call->frames; t++) {
			float *value = &out[m * stride[0] + t * stride[1]];
			*value = (fmaxf(*value, least) + 4.0F) / 4.0F;
		}
}

static hec_status make_window(mel_call *call)
{
	int64_t n = call->options.fft;
	call->window = mem_alloc((size_t)n * sizeof *call->window);
	if (!call->window)
		return fail(HEC_ERR_MEMORY, "log-mel: no memory for a window of %lld samples",
		            (long long)n);
	for (int64_t i = 0; i < n; i++)
		call->window[i] =
			0.5 - 0.5 * cos(2 * 3.14159265358979323846 * (double)i / (double)n);
	return HEC_OK;
}

static hec_status compute_log_mel(hec_ctx *ctx, mel_call *call)
{
	int64_t n = call->options.fft;
	HEC_TRY(fft_create(n, &call->transform));
	HEC_TRY(make_window(call));
	HEC_TRY(mel_bank_create(call->options.mels, n / 2 + 1, call->options.rate, &call->bank));
	size_t doubles = (size_t)(n + n / 2 + 1) * LANES + fft_work(call->transform);
	HEC_TRY(ctx_scratch(ctx, doubles * sizeof(double), &call->scratch, &call->stride));
	pool_run(ctx_pool(ctx), div_up(call->frames, LANES), run_frames, call);
	scale_all(call);
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
	mel_call call = {.samples = samples, .out = out};
	HEC_TRY(read_options(options, &call.options));
	HEC_TRY(count_frames(&call.options, n, &call.length, &call.frames));
	call.given = min_i64(n, call.length);
	if (call.given > 0)
		HEC_TRY(CHECK_GIVEN("log-mel", samples));
	HEC_TRY(CHECK_2D("log-mel: out", out, HEC_F32, call.options.mels, call.frames));
	if (call.length <= call.options.fft / 2)
		return fail(HEC_ERR_ARGUMENT,
		            "log-mel: %lld samples; more than %lld, half a frame, are needed",
		            (long long)call.length, (long long)call.options.fft / 2);
	HEC_TRY(check_samples(samples, call.given));
	hec_status status = compute_log_mel(ctx, &call);
	fft_destroy(call.transform);
	mel_bank_free(&call.bank);
	mem_free(call.window);
	return status;
}
