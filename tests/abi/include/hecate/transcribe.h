/* transcribe.h — speech in, text out: a Whisper model, its tokenizer, and the rules by which it writes.
 *
 * Sound is read in windows (30 seconds) one after the other: the next begins where the last finished
 * segment of this one ended. A transcriber belongs to one thread; the model and the tokenizer inside it
 * are only read. Every sound gives the same transcript, to the bit, alone or among others. */
#ifndef HECATE_TRANSCRIBE_H
#define HECATE_TRANSCRIBE_H

#include <hecate/audio.h>
#include <hecate/decode.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

typedef struct hec_transcriber hec_transcriber;

/* Reads a directory: config.json, model.safetensors, tokenizer.json; generation_config.json and
 * preprocessor_config.json where they are. */
HEC_API HEC_MUST_USE hec_status
hec_transcriber_load(hec_ctx *ctx, const char *dir,
                     const hec_model_load_options *options, /* NULL: as the files say */
                     hec_transcriber **out);
/* Of a model (packed for ctx) and a tokenizer that the caller keeps for as long; nothing is suppressed. */
HEC_API HEC_MUST_USE hec_status hec_transcriber_create(hec_ctx *ctx, const hec_model *model,
                                                       const hec_tokenizer *tokenizer,
                                                       hec_transcriber **out);
/* The same by the rules of a directory: generation_config.json and preprocessor_config.json where they are. */
HEC_API HEC_MUST_USE hec_status hec_transcriber_create_like(hec_ctx *ctx, const char *dir,
                                                            const hec_model *model,
                                                            const hec_tokenizer *tokenizer,
                                                            hec_transcriber **out);
HEC_API void hec_transcriber_destroy(hec_transcriber *transcriber); /* takes NULL */
HEC_API const hec_model *hec_transcriber_model(const hec_transcriber *transcriber);
HEC_API const hec_tokenizer *hec_transcriber_tokenizer(const hec_transcriber *transcriber);
/* Samples a second that it reads (16,000), for hec_audio_options. */
HEC_API int64_t hec_transcriber_rate(const hec_transcriber *transcriber);
/* Seconds of one window. */
HEC_API double hec_transcriber_window(const hec_transcriber *transcriber);
/* Whether it knows several languages, and can translate them into English. */
HEC_API bool hec_transcriber_multilingual(const hec_transcriber *transcriber);

typedef struct hec_transcribe_options { /* options */
	size_t size;                    /* sizeof(hec_transcribe_options) */
	/* "en", …; "auto": the likeliest in the first window of each sound; NULL: as
	 * generation_config.json says, else "auto". An English-only model takes none but "en". */
	const char *language;
	/* "transcribe", or "translate": into English; NULL: as generation_config.json says, else
	 * "transcribe" */
	const char *task;
	bool timestamps;    /* segments with their times, not one for all. Where a sound is longer
	                         than a window, always */
	int64_t beams;      /* 0: as generation_config.json says, else 1 */
	int64_t batch;      /* windows of different sounds at a time */
	int64_t max_tokens; /* of a window; 0: as many as the model can take */
	/* A window is passed over where the model says that nobody speaks with at least this probability,
	 * and its own words have a mean log p below `least_log_prob`. A window without any sound at all is
	 * passed over in any case. */
	double no_speech;          /* above 1: never */
	double least_log_prob;     /* of a token */
	hec_progress_fn *progress; /* in milliseconds of all sounds of the call; or NULL */
	void *user;
} hec_transcribe_options;

/* clang-format off */
#define HEC_TRANSCRIBE_OPTIONS_INIT \
	{.size = sizeof(hec_transcribe_options), .batch = 4, .no_speech = 0.6, .least_log_prob = -1}
/* clang-format on */

typedef struct hec_segment { /* result */
	double begin, end;   /* seconds from the beginning of the sound */
	const char *text;    /* UTF-8, without space at its ends; never empty */
	const int32_t *ids;  /* [n] the tokens, times counted in, the end not */
	int64_t n;
	double window; /* where the window begins that it was heard in: seconds, as above */
	const int32_t
		*written; /* [place + n] all of the window up to its end: ids are the last of it */
	int64_t place;
} hec_segment;

typedef struct hec_transcript { /* result */
	const char *text;       /* of all segments; "" where nobody speaks */
	const char *language;
	bool translated;       /* into English */
	int64_t segments;      /* how many: hec_transcript_segment */
	const int32_t *prompt; /* [prompt_length] what stands before the tokens of every window */
	int64_t prompt_length;
} hec_transcript;
HEC_API const hec_segment *hec_transcript_segment(const hec_transcript *transcript, int64_t i);

typedef struct hec_transcripts hec_transcripts;
HEC_API const hec_transcript *hec_transcripts_at(const hec_transcripts *transcripts, int64_t sound);
HEC_API void hec_transcripts_free(hec_transcripts *transcripts);

HEC_API HEC_MUST_USE hec_status
hec_transcribe(hec_transcriber *transcriber, int64_t n,
               const float *const *samples,           /* [n] mono, at hec_transcriber_rate */
               const int64_t *counts,                 /* [n] */
               const hec_transcribe_options *options, /* or NULL */
               hec_transcripts **out);
/* What the encoder reads of a sound from `begin` on (hec_segment.window), for hec_model_fwd. */
HEC_API HEC_MUST_USE hec_status
hec_transcriber_features(const hec_transcriber *transcriber, const float *samples, int64_t count,
                         double begin, hec_tensor *out); /* [bands, frames of a window], written */

HEC_END

#endif
