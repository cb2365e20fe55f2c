/* test_log_mel.c — features against Hugging Face's WhisperFeatureExtractor, the transform against its
 * definition, and refusals.
 *
 * The extractor computes in float32: a bin that lies d decades of power below the largest of its
 * frame is known to it to about 2^-24 · 10^(d/2) of its amplitude, and features show 8 decades. Those
 * far below are compared by what that leaves, the others to NEAR. */
#include "support/golden.h"

#include <math.h>
#include <string.h>

#include "audio/fft.h"

#define NEAR 1e-5 /* of a feature, whose unit is four decades of power */
#define FAR 1e-4  /* of one that is more than FAR_DECADES below the largest */
#define FAR_DECADES 5.0
#define TURN 6.28318530717958647692

static hec_mel_options options_of(const golden *g)
{
	hec_mel_options o = HEC_MEL_OPTIONS_INIT;
	o.rate = (int64_t)golden_number(g, "config", 0);
	o.fft = (int64_t)golden_number(g, "config", 1);
	o.hop = (int64_t)golden_number(g, "config", 2);
	o.mels = (int64_t)golden_number(g, "config", 3);
	o.length = (int64_t)golden_number(g, "config", 4);
	return o;
}

static hec_tensor features_of(kit *k, const hec_mel_options *o, const hec_tensor *samples)
{
	int64_t frames;
	OK(k, hec_log_mel_frames(o, samples->shape[0], &frames));
	hec_tensor out = make(k, HEC_F32, SHAPE(o->mels, frames));
	OK(k, hec_log_mel(k->ctx, o, samples->data, samples->shape[0], &out));
	return out;
}

static double largest_of(const hec_tensor *x)
{
	double most = -INFINITY;
	for (int64_t i = 0; i < hec_tensor_count(x); i++)
		most = fmax(most, get(x, i));
	return most;
}

static void compare(kit *k, const golden *g)
{
	hec_mel_options o = options_of(g);
	const hec_tensor *want = golden_get(g, "features");
	hec_tensor got = features_of(k, &o, golden_get(g, "samples"));
	int64_t first = (int64_t)golden_number(g, "config", 5), n = want->shape[1];
	double far = largest_of(&got) - FAR_DECADES / 4;
	CHECK(k, got.shape[1] >= first + n, "%s: %lld frames", g->path, (long long)got.shape[1]);
	for (int64_t m = 0; m < o.mels; m++)
		for (int64_t t = 0; t < n; t++) {
			double x = get(&got, m * got.shape[1] + first + t),
			       y = get(want, m * n + t);
			CHECK(k, fabs(x - y) <= (y < far ? FAR : NEAR),
			      "%s: mel %lld of frame %lld is %.9g, the extractor has %.9g", g->path,
			      (long long)m, (long long)(first + t), x, y);
		}
}

static void features_are_those_of_the_extractor(void **state)
{
	(void)state;
	golden_each("log_mel_", compare);
}

/* ---- the transform ---- */

static void check_transform(kit *k, int64_t n)
{
	fft *f = NULL;
	OK(k, fft_create(n, &f));
	hec_tensor x = make_random(k, HEC_F64, SHAPE(n, FFT_LANES));
	hec_tensor work = make(k, HEC_F64, SHAPE((int64_t)fft_work(f)));
	hec_tensor power = make(k, HEC_F64, SHAPE(n / 2 + 1, FFT_LANES));
	fft_power(f, x.data, work.data, power.data);
	for (int64_t b = 0; b <= n / 2; b++)
		for (int64_t lane = 0; lane < FFT_LANES; lane++) {
			double re = 0, im = 0;
			for (int64_t i = 0; i < n; i++) {
				double angle = TURN * (double)(i * b % n) / (double)n;
				re += get(&x, i * FFT_LANES + lane) * cos(angle);
				im -= get(&x, i * FFT_LANES + lane) * sin(angle);
			}
			double want = re * re + im * im, got = get(&power, b * FFT_LANES + lane);
			CHECK(k, fabs(got - want) <= 1e-12 * (double)n * (double)n,
			      "bin %lld of %lld is %.17g, by the definition %.17g", (long long)b,
			      (long long)n, got, want);
		}
	fft_destroy(f);
}

static void power_spectra_are_those_of_the_definition(void **state)
{
	(void)state;
	static const int64_t lengths[] = {2,  4,  6,  8,   10,  14,  22,
	                                  26, 30, 64, 210, 286, 400, 1001 * 2};
	kit k = kit_open(3);
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		check_transform(&k, lengths[i]);
	kit_close(&k);
}

static void a_length_that_cannot_be_transformed_is_refused(void **state)
{
	(void)state;
	kit k = kit_open(4);
	fft *f = NULL;
	FAILS(&k, HEC_ERR_UNSUPPORTED, fft_create(401, &f), "401", "even");
	FAILS(&k, HEC_ERR_UNSUPPORTED, fft_create(34, &f), "34", "prime factor");
	FAILS(&k, HEC_ERR_UNSUPPORTED, fft_create(0, &f), "even");
	FAILS(&k, HEC_ERR_UNSUPPORTED, fft_create((int64_t)1 << 40, &f), "16384");
	kit_close(&k);
}

/* ---- promises ---- */

static void any_number_of_threads_gives_the_same_bits(void **state)
{
	(void)state;
	kit one = kit_open_at(5, NULL, 1), three = kit_open_at(5, NULL, 3);
	hec_mel_options o = HEC_MEL_OPTIONS_INIT;
	hec_tensor x = make_random(&one, HEC_F32, SHAPE(5000));
	hec_tensor a = features_of(&one, &o, &x), b = features_of(&three, &o, &x);
	check_same_bits(&one, "features", &a, &b);
	kit_close(&one);
	kit_close(&three);
}

static void features_may_lie_transposed(void **state)
{
	(void)state;
	kit k = kit_open(6);
	hec_mel_options o = HEC_MEL_OPTIONS_INIT;
	hec_tensor x = make_random(&k, HEC_F32, SHAPE(3000)), turned;
	hec_tensor a = features_of(&k, &o, &x), b = make(&k, HEC_F32, SHAPE(a.shape[1], 80));
	OK(&k, hec_tensor_transpose(&b, 0, 1, &turned));
	OK(&k, hec_log_mel(k.ctx, &o, x.data, 3000, &turned));
	hec_tensor copy = make_copy(&k, &turned);
	check_same_bits(&k, "features", &a, &copy);
	kit_close(&k);
}

/* What fills up is silence: as if zeros had been given. */
static void filling_up_is_the_same_as_zeros(void **state)
{
	(void)state;
	kit k = kit_open(7);
	for (int64_t n = 0; n <= 4000; n += 799) {
		hec_mel_options o = HEC_MEL_OPTIONS_INIT;
		hec_tensor x = make_zero(&k, HEC_F32, SHAPE(4000));
		for (int64_t i = 0; i < n; i++)
			put(&x, i, draw_normal(&k));
		hec_tensor whole = features_of(&k, &o, &x), part = make_zero(&k, HEC_F32, SHAPE(n));
		for (int64_t i = 0; i < n; i++)
			put(&part, i, get(&x, i));
		o.length = 4000;
		hec_tensor filled = features_of(&k, &o, &part);
		check_same_bits(&k, "features", &whole, &filled);
	}
	kit_close(&k);
}

static void wrong_arguments_are_refused(void **state)
{
	(void)state;
	kit k = kit_open(8);
	hec_tensor x = make_zero(&k, HEC_F32, SHAPE(400)), out = make(&k, HEC_F32, SHAPE(80, 2));
	hec_mel_options o = HEC_MEL_OPTIONS_INIT;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel(NULL, &o, x.data, 400, &out), "ctx");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel(k.ctx, &o, x.data, 400, NULL), "out");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel(k.ctx, &o, NULL, 400, &out), "samples");
	FAILS(&k, HEC_ERR_SHAPE, hec_log_mel(k.ctx, &o, x.data, 300, &out), "[80, 2]");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel(k.ctx, &o, x.data, -1, &out), "-1");
	put(&x, 17, (double)NAN);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel(k.ctx, &o, x.data, 400, &out), "sample 17");
	hec_tensor few = make(&k, HEC_F32, SHAPE(80, 1));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel(k.ctx, &o, x.data, 200, &few), "200");
	int64_t frames;
	o.mels = -3;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel_frames(&o, 400, &frames), "-3 filters");
	o.mels = 80;
	o.rate = -1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel_frames(&o, 400, &frames), "-1 samples");
	o.rate = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel_frames(&o, 400, &frames), "0 samples");
	o.rate = 16000;
	o.mels = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel_frames(&o, 400, &frames), "0 filters");
	o.mels = 80;
	o.hop = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel_frames(&o, 400, &frames), "a hop of 0");
	o.hop = 160;
	o.fft = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_log_mel_frames(&o, 400, &frames), "frames of 0");
	o.fft = 34;
	put(&x, 17, 0);
	FAILS(&k, HEC_ERR_UNSUPPORTED, hec_log_mel(k.ctx, &o, x.data, 400, &out), "34");
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_are_those_of_the_extractor),
		cmocka_unit_test(power_spectra_are_those_of_the_definition),
		cmocka_unit_test(a_length_that_cannot_be_transformed_is_refused),
		cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
		cmocka_unit_test(features_may_lie_transposed),
		cmocka_unit_test(filling_up_is_the_same_as_zeros),
		cmocka_unit_test(wrong_arguments_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
