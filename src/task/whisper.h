/* whisper.h — what Whisper adds to a model that writes: tokens that say languages, tasks and times, the
 * rules by which they are written, and how a window's tokens become segments. */
#ifndef TASK_WHISPER_H
#define TASK_WHISPER_H

#include <hecate/audio.h>
#include <hecate/decode.h>
#include <hecate/tokenizer.h>

#include "format/json.h"
#include "task/generation_config.h"

#define WHISPER_CODE 16 /* bytes of a language's code */

typedef struct whisper_language {
	char code[WHISPER_CODE]; /* "en" */
	int32_t id;              /* of <|en|> */
} whisper_language;

/* What files say of the language and the task. */
typedef struct whisper_request {
	char language[WHISPER_CODE], task[WHISPER_CODE]; /* "": not said */
	bool forced;                                     /* there are forced_decoder_ids: */
	int32_t forced_language, forced_task;            /* ids; −1: none */
} whisper_request;

typedef struct whisper_config {
	generation_config generation; /* its `suppress` is never written, at any place */
	int64_t max_length;           /* tokens, the prompt not counted; 0: as many as fit */
	bool multilingual;            /* the prompt says a language and a task */
	whisper_language *languages;
	size_t language_count;
	int32_t transcribe, translate; /* ids of the tasks; −1: none */
	whisper_request files;
	int32_t start, end;    /* <|startoftranscript|>, <|endoftext|> */
	int32_t no_timestamps; /* id; the one before it is <|nospeech|>, those behind it are
	                            times, two frames apart */
	int32_t previous;      /* <|startofprev|>, before the text of windows before; −1: none */
	int64_t max_initial;   /* the first time is at most so many steps; −1: any */
	/* [alignment_count] layer and head, as the file has them, of those that look at what is spoken just
	 * then; they may be of another model */
	struct whisper_head {
		int64_t layer, head;
	} * alignment;
	size_t alignment_count;
	int32_t *begin_suppress; /* not written first */
	size_t begin_suppressed;
	hec_mel_options mel; /* of preprocessor_config.json */
	int64_t window;      /* frames that the encoder reads */
} whisper_config;

/* Of generation_config.json and preprocessor_config.json where they are (dir NULL: neither), else of the
 * tokenizer's own tokens. */
hec_status whisper_config_read(const char *dir, const hec_model_config *model,
                               const hec_tokenizer *tokenizer, whisper_config *out);
void whisper_config_free(whisper_config *c); /* takes a zeroed one */

hec_status whisper_request_read(const json_scope *s,
                                whisper_request *w);               /* generation_config.json */
void whisper_forced_read(const json_scope *s, whisper_request *w); /* forced_decoder_ids alone */

/* "de" of "German"; NULL: no language of Whisper's. */
const char *whisper_code_of_name(const char *name);
/* "de" of "<|de|>". */
bool whisper_code_of_token(const char *token, char code[WHISPER_CODE]);
/* The language's id by its code ("en", also "<|en|>") or name ("english"); an error names those there are. */
hec_status whisper_language_find(const whisper_config *c, const char *name, int32_t *id);
typedef struct whisper_choice {
	int32_t language; /* its id; −1: nobody says which, or "auto", or there is but one */
	int32_t task;     /* its id; −1: none is put behind the language */
	bool translates;
} whisper_choice;

/* What holds where the caller asks for this (NULL: for nothing). */
hec_status whisper_choose(const whisper_config *c, const char *language, const char *task,
                          whisper_choice *out);
const char *whisper_language_code(const whisper_config *c, int32_t id); /* "" where there is none */

double whisper_seconds(const whisper_config *c, int64_t frames);

typedef struct whisper_features {
	float *data; /* [bands, pitch] of a whole sound, of which `frames` count */
	int64_t bands, frames, pitch;
} whisper_features;

/* plain: as Transformers' feature extractor, a sound that fits into a window filled up with silence, a longer
 * one mirrored at its end. Else as openai-whisper, with silence behind it of which no frame counts. out is
 * empty after a failure. */
hec_status whisper_features_make(const whisper_config *c, hec_ctx *ctx, bool plain,
                                 const float *samples, int64_t count, whisper_features *out);
void whisper_features_free(whisper_features *f); /* takes a zeroed one */
/* Those from a frame on into [bands, frames], with zeros behind where the sound ends. */
void whisper_window(const whisper_features *f, int64_t from, const hec_tensor *to);
/* Features that are all the same: nothing stands out of the floor, so there is nothing to hear. */
bool whisper_is_silent(const whisper_features *f, int64_t from, int64_t frames);

/* Changes the scores of what may follow `written`: what is suppressed at the beginning; with times, that
 * they come in pairs, do not decrease, that the first token is one, and not a late one, and that one is
 * written where all of them together are more likely than any word. */
void whisper_rules(const whisper_config *c, bool times, const int32_t *written, int64_t n,
                   float *scores, int64_t vocab);

typedef struct whisper_segment {
	double begin, end;    /* seconds */
	int64_t from, to;     /* of the window's tokens */
	int64_t first, words; /* of the window's words, once they have times */
} whisper_segment;

typedef struct whisper_cut {
	int64_t count; /* of segments */
	int64_t move; /* frames to the next window: to the last time of a pair, where what follows it was not
	                    finished; else all of them */
	bool single_end; /* the last token is a single time: nothing is spoken behind it */
} whisper_cut;

/* Cuts a window's n tokens (without the end) at pairs of times. out has room for n + 1. `before` and
 * `frames` are the frames before the window and those that it holds. plain: as Transformers, which leaves a
 * pair at the end of the last segment, and rounds the end of one without times. */
whisper_cut whisper_segments(const whisper_config *c, bool plain, const int32_t *tokens, int64_t n,
                             int64_t before, int64_t frames, whisper_segment *out);

/* Bytes of a text over those that zlib makes of them: of ordinary speech up to about 2. */
hec_status whisper_compression(const char *text, size_t bytes, double *ratio);

#endif
