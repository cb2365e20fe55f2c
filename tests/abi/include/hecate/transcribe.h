/* transcribe.h — speech in, text out: a Whisper model, its tokenizer, and the rules by which it writes.
 *
 * Sound is read in windows (30 seconds) one after the other: the next begins where the last finished
 * segment of this one ended. The rules are those of openai-whisper's transcribe(): a window whose text
 * repeats itself, or is unlikely, is written again by chance at a higher temperature, and each window is
 * shown the text of those before it. Where no times are written, features are those of Transformers, which
 * models are fine-tuned with; `plain` leaves all of these rules out and writes what its generate writes.
 *
 * A transcriber belongs to one thread; the model and the tokenizer inside it are only read. Every sound gives the same transcript, to the bit, alone or among others; where it is drawn by chance, its
 * number (`first`) must be the same as well. */
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
	bool timestamps; /* segments with their times, not one for all. With words, and where a sound
	                         is longer than a window, always */
	int64_t beams;   /* 0: as generation_config.json says, else 1 */
	int64_t batch;   /* windows of different sounds at a time */
	int64_t max_tokens; /* of a window; 0: half of what the model can take; plain: all of it */
	/* A window is passed over where the model says that nobody speaks with at least this probability,
	 * and its own words have a mean log p below `least_log_prob`. A window without any sound at all is
	 * passed over in any case. */
	double no_speech;          /* above 1: never */
	double least_log_prob;     /* of a token */
	hec_progress_fn *progress; /* in milliseconds of all sounds of the call; or NULL */
	void *user;
	/* As generate of Transformers: once, and each window by itself. Of what follows, only words and
	 * silence count then. */
	bool plain;
	/* [temperature_count] A window is written at the first one. While its text repeats itself or its mean
	 * log p is below least_log_prob, and somebody speaks, it is written again at the next. 0: the
	 * likeliest, greedily or by beams. NULL: 0, 0.2, 0.4, 0.6, 0.8, 1. */
	const double *temperatures;
	size_t temperature_count;
	int64_t best_of;        /* above temperature 0: drawn so often; the likeliest counts */
	double max_compression; /* text that zlib packs by a larger factor repeats itself */
	/* Windows are shown the text before them, as much as half of the model's positions hold; not that of a
	 * temperature above 0.5, nor what stands before it. */
	bool previous;
	uint64_t
		seed; /* what is drawn depends on it, the sound's number, its window and the try alone */
	uint64_t first; /* number of the first sound: of how many there were in earlier calls */
	bool words;     /* each word with its time */
	/* More than 0, with words: silence of so many seconds around improbable words means that they were
	 * made up: they are left out. */
	double silence;
} hec_transcribe_options;

/* clang-format off */
#define HEC_TRANSCRIBE_OPTIONS_INIT \
	{.size = sizeof(hec_transcribe_options), .batch = 4, .no_speech = 0.6, .least_log_prob = -1, .best_of = 5, \
	 .max_compression = 2.4, .previous = true}
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
	/* Of its window: */
	double temperature; /* that it was written at */
	double log_prob; /* mean of its tokens, the end counted in; without plain, by what the rules leave */
	double compression; /* bytes of its text over those that zlib makes of them */
	int64_t words;      /* how many: hec_transcript_word; 0 where none were asked for */
} hec_segment;

/* Together the words are the text of their segment, each with the space before it and with the punctuation
 * beside it. Times do not decrease, and lie within the segment's. */
typedef struct hec_word {   /* result */
	double begin, end;  /* seconds from the beginning of the sound */
	const char *text;   /* UTF-8 */
	double probability; /* mean of its tokens */
} hec_word;

typedef struct hec_transcript { /* result */
	const char *text;       /* of all segments; "" where nobody speaks */
	const char *language;
	bool translated;  /* into English */
	int64_t segments; /* how many: hec_transcript_segment */
	/* [prompt_length] what stands right before the tokens of every window, behind the text of those before
	 * it */
	const int32_t *prompt;
	int64_t prompt_length;
} hec_transcript;
HEC_API const hec_segment *hec_transcript_segment(const hec_transcript *transcript, int64_t i);
HEC_API const hec_word *hec_transcript_word(const hec_transcript *transcript, int64_t segment,
                                            int64_t i);

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
HEC_API HEC_MUST_USE hec_status hec_transcriber_features(
	const hec_transcriber *transcriber, const float *samples, int64_t count, double begin,
	const hec_transcribe_options *options, /* of the call that wrote the segment */
	hec_tensor *out);                      /* [bands, frames of a window], written */

HEC_END

#endif
