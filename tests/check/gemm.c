/* gemm.c — random products: any transposes and strides, packed ahead or not, with every epilogue. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "check.h"

#define GUARD_BYTE 0xA5

static void choose_sizes(trial *t, int64_t *M, int64_t *N, int64_t *K)
{
	if (t->plain) {
		*M = 128, *N = 768, *K = 768;
		return;
	}
	do {
		*M = rng_size(&t->r, 400);
		*N = rng_size(&t->r, 800);
		*K = rng_chance(&t->r, 0.05) ? 0 : rng_size(&t->r, 1100);
	} while (*M * *N * (*K + 1) > 4000000);
	if (rng_chance(&t->r, 0.1))
		*M = 1;
	if (rng_chance(&t->r, 0.02))
		*M = 0;
}

static operand *add_operand(trial *t, const char *name, int64_t M, int64_t N)
{
	operand *o = trial_add_2d(t, name, IN, M, N);
	operand_normal(t, o, 0, 1);
	return o;
}

static void scale_gemm(trial *t)
{
	const gemm_args *g = &t->args.gemm;
	operand *a = trial_find(t, "a"), *b = trial_find(t, "b"), *c = trial_find(t, "c");
	operand *bias = trial_find(t, "bias"), *residual = trial_find(t, "residual");
	operand *pre = trial_find(t, "pre");
	int64_t M = a->shape[0], K = a->shape[1], N = b->shape[1];
	for (int64_t i = 0; i < M; i++) {
		for (int64_t j = 0; j < N; j++) {
			double sum = bias ? bias->value[at(bias, j, 0, 0, 0)] : 0, size = fabs(sum);
			for (int64_t k = 0; k < K; k++) {
				double p =
					a->value[at(a, i, k, 0, 0)] * b->value[at(b, k, j, 0, 0)];
				sum += p;
				size += fabs(p);
			}
			int64_t where = at(c, i, j, 0, 0);
			if (pre)
				pre->scale[at(pre, i, j, 0, 0)] = size;
			c->scale[where] = g->act == HEC_ACT_NONE
			                          ? size
			                          : fabs(act_value(g->act, sum)) +
			                                    act_steepest(g->act) * size;
			if (c->role == INOUT)
				c->scale[where] += fabs(c->value[where]);
			if (residual)
				c->scale[where] += fabs(residual->value[at(residual, i, j, 0, 0)]);
		}
	}
}

static void make_gemm(trial *t)
{
	int64_t M, N, K;
	choose_sizes(t, &M, &N, &K);
	gemm_args *g = &t->args.gemm;
	bool odd = !t->plain;
	*g = (gemm_args){.act = HEC_ACT_NONE, .accumulate = odd && rng_chance(&t->r, 0.25)};
	operand *a = add_operand(t, "a", M, K), *b = add_operand(t, "b", K, N);
	operand *bias = NULL, *residual = NULL, *pre = NULL;
	if (odd && rng_chance(&t->r, 0.5)) {
		bias = trial_add_1d(t, "bias", IN, N);
		operand_normal(t, bias, 0, 1);
	}
	bool in_place = false;
	if (odd && !g->accumulate) {
		g->act = (hec_activation)rng_below(&t->r, HEC_ACTIVATIONS);
		if (rng_chance(&t->r, 0.2))
			residual = add_operand(t, "residual", M, N);
		else
			in_place = rng_chance(&t->r, 0.2);
		if (rng_chance(&t->r, 0.3))
			pre = trial_add_2d(t, "pre", OUT, M, N);
	}
	operand *c = trial_add_2d(t, "c", g->accumulate || in_place ? INOUT : OUT, M, N);
	operand_normal(t, c, 0, 1);
	t->packed = rng_chance(&t->r, 0.5) || t->plain;
	trial_note(t, "M %lld N %lld K %lld a %lld,%lld b %lld,%lld c %lld,%lld act %s%s%s%s%s%s%s",
	           (long long)M, (long long)N, (long long)K, (long long)a->stride[0],
	           (long long)a->stride[1], (long long)b->stride[0], (long long)b->stride[1],
	           (long long)c->stride[0], (long long)c->stride[1], act_name(g->act),
	           bias ? " bias" : "", residual ? " residual" : "", in_place ? " in place" : "",
	           pre ? " pre" : "", g->accumulate ? " accumulate" : "",
	           t->packed ? " packed" : "");
	t->terms = (double)K;
	t->flops = 2.0 * (double)M * (double)N * (double)K;
	scale_gemm(t);
}

/* Packs b, then multiplies. The pack has a guard of its own after the bytes it asked for. When
 * timing, the pack of the call before serves again: weights are packed once. */
static hec_status call_packed(hec_ctx *ctx, run *r, gemm_args *g)
{
	static unsigned char *data;
	static hec_packed packed;
	static const void *packed_for[2];
	const backend_ops *ops = &ctx_backend(ctx)->ops[r->dtype];
	size_t bytes = ops->gemm_pack ? ops->gemm_pack_size(g->b->shape[0], g->b->shape[1]) : 0;
	if (bytes == 0)
		return CALL(ctx, r, gemm, g);
	size_t room = (bytes + 63) / 64 * 64 + 64;
	if (!r->t->plain || packed_for[0] != ctx || packed_for[1] != r->memory[0]) {
		free(data);
		data = aligned_alloc(64, room);
		if (!data)
			return fail(HEC_ERR_MEMORY, "no memory for a pack");
		memset(data, GUARD_BYTE, room);
		HEC_TRY(ops->gemm_pack(ctx,
		                       &(gemm_pack_args){.b = g->b, .data = data, .out = &packed}));
		packed_for[0] = ctx;
		packed_for[1] = r->memory[0];
	}
	g->packed = &packed;
	HEC_TRY(CALL(ctx, r, gemm, g));
	for (size_t i = bytes; i < room; i++) {
		if (data[i] != GUARD_BYTE)
			return fail(HEC_ERR_INTERNAL, "gemm_pack wrote past its %zu bytes", bytes);
	}
	return HEC_OK;
}

static hec_status call_gemm(hec_ctx *ctx, run *r)
{
	gemm_args g = r->t->args.gemm;
	g.a = run_tensor(r, "a");
	g.b = run_tensor(r, "b");
	g.bias = run_tensor(r, "bias");
	g.pre = run_tensor(r, "pre");
	g.c = run_tensor(r, "c");
	g.residual = run_tensor(r, "residual");
	for (int i = 0; i < r->t->count; i++) {
		const operand *o = &r->t->operands[i];
		if (!g.accumulate && o->role == INOUT)
			g.residual = g.c;
	}
	return r->t->packed ? call_packed(ctx, r, &g) : CALL(ctx, r, gemm, &g);
}

const check_op gemm_checks[] = {
	{"gemm", make_gemm, call_gemm, true},
	{NULL, NULL, NULL, false},
};
