/* pool.c — threads that wait for a loop, first awake, then asleep.
 *
 * One word, the gate, says everything: bit 0 the loop is open to join, bits 1–31 twice the number
 * of workers inside, bits 32–63 which loop it is. A worker joins by adding 2 while the gate is
 * open. The caller opens the gate, works too, closes it when no task is left, and waits until the
 * workers that did join are out: a worker that the system has not woken in time is not waited for.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setaffinity_np */
#endif
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/memory.h"

#define GATE_OPEN 1u
#define GATE_WORKER 2u
#define GATE_EPOCH(g) ((uint32_t)((g) >> 32))
#define GATE_INSIDE(g) ((uint32_t)(g) & ~GATE_OPEN)

/* About 50 µs awake before a worker sleeps: longer than the gap between two operations of a layer,
 * shorter than anything a person or another process would notice. */
#define SPINS 2000

typedef struct worker {
	pool *owner;
	pthread_t thread;
	int number;
} worker;

struct pool {
	_Alignas(64) _Atomic uint64_t gate;
	_Alignas(64) _Atomic int64_t next; /* the next task to hand out */
	int64_t count;
	pool_task *task;
	void *arg;

	int threads;
	int spins;
	bool bind;
	pthread_t maker;
	cpu_set_t
		allowed; /* where bind: the cores to choose from, the maker's before it was bound */
	pid_t pid;       /* threads do not survive fork: only their maker may join them */
	worker *workers; /* threads − 1 */
	int started;

	_Atomic int sleepers;
	_Atomic bool stop;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Binds the calling thread to number `number` of the cores that the pool's maker may use. */
static void bind_to_core(const cpu_set_t *allowed, int number)
{
	int cores = CPU_COUNT(allowed);
	if (cores == 0)
		return;
	int wanted = number % cores;
	for (size_t c = 0; c < CPU_SETSIZE; c++) {
		if (!CPU_ISSET(c, allowed) || wanted-- > 0)
			continue;
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(c, &one);
		pthread_setaffinity_np(pthread_self(), sizeof one, &one);
		return;
	}
}

static void do_tasks(pool *p, int number)
{
	for (;;) {
		int64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
		if (i >= p->count)
			return;
		p->task(p->arg, i, number);
	}
}

/* Waits for a loop after `seen`; returns its gate, or one with epoch `seen` when stopping. */
static uint64_t wait_for_loop(pool *p, uint32_t seen)
{
	uint64_t g;
	for (int i = 0; i < p->spins; i++) {
		g = atomic_load_explicit(&p->gate, memory_order_acquire);
		if (GATE_EPOCH(g) != seen || atomic_load_explicit(&p->stop, memory_order_relaxed))
			return g;
		relax();
	}
	pthread_mutex_lock(&p->lock);
	atomic_fetch_add(&p->sleepers, 1);
	while (GATE_EPOCH(g = atomic_load(&p->gate)) == seen && !atomic_load(&p->stop))
		pthread_cond_wait(&p->wake, &p->lock);
	atomic_fetch_sub(&p->sleepers, 1);
	pthread_mutex_unlock(&p->lock);
	return g;
}

static void *worker_main(void *arg)
{
	worker *w = arg;
	pool *p = w->owner;
	uint32_t seen = 0;
	if (p->bind)
		bind_to_core(&p->allowed, w->number);
	for (;;) {
		uint64_t g = wait_for_loop(p, seen);
		if (atomic_load_explicit(&p->stop, memory_order_relaxed))
			return NULL;
		while ((g & GATE_OPEN) != 0 &&
		       !atomic_compare_exchange_weak(&p->gate, &g, g + GATE_WORKER))
			;
		seen = GATE_EPOCH(g);
		if ((g & GATE_OPEN) == 0)
			continue;
		do_tasks(p, w->number);
		atomic_fetch_sub_explicit(&p->gate, GATE_WORKER, memory_order_release);
	}
}

void pool_run(pool *p, int64_t count, pool_task *task, void *arg)
{
	if (p->threads == 1 || count <= 1) {
		for (int64_t i = 0; i < count; i++)
			task(arg, i, 0);
		return;
	}
	p->task = task;
	p->arg = arg;
	p->count = count;
	atomic_store_explicit(&p->next, 0, memory_order_relaxed);
	uint64_t g = atomic_load_explicit(&p->gate, memory_order_relaxed);
	atomic_store(&p->gate, ((uint64_t)(GATE_EPOCH(g) + 1) << 32) | GATE_OPEN);
	if (atomic_load(&p->sleepers) > 0) {
		pthread_mutex_lock(&p->lock);
		pthread_cond_broadcast(&p->wake);
		pthread_mutex_unlock(&p->lock);
	}
	do_tasks(p, 0);
	atomic_fetch_and(&p->gate, ~(uint64_t)GATE_OPEN);
	for (int i = 0; GATE_INSIDE(atomic_load_explicit(&p->gate, memory_order_acquire)); i++) {
		if (i < p->spins)
			relax();
		else
			sched_yield();
	}
}

hec_status pool_create(int threads, bool bind, pool **out)
{
	pool *p = mem_aligned(64, sizeof *p);
	worker *workers = mem_zeros((size_t)threads, sizeof *workers);
	if (!p || !workers) {
		mem_free(p);
		mem_free(workers);
		return fail(HEC_ERR_MEMORY, "no memory for a pool of %d threads", threads);
	}
	*p = (pool){.threads = threads, .bind = bind, .workers = workers, .pid = getpid()};
	/* Waiting awake pays only while every thread has a core to wait on. */
	p->maker = pthread_self();
	p->spins = threads <= cpu_cores_available() ? SPINS : 0;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	if (bind && sched_getaffinity(0, sizeof p->allowed, &p->allowed) == 0)
		bind_to_core(&p->allowed, 0);
	/* Signals are the program's business: its handlers shall not run in these threads. */
	sigset_t every, before;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	int error = 0, i;
	for (i = 0; i < threads - 1 && !error; i++) {
		workers[i] = (worker){.owner = p, .number = i + 1};
		error = pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
		p->started += !error;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		pool_destroy(p);
		return fail(HEC_ERR_MEMORY, "could not start thread %d of %d (error %d)", i + 1,
		            threads, error);
	}
	*out = p;
	return HEC_OK;
}

void pool_destroy(pool *p)
{
	if (!p)
		return;
	if (p->pid == getpid()) {
		pthread_mutex_lock(&p->lock);
		atomic_store(&p->stop, true);
		pthread_cond_broadcast(&p->wake);
		pthread_mutex_unlock(&p->lock);
		for (int i = 0; i < p->started; i++)
			pthread_join(p->workers[i].thread, NULL);
		pthread_cond_destroy(&p->wake);
		pthread_mutex_destroy(&p->lock);
		if (p->bind && CPU_COUNT(&p->allowed) && pthread_equal(p->maker, pthread_self()))
			pthread_setaffinity_np(p->maker, sizeof p->allowed, &p->allowed);
	}
	mem_free(p->workers);
	mem_free(p);
}

int pool_threads(const pool *p)
{
	return p->threads;
}
