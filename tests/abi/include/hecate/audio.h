/* audio.h — sound in: files of any rate to mono samples, and samples to the log-mel features that
 * speech models read. */
#ifndef HECATE_AUDIO_H
#define HECATE_AUDIO_H

#include <hecate/context.h>
#include <hecate/tensor.h>

HEC_BEGIN

/* ---- files ---- */

/* Whether this library was built to read sound files (libsndfile and libsamplerate). Without them
 * the calls that read are HEC_ERR_UNSUPPORTED; hec_log_mel is always there. */
HEC_API bool hec_audio_available(void);

typedef struct hec_audio_options { /* options */
	size_t size;               /* sizeof(hec_audio_options) */
	int64_t rate;              /* samples a second to give */
	double max_seconds;        /* a longer file is an error */
	hec_progress_fn *progress; /* in frames, the total not known; or NULL */
	void *user;
} hec_audio_options;

/* clang-format off */
#define HEC_AUDIO_OPTIONS_INIT {.size = sizeof(hec_audio_options), .rate = 16000, .max_seconds = 6 * 3600}
/* clang-format on */

typedef struct hec_audio {    /* result */
	const float *samples; /* [count] the mean of the channels, at `rate` */
	int64_t count, rate;
	int64_t file_rate, channels, frames; /* as the file has them */
	bool cut; /* the file ends before its sound does: it was not copied or received whole */
} hec_audio;

/* Reads WAV, FLAC, OGG (Vorbis, Opus) or MP3, by what the file holds, not by its name. Memory grows
 * with what is read, not with what a header promises. A file that is cut is read as far as it goes, unless
 * it is FLAC, of which a part is an error; an MP3 without a count of its bytes does not say. options may be
 * NULL. */
HEC_API HEC_MUST_USE hec_status hec_audio_read(const char *path, const hec_audio_options *options,
                                               hec_audio **out);
/* The same from memory; name is for messages. */
HEC_API HEC_MUST_USE hec_status hec_audio_read_memory(const char *name, const void *data,
                                                      size_t bytes,
                                                      const hec_audio_options *options,
                                                      hec_audio **out);
HEC_API void hec_audio_free(hec_audio *audio);

/* ---- features ---- */

/* Frames of `fft` samples, one every `hop`, each times a periodic Hann window; the signal is mirrored
 * at both ends, so that frame i is centred on sample i · hop. Power spectrum → triangular filters on
 * Slaney's mel scale from 0 to 8,000 Hz, of equal area → log10 (at least 1e-10), at least the
 * largest − 8 → (x + 4) / 4. These are the features of Whisper, as Hugging Face's
 * WhisperFeatureExtractor makes them. */
typedef struct hec_mel_options { /* options */
	size_t size;             /* sizeof(hec_mel_options) */
	int64_t rate;            /* of the samples */
	int64_t fft;             /* even, with no prime factor above 13 */
	int64_t hop;             /* samples from one frame to the next */
	int64_t mels;            /* filters */
	int64_t length; /* samples to cut to, or to fill up to with silence; 0: as they are */
} hec_mel_options;

/* clang-format off */
#define HEC_MEL_OPTIONS_INIT {.size = sizeof(hec_mel_options), .rate = 16000, .fft = 400, .hop = 160, .mels = 80}
/* clang-format on */

/* How many frames hec_log_mel makes of n samples: as many whole hops as there are. */
HEC_API HEC_MUST_USE hec_status hec_log_mel_frames(const hec_mel_options *options, int64_t n,
                                                   int64_t *frames);
/* At least fft / 2 + 1 samples, all finite. Computed in double precision on every level. */
HEC_API HEC_MUST_USE hec_status hec_log_mel(hec_ctx *ctx, const hec_mel_options *options,
                                            const float *samples, int64_t n,
                                            hec_tensor *out /* f32 [mels, frames] written */);

HEC_END

#endif
