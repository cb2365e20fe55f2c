/* definition.c — the definition of attention and of its gradients, and the error bounds. */
#include "support/definition.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Three ways that a [B, T, H, K] tensor lies in memory. */
static hec_tensor make_layout(kit *k, hec_dtype dtype, int64_t B, int64_t T, int64_t H, int64_t K)
{
	hec_tensor x;
	switch (draw(k) % 3) {
	case 0:
		return make_random(k, dtype, SHAPE(B, T, H, K));
	case 1:
		x = make_random(k, dtype, SHAPE(B, H, T, K));
		OK(k, hec_tensor_transpose(&x, 1, 2, &x));
		return x;
	default: /* columns of a fused projection */
		x = make_random(k, dtype, SHAPE(B, T, H * K + 5));
		OK(k, hec_tensor_slice(&x, 2, draw_in(k, 0, 5), H * K, &x));
		x = (hec_tensor){x.data, dtype,        HEC_DEVICE_CPU,
		                 4,      {B, T, H, K}, {x.stride[0], x.stride[1], K, 1}};
		return x;
	}
}

void problem_open(problem *p, kit *k, hec_dtype dtype, int64_t B, int64_t T, int64_t S, int64_t H,
                  int64_t G, int64_t K, int64_t D)
{
	*p = (problem){
		.k = k, .dtype = dtype, .B = B, .T = T, .S = S, .H = H, .G = G, .K = K, .D = D};
	p->desc = (hec_attention_desc)HEC_ATTENTION_DESC_INIT;
	p->mask = (hec_mask)HEC_MASK_INIT;
	p->q = make_layout(k, dtype, B, T, H, K);
	p->key = make_layout(k, dtype, B, S, G, K);
	p->v = make_layout(k, dtype, B, S, G, D);
	p->dout = make_layout(k, dtype, B, T, H, D);
}

void problem_draw_mask(problem *p, bool with_bias)
{
	kit *k = p->k;
	for (int b = 0; b < MOST_SEQUENCES; b++) {
		p->offset[b] = (int32_t)draw_in(k, -3, p->S);
		p->queries[b] = (int32_t)draw_in(k, 0, p->T);
		p->keys[b] = (int32_t)draw_in(k, 0, p->S);
		if (draw(k) % 8 == 0)
			p->offset[b] = draw(k) % 2 ? INT32_MAX : INT32_MIN;
	}
	p->mask.causal = draw(k) % 2;
	p->mask.window = draw(k) % 2 ? draw_in(k, 1, p->S + 2) : 0;
	if (draw(k) % 8 == 0)
		p->mask.window = INT64_MAX;
	p->mask.causal_offset = draw(k) % 2 ? p->offset : NULL;
	p->mask.query_length = draw(k) % 2 ? p->queries : NULL;
	p->mask.key_length = draw(k) % 2 ? p->keys : NULL;
	if (draw(k) % 2) {
		p->mask.visible = make(k, HEC_I8,
		                       SHAPE(draw(k) % 2 ? p->B : 1, draw(k) % 2 ? p->H : 1,
		                             draw(k) % 2 ? p->T : 1, draw(k) % 2 ? p->S : 1));
		int64_t n = hec_tensor_count(&p->mask.visible);
		for (int64_t i = 0; i < n; i++) /* anything but 0 is visible */
			put(&p->mask.visible, i, draw(k) % 4 ? (double)draw_in(k, -2, 2) : 1);
	}
	if (with_bias && draw(k) % 2) {
		p->mask.bias = make_random(k, p->dtype,
		                           SHAPE(draw(k) % 2 ? p->B : 1, draw(k) % 2 ? p->H : 1,
		                                 draw(k) % 2 ? p->T : 1, draw(k) % 2 ? p->S : 1));
		int64_t n = hec_tensor_count(&p->mask.bias);
		for (int64_t i = 0; i < n; i++)
			if (draw(k) % 5 == 0)
				put(&p->mask.bias, i, -INFINITY);
	}
}

void problem_draw(problem *p, kit *k, hec_dtype dtype, int64_t most_T, int64_t most_S)
{
	int64_t G = draw_in(k, 1, 3), H = G * draw_in(k, 1, 3);
	problem_open(p, k, dtype, draw_in(k, 1, 3), draw_size(k, most_T), draw_size(k, most_S), H,
	             G, draw_size(k, 33), draw_size(k, 33));
	problem_draw_mask(p, true);
	if (draw(k) % 3 == 0)
		p->desc.scale = (draw(k) % 2 ? 1 : -1) * (0.05 + draw_unit(k));
	if (draw(k) % 3 == 0)
		p->desc.dropout = (hec_dropout){draw(k) % 4 ? 0.3 : 1 - 0x1p-53,
		                                (uint16_t)draw_in(k, 0, 9),
		                                {draw(k), draw(k), (uint16_t)draw_in(k, 0, 9)}};
}

/* A tensor that may have fewer rows than [B, H, T, S] where it repeats. */
static double broadcast(const hec_tensor *x, int64_t b, int64_t h, int64_t t, int64_t s)
{
	return get4(x, x->shape[0] > 1 ? b : 0, x->shape[1] > 1 ? h : 0, x->shape[2] > 1 ? t : 0,
	            x->shape[3] > 1 ? s : 0);
}

bool problem_sees(const problem *p, int64_t b, int64_t h, int64_t t, int64_t s)
{
	const hec_mask *m = &p->mask;
	int64_t key_len = m->key_length ? m->key_length[b] : p->S;
	int64_t query_len = m->query_length ? m->query_length[b] : p->T;
	int64_t offset = m->causal_offset ? m->causal_offset[b] : key_len - query_len;
	if (s >= key_len || t >= query_len)
		return false;
	if (m->causal && s > t + offset)
		return false;
	if (m->window > 0 && (t + offset - s < 0 || t + offset - s >= m->window))
		return false;
	if (m->visible.rank && broadcast(&m->visible, b, h, t, s) == 0)
		return false;
	if (m->bias.rank && broadcast(&m->bias, b, h, t, s) == -INFINITY)
		return false;
	return true;
}

bool problem_sees_any(const problem *p, int64_t b, int64_t h, int64_t t)
{
	for (int64_t s = 0; s < p->S; s++)
		if (problem_sees(p, b, h, t, s))
			return true;
	return false;
}

bool problem_is_seen(const problem *p, int64_t b, int64_t g, int64_t s)
{
	int64_t group = p->H / p->G;
	for (int64_t h = g * group; h < (g + 1) * group; h++)
		for (int64_t t = 0; t < p->T; t++)
			if (problem_sees(p, b, h, t, s))
				return true;
	return false;
}

static result make_result(problem *p, hec_dtype dtype)
{
	kit *k = p->k;
	result r = {
		.out = make(k, dtype, SHAPE(p->B, p->T, p->H, p->D)),
		.lse = make(k, dtype, SHAPE(p->B, p->H, p->T)),
		.weights = make(k, dtype, SHAPE(p->B, p->H, p->T, p->S)),
		.dq = make(k, dtype, SHAPE(p->B, p->T, p->H, p->K)),
		.dk = make(k, dtype, SHAPE(p->B, p->S, p->G, p->K)),
		.dv = make(k, dtype, SHAPE(p->B, p->S, p->G, p->D)),
	};
	if (p->mask.bias.rank) {
		r.dbias = make_cast(k, dtype, &p->mask.bias);
		fill_with(&r.dbias, 0);
	}
	return r;
}

result problem_result(problem *p)
{
	return make_result(p, p->dtype);
}

void problem_run_into(problem *p, hec_ctx *ctx, result *r)
{
	kit *k = p->k;
	OK(k, hec_attention_fwd(ctx, &p->desc, &p->q, &p->key, &p->v, &p->mask, &r->out, &r->lse));
	OK(k, hec_attention_weights(ctx, &p->desc, NULL, &p->q, &p->key, &p->mask, &r->lse,
	                            &r->weights));
	OK(k, hec_attention_bwd(ctx, &p->desc, &p->q, &p->key, &p->v, &p->mask, &r->out, &r->lse,
	                        &p->dout, &r->dq, &r->dk, &r->dv,
	                        p->mask.bias.rank ? &r->dbias : NULL));
}

result problem_run(problem *p, hec_ctx *ctx)
{
	result r = problem_result(p);
	problem_run_into(p, ctx, &r);
	return r;
}

/* 0 or 1/(1 − p), as dropout.h documents it. */
static double dropout_factor(const problem *p, int64_t b, int64_t h, int64_t t, int64_t s)
{
	const hec_dropout *d = &p->desc.dropout;
	if (d->p == 0)
		return 1;
	uint32_t row = (uint32_t)((b * p->H + h) * p->T + t), out[4];
	uint32_t counter[4] = {(uint32_t)(s / 4), row, d->site | (uint32_t)d->key.micro_batch << 16,
	                       d->key.step};
	hec_philox(counter, (uint32_t[]){(uint32_t)d->key.seed, (uint32_t)(d->key.seed >> 32)},
	           out);
	return out[s % 4] >= d->p * 4294967296.0 ? 1 / (1 - d->p) : 0;
}

/* One row of scores: weights w, and in *relative how far a weight may be off, relatively.
 *
 * A score is K products summed, times scale, plus bias: K + 8 roundings of the sum of magnitudes
 * (a kernel may fold scale and log₂e into q). The exponential turns that absolute error, and the
 * rounding of its argument, into a relative one; the sum of S terms adds S roundings, and every
 * rescaling of an online softmax a few more. */
static double score_row(const problem *p, int64_t b, int64_t h, int64_t t, double u, double *w,
                        double *lse, double *lse_bound)
{
	int64_t g = h / (p->H / p->G);
	double scale = p->desc.scale != 0 ? p->desc.scale : 1 / sqrt((double)p->K);
	double top = -INFINITY, error = 0, range = 0;
	for (int64_t s = 0; s < p->S; s++) {
		w[s] = -INFINITY;
		if (!problem_sees(p, b, h, t, s))
			continue;
		double dot = 0, size = 0;
		for (int64_t i = 0; i < p->K; i++) {
			double term = get4(&p->q, b, t, h, i) * get4(&p->key, b, s, g, i);
			dot += term;
			size += fabs(term);
		}
		double bias = p->mask.bias.rank ? broadcast(&p->mask.bias, b, h, t, s) : 0;
		w[s] = scale * dot + bias;
		error = fmax(error, (double)(p->K + 8) * u * (fabs(scale) * size + fabs(bias)));
		range = fmax(range, fabs(w[s]));
		top = fmax(top, w[s]);
	}
	if (top == -INFINITY) {
		for (int64_t s = 0; s < p->S; s++)
			w[s] = 0;
		*lse = -INFINITY;
		*lse_bound = 0;
		return 0;
	}
	double sum = 0;
	for (int64_t s = 0; s < p->S; s++)
		sum += w[s] = exp(w[s] - top);
	for (int64_t s = 0; s < p->S; s++)
		w[s] /= sum;
	*lse = top + log(sum);
	/* The error of a score and that of the largest one; the argument of exp has twice the range. */
	double relative = expm1(2 * error + 8 * u * range) + ((double)p->S + 32) * u;
	*lse_bound = relative + 4 * u * fabs(*lse);
	return relative;
}

static void add4(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t l, double value)
{
	put4(x, i, j, k, l, get4(x, i, j, k, l) + value);
}

static void zero_result(const result *r)
{
	const hec_tensor *all[] = {&r->out, &r->lse, &r->weights, &r->dq, &r->dk, &r->dv};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		fill_with(all[i], 0);
}

/* Everything that row t of head h adds to the results and to their bounds. */
static void define_row(const problem *p, definition *d, int64_t b, int64_t h, int64_t t, double *w)
{
	const double u = p->dtype == HEC_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
	const double tiny = p->dtype == HEC_F32 ? FLT_MIN : DBL_MIN;
	const int64_t g = h / (p->H / p->G), group = p->H / p->G;
	const double scale = p->desc.scale != 0 ? p->desc.scale : 1 / sqrt((double)p->K);
	result *v = &d->value, *e = &d->bound;
	double lse, lse_bound, relative = score_row(p, b, h, t, u, w, &lse, &lse_bound);
	int64_t row = (b * p->H + h) * p->T + t;
	put(&v->lse, row, lse);
	put(&e->lse, row, lse_bound);
	/* The backward pass makes p again from the logsumexp, which has its own error. */
	double again = expm1(log1p(relative) + lse_bound) + 8 * u;
	double delta = 0, delta_error = 0;
	for (int64_t i = 0; i < p->D; i++) {
		double out = 0, size = 0, grad = get4(&p->dout, b, t, h, i);
		for (int64_t s = 0; s < p->S; s++) {
			if (!problem_sees(p, b, h, t, s))
				continue;
			double f = dropout_factor(p, b, h, t, s), x = get4(&p->v, b, s, g, i);
			out += w[s] * f * x;
			/* A weight below the smallest normal number may be lost. */
			size += f * fabs(x) * ((relative + ((double)p->S + 8) * u) * w[s] + tiny);
		}
		size += tiny * (double)p->S;
		put4(&v->out, b, t, h, i, out);
		put4(&e->out, b, t, h, i, size);
		if (problem_sees_any(p, b, h, t)) {
			delta += grad * out;
			delta_error += fabs(grad) * (size + ((double)p->D + 2) * u * fabs(out));
		}
	}
	for (int64_t s = 0; s < p->S; s++) {
		bool seen = problem_sees(p, b, h, t, s);
		put4(&v->weights, b, h, t, s, w[s]);
		put4(&e->weights, b, h, t, s, seen ? again * w[s] + tiny : 0);
		if (!seen)
			continue;
		double f = dropout_factor(p, b, h, t, s), dp = 0, dp_error = 0;
		for (int64_t i = 0; i < p->D; i++) {
			double grad = get4(&p->dout, b, t, h, i), x = get4(&p->v, b, s, g, i);
			dp += grad * x * f;
			dp_error += ((double)p->D + 4) * u * fabs(grad * x) * f;
			add4(&v->dv, b, s, g, i, w[s] * f * grad);
			add4(&e->dv, b, s, g, i,
			     fabs(grad) * f *
			             ((again + (double)(p->T * group + 4) * u) * w[s] + tiny));
		}
		double ds = w[s] * (dp - delta);
		double ds_error = w[s] * (dp_error + delta_error +
		                          (again + 4 * u) * (fabs(dp) + fabs(delta))) +
		                  tiny * (1 + fabs(dp) + fabs(delta));
		for (int64_t i = 0; i < p->K; i++) {
			double q = get4(&p->q, b, t, h, i), x = get4(&p->key, b, s, g, i);
			add4(&v->dq, b, t, h, i, scale * ds * x);
			add4(&e->dq, b, t, h, i,
			     fabs(scale * x) * (ds_error + ((double)p->S + 4) * u * fabs(ds)) +
			             tiny);
			add4(&v->dk, b, s, g, i, scale * ds * q);
			add4(&e->dk, b, s, g, i,
			     fabs(scale * q) * (ds_error +
			                        (double)(p->T * group + 4) * u * fabs(ds)) +
			             tiny);
		}
		const hec_tensor *bias = &p->mask.bias;
		if (bias->rank) {
			int64_t at[4] = {b, h, t, s};
			for (int a = 0; a < 4; a++)
				at[a] = bias->shape[a] > 1 ? at[a] : 0;
			double terms = (double)(p->B * p->H * p->T * p->S);
			add4(&v->dbias, at[0], at[1], at[2], at[3], ds);
			add4(&e->dbias, at[0], at[1], at[2], at[3],
			     ds_error + terms * u * fabs(ds));
		}
	}
}

definition problem_define(problem *p)
{
	definition d = {make_result(p, HEC_F64), make_result(p, HEC_F64)};
	zero_result(&d.value);
	zero_result(&d.bound);
	double *w = malloc((size_t)(p->S + 1) * sizeof *w);
	CHECK(p->k, w, "no memory");
	for (int64_t b = 0; b < p->B; b++)
		for (int64_t h = 0; h < p->H; h++)
			for (int64_t t = 0; t < p->T; t++)
				define_row(p, &d, b, h, t, w);
	free(w);
	return d;
}

void check_result(const problem *p, const result *got, const definition *want)
{
	const kit *k = p->k;
	check_within(k, "out", &got->out, &want->value.out, &want->bound.out);
	check_within(k, "lse", &got->lse, &want->value.lse, &want->bound.lse);
	check_within(k, "weights", &got->weights, &want->value.weights, &want->bound.weights);
	check_within(k, "dq", &got->dq, &want->value.dq, &want->bound.dq);
	check_within(k, "dk", &got->dk, &want->value.dk, &want->bound.dk);
	check_within(k, "dv", &got->dv, &want->value.dv, &want->bound.dv);
	if (p->mask.bias.rank)
		check_within(k, "dbias", &got->dbias, &want->value.dbias, &want->bound.dbias);
}

void check_same_result(const kit *k, const char *what, const result *a, const result *b)
{
	const hec_tensor *x[] = {&a->out, &a->lse, &a->weights, &a->dq, &a->dk, &a->dv, &a->dbias};
	const hec_tensor *y[] = {&b->out, &b->lse, &b->weights, &b->dq, &b->dk, &b->dv, &b->dbias};
	static const char *const names[] = {"out", "lse", "weights", "dq", "dk", "dv", "dbias"};
	for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
		char name[128];
		snprintf(name, sizeof name, "%s: %s", what, names[i]);
		if (x[i]->rank)
			check_same_bits(k, name, x[i], y[i]);
	}
}
