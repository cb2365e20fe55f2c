/* memory.c — how much memory attention takes beyond what it is given and gives back.
 *
 * Measured in a child process, whose peak no earlier measurement has raised: all tensors are made
 * and touched, the peak is read, the call runs, the peak is read again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/measure.h"

/* The most memory this process has held, in bytes. */
static double peak_bytes(void)
{
	struct rusage use;
	return getrusage(RUSAGE_SELF, &use) == 0 ? 1024.0 * (double)use.ru_maxrss : 0;
}

/* What the child tells: how much, or why not. */
typedef struct answer {
	double used[2];
	char error[BENCH_ERROR];
} answer;

typedef struct tensors {
	hec_tensor q, k, v, out, lse, dout, dq, dk, dv;
} tensors;

static hec_status make_tensors(bench_case *c, tensors *x)
{
	int64_t B = shape_get(&c->shape, 'B'), H = shape_get(&c->shape, 'H');
	int64_t T = shape_get(&c->shape, 'T'), K = shape_get(&c->shape, 'K');
	const int64_t shape[4] = {B, T, H, K}, rows[3] = {B, H, T};
	hec_tensor *const all[] = {&x->q, &x->k, &x->v, &x->out, &x->dout, &x->dq, &x->dk, &x->dv};
	double rows_all = (double)B * (double)T * (double)H;
	TRY(case_open(c, 4 * rows_all * (double)(8 * K + 1) + (1 << 20)));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		TRY(case_normal(c, 4, shape, all[i]));
	return case_normal(c, 3, rows, &x->lse);
}

static hec_status measure_memory(const hec_ctx_options *options, bench_case *c, double used[2])
{
	tensors x;
	TRY(hec_ctx_create(options, &c->ctx));
	TRY(make_tensors(c, &x));
	double before = peak_bytes();
	TRY(hec_attention_fwd(c->ctx, NULL, &x.q, &x.k, &x.v, NULL, &x.out, &x.lse));
	used[0] = peak_bytes() - before;
	TRY(hec_attention_bwd(c->ctx, NULL, &x.q, &x.k, &x.v, NULL, &x.out, &x.lse, &x.dout, &x.dq,
	                      &x.dk, &x.dv, NULL));
	used[1] = peak_bytes() - before;
	return HEC_OK;
}

static void run_child(const hec_ctx_options *options, const bench_shape *shape, int to)
{
	answer told = {.used = {0, 0}};
	bench_case c = {.shape = *shape};
	if (measure_memory(options, &c, told.used) != HEC_OK)
		snprintf(told.error, sizeof told.error, "%s",
		         *c.error ? c.error : hec_error_message());
	_exit(write(to, &told, sizeof told) == (ssize_t)sizeof told ? 0 : 1);
}

hec_status attention_memory(const hec_ctx_options *options, const bench_shape *shape, double *fwd,
                            double *bwd, char error[BENCH_ERROR])
{
	int ends[2], code = 0;
	answer told = {.used = {0, 0}};
	if (pipe(ends) != 0) {
		snprintf(error, BENCH_ERROR, "no pipe: %s", strerror(errno));
		return HEC_ERR_IO;
	}
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		run_child(options, shape, ends[1]);
	}
	if (pid < 0)
		snprintf(told.error, sizeof told.error, "no process of its own: %s",
		         strerror(errno));
	close(ends[1]);
	ssize_t got = pid > 0 ? read(ends[0], &told, sizeof told) : 0;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &code, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && got != (ssize_t)sizeof told)
		snprintf(told.error, sizeof told.error,
		         "the process that measures ended before it could tell (%s %d)",
		         WIFSIGNALED(code) ? "signal" : "exit code",
		         WIFSIGNALED(code) ? WTERMSIG(code) : WEXITSTATUS(code));
	memcpy(error, told.error, sizeof told.error);
	*fwd = told.used[0];
	*bwd = told.used[1];
	return *error ? HEC_ERR_IO : HEC_OK;
}
