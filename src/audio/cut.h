/* cut.h — whether a sound file ends before its sound does: what libsndfile passes over. */
#ifndef AUDIO_CUT_H
#define AUDIO_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads up to `bytes` at a place; how many there were. */
typedef size_t cut_read(void *user, uint64_t at, unsigned char *to, size_t bytes);

/* WAV (RIFF, RIFX, RF64), OGG and MP3, by how the file begins; any other is not cut. */
bool sound_is_cut(cut_read *read, void *user, uint64_t size);

#endif
