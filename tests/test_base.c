/* test_base.c — status, random numbers, arena, options, the pool, contexts. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "support/test.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/status.h"

static kit bare; /* for messages where no context is needed */

/* ---- random ---- */

static void philox_gives_the_published_answers(void **state)
{
	(void)state;
	/* From the known-answer file of Random123 1.14. */
	static const uint32_t answers[][10] = {
		{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
	         0x94fdcceb, 0x5001e420, 0x24126ea1},
	};
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		uint32_t out[4];
		hec_philox(answers[i], answers[i] + 4, out);
		assert_memory_equal(out, answers[i] + 6, sizeof out);
	}
}

static void uniform_numbers_are_the_documented_words(void **state)
{
	(void)state;
	kit k = kit_open(1);
	const uint64_t seed = 0x0123456789abcdef, stream = 0xfedcba9876543210;
	const int64_t N = 101;
	for (int d = 0; d < 2; d++) {
		hec_dtype dtype = d ? HEC_F64 : HEC_F32;
		hec_tensor x = make(&k, dtype, SHAPE(N));
		OK(&k, hec_random_uniform(k.ctx, seed, stream, -2, 3, &x));
		for (int64_t i = 0; i < N; i++) {
			uint32_t counter[4] = {(uint32_t)(i / 4), 0, (uint32_t)stream,
			                       (uint32_t)(stream >> 32)},
				 key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, out[4];
			hec_philox(counter, key, out);
			double want = -2 + 5 * ((out[i % 4] >> 8) / 16777216.0);
			/* The top 24 bits of the word; one rounding at the end. */
			double bound = 4 * (d ? 0x1p-53 : 0x1p-24);
			CHECK(&k, fabs(get(&x, i) - want) <= bound, "element %lld is %g, not %g",
			      (long long)i, get(&x, i), want);
			CHECK(&k, get(&x, i) >= -2 && get(&x, i) < 3, "out of [-2, 3): %g",
			      get(&x, i));
		}
	}
	kit_close(&k);
}

static void normal_numbers_have_their_mean_and_deviation(void **state)
{
	(void)state;
	kit k = kit_open(2);
	const int64_t N = 20000;
	hec_tensor x = make(&k, HEC_F32, SHAPE(N)), y = make(&k, HEC_F32, SHAPE(N));
	OK(&k, hec_random_normal(k.ctx, 7, 0, 2, 3, &x));
	double sum = 0, squares = 0;
	for (int64_t i = 0; i < N; i++) {
		sum += get(&x, i);
		squares += (get(&x, i) - 2) * (get(&x, i) - 2);
	}
	/* Five standard errors: 3/√N for the mean, 3²·√(2/N) for the variance. */
	CHECK(&k, fabs(sum / N - 2) < 5 * 3 / sqrt(N), "mean %g", sum / N);
	CHECK(&k, fabs(squares / N - 9) < 5 * 9 * sqrt(2.0 / N), "variance %g", squares / N);
	OK(&k, hec_random_normal(k.ctx, 7, 1, 2, 3, &y));
	CHECK(&k, get(&x, 0) != get(&y, 0) && get(&x, 9) != get(&y, 9),
	      "two streams give the same numbers");
	OK(&k, hec_random_normal(k.ctx, 7, 0, 2, 3, &y));
	check_same_bits(&k, "the same stream again", &x, &y);
	kit_close(&k);
}

/* ---- status ---- */

static void a_message_stays_until_the_next_failure(void **state)
{
	(void)state;
	hec_tensor t = hec_tensor_1d(NULL, HEC_F32, 5), out;
	assert_int_equal(hec_tensor_slice(&t, 0, 4, 3, &out), HEC_ERR_SHAPE);
	char first[256];
	snprintf(first, sizeof first, "%s", hec_error_message());
	assert_non_null(strstr(first, "4"));
	assert_non_null(strstr(first, "5"));
	assert_int_equal(hec_tensor_slice(&t, 0, 1, 3, &out), HEC_OK);
	assert_string_equal(hec_error_message(), first);
	assert_int_equal(hec_tensor_slice(&t, 3, 1, 3, &out), HEC_ERR_ARGUMENT);
	assert_string_not_equal(hec_error_message(), first);
}

static void *message_of_another_thread(void *arg)
{
	snprintf(arg, 64, "[%s]", hec_error_message());
	return NULL;
}

static void each_thread_has_its_own_message(void **state)
{
	(void)state;
	assert_int_equal(fail(HEC_ERR_IO, "here"), HEC_ERR_IO);
	char other[64] = "";
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, message_of_another_thread, other), 0);
	pthread_join(thread, NULL);
	assert_string_equal(other, "[]");
	assert_string_equal(hec_error_message(), "here");
}

static void a_long_message_is_cut_not_overrun(void **state)
{
	(void)state;
	char words[2 * STATUS_MESSAGE];
	memset(words, 'x', sizeof words);
	words[sizeof words - 1] = 0;
	assert_int_equal(fail(HEC_ERR_FORMAT, "%s", words), HEC_ERR_FORMAT);
	assert_int_equal(strlen(hec_error_message()), STATUS_MESSAGE - 1);
	assert_int_equal(fail_in(HEC_ERR_FORMAT, "%s", "file.json"), HEC_ERR_FORMAT);
	assert_int_equal(strncmp(hec_error_message(), "file.json: xxx", 14), 0);
	assert_int_equal(fail_in(HEC_ERR_FORMAT, "%s", words), HEC_ERR_FORMAT);
	assert_int_equal(hec_error_message()[0], 'x');
}

static void every_status_has_a_name(void **state)
{
	(void)state;
	for (int i = HEC_OK; i <= HEC_ERR_INTERNAL; i++) {
		assert_string_not_equal(hec_status_name((hec_status)i), "?");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(hec_status_name((hec_status)i),
			                        hec_status_name((hec_status)j));
	}
	assert_string_equal(hec_status_name((hec_status)99), "?");
	assert_string_equal(hec_status_name((hec_status)-1), "?");
}

/* ---- arena ---- */

static void an_arena_hands_out_aligned_memory_that_does_not_overlap(void **state)
{
	(void)state;
	hec_arena *arena;
	assert_int_equal(hec_arena_create(10000, &arena), HEC_OK);
	char *end = NULL;
	for (size_t n = 0; n < 40; n++) {
		void *p;
		assert_int_equal(hec_arena_alloc(arena, n, &p), HEC_OK);
		assert_int_equal((uintptr_t)p % 64, 0);
		assert_true(!end || (char *)p >= end);
		memset(p, (int)n, n);
		end = (char *)p + n;
	}
	hec_arena_destroy(arena);
	hec_arena_destroy(NULL);
}

static void a_full_arena_says_how_much_was_asked_and_left(void **state)
{
	(void)state;
	hec_arena *arena;
	void *p = NULL, *untouched = &arena;
	assert_int_equal(hec_arena_create(1024, &arena), HEC_OK);
	assert_int_equal(hec_arena_alloc(arena, 1000, &p), HEC_OK);
	size_t used = hec_arena_used(arena);
	FAILS(&bare, HEC_ERR_MEMORY, hec_arena_alloc(arena, 777, &untouched), "777", "1024");
	assert_ptr_equal(untouched, &arena);
	assert_int_equal(hec_arena_used(arena), used);
	FAILS(&bare, HEC_ERR_MEMORY, hec_arena_alloc(arena, SIZE_MAX, &untouched), "1024");
	FAILS(&bare, HEC_ERR_MEMORY, hec_arena_alloc(arena, SIZE_MAX - 62, &untouched), "1024");
	hec_arena_destroy(arena);
	/* What is left would do, but not for whole cache lines: nothing reaches beyond. */
	assert_int_equal(hec_arena_create(1000, &arena), HEC_OK);
	assert_int_equal(hec_arena_alloc(arena, 900, &p), HEC_OK);
	FAILS(&bare, HEC_ERR_MEMORY, hec_arena_alloc(arena, 40, &untouched), "40", "1000");
	assert_true(hec_arena_used(arena) <= 1000);
	hec_arena_destroy(arena);
}

static void an_arena_rewinds_to_a_mark_and_remembers_its_peak(void **state)
{
	(void)state;
	hec_arena *arena;
	void *a, *b, *c;
	assert_int_equal(hec_arena_create(4096, &arena), HEC_OK);
	assert_int_equal(hec_arena_alloc(arena, 100, &a), HEC_OK);
	size_t mark = hec_arena_used(arena);
	assert_int_equal(hec_arena_alloc(arena, 3000, &b), HEC_OK);
	size_t peak = hec_arena_peak(arena);
	assert_true(peak >= 3100);
	hec_arena_rewind(arena, mark);
	assert_int_equal(hec_arena_used(arena), mark);
	assert_int_equal(hec_arena_peak(arena), peak);
	assert_int_equal(hec_arena_alloc(arena, 3000, &c), HEC_OK);
	assert_ptr_equal(b, c);
	hec_arena_rewind(arena, SIZE_MAX); /* never forward */
	assert_true(hec_arena_used(arena) <= 4096);
	hec_arena_rewind(arena, 0);
	assert_int_equal(hec_arena_used(arena), 0);
	hec_arena_destroy(arena);
}

static void an_arena_refuses_shapes_that_overflow(void **state)
{
	(void)state;
	hec_arena *arena;
	hec_tensor t, before;
	memset(&t, 0x55, sizeof t);
	before = t;
	assert_int_equal(hec_arena_create(4096, &arena), HEC_OK);
	const int64_t huge = INT64_C(1) << 32;
	FAILS(&bare, HEC_ERR_MEMORY, hec_arena_tensor(arena, HEC_F32, 2, SHAPE(huge, huge), &t),
	      "arena");
	FAILS(&bare, HEC_ERR_MEMORY,
	      hec_arena_tensor(arena, HEC_F64, 4, SHAPE(huge, 2, 3, huge), &t), "arena");
	FAILS(&bare, HEC_ERR_MEMORY, hec_arena_tensor(arena, HEC_I8, 1, SHAPE(INT64_MAX), &t),
	      "4096");
	FAILS(&bare, HEC_ERR_SHAPE,
	      hec_arena_tensor(arena, HEC_F32, 2, (const int64_t[]){3, -7}, &t), "-7");
	FAILS(&bare, HEC_ERR_ARGUMENT,
	      hec_arena_tensor(arena, HEC_F32, 5, SHAPE(1, 1, 1, 1, 1), &t), "5");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_arena_tensor(arena, HEC_F32, 0, SHAPE(1), &t), "0");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_arena_tensor(arena, (hec_dtype)42, 1, SHAPE(1), &t),
	      "42");
	assert_memory_equal(&t, &before, sizeof t);
	assert_int_equal(hec_arena_used(arena), 0);
	hec_arena *none = NULL;
	FAILS(&bare, HEC_ERR_MEMORY, hec_arena_create(SIZE_MAX - 5, &none), "arena");
	assert_null(none);
	hec_arena_destroy(arena);
}

static void sizes_that_overflow_are_refused(void **state)
{
	(void)state;
	size_t n = 0;
	assert_false(size_mul(SIZE_MAX / 2, 3, &n));
	assert_true(size_mul(SIZE_MAX / 2, 2, &n));
	assert_false(size_add(SIZE_MAX, 1, &n));
	assert_false(size_align(SIZE_MAX - 3, 64, &n));
	assert_true(size_align(65, 64, &n));
	assert_int_equal(n, 128);
	assert_int_equal(div_up(7, 3), 3);
	assert_int_equal(div_up(6, 3), 2);
}

/* ---- options ---- */

typedef struct sample {
	size_t size;
	int a;
	double b;
	int c;
} sample;

static void an_older_struct_leaves_the_later_defaults(void **state)
{
	(void)state;
	sample to = {sizeof to, 1, 2.0, 3}, from = {offsetof(sample, c), 10, 20.0, 30};
	assert_int_equal(options_take("sample", &to, sizeof to, &from), HEC_OK);
	assert_int_equal(to.a, 10);
	assert_true(to.b == 20.0);
	assert_int_equal(to.c, 3);
	assert_int_equal(to.size, sizeof to);
	assert_int_equal(options_take("sample", &to, sizeof to, NULL), HEC_OK);
	assert_int_equal(to.a, 10);
}

static void a_newer_struct_is_taken_while_what_is_unknown_is_zero(void **state)
{
	(void)state;
	struct {
		sample known;
		int newer[4];
	} from = {{sizeof from, 10, 20.0, 30}, {0, 0, 0, 0}};
	sample to = {sizeof to, 1, 2.0, 3};
	assert_int_equal(options_take("sample", &to, sizeof to, &from), HEC_OK);
	assert_int_equal(to.c, 30);
	from.newer[3] = 1;
	to.c = 3;
	FAILS(&bare, HEC_ERR_UNSUPPORTED, options_take("sample", &to, sizeof to, &from), "sample");
	assert_int_equal(to.c, 3);
}

static void a_struct_without_its_size_is_refused(void **state)
{
	(void)state;
	sample to = {sizeof to, 1, 2.0, 3}, from = {0, 10, 20.0, 30};
	FAILS(&bare, HEC_ERR_ARGUMENT, options_take("sample", &to, sizeof to, &from), "sample", "0",
	      "sizeof");
	from.size = SIZE_MAX;
	FAILS(&bare, HEC_ERR_ARGUMENT, options_take("sample", &to, sizeof to, &from), "sample");
	assert_int_equal(to.a, 1);
}

/* ---- pool ---- */

typedef struct tally {
	atomic_int *runs;
	int threads;
	atomic_int bad_worker;
} tally;

static void count_run(void *arg, int64_t task, int worker)
{
	tally *t = arg;
	atomic_fetch_add(&t->runs[task], 1);
	if (worker < 0 || worker >= t->threads)
		atomic_store(&t->bad_worker, 1);
}

static void every_task_runs_exactly_once(void **state)
{
	(void)state;
	static const int threads[] = {1, 2, 3, 7};
	static const int64_t counts[] = {0, 1, 2, 3, 7, 8, 1000};
	static atomic_int runs[1000];
	for (size_t i = 0; i < 4; i++) {
		pool *p;
		assert_int_equal(pool_create(threads[i], false, &p), HEC_OK);
		assert_int_equal(pool_threads(p), threads[i]);
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
			memset(runs, 0, sizeof runs);
			tally t = {runs, threads[i], 0};
			pool_run(p, counts[c], count_run, &t);
			for (int64_t n = 0; n < 1000; n++)
				assert_int_equal(atomic_load(&runs[n]), n < counts[c]);
			assert_int_equal(atomic_load(&t.bad_worker), 0);
		}
		pool_destroy(p);
	}
	pool_destroy(NULL);
}

static void many_tiny_loops_lose_nothing(void **state)
{
	(void)state;
	static const int threads[] = {2, 3, 7};
	for (size_t i = 0; i < 3; i++) {
		pool *p;
		assert_int_equal(pool_create(threads[i], false, &p), HEC_OK);
		atomic_int runs[5];
		memset(runs, 0, sizeof runs);
		tally t = {runs, threads[i], 0};
		for (int n = 0; n < 5000; n++)
			pool_run(p, 1 + n % 5, count_run, &t);
		for (int n = 0; n < 5; n++)
			assert_int_equal(atomic_load(&runs[n]), 5000 - 1000 * n);
		pool_destroy(p);
	}
}

typedef struct exclusive {
	atomic_int inside[7];
	atomic_int clash;
} exclusive;

static void one_task_per_worker(void *arg, int64_t task, int worker)
{
	exclusive *e = arg;
	(void)task;
	if (atomic_fetch_add(&e->inside[worker], 1) != 0)
		atomic_store(&e->clash, 1);
	for (volatile int i = 0; i < 200; i++)
		;
	atomic_fetch_sub(&e->inside[worker], 1);
}

static void a_worker_number_is_never_in_two_tasks_at_once(void **state)
{
	(void)state;
	pool *p;
	assert_int_equal(pool_create(7, false, &p), HEC_OK);
	exclusive e;
	memset(&e, 0, sizeof e);
	for (int n = 0; n < 300; n++)
		pool_run(p, 20, one_task_per_worker, &e);
	assert_int_equal(atomic_load(&e.clash), 0);
	pool_destroy(p);
}

typedef struct seats {
	atomic_int arrived;
	cpu_set_t set[2]; /* where each worker may run */
	cpu_set_t after;  /* where the maker may run when its pool is gone */
} seats;

static void take_seat(void *arg, int64_t task, int worker)
{
	seats *s = arg;
	(void)task;
	sched_getaffinity(0, sizeof s->set[worker], &s->set[worker]);
	atomic_fetch_add(&s->arrived, 1);
	while (atomic_load(&s->arrived) < 2) /* so that each of two workers has one */
		sched_yield();
}

static void *bound_pool(void *arg)
{
	pool *p;
	if (pool_create(2, true, &p) != HEC_OK)
		return NULL;
	pool_run(p, 2, take_seat, arg);
	pool_destroy(p);
	seats *s = arg;
	sched_getaffinity(0, sizeof s->after, &s->after);
	return arg;
}

static void bound_threads_sit_on_cores_of_their_own(void **state)
{
	(void)state;
	cpu_set_t all, both;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	seats s;
	memset(&s, 0, sizeof s);
	pthread_t maker; /* binding changes the maker, too: let it not be this thread */
	void *done;
	assert_int_equal(pthread_create(&maker, NULL, bound_pool, &s), 0);
	assert_int_equal(pthread_join(maker, &done), 0);
	assert_non_null(done);
	CPU_OR(&both, &s.set[0], &s.set[1]);
	assert_int_equal(CPU_COUNT(&s.set[0]), 1);
	assert_int_equal(CPU_COUNT(&s.set[1]), 1);
	assert_int_equal(CPU_COUNT(&both), CPU_COUNT(&all) > 1 ? 2 : 1);
	assert_true(CPU_EQUAL(&s.after, &all));
}

/* ---- context ---- */

static void a_context_works_in_a_forked_child_that_makes_its_own(void **state)
{
	(void)state;
	kit k = kit_open_at(3, NULL, 3);
	hec_tensor x = make(&k, HEC_F32, SHAPE(1000));
	OK(&k, hec_tensor_fill(k.ctx, 1, &x));
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(20); /* a hang is a failure, not a wait */
		hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
		o.threads = 3;
		hec_ctx *own;
		if (hec_ctx_create(&o, &own) != HEC_OK || hec_tensor_fill(own, 2, &x) != HEC_OK ||
		    get(&x, 999) != 2)
			_exit(1);
		hec_ctx_destroy(own);
		hec_ctx_destroy(k.ctx); /* the parent's: its threads are not here to be joined */
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	OK(&k, hec_tensor_fill(k.ctx, 3, &x)); /* the parent's goes on */
	assert_true(get(&x, 999) == 3);
	kit_close(&k);
}

static void with_environment(const char *name, const char *value, hec_status want, const char *word,
                             const char *word2)
{
	char *old = getenv(name), kept[256] = "";
	if (old)
		snprintf(kept, sizeof kept, "%s", old);
	setenv(name, value, 1);
	hec_ctx *ctx = NULL;
	hec_status got = hec_ctx_create(NULL, &ctx);
	if (old)
		setenv(name, kept, 1);
	else
		unsetenv(name);
	expect_error(&bare, __FILE__, __LINE__, value, got, want, word, word2, (char *)NULL);
	assert_null(ctx);
}

static void a_level_that_does_not_exist_is_refused_with_the_list(void **state)
{
	(void)state;
	with_environment("HECATE_ISA", "sse9", HEC_ERR_UNSUPPORTED, "sse9", "ref");
	with_environment("HECATE_ISA", "REF", HEC_ERR_UNSUPPORTED, "REF", "ref");
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.isa = "";
	hec_ctx *ctx = NULL;
	FAILS(&bare, HEC_ERR_UNSUPPORTED, hec_ctx_create(&o, &ctx), "ref");
	assert_null(ctx);
	for (int i = 0; hec_isa_name(i); i++)
		assert_non_null(strstr(hec_error_message(), hec_isa_name(i)));
}

static void a_nonsense_number_of_threads_is_refused(void **state)
{
	(void)state;
	static const char *const nonsense[] = {"0",  "-1",  "two",
	                                       "2x", "1e3", "99999999999999999999"};
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
		with_environment("HECATE_THREADS", nonsense[i], HEC_ERR_ARGUMENT, "HECATE_THREADS",
		                 nonsense[i]);
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	hec_ctx *ctx = NULL;
	o.threads = -3;
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_ctx_create(&o, &ctx), "-3");
	o.threads = 100000;
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_ctx_create(&o, &ctx), "100000");
	assert_null(ctx);
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_ctx_create(NULL, NULL), "out is NULL");
	FAILS(&bare, HEC_ERR_ARGUMENT, hec_ctx_create_dry(NULL, NULL), "out is NULL");
}

static void the_environment_chooses_where_the_options_do_not(void **state)
{
	(void)state;
	char *isa = getenv("HECATE_ISA"), *threads = getenv("HECATE_THREADS"),
	     old[2][64] = {"", ""};
	snprintf(old[0], sizeof old[0], "%s", isa ? isa : "");
	snprintf(old[1], sizeof old[1], "%s", threads ? threads : "");
	setenv("HECATE_ISA", "ref", 1);
	setenv("HECATE_THREADS", "3", 1);
	hec_ctx *ctx;
	assert_int_equal(hec_ctx_create(NULL, &ctx), HEC_OK);
	assert_string_equal(hec_ctx_isa(ctx), "ref");
	assert_int_equal(hec_ctx_threads(ctx), 3);
	hec_ctx_destroy(ctx);
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.threads = 2;
	assert_int_equal(hec_ctx_create(&o, &ctx), HEC_OK);
	assert_int_equal(hec_ctx_threads(ctx), 2);
	hec_ctx_destroy(ctx);
	hec_ctx_destroy(NULL);
	setenv("HECATE_ISA", old[0], 1); /* empty counts as not set */
	setenv("HECATE_THREADS", old[1], 1);
}

static void the_levels_are_listed_from_the_plainest_up(void **state)
{
	(void)state;
	assert_string_equal(hec_isa_name(0), "ref");
	assert_true(hec_isa_available(0));
	int n = 0;
	while (hec_isa_name(n))
		n++;
	assert_false(hec_isa_available(n));
	assert_null(hec_isa_name(-1));
	assert_false(hec_isa_available(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philox_gives_the_published_answers),
		cmocka_unit_test(uniform_numbers_are_the_documented_words),
		cmocka_unit_test(normal_numbers_have_their_mean_and_deviation),
		cmocka_unit_test(a_message_stays_until_the_next_failure),
		cmocka_unit_test(each_thread_has_its_own_message),
		cmocka_unit_test(a_long_message_is_cut_not_overrun),
		cmocka_unit_test(every_status_has_a_name),
		cmocka_unit_test(an_arena_hands_out_aligned_memory_that_does_not_overlap),
		cmocka_unit_test(a_full_arena_says_how_much_was_asked_and_left),
		cmocka_unit_test(an_arena_rewinds_to_a_mark_and_remembers_its_peak),
		cmocka_unit_test(an_arena_refuses_shapes_that_overflow),
		cmocka_unit_test(sizes_that_overflow_are_refused),
		cmocka_unit_test(an_older_struct_leaves_the_later_defaults),
		cmocka_unit_test(a_newer_struct_is_taken_while_what_is_unknown_is_zero),
		cmocka_unit_test(a_struct_without_its_size_is_refused),
		cmocka_unit_test(every_task_runs_exactly_once),
		cmocka_unit_test(many_tiny_loops_lose_nothing),
		cmocka_unit_test(a_worker_number_is_never_in_two_tasks_at_once),
		cmocka_unit_test(bound_threads_sit_on_cores_of_their_own),
		cmocka_unit_test(a_context_works_in_a_forked_child_that_makes_its_own),
		cmocka_unit_test(a_level_that_does_not_exist_is_refused_with_the_list),
		cmocka_unit_test(a_nonsense_number_of_threads_is_refused),
		cmocka_unit_test(the_environment_chooses_where_the_options_do_not),
		cmocka_unit_test(the_levels_are_listed_from_the_plainest_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
