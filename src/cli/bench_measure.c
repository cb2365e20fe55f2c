/* bench_measure.c — the ceilings of this machine and the time of one call. */
#define HECATE_EXPERIMENTAL
#include "bench_measure.h"

#include <hecate/bench.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READ_BYTES ((size_t)256 << 20)
#define STEADY 0.95 /* of the best ceiling */
#define TRIES 5
#define SAMPLE 1.5e-3 /* seconds: far above the clock's step, far below a time slice's worth */
#define MOST_SAMPLES 401
#define LEAST_SAMPLES 7

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

hec_status ceilings_measure(hec_ctx *ctx, double seconds, bench_ceilings *out)
{
	*out = (bench_ceilings){.count = 0};
	for (int i = 0; hec_isa_name(i) && out->count < BENCH_LEVELS; i++) {
		if (!hec_isa_available(i))
			continue;
		int n = out->count++;
		out->isa[n] = hec_isa_name(i);
		BENCH_TRY(hec_bench_fma(ctx, i, fmin(seconds, 0.3), &out->gflops[n]));
		if (strcmp(out->isa[n], hec_ctx_isa(ctx)) == 0)
			out->own = n;
	}
	return hec_bench_read(ctx, READ_BYTES, fmin(seconds, 0.5), &out->read_gbs);
}

/* The ceiling of this kind of case now, as a share of the best one, which it may raise. */
static hec_status ceiling_now(bench_case *c, bench_ceilings *all, double seconds, double *share)
{
	double rate = 0, *best = c->memory ? &all->read_gbs : &all->gflops[all->own];
	if (c->memory) {
		BENCH_TRY(hec_bench_read(c->ctx, READ_BYTES, fmin(seconds, 0.1), &rate));
	} else {
		for (int i = 0; hec_isa_name(i); i++) {
			if (strcmp(hec_isa_name(i), all->isa[all->own]) == 0)
				BENCH_TRY(hec_bench_fma(c->ctx, i, fmin(seconds, 0.05), &rate));
		}
	}
	*best = rate > *best ? rate : *best;
	*share = rate / *best;
	return HEC_OK;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void summarise(double *samples, int n, bench_timing *out)
{
	qsort(samples, (size_t)n, sizeof *samples, by_value);
	double median = samples[n / 2];
	out->ms = 1e3 * median;
	out->spread = (samples[3 * n / 4] - samples[n / 4]) / median;
}

/* One series of samples. Each is a row of calls long enough for the clock. */
static hec_status sample(bench_case *c, double seconds, bench_timing *out)
{
	double samples[MOST_SAMPLES], first;
	int64_t calls = 0, row = 1;
	double start = now();
	do { /* warm up, and see how long a call takes */
		first = now();
		BENCH_TRY(c->call(c, calls++));
		first = now() - first;
	} while (now() - start < 0.1 * seconds);
	if (first < SAMPLE)
		row = (int64_t)(SAMPLE / (first + 1e-9)) + 1;
	int n = 0;
	start = now();
	while (n < MOST_SAMPLES && (n < LEAST_SAMPLES || now() - start < seconds)) {
		double begin = now();
		for (int64_t i = 0; i < row; i++)
			BENCH_TRY(c->call(c, calls++));
		samples[n++] = (now() - begin) / (double)row;
	}
	summarise(samples, n, out);
	return HEC_OK;
}

hec_status case_measure(bench_case *c, bench_ceilings *ceilings, double seconds, bench_timing *out)
{
	double best = -1;
	for (int i = 0; i < TRIES; i++) {
		double before, after;
		bench_timing timing = {0, 0, false};
		BENCH_TRY(ceiling_now(c, ceilings, seconds, &before));
		BENCH_TRY(sample(c, seconds, &timing));
		BENCH_TRY(ceiling_now(c, ceilings, seconds, &after));
		double held = before < after ? before : after;
		timing.steady = held >= STEADY;
		if (held > best)
			*out = timing;
		best = held > best ? held : best;
		if (timing.steady)
			break;
	}
	return HEC_OK;
}
