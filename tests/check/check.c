/* check.c — every slot of the backend, at every level this CPU has, against the reference.
 *
 *   check [--op NAME] [--seed N] [--trials N] [--list] [--bench [--threads N]] [--numerics FILE]
 *
 * Each trial is one random call (trial.h), run by the f64 reference, the f32 reference and the
 * kernel; compare.h judges the difference, run_damage the memory around it, and the kernel must
 * give the same bits on 1, 2, 3 and 7 threads. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/context.h"
#include "compare.h"

#define MAX_LEVELS 8
#define TRIALS 60 /* of each operation; `many` ones three times that */
#define SHOWN_FAILURES 3

static const int thread_counts[] = {1, 2, 3, 7};
#define COUNTS ((int)(sizeof thread_counts / sizeof *thread_counts))

typedef struct settings {
	uint64_t seed;
	const char *op, *numerics;
	int trials, threads;
	bool bench, list;
} settings;

typedef struct level {
	const char *name;
	hec_ctx *ctx[COUNTS];
} level;

static level levels[MAX_LEVELS];
static int level_count;

static const check_op *const tables[] = {gemm_checks,    attention_checks, row_checks,
                                         element_checks, move_checks,      conv_checks};
#define TABLES (sizeof tables / sizeof *tables)

static const struct slot {
	const char *name;
	size_t offset;
} slots[] = {
#define OP(name, args) {#name, offsetof(backend_ops, name)},
	BACKEND_OPS(OP)
#undef OP
};
#define SLOTS (sizeof slots / sizeof *slots)

static const check_op *find_check(const char *name)
{
	for (size_t i = 0; i < TABLES; i++) {
		for (const check_op *op = tables[i]; op->name; op++) {
			if (strcmp(op->name, name) == 0)
				return op;
		}
	}
	return NULL;
}

static const char *slot_in(const hec_ctx *ctx, hec_dtype dtype, const struct slot *s)
{
	return (const char *)&ctx_backend(ctx)->ops[dtype] + s->offset;
}

static bool slot_present(const hec_ctx *ctx, hec_dtype dtype, const struct slot *s)
{
	void (*f)(void);
	memcpy(&f, slot_in(ctx, dtype, s), sizeof f);
	return f != NULL;
}

/* Whether level l has a version of its own. */
static bool slot_is_new(int l, hec_dtype dtype, const struct slot *s)
{
	return slot_present(levels[l].ctx[0], dtype, s) &&
	       memcmp(slot_in(levels[l].ctx[0], dtype, s), slot_in(levels[0].ctx[0], dtype, s),
	              sizeof(void (*)(void))) != 0;
}

static void open_levels(void)
{
	for (int i = 0; hec_isa_name(i) && level_count < MAX_LEVELS; i++) {
		if (!hec_isa_available(i))
			continue;
		level *l = &levels[level_count++];
		l->name = hec_isa_name(i);
		for (int c = 0; c < COUNTS; c++) {
			hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
			o.threads = thread_counts[c];
			o.isa = l->name;
			if (hec_ctx_create(&o, &l->ctx[c]) != HEC_OK) {
				fprintf(stderr, "check: %s\n", hec_error_message());
				exit(2);
			}
		}
	}
}

static bool level_named(const char *name)
{
	for (int l = 0; l < level_count; l++) {
		if (strcmp(levels[l].name, name) == 0)
			return true;
	}
	return false;
}

static void close_levels(void)
{
	for (int l = 0; l < level_count; l++) {
		for (int c = 0; c < COUNTS; c++)
			hec_ctx_destroy(levels[l].ctx[c]);
	}
}

/* One run; the reason why it went wrong, or NULL. */
static const char *execute(const check_op *op, hec_ctx *ctx, const trial *t, hec_dtype dtype,
                           run *r)
{
	run_make(r, t, dtype);
	if (op->call(ctx, r) != HEC_OK)
		return hec_error_message();
	return run_damage(r);
}

static const char *check_threads(const check_op *op, const level *l, const run *one)
{
	static char text[64];
	for (int c = 1; c < COUNTS; c++) {
		run r;
		const char *why = execute(op, l->ctx[c], one->t, HEC_F32, &r);
		if (!why && !run_same_bits(one, &r)) {
			snprintf(text, sizeof text, "%d threads give other bits than one",
			         thread_counts[c]);
			why = text;
		}
		run_free(&r);
		if (why)
			return why;
	}
	return NULL;
}

static bool all_bits(const trial *t)
{
	for (int i = 0; i < t->count; i++) {
		if (t->operands[i].role != IN && !t->operands[i].bits)
			return false;
	}
	return true;
}

static const char *check_level(const check_op *op, const bound *b, const level *l, const run *truth,
                               const run *plain, errors *worst)
{
	run kernel;
	const char *why = execute(op, l->ctx[0], plain->t, HEC_F32, &kernel);
	worst->other += !run_same_bits(&kernel, plain);
	if (!why)
		why = compare_kernel(b, truth, plain, &kernel, worst);
	if (!why)
		why = check_threads(op, l, &kernel);
	run_free(&kernel);
	return why;
}

/* One trial at every level. Returns the number of the level that failed, or −1. */
static int check_trial(const check_op *op, const struct slot *s, const bound *b, const trial *t,
                       errors *worst, bool *ran, const char **why)
{
	run truth, plain;
	int failed = -1;
	*why = execute(op, levels[0].ctx[0], t, HEC_F32, &plain);
	const char *why_truth = NULL;
	if (all_bits(t))
		run_make(&truth, t, HEC_F32);
	else
		why_truth = execute(op, levels[0].ctx[0], t, HEC_F64, &truth);
	*why = *why ? *why : why_truth;
	if (!*why)
		*why = compare_plain(&truth, &plain, &worst[0]);
	if (!*why)
		*why = check_threads(op, &levels[0], &plain);
	failed = *why ? 0 : -1;
	for (int l = 1; l < level_count && !*why; l++) {
		if (!slot_is_new(l, t->main, s))
			continue;
		ran[l] = true;
		*why = check_level(op, b, &levels[l], &truth, &plain, &worst[l]);
		failed = *why ? l : -1;
	}
	run_free(&plain);
	run_free(&truth);
	return failed;
}

static int check_slot(const settings *set, const struct slot *s, const check_op *op)
{
	errors worst[MAX_LEVELS] = {{0, 0, 0}};
	bool ran[MAX_LEVELS] = {true};
	int failures = 0, trials = set->trials * (op->many ? 3 : 1);
	const bound *b = bound_of(op->name);
	if (!b) {
		fprintf(stderr, "%s has no row in bounds.h\n", op->name);
		return 1;
	}
	for (int i = 0; i < trials && failures < SHOWN_FAILURES; i++) {
		trial t = {.r = {set->seed * 1000003u + (uint64_t)i}, .main = HEC_F32};
		const char *why = NULL;
		t.rows = rng_chance(&t.r, 0.75);
		op->make(&t);
		int l = check_trial(op, s, b, &t, worst, ran, &why);
		if (l >= 0) {
			failures++;
			fprintf(stderr, "FAIL %s at level %s, --seed %llu, trial %d: %s\n     %s\n",
			        op->name, levels[l].name, (unsigned long long)set->seed, i, t.text,
			        why);
		}
		trial_free(&t);
	}
	printf("%-18s %4d trials   plain %6.2f", op->name, trials, worst[0].plain);
	for (int l = 1; l < level_count; l++) {
		if (ran[l])
			printf("   %s %6.2f (%d with other bits)", levels[l].name, worst[l].kernel,
			       worst[l].other);
	}
	printf("   %s\n", failures ? "FAILED" : "ok");
	fflush(stdout);
	return failures;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The best time of one call. */
static double time_call(const check_op *op, hec_ctx *ctx, run *r)
{
	double best = 1e30, end = seconds() + 0.3;
	do {
		double start = seconds();
		if (op->call(ctx, r) != HEC_OK)
			return 0;
		double took = seconds() - start;
		best = took < best ? took : best;
	} while (seconds() < end);
	return best;
}

static void bench_slot(const settings *set, const struct slot *s, const check_op *op)
{
	trial t = {.r = {set->seed}, .plain = true, .main = HEC_F32};
	op->make(&t);
	double base = 0, work = t.flops > 0 ? t.flops : t.bytes;
	int c = 0;
	while (c < COUNTS - 1 && thread_counts[c] != set->threads)
		c++;
	for (int l = 0; l < level_count; l++) {
		if (l > 0 && !slot_is_new(l, t.main, s))
			continue;
		run r;
		run_make(&r, &t, HEC_F32);
		double took = time_call(op, levels[l].ctx[c], &r);
		base = l == 0 ? took : base;
		printf("%-18s %-8s %10.3f us %9.2f %s %7.2fx   %s\n", op->name, levels[l].name,
		       1e6 * took, took > 0 ? 1e-9 * work / took : 0,
		       t.flops > 0 ? "GFLOP/s" : "GB/s   ", took > 0 ? base / took : 0, t.text);
		fflush(stdout);
		run_free(&r);
	}
	trial_free(&t);
}

static void list_slot(const struct slot *s)
{
	printf("%-18s", s->name);
	for (int l = 0; l < level_count; l++) {
		bool there = l == 0 ? slot_present(levels[0].ctx[0], HEC_F32, s)
		                    : slot_is_new(l, HEC_F32, s);
		printf(" %-8s", there ? levels[l].name : "-");
	}
	printf("%s\n",
	       find_check(s->name) || strcmp(s->name, "gemm_pack") == 0 ? "" : " unchecked");
}

static int usage(const char *argument)
{
	fprintf(stderr,
	        "check: %s?\nusage: check [--op NAME] [--seed N] [--trials N] [--list] [--bench "
	        "[--threads 1|2|3|7]] [--numerics FILE]\n",
	        argument);
	return 2;
}

static int parse(int argc, char **argv, settings *set)
{
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (strcmp(a, "--list") == 0) {
			set->list = true;
			continue;
		}
		if (strcmp(a, "--bench") == 0) {
			set->bench = true;
			continue;
		}
		if (!value)
			return usage(a);
		i++;
		if (strcmp(a, "--op") == 0)
			set->op = value;
		else if (strcmp(a, "--seed") == 0)
			set->seed = strtoull(value, NULL, 10);
		else if (strcmp(a, "--trials") == 0)
			set->trials = atoi(value);
		else if (strcmp(a, "--threads") == 0)
			set->threads = atoi(value);
		else if (strcmp(a, "--numerics") == 0)
			set->numerics = value;
		else
			return usage(a);
	}
	return 0;
}

int main(int argc, char **argv)
{
	settings set = {.seed = 1, .trials = TRIALS, .threads = 1, .numerics = "docs/numerics.md"};
	int wrong = parse(argc, argv, &set);
	if (wrong)
		return wrong;
	open_levels();
	int failures = 0, found = 0;
	for (size_t i = 0; i < SLOTS; i++) {
		const struct slot *s = &slots[i];
		if (set.op && strcmp(set.op, s->name) != 0)
			continue;
		found++;
		const check_op *op = find_check(s->name);
		if (set.list) {
			list_slot(s);
		} else if (!op) {
			/* gemm_pack is checked by gemm; a slot that no one checks is a failure. */
			if (strcmp(s->name, "gemm_pack") != 0) {
				fprintf(stderr, "FAIL slot %s has no check\n", s->name);
				failures++;
			}
		} else if (set.bench) {
			bench_slot(&set, s, op);
		} else {
			failures += check_slot(&set, s, op);
		}
	}
	if (!set.bench && !set.list && !set.op) {
#if defined(__x86_64__)
		if (level_named("avx512"))
			failures += functions_check_avx512();
#endif
		failures += bounds_match(set.numerics);
	}
	close_levels();
	if (!found)
		return usage(set.op);
	if (!set.bench && !set.list)
		printf("%s (seed %llu; errors in units of eps · scale, docs/numerics.md)\n",
		       failures ? "FAILED" : "all kernels keep to their bounds",
		       (unsigned long long)set.seed);
	return failures ? 1 : 0;
}
