/* transcribing.h — a call of hec_transcribe on its way.
 *
 *     transcribe.c        options, memory, round after round
 *     transcribe_sound.c  a sound begins and ends; what its windows gave becomes segments
 *     transcribe_round.c  the next window of each sound: written, judged, written again
 *     transcribe_words.c  when each word was spoken
 *
 * A sound's windows depend on one another (where one ends, the next begins), so what runs side by side
 * are windows of different sounds: each round takes the next window of each of the first `batch` sounds
 * that are not done. */
#ifndef TASK_TRANSCRIBING_H
#define TASK_TRANSCRIBING_H

#include "base/status.h"
#include "task/transcriber.h"
#include "task/transcript.h"
#include "task/whisper_words.h"

typedef struct word_finder word_finder;

#define TRANSCRIBE_BATCH_MOST 256
#define TEMPERATURES_MOST 32
#define BEST_OF_MOST 64

/* One sound on its way. */
typedef struct sound_state {
	const float *samples;
	int64_t count;
	whisper_features features; /* none before its turn and after it */
	int64_t seek;              /* its frame that comes next */
	int64_t window;            /* number of the window there */
	bool begun, done;
	bool times;
	int32_t language;  /* its id; −1: not known yet, or none */
	int32_t *previous; /* [previous_count] what was written before, as much as is shown */
	int64_t previous_count;
	double spoken; /* seconds at which the last word ended */
	transcript *out;
} sound_state;

/* What was written of one window. */
typedef struct written_window {
	int64_t sound;
	int32_t *ids; /* [n] without the end */
	int64_t n;
	double temperature, log_prob, compression;
	double no_speech; /* probability that nobody speaks; −1: the model was not asked */
	bool settled;     /* it is not written again */
	bool nobody;      /* nobody speaks in it */
	whisper_segment *segments;
	whisper_cut cut;
	whisper_words words;
	/* Of the round, also before anything is written: */
	int32_t *begin; /* [begin_length] what its rows begin with */
	int64_t begin_length;
	int64_t start; /* place of <|startoftranscript|> in it */
} written_window;

typedef struct transcribe_call {
	hec_transcriber *t;
	hec_transcribe_options o;
	double temperatures[TEMPERATURES_MOST];
	whisper_choice choice;
	whisper_config rules; /* those of the transcriber, with what the files leave open */
	int64_t n;
	sound_state *sounds;
	transcript *out;  /* [n] */
	float *features;  /* [batch, mels, window] */
	float *logits;    /* [batch · beams, vocab] */
	int32_t *begins;  /* [batch, room] */
	int64_t room;     /* tokens that a row holds */
	int64_t previous; /* tokens of earlier windows that are shown */
	hec_decode_options decode;
	int64_t longest;       /* tokens of a window */
	double seconds;        /* of all sounds */
	hec_session *session;  /* that runs: one of the transcriber's */
	word_finder *finder;   /* NULL: no words */
	written_window *round; /* [count] windows of this round */
	int64_t count;
	int64_t live
		[TRANSCRIBE_BATCH_MOST]; /* [live_count] places in `round`: of those in the session */
	int64_t live_count;
} transcribe_call;

/* ---- transcribe_sound.c ---- */

hec_status sound_begin(const transcribe_call *call, sound_state *sound);
hec_status sound_end(const transcribe_call *call, sound_state *sound);
int64_t sound_frames_left(const transcribe_call *call, const sound_state *sound);
/* The next window's features into slot i of call->features. */
hec_tensor sound_window(const transcribe_call *call, const sound_state *sound, int64_t i);
/* What the rows of its next window begin with. */
hec_status sound_prompt(const transcribe_call *call, const sound_state *sound, written_window *w);
/* Takes what was written of its window, and moves on to the next. */
hec_status sound_take(const transcribe_call *call, sound_state *sound, written_window *w);

/* ---- transcribe_round.c ---- */

/* The session with so many rows for each window, all else as the call wants it; it becomes call->session. */
hec_status round_session(transcribe_call *call, int64_t beams);
/* Writes the windows of the round, and gives them to their sounds. */
hec_status round_run(transcribe_call *call);
/* Of the id among the words, by the logits before it. */
double id_probability(const float *logits, int64_t vocab, int32_t id);
/* Logits of the windows that are live, each behind so many tokens of what it begins with (0: not asked). Row
 * i · beams of call->logits is that of live window i. */
hec_status round_feed(const transcribe_call *call, const int32_t *const *ids, const int64_t *counts,
                      bool anew);

/* ---- transcribe_words.c ---- */

hec_status word_finder_create(const transcribe_call *call, word_finder **out);
void word_finder_destroy(word_finder *f); /* takes NULL */
/* Of those live windows that are settled and in which somebody speaks. */
hec_status words_find(transcribe_call *call);

#endif
