/* cut.h — how long a sound file says it is, where libsndfile passes over that: whether it ends before its
 * sound does, or never learned its length. */
#ifndef AUDIO_CUT_H
#define AUDIO_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads up to `bytes` at a place; how many there were. */
typedef size_t cut_read(void *user, uint64_t at, unsigned char *to, size_t bytes);

/* WAV (RIFF, RIFX, RF64), OGG and MP3, by how the file begins; any other is not cut. */
bool sound_is_cut(cut_read *read, void *user, uint64_t size);

/* A WAV that was written into a pipe may say 0 bytes of sound to the end, and have some: where that length
 * stands, how many bytes it takes (0: it is no such file) and what they should be. */
size_t sound_unknown_length(cut_read *read, void *user, uint64_t size, uint64_t *at,
                            unsigned char right[8]);

#endif
