/* fft.h — power spectra of real signals, FFT_LANES of them side by side. */
#ifndef AUDIO_FFT_H
#define AUDIO_FFT_H

#include "base/status.h"

#define FFT_LANES 8
#define FFT_LENGTH_MOST 16384
#define FFT_PRIME_MOST 13

typedef struct fft fft;

/* n even, without a prime factor above FFT_PRIME_MOST. */
hec_status fft_create(int64_t n, fft **out);
void fft_destroy(fft *f);      /* takes NULL */
size_t fft_work(const fft *f); /* doubles of work space for fft_power */

/* power[k] = |Σ_i x[i] e^(−2πi·ik/n)|², k = 0 … n / 2. */
void fft_power(const fft *f, const double *x, /* [n, FFT_LANES] */
               double *work,                  /* [fft_work] */
               double *power /* [n / 2 + 1, FFT_LANES] written */);

#endif
