/* measure.c — the ceilings of this machine and the time of one call. */
#define HECATE_EXPERIMENTAL
#include "cli/bench/measure.h"

#include <dirent.h>
#include <hecate/bench.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READ_BYTES ((size_t)256 << 20)
#define STEADY 0.95 /* of the best ceiling */
#define TRIES 5
#define SAMPLE 1.5e-3 /* seconds: far above the clock's step, far below a time slice's worth */
#define MOST_SAMPLES 401
#define LEAST_SAMPLES 7
#define LONG_SAMPLES 3 /* of long calls */
#define LONG_TRIES 2
#define LOOKS 16 /* at the ceiling, during one series */

static double seconds_now(void)
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
		TRY(hec_bench_fma(ctx, i, fmin(seconds, 0.3), &out->gflops[n]));
		if (strcmp(out->isa[n], hec_ctx_isa(ctx)) == 0)
			out->own = n;
	}
	return hec_bench_read(ctx, READ_BYTES, fmin(seconds, 0.5), &out->read_gbs);
}

/* Seconds that threads of this process were ready to run and had no core; 0 where the system does
 * not say. A look at the ceiling may slip between two turns of another process; this cannot. */
static double seconds_waited(void)
{
	double sum = 0;
	DIR *tasks = opendir("/proc/self/task");
	for (struct dirent *e; tasks && (e = readdir(tasks));) {
		char path[64 + sizeof e->d_name];
		unsigned long long ran, waiting;
		snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", e->d_name);
		FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (f && fscanf(f, "%llu %llu", &ran, &waiting) == 2)
			sum += 1e-9 * (double)waiting;
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void summarise_samples(double *samples, int n, bench_timing *out)
{
	qsort(samples, (size_t)n, sizeof *samples, by_value);
	double median = samples[n / 2];
	out->ms = 1e3 * median;
	out->spread = (samples[3 * n / 4] - samples[n / 4]) / median;
}

/* One short look at the FMA ceiling, as a share of the best one, which it may raise. */
static hec_status probe_fma(bench_case *c, bench_ceilings *all, double *share)
{
	double rate = 0, *best = &all->gflops[all->own];
	for (int i = 0; hec_isa_name(i); i++) {
		if (strcmp(hec_isa_name(i), all->isa[all->own]) == 0)
			TRY(hec_bench_fma(c->ctx, i, 0, &rate));
	}
	*best = rate > *best ? rate : *best;
	*share = rate / *best;
	return HEC_OK;
}

static hec_status probe_read(bench_case *c, bench_ceilings *all, double seconds, double *share)
{
	double rate;
	TRY(hec_bench_read(c->ctx, READ_BYTES, fmin(seconds, 0.1), &rate));
	all->read_gbs = rate > all->read_gbs ? rate : all->read_gbs;
	*share = rate / all->read_gbs;
	return HEC_OK;
}

/* Warms up and returns how many calls make a sample that is long enough for the clock. */
static hec_status warm_up(bench_case *c, double seconds, int64_t *calls, int64_t *row)
{
	double start = seconds_now(), took;
	do {
		double begin = seconds_now();
		TRY(c->call(c, (*calls)++));
		took = seconds_now() - begin;
	} while (seconds_now() - start < 0.1 * seconds);
	*row = took < SAMPLE ? (int64_t)(SAMPLE / (took + 1e-9)) + 1 : 1;
	return HEC_OK;
}

/* One series of samples, with looks at the ceiling in between: *held is the median of their shares.
 * Whatever slows half of the samples slows half of the looks. */
static hec_status take_samples(bench_case *c, bench_ceilings *all, double seconds,
                               bench_timing *out, double *held)
{
	double samples[MOST_SAMPLES], shares[MOST_SAMPLES], looked = 0;
	int64_t calls = 0, row = 1;
	const int least = c->long_call ? LONG_SAMPLES : LEAST_SAMPLES;
	int n = 0, looks = 0;
	TRY(warm_up(c, seconds, &calls, &row));
	double start = seconds_now();
	while (n < MOST_SAMPLES && (n < least || seconds_now() - start < seconds)) {
		if (seconds_now() - looked > seconds / LOOKS) {
			TRY(probe_fma(c, all, &shares[looks++]));
			if (!c->long_call)
				TRY(c->call(c, calls++)); /* caches as they were */
			looked = seconds_now();
		}
		double begin = seconds_now();
		for (int64_t i = 0; i < row; i++)
			TRY(c->call(c, calls++));
		samples[n++] = (seconds_now() - begin) / (double)row;
	}
	summarise_samples(samples, n, out);
	qsort(shares, (size_t)looks, sizeof *shares, by_value);
	*held = shares[looks / 2];
	return HEC_OK;
}

hec_status case_measure(bench_case *c, bench_ceilings *ceilings, double seconds, bench_timing *out)
{
	double best = 0, threads = hec_ctx_threads(c->ctx);
	for (int i = 0; i < (c->long_call ? LONG_TRIES : TRIES); i++) {
		double held, reading = 1;
		bench_timing timing = {0, 0, false};
		double start = seconds_now(), idle = seconds_waited();
		TRY(take_samples(c, ceilings, seconds, &timing, &held));
		held = fmin(held,
		            1 - (seconds_waited() - idle) / (threads * (seconds_now() - start)));
		if (c->memory)
			TRY(probe_read(c, ceilings, seconds, &reading));
		held = fmin(held, reading);
		timing.steady = held >= STEADY;
		if (i == 0 || held > best) {
			*out = timing;
			best = held;
		}
		if (timing.steady)
			break;
	}
	return HEC_OK;
}
