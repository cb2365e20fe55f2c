/* elements.c — operations on each element by itself: activations, dropout, add, random, AdamW. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "check.h"

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_PI 0.79788456080286535588 /* √(2/π) */
#define CUBIC 0.044715

static double density(double x)
{
	return 0.5 * SQRT_2_PI * exp(-0.5 * x * x);
}

const char *act_name(hec_activation act)
{
	static const char *const names[HEC_ACTIVATIONS] = {"none",      "relu", "gelu",
	                                                   "gelu_tanh", "silu", "tanh"};
	return names[act];
}

double act_value(hec_activation act, double x)
{
	switch (act) {
	case HEC_ACT_NONE:
		return x;
	case HEC_ACT_RELU:
		return x > 0 ? x : 0;
	case HEC_ACT_GELU:
		return 0.5 * x * erfc(-x * SQRT_HALF);
	case HEC_ACT_GELU_TANH:
		return 0.5 * x * (1 + tanh(SQRT_2_PI * (x + CUBIC * x * x * x)));
	case HEC_ACT_SILU:
		return x / (1 + exp(-x));
	case HEC_ACT_TANH:
		return tanh(x);
	}
	return NAN;
}

double act_scale(hec_activation act, double x)
{
	switch (act) {
	case HEC_ACT_NONE:
	case HEC_ACT_RELU:
		return 0;
	case HEC_ACT_GELU:
	case HEC_ACT_GELU_TANH:
		return fabs(x);
	case HEC_ACT_SILU:
		return fabs(act_value(act, x)) * (1 + fabs(x));
	case HEC_ACT_TANH:
		return fabs(tanh(x));
	}
	return NAN;
}

double act_slope_scale(hec_activation act, double x)
{
	switch (act) {
	case HEC_ACT_NONE:
	case HEC_ACT_RELU:
		return 0;
	case HEC_ACT_GELU:
	case HEC_ACT_GELU_TANH:
		return 1 + fabs(x) * density(x) * (1 + x * x);
	case HEC_ACT_SILU:
		return pow(1 + fabs(x), 2) / (1 + exp(-x));
	case HEC_ACT_TANH:
		return 1;
	}
	return NAN;
}

double act_steepest(hec_activation act)
{
	return act == HEC_ACT_NONE || act == HEC_ACT_RELU || act == HEC_ACT_TANH ? 1 : 1.13;
}

bool dropout_keeps(const hec_dropout *d, uint64_t row, uint64_t column)
{
	const uint32_t counter[4] = {(uint32_t)(column / 4), (uint32_t)row,
	                             d->site | (uint32_t)d->key.micro_batch << 16, d->key.step};
	const uint32_t key[2] = {(uint32_t)d->key.seed, (uint32_t)(d->key.seed >> 32)};
	uint32_t words[4];
	philox(counter, key, words);
	return (double)words[column % 4] >= d->p * 0x1p32;
}

static void choose_sizes(trial *t, int64_t *N, int64_t *C)
{
	*N = 1024, *C = 2048;
	if (!t->plain) {
		*N = rng_chance(&t->r, 0.04) ? 0 : rng_size(&t->r, 129);
		*C = rng_size(&t->r, 400);
	}
	trial_note(t, "N %lld C %lld", (long long)*N, (long long)*C);
	t->bytes = 8.0 * (double)(*N * *C);
}

static void make_act(trial *t, bool backward)
{
	int64_t N, C;
	choose_sizes(t, &N, &C);
	activation_args *a = &t->args.activation;
	bool gated = !t->plain && rng_chance(&t->r, 0.4);
	bool in_place = !t->plain && rng_chance(&t->r, 0.3);
	a->act = t->plain ? HEC_ACT_GELU : (hec_activation)rng_below(&t->r, HEC_ACTIVATIONS);
	trial_note(t, " %s%s%s", act_name(a->act), gated ? " gated" : "",
	           in_place ? " in place" : "");
	operand *x = trial_add_2d(t, "x", in_place && !backward ? INOUT : IN, N, C);
	operand_normal(t, x, 0, rng_chance(&t->r, 0.3) ? 10 : 2);
	operand *up = gated ? trial_add_2d(t, "up", IN, N, C) : NULL, *dy = NULL, *y, *dup = NULL;
	if (gated)
		operand_normal(t, up, 0, 1);
	if (backward) {
		dy = trial_add_2d(t, "dy", in_place ? INOUT : IN, N, C);
		operand_normal(t, dy, 0, 1);
	}
	operand *from = backward ? dy : x;
	y = in_place ? from : trial_add_2d(t, backward ? "dx" : "y", OUT, N, C);
	if (backward && gated)
		dup = trial_add_2d(t, "dup", OUT, N, C);
	EACH_ELEMENT(x, n, c, k, l)
	{
		double v = x->value[at(x, n, c, k, l)];
		double u = gated ? fabs(up->value[at(up, n, c, k, l)]) : 1;
		double d = backward ? fabs(dy->value[at(dy, n, c, k, l)]) : 1;
		double size = backward ? act_slope_scale(a->act, v) : act_scale(a->act, v);
		if (gated) /* a product is rounded, even where the factors are exact */
			size += backward ? 1 : fabs(act_value(a->act, v));
		y->scale[at(y, n, c, k, l)] = d * u * size;
		if (dup)
			dup->scale[at(dup, n, c, k, l)] =
				d * (act_scale(a->act, v) + fabs(act_value(a->act, v)));
	}
}

static void make_act_fwd(trial *t)
{
	make_act(t, false);
}

static void make_act_bwd(trial *t)
{
	make_act(t, true);
	t->bytes *= 1.5;
}

static hec_status call_act_fwd(hec_ctx *ctx, run *r)
{
	activation_args a = r->t->args.activation;
	a.x = run_tensor(r, "x");
	a.up = run_tensor(r, "up");
	a.y = run_tensor(r, "y") ? run_tensor(r, "y") : a.x;
	return CALL(ctx, r, activation_fwd, &a);
}

static hec_status call_act_bwd(hec_ctx *ctx, run *r)
{
	activation_args a = r->t->args.activation;
	a.x = run_tensor(r, "x");
	a.up = run_tensor(r, "up");
	a.dy = run_tensor(r, "dy");
	a.dx = run_tensor(r, "dx") ? run_tensor(r, "dx") : a.dy;
	a.dup = run_tensor(r, "dup");
	return CALL(ctx, r, activation_bwd, &a);
}

static void make_dropout(trial *t)
{
	int64_t N, C;
	choose_sizes(t, &N, &C);
	hec_dropout *d = &t->args.dropout.dropout;
	*d = (hec_dropout){.p = rng_chance(&t->r, 0.2) ? 0 : rng_uniform(&t->r) * 0.9,
	                   .site = (uint16_t)rng_below(&t->r, 65536),
	                   .key = {rng_next(&t->r), (uint32_t)rng_next(&t->r),
	                           (uint16_t)rng_below(&t->r, 65536)}};
	bool in_place = !t->plain && rng_chance(&t->r, 0.3);
	trial_note(t, " p %g%s", d->p, in_place ? " in place" : "");
	operand *x = trial_add_2d(t, "x", in_place ? INOUT : IN, N, C), *residual = NULL;
	operand_normal(t, x, 0, 1);
	if (rng_chance(&t->r, 0.4)) {
		residual = trial_add_2d(t, "residual", IN, N, C);
		operand_normal(t, residual, 0, 1);
	}
	operand *y = in_place ? x : trial_add_2d(t, "y", OUT, N, C);
	EACH_ELEMENT(x, n, c, k, l)
	{
		double size = fabs(x->value[at(x, n, c, k, l)]) / (1 - d->p);
		bool keep = d->p == 0 || dropout_keeps(d, (uint64_t)n, (uint64_t)c);
		double other = residual ? fabs(residual->value[at(residual, n, c, k, l)]) : 0;
		/* Equal where nothing is rounded: dropped, or no dropout and nothing added. */
		y->scale[at(y, n, c, k, l)] = keep && (d->p > 0 || residual) ? size + other : 0;
	}
}

static hec_status call_dropout(hec_ctx *ctx, run *r)
{
	dropout_args a = r->t->args.dropout;
	a.x = run_tensor(r, "x");
	a.residual = run_tensor(r, "residual");
	a.y = run_tensor(r, "y") ? run_tensor(r, "y") : a.x;
	return CALL(ctx, r, dropout, &a);
}

/* A [B, T, C] tensor that may repeat along an axis, as broadcasting makes it. */
static operand *add_repeated(trial *t, const char *name, const int64_t *shape)
{
	int64_t stride[3] = {shape[1] * shape[2], shape[2], 1};
	for (int i = 0; i < 3 && !t->plain; i++) {
		if (rng_chance(&t->r, 0.15))
			stride[i] = 0;
	}
	operand *o = trial_add_strided(t, name, IN, HEC_F32, 3, shape, stride);
	operand_normal(t, o, 0, 1);
	return o;
}

static void make_add(trial *t)
{
	int64_t N, C;
	choose_sizes(t, &N, &C);
	add_args *a = &t->args.add;
	const int64_t shape[3] = {t->plain ? 1 : 1 + rng_below(&t->r, 3), N, C};
	*a = (add_args){.alpha = rng_chance(&t->r, 0.5) ? 1 : as_f32(rng_normal(&t->r)),
	                .beta = rng_chance(&t->r, 0.5) ? 1 : as_f32(rng_normal(&t->r))};
	bool alone = !t->plain && rng_chance(&t->r, 0.2);
	bool in_place = !alone && !t->plain && rng_chance(&t->r, 0.3);
	trial_note(t, " B %lld alpha %g beta %g%s%s", (long long)shape[0], a->alpha, a->beta,
	           alone ? " alone" : "", in_place ? " in place" : "");
	operand *x = add_repeated(t, "a", shape), *b = alone ? NULL : add_repeated(t, "b", shape);
	operand *y = trial_add(t, "y", OUT, HEC_F32, LAYOUT_ANY, 3, shape);
	if (in_place) { /* y holds b */
		t->count--;
		free(y->value);
		free(y->scale);
		t->count--;
		free(b->value);
		free(b->scale);
		b = y = trial_add(t, "y", INOUT, HEC_F32, LAYOUT_ANY, 3, shape);
		operand_normal(t, y, 0, 1);
	}
	EACH_ELEMENT(y, i, j, k, l)
	{
		double size = fabs(a->alpha * x->value[at(x, i, j, k, l)]);
		if (b)
			size += fabs(a->beta * b->value[at(b, i, j, k, l)]);
		y->scale[at(y, i, j, k, l)] = size;
	}
	t->bytes *= 1.5;
}

static hec_status call_add(hec_ctx *ctx, run *r)
{
	add_args a = r->t->args.add;
	a.a = run_tensor(r, "a");
	a.b = run_tensor(r, "b");
	a.y = run_tensor(r, "y");
	for (int i = 0; i < r->t->count; i++) {
		if (r->t->operands[i].role == INOUT)
			a.b = a.y;
	}
	return CALL(ctx, r, add, &a);
}

static void make_random(trial *t)
{
	int64_t N, C;
	choose_sizes(t, &N, &C);
	random_args *a = &t->args.random;
	*a = (random_args){.normal = rng_chance(&t->r, 0.5),
	                   .a = as_f32(rng_normal(&t->r)),
	                   .seed = rng_next(&t->r),
	                   .stream = rng_next(&t->r)};
	a->b = a->normal ? as_f32(rng_uniform(&t->r)) : a->a + 1;
	trial_note(t, "%s", a->normal ? " normal" : " uniform");
	operand *x = trial_add_2d(t, "x", OUT, N, C);
	EACH_ELEMENT(x, i, j, k, l)
	x->scale[at(x, i, j, k, l)] =
		a->normal ? fabs(a->a) + 6.2832 * 4 * a->b : fabs(a->a) + fabs(a->b);
	t->bytes /= 2;
}

static hec_status call_random(hec_ctx *ctx, run *r)
{
	random_args a = r->t->args.random;
	a.x = run_tensor(r, "x");
	return CALL(ctx, r, random, &a);
}

static operand *add_state(trial *t, const char *name, role role, int64_t N, double mean, double sd)
{
	operand *o = trial_add(t, name, role, HEC_F32, LAYOUT_CONTIGUOUS, 1, (int64_t[]){N});
	operand_normal(t, o, mean, sd);
	return o;
}

static void make_adamw(trial *t)
{
	int64_t N, C;
	choose_sizes(t, &N, &C);
	adamw_args *a = &t->args.adamw;
	double step = 1 + (double)rng_below(&t->r, 1000);
	*a = (adamw_args){.lr = 1e-3,
	                  .beta1 = 0.9,
	                  .beta2 = rng_chance(&t->r, 0.5) ? 0.999 : 0.98,
	                  .eps = 1e-8,
	                  .weight_decay = rng_chance(&t->r, 0.5) ? 0.01 : 0,
	                  .grad_scale = rng_chance(&t->r, 0.5) ? 1 : 0.37};
	a->correction1 = 1 - pow(a->beta1, step);
	a->correction2 = 1 - pow(a->beta2, step);
	trial_note(t, " step %g decay %g", step, a->weight_decay);
	add_state(t, "dw", IN, N * C, 0, 0.1);
	add_state(t, "m", INOUT, N * C, 0, 0.1);
	add_state(t, "v", INOUT, N * C, 0, 0.01);
	add_state(t, "w", INOUT, N * C, 0, 0.3);
	operand *dw = trial_find(t, "dw"), *m = trial_find(t, "m"), *v = trial_find(t, "v");
	operand *w = trial_find(t, "w");
	for (int64_t i = 0; i < N * C; i++) {
		double g = dw->value[i] * a->grad_scale;
		v->value[i] = fabs(v->value[i]);
		m->scale[i] = a->beta1 * fabs(m->value[i]) + (1 - a->beta1) * fabs(g);
		v->scale[i] = a->beta2 * v->value[i] + (1 - a->beta2) * g * g;
		double root = sqrt(v->scale[i] / a->correction2) + a->eps;
		w->scale[i] = fabs(w->value[i]) * (1 + a->lr * a->weight_decay) +
		              2 * a->lr * m->scale[i] / a->correction1 / root;
	}
	t->bytes = 28.0 * (double)(N * C);
}

static hec_status call_adamw(hec_ctx *ctx, run *r)
{
	adamw_args a = r->t->args.adamw;
	a.dw = run_tensor(r, "dw");
	a.m = run_tensor(r, "m");
	a.v = run_tensor(r, "v");
	a.w = run_tensor(r, "w");
	return CALL(ctx, r, adamw, &a);
}

const check_op element_checks[] = {
	{"activation_fwd", make_act_fwd, call_act_fwd, true},
	{"activation_bwd", make_act_bwd, call_act_bwd, true},
	{"dropout", make_dropout, call_dropout, false},
	{"add", make_add, call_add, false},
	{"random", make_random, call_random, false},
	{"adamw", make_adamw, call_adamw, false},
	{NULL, NULL, NULL, false},
};
