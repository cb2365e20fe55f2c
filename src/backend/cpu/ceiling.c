/* ceiling.c — measuring the ceilings of hecate/bench.h on the threads of a context.
 *
 * The work is cut into tasks of about 0.1 ms, many for each thread, so that a thread which the
 * system wakes late costs little; the best of many batches counts, because a ceiling is what the
 * machine can do, not what it did while someone else used it. */
#define HECATE_EXPERIMENTAL
#include <hecate/arena.h>
#include <hecate/bench.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/context.h"
#include "backend/cpu/ceiling.h"
#include "backend/cpu/cpu.h"
#include "base/memory.h"
#include "base/size.h"

#define TASKS_PER_THREAD 32
#define READ_CHUNK (256 << 10) /* bytes a task: long streams, many tasks */
#define MOST_THREADS 1024      /* of a context */

typedef struct ceiling {
	const char *isa;
	ceiling_fma *fma;
	int64_t rounds; /* of one task */
	ceiling_read *read;
} ceiling;

static const ceiling ceilings[] = {
	{"ref", fma_f32_ref, 4000, read_f32_ref},
#ifdef HEC_HAVE_AVX512
	{"avx512", fma_f32_avx512, 20000, read_f32_avx512},
#endif
};

/* Plain C in vectors of four, the least that any 64-bit CPU here has; a multiplication and an
 * addition where the compiler may not fuse them. */
typedef float four __attribute__((vector_size(16)));

double fma_f32_ref(int64_t rounds, float *sink)
{
	four sum[CEILING_CHAINS / 2] = {{0}}, factor = {0.999f, 0.999f, 0.999f, 0.999f};
	__asm__ volatile("" : "+m"(factor)); /* a number the compiler does not know */
	four other = factor;
	for (int64_t i = 0; i < rounds; i++) {
#pragma GCC unroll 8
		for (int j = 0; j < CEILING_CHAINS / 2; j++)
			sum[j] = sum[j] * factor + other;
	}
	for (int j = 1; j < CEILING_CHAINS / 2; j++)
		sum[0] += sum[j];
	*sink = sum[0][0];
	return 2.0 * 4 * (CEILING_CHAINS / 2.0) * (double)rounds;
}

void read_f32_ref(const float *x, int64_t n, float *sink)
{
	four sum[4] = {{0}};
	for (int64_t i = 0; i < n; i += 16) {
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			sum[j] += *(const four *)(x + i + 4 * j);
	}
	sum[0] += sum[1] + sum[2] + sum[3];
	*sink = sum[0][0];
}

static const ceiling *find_ceiling(const char *isa)
{
	for (size_t i = 0; isa && i < sizeof ceilings / sizeof *ceilings; i++) {
		if (strcmp(ceilings[i].isa, isa) == 0)
			return &ceilings[i];
	}
	return NULL;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct batch {
	const ceiling *c;
	const float *memory;
	struct {
		_Alignas(64) double done;
		float sink;
	} of[MOST_THREADS];
} batch;

static void fma_task(void *arg, int64_t task, int worker)
{
	batch *b = arg;
	(void)task;
	b->of[worker].done += b->c->fma(b->c->rounds, &b->of[worker].sink);
}

static void read_task(void *arg, int64_t task, int worker)
{
	batch *b = arg;
	const int64_t floats = READ_CHUNK / (int64_t)sizeof(float);
	b->c->read(b->memory + task * floats, floats, &b->of[worker].sink);
	b->of[worker].done += READ_CHUNK;
}

/* The best of many batches, in work a second. */
static double best_rate(hec_ctx *ctx, batch *b, pool_task *task, int64_t tasks, double seconds)
{
	double best = 0, end = now() + seconds;
	int threads = hec_ctx_threads(ctx);
	do {
		for (int i = 0; i < threads; i++)
			b->of[i].done = 0;
		double start = now();
		pool_run(ctx_pool(ctx), tasks, task, b);
		double took = now() - start, done = 0;
		for (int i = 0; i < threads; i++)
			done += b->of[i].done;
		best = done / took > best ? done / took : best;
	} while (now() < end);
	return best;
}

static hec_status batch_create(const ceiling *c, const char *isa, batch **out)
{
	if (!c)
		return fail(HEC_ERR_UNSUPPORTED, "bench: there is no ceiling for level %s",
		            isa ? isa : "(none)");
	*out = mem_aligned(64, sizeof **out);
	if (!*out)
		return fail(HEC_ERR_MEMORY, "bench: no memory for %zu bytes", sizeof **out);
	memset(*out, 0, sizeof **out);
	(*out)->c = c;
	return HEC_OK;
}

hec_status hec_bench_fma(hec_ctx *ctx, int isa, double seconds, double *gflops)
{
	const char *name = hec_isa_name(isa);
	if (name && !hec_isa_available(isa))
		return fail(HEC_ERR_UNSUPPORTED, "bench: level %s is not on this CPU", name);
	batch *b = NULL;
	HEC_TRY(batch_create(find_ceiling(name), name, &b));
	int64_t tasks = (int64_t)hec_ctx_threads(ctx) * TASKS_PER_THREAD;
	*gflops = 1e-9 * best_rate(ctx, b, fma_task, tasks, seconds);
	mem_free(b);
	return HEC_OK;
}

hec_status hec_bench_read(hec_ctx *ctx, size_t bytes, double seconds, double *gbs)
{
	size_t rounded;
	if (!size_align(bytes, READ_CHUNK, &rounded) || rounded == 0)
		return fail(HEC_ERR_ARGUMENT, "bench: %zu bytes to read", bytes);
	const int64_t tasks = (int64_t)(rounded / READ_CHUNK);
	batch *b = NULL;
	HEC_TRY(batch_create(find_ceiling(hec_ctx_isa(ctx)), hec_ctx_isa(ctx), &b));
	/* Memory as tensors have it, so that the system gives it in the same pages. */
	hec_arena *arena = NULL;
	void *memory;
	hec_status status = hec_arena_create(rounded, &arena);
	if (status == HEC_OK)
		status = hec_arena_alloc(arena, rounded, &memory);
	if (status == HEC_OK) {
		memset(memory, 1, rounded); /* pages of its own */
		b->memory = memory;
		*gbs = 1e-9 * best_rate(ctx, b, read_task, tasks, seconds);
	}
	hec_arena_destroy(arena);
	mem_free(b);
	return status;
}
