/* conv.c — convolution along time, with stride and padding. */
#include <math.h>
#include <stdlib.h>

#include "check.h"

typedef struct sizes {
	int64_t B, T, I, O, W, Y; /* batch, time, in, out, width, time of y */
} sizes;

static sizes make_problem(trial *t)
{
	sizes s = {1, 1500, 80, 384, 3, 0};
	conv1d_args *a = &t->args.conv1d;
	*a = (conv1d_args){.stride = 1, .padding = 1};
	if (!t->plain) {
		do {
			s = (sizes){.B = 1 + rng_below(&t->r, 2),
			            .T = rng_size(&t->r, 65),
			            .I = rng_size(&t->r, 33),
			            .O = rng_size(&t->r, 65),
			            .W = 1 + rng_below(&t->r, 5)};
			a->stride = 1 + rng_below(&t->r, 3);
			a->padding = rng_below(&t->r, 3);
		} while (s.T + 2 * a->padding < s.W);
	}
	s.Y = (s.T + 2 * a->padding - s.W) / a->stride + 1;
	trial_note(t, "B %lld T %lld I %lld O %lld W %lld stride %lld padding %lld", (long long)s.B,
	           (long long)s.T, (long long)s.I, (long long)s.O, (long long)s.W,
	           (long long)a->stride, (long long)a->padding);
	operand_normal(t, trial_add(t, "x", IN, HEC_F32, LAYOUT_ANY, 3, (int64_t[]){s.B, s.T, s.I}),
	               0, 1);
	operand_normal(t, trial_add(t, "w", IN, HEC_F32, LAYOUT_ANY, 3, (int64_t[]){s.O, s.I, s.W}),
	               0, 1);
	t->terms = (double)(s.I * s.W);
	t->flops = 2.0 * (double)(s.B * s.Y * s.O * s.I * s.W);
	return s;
}

static void make_fwd(trial *t)
{
	sizes s = make_problem(t);
	if (rng_chance(&t->r, 0.5))
		operand_normal(t, trial_add_1d(t, "bias", IN, s.O), 0, 1);
	operand *x = trial_find(t, "x"), *w = trial_find(t, "w"), *bias = trial_find(t, "bias");
	operand *y = trial_add(t, "y", OUT, HEC_F32, LAYOUT_ANY, 3, (int64_t[]){s.B, s.Y, s.O});
	const conv1d_args *a = &t->args.conv1d;
	EACH_ELEMENT(y, b, j, o, unused)
	{
		double size = bias ? fabs(bias->value[at(bias, o, 0, 0, 0)]) : 0;
		for (int64_t k = 0; k < s.W; k++) {
			int64_t i = j * a->stride + k - a->padding;
			for (int64_t c = 0; c < s.I && i >= 0 && i < s.T; c++)
				size += fabs(x->value[at(x, b, i, c, 0)] *
				             w->value[at(w, o, c, k, 0)]);
		}
		y->scale[at(y, b, j, o, unused)] = size;
	}
}

static operand *add_gradient(trial *t, const char *name, const operand *like)
{
	if (!t->plain && rng_chance(&t->r, 0.2))
		return NULL;
	operand *o = trial_add(t, name, INOUT, HEC_F32, LAYOUT_ANY, like->rank, like->shape);
	operand_normal(t, o, 0, 1);
	for (int64_t i = 0; i < o->extent; i++)
		o->scale[i] = isnan(o->value[i]) ? 0 : fabs(o->value[i]);
	return o;
}

static void make_bwd(trial *t)
{
	sizes s = make_problem(t);
	operand *x = trial_find(t, "x"), *w = trial_find(t, "w");
	operand *dy = trial_add(t, "dy", IN, HEC_F32, LAYOUT_ANY, 3, (int64_t[]){s.B, s.Y, s.O});
	operand_normal(t, dy, 0, 1);
	operand *dx = add_gradient(t, "dx", x), *dw = add_gradient(t, "dw", w);
	operand out = {.rank = 1, .shape = {s.O}};
	operand *dbias = add_gradient(t, "dbias", &out);
	const conv1d_args *a = &t->args.conv1d;
	EACH_ELEMENT(dy, b, j, o, unused)
	{
		double d = fabs(dy->value[at(dy, b, j, o, unused)]);
		if (dbias)
			dbias->scale[at(dbias, o, 0, 0, 0)] += d;
		for (int64_t k = 0; k < s.W; k++) {
			int64_t i = j * a->stride + k - a->padding;
			for (int64_t c = 0; c < s.I && i >= 0 && i < s.T; c++) {
				if (dx)
					dx->scale[at(dx, b, i, c, 0)] +=
						d * fabs(w->value[at(w, o, c, k, 0)]);
				if (dw)
					dw->scale[at(dw, o, c, k, 0)] +=
						d * fabs(x->value[at(x, b, i, c, 0)]);
			}
		}
	}
	t->terms = (double)(s.I * s.W + s.O * s.W + s.B * s.Y);
	t->flops *= 2;
}

static hec_status call_fwd(hec_ctx *ctx, run *r)
{
	conv1d_args a = r->t->args.conv1d;
	a.x = run_tensor(r, "x");
	a.w = run_tensor(r, "w");
	a.bias = run_tensor(r, "bias");
	a.y = run_tensor(r, "y");
	return CALL(ctx, r, conv1d_fwd, &a);
}

static hec_status call_bwd(hec_ctx *ctx, run *r)
{
	conv1d_args a = r->t->args.conv1d;
	a.x = run_tensor(r, "x");
	a.w = run_tensor(r, "w");
	a.dy = run_tensor(r, "dy");
	a.dx = run_tensor(r, "dx");
	a.dw = run_tensor(r, "dw");
	a.dbias = run_tensor(r, "dbias");
	return CALL(ctx, r, conv1d_bwd, &a);
}

const check_op conv_checks[] = {
	{"conv1d_fwd", make_fwd, call_fwd, false},
	{"conv1d_bwd", make_bwd, call_bwd, false},
	{NULL, NULL, NULL, false},
};
