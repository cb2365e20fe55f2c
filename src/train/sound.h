/* sound.h — the sounds that a corpus names: where they lie, what they hold, what the model reads of them.
 *
 * Examples of sounds, in the shape that all examples have:
 *
 *   a line of a list    talks/one.flac <tab> what is spoken
 *   source              [sum of the samples, number of the list, the name as it stands: 4 bytes an id]
 *   target              [language, task,] <|notimestamps|>, the text, <|endoftext|>
 *
 * The name is kept as the list has it, so that a list and its sounds may lie elsewhere when a run goes on.
 * A corpus is summed up over its ids, and so over what every sound holds: another sound behind the same name
 * is another corpus. Whether ids that were made before still hold is asked of sizes and times, without reading
 * a sound. Samples and features are never kept: a batch reads its sounds as it is formed, finds out whether
 * one is not what it was, and makes features of them (as `hec_transcribe` does: filled up with silence to a
 * whole window), the same bits with any number of threads. */
#ifndef TRAIN_SOUND_H
#define TRAIN_SOUND_H

#include "base/path.h"
#include "train/speech.h"

#define SOUND_HEAD 2                                  /* sum and list */
#define SOUND_MOST (SOUND_HEAD + (PATH_MOST + 3) / 4) /* ids of a source */

typedef enum sound_kind { SOUND_GOOD = 0, SOUND_NONE, SOUND_TOO_LONG } sound_kind;

/* The name as the list means it. False: there can be no such file. */
bool sound_path(const char *list, const char *name, size_t bytes, char out[PATH_MOST]);

/* Reads a whole sound. One that is not there, is none, or is longer than a window, is a kind, and *out is NULL;
 * anything else that is against reading it (the system, memory, how this was built) is a failure. */
hec_status sound_read(const hec_speech *speech, const char *path, hec_audio **out,
                      sound_kind *kind);
uint32_t sound_sum(const hec_audio *audio);

/* Frames of a window, and places that they take in the encoder. */
int64_t sound_frames(const hec_speech *speech);
int64_t sound_places(const hec_speech *speech);

/* The source of an example; how many ids it has. */
size_t sound_pack(uint32_t sum, size_t list, const char *name, size_t bytes,
                  int32_t ids[SOUND_MOST]);
/* Whether these are such ids, with one of so many lists. */
bool sound_fits(const int32_t *ids, int64_t n, size_t lists);

/* Features of the sound that a source means. A sound that is not what it was is an error. */
hec_status sound_features(hec_ctx *ctx, const hec_speech *speech, const char *const *lists,
                          const int32_t *ids, hec_tensor *out /* [mels, frames] written */);

#endif
