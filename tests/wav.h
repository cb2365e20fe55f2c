/* wav.h — sounds to read: 16-bit WAV, one channel. */
#ifndef TESTS_WAV_H
#define TESTS_WAV_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static inline void wav_put_32(FILE *f, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		fputc((int)(x >> 8 * i & 0xFF), f);
}

/* For n samples; NULL: it cannot be made. */
static inline FILE *wav_open(const char *path, uint32_t rate, uint32_t n)
{
	FILE *f = fopen(path, "wb");
	if (!f)
		return NULL;
	fputs("RIFF", f), wav_put_32(f, 2 * n + 36), fputs("WAVEfmt ", f), wav_put_32(f, 16);
	wav_put_32(f, 1 | 1 << 16), wav_put_32(f, rate), wav_put_32(f, 2 * rate);
	wav_put_32(f, 2 | 16 << 16), fputs("data", f), wav_put_32(f, 2 * n);
	return f;
}

static inline void wav_put(FILE *f, double sample) /* of 32,767 */
{
	const int value = (int)sample;
	fputc(value & 0xFF, f), fputc(value >> 8 & 0xFF, f);
}

/* n samples of two notes, the first of `pitch` Hz; `loud` of 32,767. */
static inline bool wav_write(const char *path, uint32_t rate, uint32_t n, double pitch, double loud)
{
	FILE *f = wav_open(path, rate, n);
	for (uint32_t i = 0; f && i < n; i++) {
		double t = 6.283185307179586 * (double)i / (double)rate;
		wav_put(f, loud * (0.6 * sin(pitch * t) + 0.4 * sin(2.7 * pitch * t)));
	}
	return f && fclose(f) == 0;
}

#endif
