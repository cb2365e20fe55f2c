/* gemm.c — a linear layer whose weights are packed ahead: [M, K] · [K, N]. */
#include "cli/bench/case.h"

typedef struct gemm_state {
	hec_tensor x, y;
	hec_linear *linears; /* copies of the weights, so that each call finds cold ones */
	int64_t copies;
} gemm_state;

static hec_status gemm_call(bench_case *c, int64_t i)
{
	gemm_state *s = c->state;
	return hec_linear_fwd(c->ctx, &s->linears[i % s->copies], HEC_ACT_NONE, &s->x, NULL, &s->y,
	                      NULL);
}

hec_status gemm_setup(bench_case *c)
{
	shape_default(&c->shape, 'M', 128);
	shape_default(&c->shape, 'N', 768);
	shape_default(&c->shape, 'K', 768);
	int64_t M = shape_get(&c->shape, 'M'), N = shape_get(&c->shape, 'N');
	int64_t K = shape_get(&c->shape, 'K');
	double weights = 4.0 * (double)N * (double)K;
	if (c->variant == BENCH_PLAIN && M == 1)
		c->variant = BENCH_COLD;
	int64_t copies = c->variant == BENCH_COLD ? bench_copies(weights) : 1;
	gemm_state *s;
	/* As it is and packed, where the last columns may be filled up. */
	double matrix = 4.0 * (double)(K + 8) * (double)(N + 128);
	TRY(case_open(c, (double)copies * (2 * matrix + 4096) + 4.0 * (double)M * (double)(N + K) +
	                         (1 << 20)));
	TRY(hec_arena_alloc(c->arena, sizeof *s, (void **)&s));
	TRY(hec_arena_alloc(c->arena, (size_t)copies * sizeof *s->linears, (void **)&s->linears));
	s->copies = copies;
	TRY(case_normal(c, 2, (int64_t[]){M, K}, &s->x));
	TRY(case_tensor(c, 2, (int64_t[]){M, N}, &s->y));
	for (int64_t i = 0; i < copies; i++) {
		s->linears[i] = (hec_linear){.w = HEC_TENSOR_NONE};
		TRY(case_normal(c, 2, (int64_t[]){N, K}, &s->linears[i].w));
		TRY(hec_linear_pack(c->ctx, c->arena, false, &s->linears[i]));
	}
	c->state = s;
	c->call = gemm_call;
	c->flops = 2.0 * (double)M * (double)N * (double)K;
	c->bytes = weights + 4.0 * (double)M * (double)(N + K);
	c->memory = M == 1;
	return HEC_OK;
}
