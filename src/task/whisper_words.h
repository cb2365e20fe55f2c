/* whisper_words.h — which tokens are a word, and when it was spoken.
 *
 * The heads that look at what is spoken just then give a matrix: how much each token looks at each moment, beside
 * how the other tokens do. The way through it along which most is looked at, token by token and without going back
 * in time (dynamic time warping), says when each token begins. */
#ifndef TASK_WHISPER_WORDS_H
#define TASK_WHISPER_WORDS_H

#include <hecate/transcribe.h>

#include "task/whisper.h"

/* ---- whisper_align.c ---- */

/* Adds what one head looked at to matrix [T, frames]: normalised over the first `frames` of weights
 * [T, S], which are changed, then over the tokens, then smoothed by a median of seven frames. */
void whisper_align_add(float *weights, int64_t T, int64_t S, int64_t frames, float *matrix,
                       float *work /* [2 · frames] */);
#define ALIGN_WORK(frames) (2 * (frames))

/* begins [rows]: the frame at which each row begins on the best way from the first row and frame to the last ones.
 * trace: [(rows + 1), (frames + 1)], cost: [2, (rows + 1)] of work space. At least one row and frame. */
void whisper_align_path(const float *matrix, int64_t rows, int64_t frames, int8_t *trace,
                        float *cost, int32_t *begins);

/* ---- whisper_words.c ---- */

typedef struct whisper_words {
	hec_word *items;  /* texts are its own */
	int64_t *tokens;  /* how many each has */
	int64_t *segment; /* where each is spoken */
	int64_t n;
	double median; /* of how long a word takes, but for those that take no time; at most 0.7 s */
} whisper_words;

/* Tokens of words alone: [n] ids with the probability of each, and at [n + 1] when each begins and the last ends,
 * in seconds of the window. No word is in two segments. */
typedef struct whisper_spoken {
	const int32_t *ids;
	const double *probabilities, *begins;
	int64_t n;
	const int64_t *
		tokens; /* [segments] how many of them each segment has; the last ones may have fewer
	                        * where the room ended */
	int64_t segments;
} whisper_spoken;

/* language: its code. out is empty after a failure. */
hec_status whisper_words_make(const hec_tokenizer *tokenizer, const whisper_spoken *spoken,
                              const char *language, whisper_words *out);
/* Gives the words to the window's segments, whose times become those of their words, within the sound. In seconds:
 * `offset`, where the window begins; `spoken`, when the last word before it ended; `longest`, where the sound ends. */
void whisper_words_place(whisper_words *w, whisper_segment *segments, int64_t count, double offset,
                         double spoken, double longest);
void whisper_words_free(whisper_words *w); /* takes a zeroed one */

/* ---- whisper_silence.c ---- */

/* Improbable words, or words that take too long or no time, amid silence are taken for made up. */
typedef struct whisper_guard {
	double silence;     /* seconds that count as silence */
	double offset, end; /* where the window begins, and where the sound in it ends */
	double window;      /* where a whole window would end */
	double spoken;      /* when the last word before it ended, */
	double ended;       /* and when the last one in it */
	double all;         /* seconds of the whole sound */
	bool single_end;
} whisper_guard;

/* How many of the segments stay. *next: where the next window begins, in seconds; it stays as it is where they say
 * nothing of it. */
int64_t whisper_guard_silence(const whisper_guard *g, const whisper_words *w,
                              const whisper_segment *segments, int64_t count, double *next);

#endif
