/* block.c — the ReLU block of ten-by-128, with weights and dropout from the seed. */
#include "cli/explain/block.h"
#include "cli/command/try.h"

#include <math.h>

#include <hecate/dropout.h>
#include <hecate/linear.h>
#include <hecate/ops.h>
#include <hecate/random.h>

enum { STREAM_W_1 = 100, STREAM_W_2 = 101 }; /* of random numbers, after those of X and W_Q … */
enum { SITE_OUTPUT = 0, SITE_HIDDEN = 1 };   /* of dropout */

int64_t block_numbers(int64_t rows, int64_t width)
{
	return 2 * BLOCK_WIDER * width * width + rows * width * (4 + BLOCK_WIDER);
}

static hec_status add_tensor(explain_steps *s, const char *name, int64_t rows, int64_t columns,
                             hec_tensor *out)
{
	TRY(hec_arena_tensor(s->arena, HEC_F32, 2, (const int64_t[]){rows, columns}, out));
	s->steps[s->count++] = (step){name, -1, *out};
	return HEC_OK;
}

static hec_status random_linear(hec_ctx *ctx, uint64_t seed, uint64_t stream, hec_tensor *w,
                                hec_linear *linear)
{
	double high = sqrt(3.0 / (double)w->shape[0]); /* variance 1 / rows */
	TRY(hec_random_uniform(ctx, seed, stream, -high, high, w));
	*linear = (hec_linear){0};
	return hec_tensor_transpose(w, 0, 1, &linear->w);
}

hec_status block_steps(hec_ctx *ctx, const explain_problem *p, explain_steps *s)
{
	const hec_tensor *x = &p->given[GIVEN_X];
	int64_t T = x->shape[0], C = x->shape[1], F = BLOCK_WIDER * C;
	hec_tensor w1, w2, dropped, residual, hidden, block;
	TRY(add_tensor(s, "W_1", C, F, &w1));
	TRY(add_tensor(s, "W_2", F, C, &w2));
	TRY(add_tensor(s, "dropped", T, C, &dropped));
	TRY(add_tensor(s, "residual", T, C, &residual));
	TRY(add_tensor(s, "hidden", T, F, &hidden));
	TRY(add_tensor(s, "block", T, C, &block));

	hec_linear up, down;
	TRY(random_linear(ctx, p->seed, STREAM_W_1, &w1, &up));
	TRY(random_linear(ctx, p->seed, STREAM_W_2, &w2, &down));
	hec_dropout dropout = {.p = BLOCK_DROPOUT, .site = SITE_OUTPUT, .key = {.seed = p->seed}};
	TRY(hec_dropout_apply(ctx, &dropout, &s->output, &dropped));
	TRY(hec_tensor_add(ctx, 1, x, 1, &dropped, &residual));
	TRY(hec_linear_fwd(ctx, &up, HEC_ACT_RELU, &residual, NULL, &hidden, NULL));
	TRY(hec_linear_fwd(ctx, &down, HEC_ACT_NONE, &hidden, NULL, &block, NULL));
	dropout.site = SITE_HIDDEN;
	TRY(hec_dropout_apply(ctx, &dropout, &block, &block));
	return hec_tensor_add(ctx, 1, &residual, 1, &block, &block);
}
