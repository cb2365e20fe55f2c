/* test_audio.c — every kind of file comes back as the sound that was put in, at 16 kHz and mono; what
 * is cut, wrong or too long is refused with its reason. */
#include "support/clock.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include "support/test.h"

#include <stdio.h>

#include "alloc/refuse.h"
#include "base/file.h"
#include "sound_files.h"

/* The channels' mean is the sine. */
static double uneven(double seconds, int channel, double hz)
{
	double more = 0.25 * sin(TURN * 97 * seconds);
	return sine(seconds, channel, hz) + (channel % 2 ? more : -more);
}

/* The largest distance from the sine at 16 kHz, away from both ends. */
static double distance(const hec_audio *a, double hz)
{
	double most = 0;
	for (int64_t i = 1600; i < a->count - 1600; i++)
		most = fmax(most, fabs((double)a->samples[i] - sine((double)i / 16000, 0, hz)));
	return most;
}

/* ---- kinds of files ---- */

static void every_kind_of_file_gives_the_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		const case_kind *c = &kinds[i];
		int64_t frames = c->rate;
		file f = make_file(c->format, c->rate, c->channels, frames,
		                   c->channels % 2 ? sine : uneven, 440);
		hec_audio *a;
		if (hec_audio_read_memory(c->name, f.data, (size_t)f.size, NULL, &a) != HEC_OK)
			fail_msg("%s: %s", c->name, hec_error_message());
		if (a->rate != 16000 || a->file_rate != c->rate || a->channels != c->channels)
			fail_msg("%s: read as %lld Hz, %lld channels", c->name,
			         (long long)a->file_rate, (long long)a->channels);
		if (llabs((long long)a->count - 16000) > 1)
			fail_msg("%s: %lld samples of one second", c->name, (long long)a->count);
		if (distance(a, 440) > c->near)
			fail_msg("%s: off by %g", c->name, distance(a, 440));
		hec_audio_free(a);
		free(f.data);
	}
}

/* MP3 begins with a delay of its own, so the sound is found by its loudness. */
static void an_mp3_gives_the_sound(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 2, 44100, sine, 440);
	hec_audio *a;
	if (hec_audio_read_memory("mp3", f.data, (size_t)f.size, NULL, &a) != HEC_OK)
		fail_msg("mp3: %s", hec_error_message());
	assert_int_equal(a->file_rate, 44100);
	assert_true(a->count >= 15990 && a->count < 18000);
	double power = 0, in = 0, out = 0;
	for (int64_t i = 4000; i < 12000; i++) {
		double x = (double)a->samples[i], at = TURN * 440 * (double)i / 16000;
		power += x * x / 8000;
		in += x * sin(at) / 4000;
		out += x * cos(at) / 4000;
	}
	assert_true(fabs(sqrt(power) - 0.5 / sqrt(2)) < 0.01);
	assert_true(fabs(sqrt(in * in + out * out) - 0.5) < 0.01);
	hec_audio_free(a);
	free(f.data);
}

/* ---- rates ---- */

static const int rates[] = {8000,  11025,  22050,  32000,  44100, 48000,
                            96000, 192000, 384000, 655350, 768000};
#define RATES (sizeof rates / sizeof rates[0])

/* Up to 93 % of what both rates hold, to a few roundings of f32; and nothing is delayed. */
static void a_tone_keeps_its_height_and_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < RATES; i++) {
		double highest = 0.465 * (rates[i] < 16000 ? rates[i] : 16000);
		for (int part = 1; part <= 4; part++) {
			double hz = highest * part / 4;
			file f = make_file(SF_FORMAT_WAV | SF_FORMAT_FLOAT, rates[i], 1,
			                   rates[i] / 2, sine, hz);
			hec_audio *a;
			assert_int_equal(
				hec_audio_read_memory("wav", f.data, (size_t)f.size, NULL, &a), 0);
			if (distance(a, hz) > 1e-6)
				fail_msg("%d Hz: a tone of %g Hz is off by %g", rates[i], hz,
				         distance(a, hz));
			hec_audio_free(a);
			free(f.data);
		}
	}
}

/* A tone that 16 kHz cannot hold is gone, by 100 dB: not folded down. */
static void what_is_too_high_does_not_come_back_lower(void **state)
{
	(void)state;
	for (size_t i = 0; i < RATES; i++) {
		for (double hz = 8600; hz < 0.49 * rates[i]; hz *= 1.7) {
			file f = make_file(SF_FORMAT_WAV | SF_FORMAT_FLOAT, rates[i], 1,
			                   rates[i] / 2, sine, hz);
			hec_audio *a;
			assert_int_equal(
				hec_audio_read_memory("wav", f.data, (size_t)f.size, NULL, &a), 0);
			for (int64_t s = 1600; s < a->count - 1600; s++)
				if (fabs((double)a->samples[s]) > 0.5e-5)
					fail_msg("%d Hz: %g Hz comes as %g", rates[i], hz,
					         (double)a->samples[s]);
			hec_audio_free(a);
			free(f.data);
		}
	}
}

static void another_rate_can_be_asked_for(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 16000, sine, 440);
	hec_audio_options o = HEC_AUDIO_OPTIONS_INIT;
	o.rate = 8000;
	hec_audio *a;
	assert_int_equal(hec_audio_read_memory("wav", f.data, (size_t)f.size, &o, &a), 0);
	assert_int_equal(a->rate, 8000);
	assert_true(a->count >= 7999 && a->count <= 8001);
	hec_audio_free(a);
	free(f.data);
}

/* ---- refusals ---- */

/* The call reads into `a`, which is NULL afterwards, whatever it was. */
#define REFUSED(want, call, word)                                                                  \
	do {                                                                                       \
		static hec_audio before_;                                                          \
		a = &before_;                                                                      \
		hec_status refused_ = (call);                                                      \
		if (refused_ != (want) || !strstr(hec_error_message(), (word)))                    \
			fail_msg("%s\n  gave %s: %s", #call, hec_status_name(refused_),            \
			         hec_error_message());                                             \
		assert_null(a);                                                                    \
	} while (0)

static void put_32(unsigned char *at, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(x >> 8 * i);
}

/* A header of 44 bytes, as everyone writes it, and data. */
static void make_wav(unsigned char *to, uint32_t rate, uint16_t channels, uint32_t bytes)
{
	memcpy(to, "RIFF____WAVEfmt \x10\0\0\0\x01\0", 22);
	put_32(to + 4, bytes + 36);
	to[22] = (unsigned char)channels;
	to[23] = (unsigned char)(channels >> 8);
	put_32(to + 24, rate);
	put_32(to + 28, rate * channels * 2);
	to[32] = (unsigned char)(channels * 2);
	to[33] = (unsigned char)(channels * 2 >> 8);
	to[34] = 16;
	to[35] = 0;
	memcpy(to + 36, "data", 4);
	put_32(to + 40, bytes);
}

static void what_is_no_sound_is_refused(void **state)
{
	(void)state;
	hec_audio *a;
	unsigned char wav[444] = {0};
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", "", 0, NULL, &a),
	        "x: the file is empty");
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", "hello", 5, NULL, &a),
	        "WAV, FLAC, OGG or MP3");
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", ".snd\0\0\0\x18", 8, NULL, &a),
	        "WAV, FLAC, OGG or MP3");
	REFUSED(HEC_ERR_IO, hec_audio_read("/nowhere/a.wav", NULL, &a), "/nowhere/a.wav");
	REFUSED(HEC_ERR_ARGUMENT, hec_audio_read(NULL, NULL, &a), "path");
	REFUSED(HEC_ERR_ARGUMENT, hec_audio_read_memory("x", NULL, 5, NULL, &a), "data");
	make_wav(wav, 100, 1, 400);
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", wav, 444, NULL, &a),
	        "100 samples a second");
	make_wav(wav, 1000000, 1, 400);
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", wav, 444, NULL, &a),
	        "1000000 samples a second");
	make_wav(wav, 1, 1, 400);
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", wav, 444, NULL, &a),
	        "1 samples a second; 4000 to 768000");
	make_wav(wav, 4000000000U, 1, 400);
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", wav, 444, NULL, &a), "x: ");
	make_wav(wav, 768000, 22, 400);
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", wav, 444, NULL, &a),
	        "22 channels of 768000 samples a second are 16896000; up to 16384000");
	make_wav(wav, 16000, 1024, 400);
	assert_int_equal(hec_audio_read_memory("x", wav, 444, NULL, &a), HEC_OK);
	hec_audio_free(a);
	make_wav(wav, 16000, 0, 400);
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", wav, 444, NULL, &a), "x: ");
	hec_audio_options o = HEC_AUDIO_OPTIONS_INIT;
	o.rate = 3;
	REFUSED(HEC_ERR_ARGUMENT, hec_audio_read_memory("x", wav, 444, &o, &a), "3 samples");
	o.rate = 0;
	REFUSED(HEC_ERR_ARGUMENT, hec_audio_read_memory("x", wav, 444, &o, &a), "0 samples");
	o.rate = 16000;
	o.max_seconds = -1;
	REFUSED(HEC_ERR_ARGUMENT, hec_audio_read_memory("x", wav, 444, &o, &a), "max_seconds");
	o.max_seconds = 0;
	REFUSED(HEC_ERR_ARGUMENT, hec_audio_read_memory("x", wav, 444, &o, &a), "max_seconds is 0");
	assert_int_equal(hec_audio_read("/nowhere/a.wav", NULL, NULL), HEC_ERR_ARGUMENT);
	hec_audio_free(NULL);
}

/* By its first bytes, whatever it is called; with a line for a shell that converts it, and does nothing else. */
static void what_is_not_read_is_named_with_the_line_that_converts_it(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
		const char *kind;
	} kinds[] = {
		{"\0\0\0 ftypM4A \0\0", 14, "M4A"},
		{"\0\0\0 ftypisom\0\0", 14, "MP4"},
		{"\0\0\0 ftypqt  \0\0", 14, "MOV"},
		{"\0\0\0\10wide\0\0\0\0mdat", 16, "MOV"},
		{"\x1A\x45\xDF\xA3\x9F\x42\x86\x81\1\x42\x82\x84webm", 16, "WebM"},
		{"\x1A\x45\xDF\xA3\x9F\x42\x82\x88matroska", 16, "Matroska"},
		{"\xFF\xF1\x50\x80", 4, "AAC"},
		{"\xFF\xF9\x50\x80", 4, "AAC"},
		{"RIFF\0\0\0\0AVI LIST", 16, "AVI"},
		{"#!AMR\n", 6, "AMR"},
	};
	hec_audio *a;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		REFUSED(HEC_ERR_FORMAT,
		        hec_audio_read_memory("x.wav", kinds[i].bytes, kinds[i].n, NULL, &a),
		        kinds[i].kind);
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", kinds[0].bytes, kinds[0].n, NULL, &a),
	        "ffmpeg -i - -ar 16000 -ac 1 -f wav -");
	static const char *const lines[][2] = {
		{"x.m4a", "ffmpeg -i x.m4a -ar 16000 -ac 1 x.wav"},
		{"x.wav", "ffmpeg -i x.wav -ar 16000 -ac 1 x-16k.wav"},
		{"-x y.b", "ffmpeg -i './-x y.b' -ar 16000 -ac 1 './-x y.wav'"},
		{"$(x)';.m4a", "ffmpeg -i '$(x)'\\'';.m4a' -ar 16000 -ac 1 '$(x)'\\'';.wav'"},
		{"x\33.m4a", "ffmpeg -i IN -ar 16000 -ac 1 OUT.wav"},
	};
	char home[SCRATCH_PATH], path[SCRATCH_PATH];
	assert_non_null(getcwd(home, sizeof home));
	*strrchr(scratch_fresh(path), '/') = '\0';
	assert_int_equal(chdir(path), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_int_equal(file_replace(lines[i][0], kinds[0].bytes, kinds[0].n), HEC_OK);
		REFUSED(HEC_ERR_FORMAT, hec_audio_read(lines[i][0], NULL, &a), lines[i][1]);
	}
	assert_int_equal(chdir(home), 0);
}

static void a_number_that_is_none_is_refused(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1, 100, sine, 440);
	put_32(f.data + f.size - 40, 0x7FC00000); /* NaN, ten frames before the end */
	hec_audio *a;
	REFUSED(HEC_ERR_FORMAT, hec_audio_read_memory("x", f.data, (size_t)f.size, NULL, &a),
	        "frame 90 is not a finite number");
	free(f.data);
}

static void what_is_too_long_is_refused(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 1, 40000, sine, 440);
	hec_audio_options o = HEC_AUDIO_OPTIONS_INIT;
	o.max_seconds = 2;
	hec_audio *a;
	REFUSED(HEC_ERR_UNSUPPORTED, hec_audio_read_memory("x", f.data, (size_t)f.size, &o, &a),
	        "longer than 2 seconds");
	o.max_seconds = 2.5;
	assert_int_equal(hec_audio_read_memory("x", f.data, (size_t)f.size, &o, &a), HEC_OK);
	hec_audio_free(a);
	free(f.data);
}

/* ---- time ---- */

static double nothing(double seconds, int channel, double hz)
{
	(void)seconds, (void)channel, (void)hz;
	return 0;
}

/* The least of three runs over a few seconds of silence, which FLAC packs into next to nothing. */
static double time_of(int rate, int channels)
{
	file f = make_file(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, rate, channels, 4 * rate, nothing, 0);
	double least = INFINITY;
	for (int i = 0; i < 3; i++) {
		hec_audio *a;
		const double begin = seconds_of_processor();
		assert_int_equal(hec_audio_read_memory("flac", f.data, (size_t)f.size, NULL, &a),
		                 HEC_OK);
		least = fmin(least, seconds_of_processor() - begin);
		assert_true(llabs((long long)a->count - 4 * 16000) <= 1);
		hec_audio_free(a);
	}
	free(f.data);
	return least;
}

/* A filter as long as the rate is high would take 14 × at 655,350 Hz. */
static void what_a_sound_takes_is_by_its_seconds_not_its_rate(void **state)
{
	(void)state;
	if (SANITIZED) /* which slows our half of the work, not libsamplerate's */
		skip();
	const double usual = time_of(48000, 1);
	static const int high[] = {96000, 192000, 384000, 655350};
	for (size_t i = 0; i < sizeof high / sizeof *high; i++) {
		const double time = time_of(high[i], 1);
		if (!(time <= 5 * usual))
			fail_msg("%d Hz takes %g s, 48000 Hz %g s", high[i], time, usual);
	}
}

/* A header that promises a day of sound, with 200 samples behind it. */
static void a_promise_takes_no_memory(void **state)
{
	(void)state;
	unsigned char wav[444] = {0};
	make_wav(wav, 16000, 1, 0xFFFFFFF0U);
	hec_audio *a;
	hec_status got = hec_audio_read_memory("x", wav, sizeof wav, NULL, &a);
	if (got == HEC_OK)
		assert_int_equal(a->count, 200);
	hec_audio_free(a);
}

/* ---- memory, and stopping ---- */

static void every_refused_allocation_is_an_error(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, 100000, sine, 440);
	for (long n = 1;; n++) {
		hec_audio *a;
		long before = refuse_live();
		refuse_request(n, false);
		hec_status got = hec_audio_read_memory("x", f.data, (size_t)f.size, NULL, &a);
		bool fired = refuse_fired();
		refuse_request(0, false);
		if (got != HEC_OK || n <= 3) /* libsndfile does without some */
			assert_int_equal(got, fired ? HEC_ERR_MEMORY : HEC_OK);
		if (got == HEC_OK)
			hec_audio_free(a);
		else
			assert_null(a);
		assert_int_equal(refuse_live(), before);
		if (!fired) {
			assert_int_equal(got, HEC_OK);
			assert_true(n > 3);
			break;
		}
	}
	free(f.data);
}

static hec_status stop_after(void *user, const char *phase, int64_t frames, int64_t total)
{
	assert_string_equal(phase, "frames");
	assert_int_equal(total, 0);
	return frames >= *(int64_t *)user ? HEC_ERR_CANCELLED : HEC_OK;
}

static void reading_can_be_cancelled(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 100000, sine, 440);
	int64_t most = 40000;
	hec_audio_options o = HEC_AUDIO_OPTIONS_INIT;
	o.progress = stop_after;
	o.user = &most;
	hec_audio *a;
	REFUSED(HEC_ERR_CANCELLED, hec_audio_read_memory("x", f.data, (size_t)f.size, &o, &a),
	        "x: frames: cancelled");
	free(f.data);
}

static void a_path_gives_what_memory_gives(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 44100, 2, 5000, uneven, 440);
	char path[SCRATCH_PATH];
	assert_int_equal(file_replace(scratch_fresh(path), f.data, (size_t)f.size), HEC_OK);
	hec_audio *a, *b;
	assert_int_equal(hec_audio_read_memory("x", f.data, (size_t)f.size, NULL, &a), HEC_OK);
	assert_int_equal(hec_audio_read(path, NULL, &b), HEC_OK);
	assert_int_equal(a->count, b->count);
	assert_memory_equal(a->samples, b->samples, (size_t)a->count * sizeof(float));
	hec_audio_free(a);
	hec_audio_free(b);
	free(f.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_file_gives_the_sound),
		cmocka_unit_test(an_mp3_gives_the_sound),
		cmocka_unit_test(a_tone_keeps_its_height_and_its_place),
		cmocka_unit_test(what_is_too_high_does_not_come_back_lower),
		cmocka_unit_test(another_rate_can_be_asked_for),
		cmocka_unit_test(what_is_no_sound_is_refused),
		cmocka_unit_test(what_is_not_read_is_named_with_the_line_that_converts_it),
		cmocka_unit_test(a_number_that_is_none_is_refused),
		cmocka_unit_test(what_is_too_long_is_refused),
		cmocka_unit_test(what_a_sound_takes_is_by_its_seconds_not_its_rate),
		cmocka_unit_test(a_promise_takes_no_memory),
		cmocka_unit_test(every_refused_allocation_is_an_error),
		cmocka_unit_test(reading_can_be_cancelled),
		cmocka_unit_test(a_path_gives_what_memory_gives),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
