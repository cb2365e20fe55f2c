/* sound_files.h — sound files in memory, of every kind that libsndfile writes. Needs support/test.h before it. */
#ifndef TESTS_SOUND_FILES_H
#define TESTS_SOUND_FILES_H

#include <fcntl.h>
#include <math.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN 6.28318530717958647692
#define MOST (4 << 20)

typedef struct file {
	unsigned char *data;
	sf_count_t size, at;
} file;

static inline sf_count_t file_size(void *user)
{
	return ((file *)user)->size;
}

static inline sf_count_t file_tell(void *user)
{
	return ((file *)user)->at;
}

static inline sf_count_t file_seek(sf_count_t offset, int whence, void *user)
{
	file *f = user;
	f->at = offset + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? f->at : f->size);
	return f->at;
}

static inline sf_count_t file_read_part(void *to, sf_count_t count, void *user)
{
	file *f = user;
	sf_count_t n = f->size - f->at < count ? f->size - f->at : count;
	memcpy(to, f->data + f->at, (size_t)n);
	f->at += n;
	return n;
}

static inline sf_count_t file_write_part(const void *from, sf_count_t count, void *user)
{
	file *f = user;
	assert_true(f->at + count <= MOST);
	memcpy(f->data + f->at, from, (size_t)count);
	f->at += count;
	f->size = f->at > f->size ? f->at : f->size;
	return count;
}

typedef double sound(double seconds, int channel, double hz);

static inline file make_file(int format, int rate, int channels, int64_t frames, sound *s,
                             double hz)
{
	static SF_VIRTUAL_IO calls = {file_size, file_seek, file_read_part, file_write_part,
	                              file_tell};
	file f = {.data = calloc(1, MOST)};
	SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
	SNDFILE *out = sf_open_virtual(&calls, SFM_WRITE, &info, &f);
	if (!out)
		fail_msg("format 0x%x: %s", (unsigned)format, sf_strerror(NULL));
	float *frame = calloc((size_t)channels, sizeof *frame);
	for (int64_t i = 0; i < frames; i++) {
		for (int c = 0; c < channels; c++)
			frame[c] = (float)s((double)i / rate, c, hz);
		assert_int_equal(sf_writef_float(out, frame, 1), 1);
	}
	free(frame);
	sf_close(out);
	return f;
}

static inline double sine(double seconds, int channel, double hz)
{
	(void)channel;
	return 0.5 * sin(TURN * hz * seconds);
}

typedef struct case_kind {
	const char *name;
	int format, rate, channels;
	double near; /* how far a sample may be */
} case_kind;

/* A step of the format's numbers, and 1e-4 where the rate is changed. Lossy kinds: what their
 * makers lose of a tone. */
static const case_kind kinds[] = {
	{"wav 16", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 3.2e-5},
	{"wav 8", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 16000, 1, 8e-3},
	{"wav 24 stereo", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 44100, 2, 1e-4},
	{"wav 32 of 8 kHz", SF_FORMAT_WAV | SF_FORMAT_PCM_32, 8000, 1, 1e-4},
	{"wav float", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 1e-4},
	{"wav double", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 22050, 4, 1e-4},
	{"wav u-law", SF_FORMAT_WAV | SF_FORMAT_ULAW, 8000, 1, 2e-2},
	{"wav extended", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 96000, 6, 1e-4},
	{"rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 16000, 2, 3.2e-5},
	{"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 1, 3.2e-5},
	{"flac stereo", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 48000, 2, 1e-4},
	{"ogg vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 2, 5e-2},
	{"ogg opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 48000, 1, 5e-2},
};

/* What libsndfile's reader of MP3 says on standard error about each of them is not for the log. */
static inline int hide_errors(void)
{
	fflush(stderr);
	int kept = dup(STDERR_FILENO), nothing = open("/dev/null", O_WRONLY);
	dup2(nothing, STDERR_FILENO);
	close(nothing);
	return kept;
}

static inline void show_errors(int kept)
{
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
}

#endif
