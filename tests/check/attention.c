/* attention.c — random attention: every rule of the mask, bias, dropout, few key/value heads.
 *
 * The definition is written out once more here, in double and with every matrix stored, because
 * the scales need the weights: p of each pair, and how much its score could be off. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "bounds.h"
#include "check.h"

typedef struct problem {
	int64_t B, T, S, H, G, K, D; /* of the whole call */
	double scale;
	operand *q, *k, *v, *visible, *bias;
	hec_mask mask; /* lengths, causal, window */
	hec_dropout dropout;
	double *p; /* [B, H, T, S] weights, 0 where invisible */
	double *m; /* [B, H, T, S] the magnitudes that a score is made of; −1 where invisible */
	double *mean; /* [B, H, T] Σ p·m */
	double *lse;  /* [B, H, T] */
} problem;

#define PAIR(x, b, h, t, s) ((((b) * (x)->H + (h)) * (x)->T + (t)) * (x)->S + (s))
#define ROW(x, b, h, t) (((b) * (x)->H + (h)) * (x)->T + (t))

static void choose_sizes(trial *t, problem *x)
{
	if (t->plain) {
		x->B = 1, x->H = x->G = 8, x->T = x->S = 512, x->K = x->D = 64;
		return;
	}
	do {
		x->B = rng_chance(&t->r, 0.03) ? 0 : 1 + rng_below(&t->r, 3);
		x->G = 1 + rng_below(&t->r, 3);
		x->H = x->G * (1 + rng_below(&t->r, 3));
		x->T = rng_chance(&t->r, 0.03) ? 0 : rng_size(&t->r, 520);
		x->S = rng_chance(&t->r, 0.03) ? 0 : rng_size(&t->r, 1100);
		x->K = rng_chance(&t->r, 0.4) ? 64 : rng_size(&t->r, 136);
		x->D = rng_chance(&t->r, 0.6) ? x->K : rng_size(&t->r, 136);
		if (rng_chance(&t->r, 0.15))
			x->T = 1;
		if (rng_chance(&t->r, 0.3))
			x->S = x->T;
	} while (x->B * x->H * x->T * x->S * (x->K + x->D + 40) > 6000000);
}

/* Lengths, causality and window, in t->args and t->lengths. */
static void choose_mask(trial *t, problem *x)
{
	hec_mask mask = HEC_MASK_INIT;
	rng *r = &t->r;
	if (!t->plain) {
		mask.causal = rng_chance(r, 0.4);
		mask.window = rng_chance(r, 0.2) ? rng_size(r, 100) : 0;
		if (rng_chance(r, 0.03))
			mask.window = INT64_MAX;
		for (int64_t b = 0; b < x->B; b++) {
			t->lengths[0][b] = (int32_t)rng_below(r, x->T + 1);
			t->lengths[1][b] = (int32_t)rng_below(r, x->S + 1);
			t->lengths[2][b] = (int32_t)(rng_below(r, 2 * x->S + 1) - x->S / 2);
			if (rng_chance(r, 0.1))
				t->lengths[2][b] = rng_chance(r, 0.5) ? INT32_MAX : INT32_MIN;
		}
		if (rng_chance(r, 0.3))
			mask.query_length = t->lengths[0];
		if (rng_chance(r, 0.4))
			mask.key_length = t->lengths[1];
		if (rng_chance(r, 0.2))
			mask.causal_offset = t->lengths[2];
	}
	x->mask = mask;
	trial_note(t, "%s window %lld%s%s%s", mask.causal ? " causal" : "", (long long)mask.window,
	           mask.query_length ? " query_length" : "", mask.key_length ? " key_length" : "",
	           mask.causal_offset ? " offset" : "");
}

/* A tensor that is broadcast to [B, H, T, S] along some axes; a bias may also be a line seen
 * through strides (−1, 1), as the relative bias of T5 is. */
static operand *add_broadcast(trial *t, problem *x, const char *name, role role, hec_dtype dtype,
                              const operand *like)
{
	const int64_t shape[4] = {x->B, x->H, x->T, x->S};
	if (like)
		return trial_add_strided(t, name, role, dtype, 4, shape, like->stride);
	int64_t stride[4] = {x->H * x->T * x->S, x->T * x->S, x->S, 1};
	if (dtype == HEC_F32 && rng_chance(&t->r, 0.25)) {
		stride[0] = 0, stride[1] = x->T + x->S - 1, stride[2] = -1;
	} else {
		int64_t step = 1;
		for (int i = 3; i >= 0; i--) {
			bool repeat = rng_chance(&t->r, 0.4);
			stride[i] = repeat ? 0 : step;
			step *= repeat ? 1 : shape[i];
		}
	}
	return trial_add_strided(t, name, role, dtype, 4, shape, stride);
}

static void choose_matrices(trial *t, problem *x)
{
	if (t->plain)
		return;
	if (rng_chance(&t->r, 0.3)) {
		x->visible = add_broadcast(t, x, "visible", IN, HEC_I8, NULL);
		EACH_ELEMENT(x->visible, i, j, k, l)
		x->visible->value[at(x->visible, i, j, k, l)] = rng_chance(&t->r, 0.7);
		trial_note(t, " visible");
	}
	if (rng_chance(&t->r, 0.3)) {
		x->bias = add_broadcast(t, x, "bias", IN, HEC_F32, NULL);
		operand_normal(t, x->bias, 0, 1);
		if (rng_chance(&t->r, 0.3)) {
			EACH_ELEMENT(x->bias, i, j, k, l)
			if (rng_chance(&t->r, 0.1))
				x->bias->value[at(x->bias, i, j, k, l)] = -INFINITY;
		}
		trial_note(t, " bias");
	}
}

/* The words of include/hecate/attention.h, key by key: not the ranges that the kernels ask. */
static bool sees(const problem *x, int64_t b, int64_t h, int64_t t, int64_t s)
{
	const hec_mask *mask = &x->mask;
	const int64_t queries = mask->query_length ? mask->query_length[b] : x->T;
	const int64_t keys = mask->key_length ? mask->key_length[b] : x->S;
	const int64_t offset = mask->causal_offset ? mask->causal_offset[b] : keys - queries;
	const int64_t back = t + offset - s; /* how far the key lies behind the query */
	if (t >= queries || s >= keys || (mask->causal && back < 0) ||
	    (mask->window > 0 && (back < 0 || back >= mask->window)))
		return false;
	if (x->visible && x->visible->value[at(x->visible, b, h, t, s)] == 0)
		return false;
	return !x->bias || x->bias->value[at(x->bias, b, h, t, s)] != -INFINITY;
}

/* What no one may look at is NaN or Inf: keys past key_length, queries past query_length. */
static void spoil_invisible(trial *t, problem *x, operand *o, const int32_t *length)
{
	if (!length || !rng_chance(&t->r, 0.5))
		return;
	double bad = rng_chance(&t->r, 0.5) ? NAN : INFINITY;
	for (int64_t b = 0; b < x->B; b++) {
		for (int64_t i = length[b]; i < o->shape[1]; i++) {
			for (int64_t j = 0; j < o->shape[2]; j++) {
				for (int64_t d = 0; d < o->shape[3]; d++)
					o->value[at(o, b, i, j, d)] = bad;
			}
		}
	}
}

static double *doubles(int64_t n)
{
	double *p = calloc((size_t)n + 1, sizeof *p);
	if (!p)
		exit(2);
	return p;
}

static void score_row(problem *x, int64_t b, int64_t h, int64_t t)
{
	double most = -INFINITY, *p = x->p + PAIR(x, b, h, t, 0), *m = x->m + PAIR(x, b, h, t, 0);
	int64_t g = h / (x->H / x->G), row = ROW(x, b, h, t);
	for (int64_t s = 0; s < x->S; s++) {
		m[s] = -1;
		p[s] = -INFINITY;
		if (!sees(x, b, h, t, s))
			continue;
		double sum = 0, size = 0;
		for (int64_t i = 0; i < x->K; i++) {
			double z = x->q->value[at(x->q, b, t, h, i)] *
			           x->k->value[at(x->k, b, s, g, i)];
			sum += z;
			size += fabs(z);
		}
		double bias = x->bias ? x->bias->value[at(x->bias, b, h, t, s)] : 0;
		p[s] = sum * x->scale + bias;
		m[s] = size * fabs(x->scale) + fabs(bias);
		most = p[s] > most ? p[s] : most;
	}
	double sum = 0;
	for (int64_t s = 0; s < x->S; s++)
		sum += m[s] < 0 ? 0 : exp(p[s] - most);
	x->lse[row] = sum > 0 ? most + log(sum) : -INFINITY;
	for (int64_t s = 0; s < x->S; s++) {
		p[s] = m[s] < 0 ? 0 : exp(p[s] - x->lse[row]);
		x->mean[row] += m[s] < 0 ? 0 : p[s] * m[s];
	}
}

static void score(problem *x)
{
	int64_t rows = x->B * x->H * x->T;
	x->p = doubles(rows * x->S);
	x->m = doubles(rows * x->S);
	x->mean = doubles(rows);
	x->lse = doubles(rows);
	for (int64_t b = 0; b < x->B; b++) {
		for (int64_t h = 0; h < x->H; h++) {
			for (int64_t t = 0; t < x->T; t++)
				score_row(x, b, h, t);
		}
	}
}

static void problem_free(problem *x)
{
	free(x->p);
	free(x->m);
	free(x->mean);
	free(x->lse);
}

/* The weight after dropout. */
static double kept(const problem *x, int64_t b, int64_t h, int64_t t, int64_t s)
{
	double p = x->p[PAIR(x, b, h, t, s)];
	if (x->dropout.p == 0)
		return p;
	bool keep = dropout_keeps(&x->dropout, (uint64_t)ROW(x, b, h, t), (uint64_t)s);
	return keep ? p / (1 - x->dropout.p) : 0;
}

static void make_problem(trial *t, problem *x, bool with_v, bool spoil)
{
	*x = (problem){0};
	choose_sizes(t, x);
	trial_note(t, "B %lld T %lld S %lld H %lld G %lld K %lld D %lld", (long long)x->B,
	           (long long)x->T, (long long)x->S, (long long)x->H, (long long)x->G,
	           (long long)x->K, (long long)x->D);
	x->scale = t->plain || rng_chance(&t->r, 0.7) ? 1 / sqrt((double)x->K)
	                                              : as_f32(4 * rng_uniform(&t->r) - 2);
	choose_mask(t, x);
	if (with_v && !t->plain && rng_chance(&t->r, 0.2)) {
		static const double ps[] = {0.5, 0.1, 0.1, 1 - 0x1p-53};
		x->dropout = (hec_dropout){.p = ps[rng_below(&t->r, 4)],
		                           .site = (uint16_t)rng_below(&t->r, 100),
		                           .key = {rng_next(&t->r), 3, 1}};
		trial_note(t, " dropout %g", x->dropout.p);
	}
	x->q = trial_add_4d(t, "q", IN, x->B, x->T, x->H, x->K);
	x->k = trial_add_4d(t, "k", IN, x->B, x->S, x->G, x->K);
	operand_normal(t, x->q, 0, rng_chance(&t->r, 0.1) ? 8 : 1);
	operand_normal(t, x->k, 0, 1);
	if (with_v) {
		x->v = trial_add_4d(t, "v", IN, x->B, x->S, x->G, x->D);
		operand_normal(t, x->v, 0, 1);
	}
	choose_matrices(t, x);
	if (spoil && !t->plain) {
		spoil_invisible(t, x, x->q, x->mask.query_length);
		spoil_invisible(t, x, x->k, x->mask.key_length);
		if (with_v)
			spoil_invisible(t, x, x->v, x->mask.key_length);
	}
	score(x);
	t->args.attention =
		(attention_args){.scale = x->scale, .dropout = x->dropout, .mask = x->mask};
	t->terms = (double)(x->S + x->K);
	t->flops = 2.0 * (double)(x->B * x->H * x->T * x->S) * (double)(x->K + x->D);
}

/* What one weight may be off by, relative to itself. */
static double unsure(const problem *x, int64_t b, int64_t h, int64_t t, int64_t s)
{
	int64_t row = ROW(x, b, h, t);
	return 1 + x->m[PAIR(x, b, h, t, s)] + fabs(x->lse[row]) + x->mean[row];
}

static void scale_out(problem *x, operand *out)
{
	EACH_ELEMENT(out, b, t, h, d)
	{
		double size = 0;
		int64_t g = h / (x->H / x->G);
		for (int64_t s = 0; s < x->S; s++) {
			if (x->m[PAIR(x, b, h, t, s)] < 0)
				continue;
			size += (kept(x, b, h, t, s) + BOUND_TINY) *
			        fabs(x->v->value[at(x->v, b, s, g, d)]) * unsure(x, b, h, t, s);
		}
		out->scale[at(out, b, t, h, d)] = size;
	}
}

static void scale_lse(problem *x, operand *lse)
{
	EACH_ELEMENT(lse, b, h, t, unused)
	{
		double value = x->lse[ROW(x, b, h, t)];
		lse->scale[at(lse, b, h, t, unused)] =
			isinf(value) ? 0 : 1 + fabs(value) + x->mean[ROW(x, b, h, t)];
	}
}

static void make_fwd(trial *t)
{
	problem x;
	make_problem(t, &x, true, true);
	operand *out = trial_add_4d(t, "out", OUT, x.B, x.T, x.H, x.D);
	scale_out(&x, out);
	if (t->plain || rng_chance(&t->r, 0.7))
		scale_lse(&x, trial_add(t, "lse", OUT, HEC_F32, LAYOUT_ANY, 3,
		                        (int64_t[]){x.B, x.H, x.T}));
	problem_free(&x);
}

/* out and lse as forward would have left them, rounded to f32: inputs of the backward pass. Or they
 * are made by the forward pass of the same level, role OUT: gradients are of what was computed. */
static operand *add_out(trial *t, problem *x, role role)
{
	operand *out = trial_add_4d(t, "out", role, x->B, x->T, x->H, x->D);
	EACH_ELEMENT(out, b, q, h, d)
	{
		double sum = 0;
		for (int64_t s = 0; s < x->S; s++) {
			double w = kept(x, b, h, q, s);
			if (w != 0)
				sum += w * x->v->value[at(x->v, b, s, h / (x->H / x->G), d)];
		}
		out->value[at(out, b, q, h, d)] = as_f32(sum);
	}
	if (role == OUT)
		scale_out(x, out);
	return out;
}

static operand *add_lse(trial *t, problem *x, role role)
{
	operand *lse =
		trial_add(t, "lse", role, HEC_F32, LAYOUT_ANY, 3, (int64_t[]){x->B, x->H, x->T});
	for (int64_t b = 0; b < x->B; b++) {
		for (int64_t h = 0; h < x->H; h++) {
			for (int64_t q = 0; q < x->T; q++) {
				double value = as_f32(x->lse[ROW(x, b, h, q)]);
				lse->value[at(lse, b, h, q, 0)] = value;
			}
		}
	}
	if (role == OUT)
		scale_lse(x, lse);
	return lse;
}

typedef struct gradients {
	operand *out, *dout, *dq, *dk, *dv, *dbias;
} gradients;

/* Adds what the pair (t, s) adds to each gradient to their scales. */
static void scale_pair(problem *x, gradients *g, int64_t b, int64_t h, int64_t t, int64_t s)
{
	int64_t group = h / (x->H / x->G);
	double p = x->p[PAIR(x, b, h, t, s)] + BOUND_TINY, w = kept(x, b, h, t, s) + BOUND_TINY;
	const bool made = g->out->role == OUT;
	double c = 1 + x->m[PAIR(x, b, h, t, s)] + fabs(x->lse[ROW(x, b, h, t)]) +
	           (made ? x->mean[ROW(x, b, h, t)] : 0);
	double dp = 0, delta = 0;
	for (int64_t d = 0; d < x->D; d++) {
		double dout = fabs(g->dout->value[at(g->dout, b, t, h, d)]);
		dp += dout * fabs(x->v->value[at(x->v, b, s, group, d)]);
		int64_t out = at(g->out, b, t, h, d);
		delta += dout * (made ? g->out->scale[out] : fabs(g->out->value[out]));
		g->dv->scale[at(g->dv, b, s, group, d)] += w * dout * c;
	}
	double e = (w * dp + p * delta) * c;
	for (int64_t i = 0; i < x->K; i++) {
		double k = fabs(x->k->value[at(x->k, b, s, group, i)]);
		double q = fabs(x->q->value[at(x->q, b, t, h, i)]);
		g->dq->scale[at(g->dq, b, t, h, i)] += fabs(x->scale) * e * k;
		g->dk->scale[at(g->dk, b, s, group, i)] += fabs(x->scale) * e * q;
	}
	if (g->dbias)
		g->dbias->scale[at(g->dbias, b, h, t, s)] += e;
}

static void make_bwd(trial *t)
{
	problem x;
	make_problem(t, &x, true, true);
	const role made = !t->plain && rng_chance(&t->r, 0.5) ? OUT : IN;
	gradients g = {.out = add_out(t, &x, made)};
	add_lse(t, &x, made);
	if (made == OUT)
		trial_note(t, " after forward");
	g.dout = trial_add_4d(t, "dout", IN, x.B, x.T, x.H, x.D);
	operand_normal(t, g.dout, 0, 1);
	if (!t->plain)
		spoil_invisible(t, &x, g.dout, x.mask.query_length);
	g.dq = trial_add_4d(t, "dq", OUT, x.B, x.T, x.H, x.K);
	g.dk = trial_add_4d(t, "dk", OUT, x.B, x.S, x.G, x.K);
	g.dv = trial_add_4d(t, "dv", OUT, x.B, x.S, x.G, x.D);
	if (x.bias && rng_chance(&t->r, 0.6)) {
		g.dbias = add_broadcast(t, &x, "dbias", INOUT, HEC_F32, x.bias);
		operand_normal(t, g.dbias, 0, 1);
		for (int64_t i = 0; i < g.dbias->extent; i++)
			g.dbias->scale[i] = fabs(g.dbias->value[i]);
		trial_note(t, " dbias");
	}
	for (int64_t b = 0; b < x.B; b++) {
		for (int64_t h = 0; h < x.H; h++) {
			for (int64_t q = 0; q < x.T; q++) {
				for (int64_t s = 0; s < x.S; s++) {
					if (x.m[PAIR(&x, b, h, q, s)] >= 0)
						scale_pair(&x, &g, b, h, q, s);
				}
			}
		}
	}
	t->terms = (double)(x.T * (x.H / x.G) + x.S + x.K + x.D);
	if (g.dbias)
		t->terms += (double)(x.B * x.H * x.T);
	t->flops *= 2.5;
	problem_free(&x);
}

/* A view of n of the second and third axis … of an operand that stays whole for the scales. */
static void make_weights(trial *t)
{
	problem x;
	make_problem(t, &x, false, true);
	hec_attention_part *part = &t->args.attention.part;
	*part = (hec_attention_part){sizeof *part, 0, x.H, 0, x.T};
	operand *lse = add_lse(t, &x, IN);
	int64_t heads = x.H, queries = x.T;
	if (!t->plain && x.T > 0 && rng_chance(&t->r, 0.5)) {
		part->first_head = rng_below(&t->r, x.H);
		part->first_query = rng_below(&t->r, x.T);
		heads = 1 + rng_below(&t->r, x.H - part->first_head);
		queries = 1 + rng_below(&t->r, x.T - part->first_query);
		trial_note(t, " heads %lld+%lld queries %lld+%lld", (long long)part->first_head,
		           (long long)heads, (long long)part->first_query, (long long)queries);
	}
	operand *w = trial_add_4d(t, "weights", OUT, x.B, heads, queries, x.S);
	EACH_ELEMENT(w, b, h, q, s)
	{
		int64_t head = h + part->first_head, query = q + part->first_query;
		int64_t pair = PAIR(&x, b, head, query, s);
		w->scale[at(w, b, h, q, s)] =
			x.m[pair] < 0 ? 0
				      : (x.p[pair] + BOUND_TINY) * unsure(&x, b, head, query, s);
	}
	/* The slot gets the slices; the whole stays in the operand. */
	operand *q = trial_find(t, "q");
	q->origin += part->first_query * q->stride[1] + part->first_head * q->stride[2];
	q->shape[1] = queries;
	q->shape[2] = heads;
	lse->origin += part->first_head * lse->stride[1] + part->first_query * lse->stride[2];
	lse->shape[1] = heads;
	lse->shape[2] = queries;
	t->flops = 2.0 * (double)(x.B * heads * queries * x.S * x.K);
	problem_free(&x);
}

static void make_unfused(trial *t)
{
	problem x;
	make_problem(t, &x, true, false);
	operand *scores = trial_add_4d(t, "scores", OUT, x.B, x.H, x.T, x.S);
	operand *scaled = trial_add_4d(t, "scaled", OUT, x.B, x.H, x.T, x.S);
	operand *masked = trial_add_4d(t, "masked", OUT, x.B, x.H, x.T, x.S);
	operand *weights = trial_add_4d(t, "weights", OUT, x.B, x.H, x.T, x.S);
	operand *out = trial_add_4d(t, "out", OUT, x.B, x.T, x.H, x.D);
	EACH_ELEMENT(scores, b, h, q, s)
	{
		double size = 0;
		for (int64_t i = 0; i < x.K; i++)
			size += fabs(x.q->value[at(x.q, b, q, h, i)] *
			             x.k->value[at(x.k, b, s, h / (x.H / x.G), i)]);
		double bias = x.bias ? fabs(x.bias->value[at(x.bias, b, h, q, s)]) : 0;
		bool seen = x.m[PAIR(&x, b, h, q, s)] >= 0;
		scores->scale[at(scores, b, h, q, s)] = size;
		scaled->scale[at(scaled, b, h, q, s)] =
			isinf(bias) ? 0 : size * fabs(x.scale) + bias;
		masked->scale[at(masked, b, h, q, s)] = seen ? size * fabs(x.scale) + bias : 0;
		double p = x.p[PAIR(&x, b, h, q, s)] + BOUND_TINY;
		weights->scale[at(weights, b, h, q, s)] = seen ? p * unsure(&x, b, h, q, s) : 0;
	}
	scale_out(&x, out);
	problem_free(&x);
}

static attention_args common(run *r)
{
	attention_args a = r->t->args.attention;
	a.q = run_tensor(r, "q");
	a.k = run_tensor(r, "k");
	a.v = run_tensor(r, "v");
	if (run_tensor(r, "visible"))
		a.mask.visible = *run_tensor(r, "visible");
	if (run_tensor(r, "bias"))
		a.mask.bias = *run_tensor(r, "bias");
	a.out = run_tensor(r, "out");
	a.lse = run_tensor(r, "lse");
	return a;
}

static hec_status call_fwd(hec_ctx *ctx, run *r)
{
	attention_args a = common(r);
	return CALL(ctx, r, attention_fwd, &a);
}

static hec_status call_bwd(hec_ctx *ctx, run *r)
{
	attention_args a = common(r);
	a.dout = run_tensor(r, "dout");
	a.dq = run_tensor(r, "dq");
	a.dk = run_tensor(r, "dk");
	a.dv = run_tensor(r, "dv");
	a.dbias = run_tensor(r, "dbias");
	for (int i = 0; i < r->t->count; i++) {
		if (strcmp(r->t->operands[i].name, "lse") == 0 && r->t->operands[i].role == OUT)
			HEC_TRY(CALL(ctx, r, attention_fwd, &a));
	}
	return CALL(ctx, r, attention_bwd, &a);
}

static hec_status call_weights(hec_ctx *ctx, run *r)
{
	attention_args a = common(r);
	a.weights = run_tensor(r, "weights");
	return CALL(ctx, r, attention_weights, &a);
}

static hec_status call_unfused(hec_ctx *ctx, run *r)
{
	attention_args a = common(r);
	hec_attention_steps steps = {
		.size = sizeof steps,
		.scores = run_tensor(r, "scores"),
		.scaled = run_tensor(r, "scaled"),
		.masked = run_tensor(r, "masked"),
		.weights = run_tensor(r, "weights"),
		.out = run_tensor(r, "out"),
	};
	a.steps = &steps;
	a.out = NULL;
	return CALL(ctx, r, attention_unfused, &a);
}

const check_op attention_checks[] = {
	{"attention_fwd", make_fwd, call_fwd, true},
	{"attention_bwd", make_bwd, call_bwd, true},
	{"attention_weights", make_weights, call_weights, false},
	{"attention_unfused", make_unfused, call_unfused, false},
	{NULL, NULL, NULL, false},
};
