/* bench_memory.c — how much memory attention takes beyond what it is given and gives back.
 *
 * Measured in a child process, whose peak no earlier measurement has raised: all tensors are made
 * and touched, the peak is read, the call runs, the peak is read again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_measure.h"

/* The most memory this process has held, in bytes. */
static double peak(void)
{
	struct rusage use;
	return getrusage(RUSAGE_SELF, &use) == 0 ? 1024.0 * (double)use.ru_maxrss : 0;
}

/* Binding a context leaves its thread on one core; a child starts from all of them. */
static void unbind(void)
{
	cpu_set_t all;
	memset(&all, 0xFF, sizeof all);
	(void)sched_setaffinity(0, sizeof all, &all);
}

typedef struct tensors {
	hec_tensor q, k, v, out, lse, dout, dq, dk, dv;
} tensors;

static hec_status make(bench_case *c, tensors *x)
{
	int64_t B = shape_get(&c->shape, 'B'), H = shape_get(&c->shape, 'H');
	int64_t T = shape_get(&c->shape, 'T'), K = shape_get(&c->shape, 'K');
	const int64_t shape[4] = {B, T, H, K}, rows[3] = {B, H, T};
	hec_tensor *const all[] = {&x->q, &x->k, &x->v, &x->out, &x->dout, &x->dq, &x->dk, &x->dv};
	BENCH_TRY(hec_arena_create((size_t)(B * T * H) * (size_t)(8 * K + 1) * 4 + (1 << 20),
	                           &c->arena));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		BENCH_TRY(case_normal(c, 4, shape, all[i]));
	return case_normal(c, 3, rows, &x->lse);
}

static hec_status measure(const hec_ctx_options *options, const bench_shape *shape, double used[2])
{
	bench_case c = {.shape = *shape};
	tensors x;
	BENCH_TRY(hec_ctx_create(options, &c.ctx));
	BENCH_TRY(make(&c, &x));
	double before = peak();
	BENCH_TRY(hec_attention_fwd(c.ctx, NULL, &x.q, &x.k, &x.v, NULL, &x.out, &x.lse));
	used[0] = peak() - before;
	BENCH_TRY(hec_attention_bwd(c.ctx, NULL, &x.q, &x.k, &x.v, NULL, &x.out, &x.lse, &x.dout,
	                            &x.dq, &x.dk, &x.dv, NULL));
	used[1] = peak() - before;
	hec_arena_destroy(c.arena);
	hec_ctx_destroy(c.ctx);
	return HEC_OK;
}

static void child(const hec_ctx_options *options, const bench_shape *shape, int to)
{
	double used[2] = {0, 0};
	unbind();
	hec_status status = measure(options, shape, used);
	if (status != HEC_OK)
		fprintf(stderr, "hecate bench: %s\n", hec_error_message());
	bool told = status == HEC_OK && write(to, used, sizeof used) == (ssize_t)sizeof used;
	_exit(told ? 0 : 1);
}

hec_status attention_memory(const hec_ctx_options *options, const bench_shape *shape, double *fwd,
                            double *bwd)
{
	int ends[2], code = 0;
	double used[2] = {0, 0};
	if (pipe(ends) != 0)
		return HEC_ERR_IO;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		child(options, shape, ends[1]);
	}
	close(ends[1]);
	ssize_t got = pid > 0 ? read(ends[0], used, sizeof used) : 0;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &code, 0) < 0 && errno == EINTR)
		;
	*fwd = used[0];
	*bwd = used[1];
	return got == (ssize_t)sizeof used ? HEC_OK : HEC_ERR_IO;
}
