/* read.c — libsndfile takes the file apart, libsamplerate changes its rate; both piece by piece.
 *
 * The file is given to libsndfile as callbacks on checked reads, after its first bytes have been looked
 * at: it knows dozens of formats, of which four are wanted. What it reports is checked before it is
 * used, and nothing is sized by it: samples are appended as they come. */
#include "audio/read.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <samplerate.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/cut.h"
#include "audio/foreign.h"
#include "audio/halve.h"
#include "audio/samples.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/quote.h"
#include "base/size.h"
#include "tensor/check.h"

#define RATE_LEAST 4000 /* of a file: what is read grows by no more than 4 times at 16 kHz */
#define RATE_MOST 768000
#define CHANNELS_MOST 1024
/* A second, of all channels: packed silence takes hardly a byte, but is unpacked sample by sample. */
#define SAMPLES_MOST (16000 * CHANNELS_MOST)
#define SECONDS_HIGHEST (1000 * 3600.0)
#define PIECE HALVE_PIECE /* samples of all channels at a time */

typedef struct source {
	const char *name;
	const file_in *file; /* NULL: in memory */
	const char *data;
	sf_count_t size, at;
	bool failed; /* a read, with its message */
	/* Bytes that are to be read as others: a length that was not known while the file was written. */
	size_t mended;
	uint64_t mended_at;
	unsigned char right[8];
} source;

typedef struct reader {
	char name[QUOTE_TEXT];
	hec_audio_options options;
	source source;
	SNDFILE *file;
	SF_INFO info;
	SRC_STATE *rate;   /* NULL: the file has the rate that is wanted */
	halving *halvings; /* [halve_count] before it */
	int halve_count;
	float *piece; /* [PIECE] as read */
	float *mono;  /* [PIECE] */
	samples out;
	int64_t frames; /* read so far */
	int64_t most;   /* of them that are let in */
	bool too_long;  /* there are more */
} reader;

/* ---- what libsndfile reads from ---- */

static sf_count_t source_size(void *user)
{
	return ((source *)user)->size;
}

static sf_count_t source_tell(void *user)
{
	return ((source *)user)->at;
}

static sf_count_t source_seek(sf_count_t offset, int whence, void *user)
{
	source *s = user;
	sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? s->at : s->size, to;
	if (__builtin_add_overflow(base, offset, &to) || to < 0)
		return -1;
	s->at = to;
	return to;
}

static sf_count_t source_read(void *to, sf_count_t count, void *user)
{
	source *s = user;
	if (s->failed || s->at >= s->size || count <= 0)
		return 0;
	count = min_i64(count, s->size - s->at);
	if (!s->file) {
		memcpy(to, s->data + s->at, (size_t)count);
	} else if (file_in_read(s->file, (uint64_t)s->at, to, (size_t)count) != HEC_OK) {
		s->failed = true;
		return 0;
	}
	for (size_t i = 0; i < s->mended; i++) {
		const int64_t place = (int64_t)(s->mended_at + i) - s->at;
		if (place >= 0 && place < count)
			((unsigned char *)to)[place] = s->right[i];
	}
	s->at += count;
	return count;
}

static sf_count_t source_write(const void *from, sf_count_t count, void *user)
{
	(void)from, (void)count, (void)user;
	return 0;
}

static size_t source_look(void *user, uint64_t at, unsigned char *to, size_t bytes)
{
	source *s = user;
	s->at = (sf_count_t)at;
	return (size_t)source_read(to, (sf_count_t)bytes, s);
}

/* ---- what kind of file ---- */

typedef struct kind {
	const char *begin;
	size_t length;
	const char *name;
} kind;

static const kind kinds[] = {
	{"RIFF", 4, "WAV"},  {"RIFX", 4, "WAV"}, {"RF64", 4, "WAV"},
	{"fLaC", 4, "FLAC"}, {"OggS", 4, "OGG"}, {"ID3", 3, "MP3"},
};

static const char *kind_of(const unsigned char *begin, size_t n)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (n >= kinds[i].length && memcmp(begin, kinds[i].begin, kinds[i].length) == 0)
			return kinds[i].name;
	/* A frame of MPEG audio: eleven bits of ones. */
	return n >= 2 && begin[0] == 0xFF && (begin[1] & 0xE0) == 0xE0 ? "MP3" : NULL;
}

static bool is_wanted(int format)
{
	switch (format & SF_FORMAT_TYPEMASK) {
	case SF_FORMAT_WAV:
	case SF_FORMAT_WAVEX:
	case SF_FORMAT_RF64:
	case SF_FORMAT_FLAC:
	case SF_FORMAT_OGG:
	case SF_FORMAT_MPEG:
		return true;
	default:
		return false;
	}
}

static hec_status check_kind(reader *r)
{
	unsigned char begin[FOREIGN_BYTES] = {0};
	sf_count_t n = source_read(begin, sizeof begin, &r->source);
	if (r->source.failed)
		return HEC_ERR_IO;
	r->source.at = 0;
	if (n == 0)
		return fail(HEC_ERR_FORMAT, "%s: the file is empty", r->name);
	const char *foreign = foreign_kind(begin, (size_t)n);
	if (foreign)
		return foreign_refuse(r->name, r->source.file ? r->source.name : NULL, foreign);
	if (!kind_of(begin, (size_t)n))
		return fail(HEC_ERR_FORMAT, "%s: begins as no WAV, FLAC, OGG or MP3 file does",
		            r->name);
	return HEC_OK;
}

static hec_status mend_length(source *s)
{
	s->mended =
		sound_unknown_length(source_look, s, (uint64_t)s->size, &s->mended_at, s->right);
	s->at = 0;
	return s->failed ? HEC_ERR_IO : HEC_OK;
}

/* ---- opening ---- */

static hec_status check_info(const reader *r)
{
	const SF_INFO *i = &r->info;
	if (!is_wanted(i->format))
		return fail(HEC_ERR_FORMAT,
		            "%s: holds sound of format 0x%x; WAV, FLAC, OGG and MP3 "
		            "are read",
		            r->name, (unsigned)i->format);
	if (i->channels < 1 || i->channels > CHANNELS_MOST)
		return fail(HEC_ERR_FORMAT,
		            "%s: says that it has %d channels; 1 to %d are possible", r->name,
		            i->channels, CHANNELS_MOST);
	if (i->samplerate < RATE_LEAST || i->samplerate > RATE_MOST)
		return fail(HEC_ERR_FORMAT,
		            "%s: says that it has %d samples a second; %d to %d are possible",
		            r->name, i->samplerate, RATE_LEAST, RATE_MOST);
	if ((int64_t)i->channels * i->samplerate > SAMPLES_MOST)
		return fail(HEC_ERR_FORMAT,
		            "%s: %d channels of %d samples a second are %lld; up to %d are read",
		            r->name, i->channels, i->samplerate,
		            (long long)i->channels * i->samplerate, SAMPLES_MOST);
	return HEC_OK;
}

static hec_status open_rate(reader *r)
{
	if (r->info.samplerate == r->options.rate)
		return HEC_OK;
	int error = 0;
	r->rate = src_new(SRC_SINC_BEST_QUALITY, 1, &error);
	if (!r->rate)
		return fail(HEC_ERR_MEMORY, "%s: no converter from %d to %lld samples a second: %s",
		            r->name, r->info.samplerate, (long long)r->options.rate,
		            src_strerror(error));
	r->halve_count = halve_count(r->info.samplerate, r->options.rate);
	if (r->halve_count == 0)
		return HEC_OK;
	r->halvings = mem_alloc((size_t)r->halve_count * sizeof *r->halvings);
	if (!r->halvings)
		return fail(HEC_ERR_MEMORY, "%s: no memory to halve its rate", r->name);
	for (int i = 0; i < r->halve_count; i++)
		halve_start(&r->halvings[i]);
	return HEC_OK;
}

/* libsndfile says that memory was refused in words only. */
static hec_status status_of(const char *why)
{
	return strstr(why, "malloc") ? HEC_ERR_MEMORY : HEC_ERR_FORMAT;
}

static hec_status open_all(reader *r)
{
	static SF_VIRTUAL_IO calls = {source_size, source_seek, source_read, source_write,
	                              source_tell};
	HEC_TRY(check_kind(r));
	HEC_TRY(mend_length(&r->source));
	r->file = sf_open_virtual(&calls, SFM_READ, &r->info, &r->source);
	if (r->source.failed)
		return HEC_ERR_IO;
	if (!r->file) {
		char why[QUOTE_TEXT];
		quote(sf_strerror(NULL), why);
		/* What it says of a name that it could not open, and of an MP3 without a whole frame. */
		return fail(status_of(why), "%s: %s", r->name,
		            strstr(why, "does not exist") ? "no sound was found in it" : why);
	}
	HEC_TRY(check_info(r));
	r->most = (int64_t)(r->options.max_seconds * r->info.samplerate);
	r->piece = mem_alloc(2 * PIECE * sizeof *r->piece);
	if (!r->piece)
		return fail(HEC_ERR_MEMORY, "%s: no memory to read with", r->name);
	r->mono = r->piece + PIECE;
	return open_rate(r);
}

/* ---- reading ---- */

static hec_status mix(reader *r, int64_t frames)
{
	int channels = r->info.channels;
	for (int64_t i = 0; i < frames; i++) {
		double sum = 0;
		for (int c = 0; c < channels; c++)
			sum += (double)r->piece[i * channels + c];
		r->mono[i] = (float)(sum / channels);
		if (!isfinite(r->mono[i]))
			return fail(HEC_ERR_FORMAT, "%s: frame %lld is not a finite number",
			            r->name, (long long)r->frames + i);
	}
	return HEC_OK;
}

/* Gives the converter `frames` of mono, all of them: it keeps what it needs of them. */
static hec_status convert(reader *r, int64_t frames, bool last)
{
	float out[2048];
	SRC_DATA data = {.data_in = r->mono,
	                 .input_frames = (long)frames,
	                 .end_of_input = last,
	                 .src_ratio = (double)r->options.rate * (1 << r->halve_count) /
	                              r->info.samplerate};
	for (;;) {
		data.data_out = out;
		data.output_frames = (long)(sizeof out / sizeof out[0]);
		int error = src_process(r->rate, &data);
		if (error != 0)
			return fail(HEC_ERR_INTERNAL, "%s: %s", r->name, src_strerror(error));
		for (long i = 0; i < data.output_frames_gen; i++)
			if (!isfinite(out[i]))
				return fail(HEC_ERR_FORMAT, "%s: is too loud for 32-bit numbers",
				            r->name);
		HEC_TRY(samples_add(&r->out, r->name, out, data.output_frames_gen));
		data.data_in += data.input_frames_used;
		data.input_frames -= data.input_frames_used;
		if (data.input_frames <= 0 && data.output_frames_gen == 0)
			return HEC_OK;
		if (data.input_frames_used == 0 && data.output_frames_gen == 0)
			return fail(HEC_ERR_INTERNAL, "%s: the converter takes no more", r->name);
	}
}

/* Frames of mono through the halvings from `first` on, then the converter. */
static hec_status change_rate(reader *r, int first, int64_t frames)
{
	for (int i = first; i < r->halve_count; i++)
		frames = halve(&r->halvings[i], r->mono, frames);
	return convert(r, frames, false);
}

/* What the halvings and the converter still hold. */
static hec_status end_rate(reader *r)
{
	for (int i = 0; i < r->halve_count; i++) {
		memset(r->mono, 0, HALVE_REACH * sizeof *r->mono);
		HEC_TRY(change_rate(r, i, HALVE_REACH));
	}
	return convert(r, 0, true);
}

static hec_status take(reader *r, int64_t frames)
{
	HEC_TRY(mix(r, frames));
	if (r->rate)
		HEC_TRY(change_rate(r, 0, frames));
	else
		HEC_TRY(samples_add(&r->out, r->name, r->mono, frames));
	r->frames += frames;
	hec_status status =
		call_progress(r->options.progress, r->options.user, "frames", r->frames, 0);
	return status == HEC_OK ? HEC_OK : fail_in(status, "%s", r->name);
}

static hec_status read_all(reader *r)
{
	sf_count_t want = PIECE / r->info.channels;
	for (;;) {
		sf_count_t got = sf_readf_float(r->file, r->piece, want);
		if (r->source.failed)
			return HEC_ERR_IO;
		if (got < 0 || got > want)
			return fail(HEC_ERR_INTERNAL, "%s: %lld frames were read of %lld", r->name,
			            (long long)got, (long long)want);
		if (got == 0)
			break;
		r->too_long = got > r->most - r->frames;
		if (r->too_long)
			return fail(HEC_ERR_UNSUPPORTED,
			            "%s: is longer than %g seconds, the most "
			            "that is read",
			            r->name, r->options.max_seconds);
		HEC_TRY(take(r, got));
	}
	if (sf_error(r->file) != SF_ERR_NO_ERROR) {
		char why[QUOTE_TEXT];
		quote(sf_strerror(r->file), why);
		return fail(status_of(why), "%s: after %lld frames: %s", r->name,
		            (long long)r->frames, why);
	}
	if (r->info.frames > r->frames && r->info.frames != SF_COUNT_MAX &&
	    (r->info.format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG)
		return fail(HEC_ERR_FORMAT, "%s: ends after %lld of %lld frames", r->name,
		            (long long)r->frames, (long long)r->info.frames);
	return r->rate ? end_rate(r) : HEC_OK;
}

static hec_status read_into(reader *r, hec_audio **out)
{
	HEC_TRY(open_all(r));
	HEC_TRY(read_all(r));
	const bool cut = sound_is_cut(source_look, &r->source, (uint64_t)r->source.size);
	if (r->source.failed)
		return HEC_ERR_IO;
	hec_audio *audio = mem_alloc(sizeof *audio);
	if (!audio)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a sound", r->name);
	*audio = (hec_audio){.rate = r->options.rate,
	                     .file_rate = r->info.samplerate,
	                     .channels = r->info.channels,
	                     .frames = r->frames,
	                     .cut = cut};
	samples_give(&r->out, &audio->samples, &audio->count);
	*out = audio;
	return HEC_OK;
}

static hec_status take_options(const hec_audio_options *given, hec_audio_options *o)
{
	*o = (hec_audio_options)HEC_AUDIO_OPTIONS_INIT;
	HEC_TRY(options_take("hec_audio_options", o, sizeof *o, given));
	if (o->rate < RATE_LEAST || o->rate > RATE_MOST)
		return fail(HEC_ERR_ARGUMENT, "audio: %lld samples a second; %d to %d are possible",
		            (long long)o->rate, RATE_LEAST, RATE_MOST);
	if (!(o->max_seconds > 0 && o->max_seconds <= SECONDS_HIGHEST))
		return fail(HEC_ERR_ARGUMENT,
		            "audio: max_seconds is %g; above 0 and up to %g are possible",
		            o->max_seconds, SECONDS_HIGHEST);
	return HEC_OK;
}

static hec_status read_source(source s, const hec_audio_options *options, hec_audio **out,
                              bool *too_long)
{
	reader r = {.source = s};
	HEC_TRY(take_options(options, &r.options));
	quote(s.name, r.name);
	hec_status status = read_into(&r, out);
	*too_long = r.too_long;
	if (r.file)
		sf_close(r.file);
	if (r.rate)
		src_delete(r.rate);
	mem_free(r.halvings);
	mem_free(r.piece);
	samples_free(&r.out);
	return status;
}

hec_status audio_read(const char *path, const hec_audio_options *options, hec_audio **out,
                      bool *too_long)
{
	*too_long = false;
	HEC_TRY(CHECK_GIVEN("audio", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("audio", path));
	file_in *file = NULL;
	HEC_TRY(file_in_open(path, &file));
	hec_status status;
	if (file_in_size(file) > INT64_MAX)
		status = fail(HEC_ERR_FORMAT, "%s: is too large", path);
	else
		status = read_source((source){.name = path,
		                              .file = file,
		                              .size = (sf_count_t)file_in_size(file)},
		                     options, out, too_long);
	file_in_close(file);
	return status;
}

hec_status hec_audio_read(const char *path, const hec_audio_options *options, hec_audio **out)
{
	bool too_long;
	return audio_read(path, options, out, &too_long);
}

hec_status hec_audio_read_memory(const char *name, const void *data, size_t bytes,
                                 const hec_audio_options *options, hec_audio **out)
{
	HEC_TRY(CHECK_GIVEN("audio", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("audio", name));
	if (bytes > 0)
		HEC_TRY(CHECK_GIVEN("audio", data));
	if (bytes > INT64_MAX)
		return fail(HEC_ERR_ARGUMENT, "%s: is too large", name);
	bool too_long;
	return read_source((source){.name = name, .data = data, .size = (sf_count_t)bytes}, options,
	                   out, &too_long);
}

bool hec_audio_available(void)
{
	return true;
}
