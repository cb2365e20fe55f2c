/* gemm.c — c = act(a·b + bias) + residual, each element one sum in the order of k. */
#include "backend/cpu/ref/activation.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static void gemm_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const gemm_args *g = args;
	const hec_tensor *a = g->a, *b = g->b;
	int64_t K = a->shape[1], N = b->shape[1];
	for (int64_t m = begin; m < end; m++) {
		for (int64_t n = 0; n < N; n++) {
			real x = dot(K, at_2d(a, m, 0), a->stride[1], at_2d(b, 0, n), b->stride[0]);
			if (g->bias)
				x += *at_1d(g->bias, n);
			real *c = at_2d(g->c, m, n);
			if (g->accumulate) {
				*c += x;
				continue;
			}
			if (g->pre)
				*at_2d(g->pre, m, n) = x;
			x = activation_at(g->act, x);
			*c = g->residual ? x + *at_2d(g->residual, m, n) : x;
		}
	}
}

hec_status REF(gemm)(hec_ctx *ctx, const gemm_args *g)
{
	int64_t cost = g->b->shape[1] * (g->a->shape[1] + 8);
	return rows_run(ctx, g->a->shape[0], cost, 0, gemm_rows, g);
}

size_t REF(gemm_pack_size)(int64_t k, int64_t n)
{
	(void)k;
	(void)n;
	return 0;
}

hec_status REF(gemm_pack)(hec_ctx *ctx, const gemm_pack_args *p)
{
	(void)ctx;
	*p->out = (hec_packed){.data = NULL, .k = p->b->shape[0], .n = p->b->shape[1]};
	return HEC_OK;
}
