/* fft.c — a real transform of n numbers as a complex one of m = n / 2, by Stockham's method.
 *
 * z_k = x_2k + i·x_(2k+1). A stage of radix p takes the length N to N / p and leaves its results in the
 * order that the next one reads, so nothing is ever reordered:
 *
 *	y[r + s·(p·q + k)] = e^(−2πi·qk/N) · Σ_j e^(−2πi·jk/p) x[r + s·(q + N/p·j)]
 *
 * with s = m / N. The two halves of z's spectrum then give that of x. In double precision throughout:
 * next to a loud tone the features keep 80 dB, which single precision does not hold to five digits.
 * Several signals lie side by side so that the innermost loop is one that compilers turn into vectors. */
#include "audio/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define LANES FFT_LANES
#define STAGES_MOST 16

struct fft {
	int64_t n, m;
	int stages, radix[STAGES_MOST];
	double *cosine, *sine; /* [n] of 2πi / n */
};

typedef struct lanes {
	double re[LANES], im[LANES];
} lanes;

/* Fours first: they need no multiplication. */
static bool find_factors(fft *f)
{
	static const int radices[] = {4, 2, 3, 5, 7, 11, 13};
	int64_t rest = f->m;
	for (size_t i = 0; i < sizeof radices / sizeof radices[0]; i++)
		while (rest % radices[i] == 0) {
			f->radix[f->stages++] = radices[i];
			rest /= radices[i];
		}
	return rest == 1;
}

hec_status fft_create(int64_t n, fft **out)
{
	if (n < 2 || n > FFT_LENGTH_MOST || n % 2 != 0)
		return fail(
			HEC_ERR_UNSUPPORTED,
			"log-mel: frames of %lld samples; an even number from 2 to %d is needed",
			(long long)n, FFT_LENGTH_MOST);
	fft *f = mem_zeros(1, sizeof *f);
	if (!f)
		return fail(HEC_ERR_MEMORY, "log-mel: no memory for a transform");
	f->n = n;
	f->m = n / 2;
	if (!find_factors(f)) {
		fft_destroy(f);
		return fail(HEC_ERR_UNSUPPORTED,
		            "log-mel: frames of %lld samples, which has a prime factor above %d",
		            (long long)n, FFT_PRIME_MOST);
	}
	f->cosine = mem_alloc((size_t)n * 2 * sizeof(double));
	if (!f->cosine) {
		fft_destroy(f);
		return fail(HEC_ERR_MEMORY, "log-mel: no memory for a transform of %lld numbers",
		            (long long)n);
	}
	f->sine = f->cosine + n;
	for (int64_t i = 0; i < n; i++) {
		double angle = 2 * 3.14159265358979323846 * (double)i / (double)n;
		f->cosine[i] = cos(angle);
		f->sine[i] = sin(angle);
	}
	*out = f;
	return HEC_OK;
}

void fft_destroy(fft *f)
{
	if (!f)
		return;
	mem_free(f->cosine);
	mem_free(f);
}

size_t fft_work(const fft *f)
{
	return 2 * (size_t)f->m * (sizeof(lanes) / sizeof(double));
}

/* ---- butterflies: t_k = Σ_j e^(−2πi·jk/p) x_j ---- */

static void radix_2(const lanes *restrict x, lanes *restrict t)
{
	for (int l = 0; l < LANES; l++) {
		t[0].re[l] = x[0].re[l] + x[1].re[l];
		t[0].im[l] = x[0].im[l] + x[1].im[l];
		t[1].re[l] = x[0].re[l] - x[1].re[l];
		t[1].im[l] = x[0].im[l] - x[1].im[l];
	}
}

static void radix_4(const lanes *restrict x, lanes *restrict t)
{
	for (int l = 0; l < LANES; l++) {
		double even_re = x[0].re[l] + x[2].re[l], even_im = x[0].im[l] + x[2].im[l];
		double left_re = x[0].re[l] - x[2].re[l], left_im = x[0].im[l] - x[2].im[l];
		double odd_re = x[1].re[l] + x[3].re[l], odd_im = x[1].im[l] + x[3].im[l];
		double right_re = x[1].re[l] - x[3].re[l], right_im = x[1].im[l] - x[3].im[l];
		t[0].re[l] = even_re + odd_re;
		t[0].im[l] = even_im + odd_im;
		t[1].re[l] = left_re + right_im;
		t[1].im[l] = left_im - right_re;
		t[2].re[l] = even_re - odd_re;
		t[2].im[l] = even_im - odd_im;
		t[3].re[l] = left_re - right_im;
		t[3].im[l] = left_im + right_re;
	}
}

/* Of an odd p: x_j and x_(p−j) meet the same cosine and opposite sines. x is overwritten. */
static void radix_odd(const fft *f, int p, lanes *restrict x, lanes *restrict t)
{
	int half = (p - 1) / 2;
	int64_t step = f->n / p;
	t[0] = x[0];
	for (int j = 1; j <= half; j++)
		for (int l = 0; l < LANES; l++) {
			lanes *a = &x[j], *b = &x[p - j];
			double re = a->re[l], im = a->im[l];
			a->re[l] = re + b->re[l];
			a->im[l] = im + b->im[l];
			b->re[l] = re - b->re[l];
			b->im[l] = im - b->im[l];
			t[0].re[l] += a->re[l];
			t[0].im[l] += a->im[l];
		}
	for (int k = 1; k <= half; k++) {
		lanes even = x[0], odd = {{0}, {0}};
		for (int j = 1; j <= half; j++) {
			double c = f->cosine[(j * k) % p * step], s = f->sine[(j * k) % p * step];
			for (int l = 0; l < LANES; l++) {
				even.re[l] += c * x[j].re[l];
				even.im[l] += c * x[j].im[l];
				odd.re[l] += s * x[p - j].re[l];
				odd.im[l] += s * x[p - j].im[l];
			}
		}
		for (int l = 0; l < LANES; l++) {
			t[k].re[l] = even.re[l] + odd.im[l];
			t[k].im[l] = even.im[l] - odd.re[l];
			t[p - k].re[l] = even.re[l] - odd.im[l];
			t[p - k].im[l] = even.im[l] + odd.re[l];
		}
	}
}

static void rotate_lanes(const lanes *restrict t, double c, double s, lanes *restrict y)
{
	for (int l = 0; l < LANES; l++) {
		y->re[l] = t->re[l] * c + t->im[l] * s;
		y->im[l] = t->im[l] * c - t->re[l] * s;
	}
}

static void run_stage(const fft *f, int p, int64_t length, const lanes *x, lanes *y)
{
	int64_t s = f->m / length, part = length / p, step = f->n / length;
	lanes in[FFT_PRIME_MOST], t[FFT_PRIME_MOST];
	for (int64_t q = 0; q < part; q++)
		for (int64_t r = 0; r < s; r++) {
			for (int j = 0; j < p; j++)
				in[j] = x[r + s * (q + part * j)];
			if (p == 4)
				radix_4(in, t);
			else if (p == 2)
				radix_2(in, t);
			else
				radix_odd(f, p, in, t);
			y[r + s * p * q] = t[0];
			for (int k = 1; k < p; k++)
				rotate_lanes(&t[k], f->cosine[q * k * step], f->sine[q * k * step],
				             &y[r + s * (p * q + k)]);
		}
}

/* X_k = (Z_k + Z*_(m−k)) / 2 − i/2 · e^(−2πi·k/n) · (Z_k − Z*_(m−k)) */
static void real_power(const fft *f, const lanes *z, double *power)
{
	for (int64_t k = 0; k <= f->m; k++) {
		const lanes *a = &z[k % f->m], *b = &z[(f->m - k) % f->m];
		double c = k < f->m ? f->cosine[k] : -1, s = k < f->m ? f->sine[k] : 0;
		for (int l = 0; l < LANES; l++) {
			double sum_re = a->re[l] + b->re[l], sum_im = a->im[l] - b->im[l];
			double dif_re = a->re[l] - b->re[l], dif_im = a->im[l] + b->im[l];
			double re = sum_re + c * dif_im - s * dif_re;
			double im = sum_im - c * dif_re - s * dif_im;
			power[k * LANES + l] = 0.25 * (re * re + im * im);
		}
	}
}

void fft_power(const fft *f, const double *x, double *work, double *power)
{
	lanes *from = (lanes *)work, *to = from + f->m;
	memcpy(from, x, (size_t)f->m * sizeof *from); /* even rows are real parts, odd imaginary */
	int64_t length = f->m;
	for (int i = 0; i < f->stages; i++) {
		run_stage(f, f->radix[i], length, from, to);
		length /= f->radix[i];
		lanes *swap = from;
		from = to;
		to = swap;
	}
	real_power(f, from, power);
}
