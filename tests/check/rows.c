/* rows.c — operations that reduce along a row: norms, softmax cross-entropy, sums. */
#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "check.h"

static void choose_rows(trial *t, int64_t *N, int64_t *C, int64_t plain_n, int64_t plain_c)
{
	*N = plain_n, *C = plain_c;
	if (!t->plain) {
		*N = rng_chance(&t->r, 0.04) ? 0 : rng_size(&t->r, 129);
		*C = rng_chance(&t->r, 0.1) ? 1000 + rng_below(&t->r, 4000) : rng_size(&t->r, 400);
	}
	trial_note(t, "N %lld C %lld", (long long)*N, (long long)*C);
	t->terms = (double)*C;
	t->bytes = 8.0 * (double)(*N * *C);
}

/* mean, 1/√(var + eps) of a row and what they may be off by: the scales of docs/numerics.md. */
typedef struct moments {
	double mean, mean_scale, rstd, rstd_scale;
} moments;

static moments row_moments(const operand *x, int64_t n, hec_norm_kind kind, double eps)
{
	moments m = {0};
	int64_t C = x->shape[1];
	for (int64_t c = 0; c < C && kind == HEC_NORM_LAYER; c++) {
		m.mean += x->value[at(x, n, c, 0, 0)] / (double)C;
		m.mean_scale += fabs(x->value[at(x, n, c, 0, 0)]) / (double)C;
	}
	double var = 0, var_scale = 0;
	for (int64_t c = 0; c < C; c++) {
		double v = x->value[at(x, n, c, 0, 0)], away = v - m.mean;
		var += away * away / (double)C;
		var_scale += 2 * fabs(away) * (fabs(v) + m.mean_scale) / (double)C;
	}
	m.rstd = 1 / sqrt(var + eps);
	m.rstd_scale = m.rstd * (1 + 0.5 * (var + var_scale) / (var + eps));
	return m;
}

static void add_parameters(trial *t, int64_t C, bool beta)
{
	operand_normal(t, trial_add_1d(t, "gamma", IN, C), 1, 0.3);
	if (beta)
		operand_normal(t, trial_add_1d(t, "beta", IN, C), 0, 1);
}

static norm_args *choose_norm(trial *t)
{
	norm_args *a = &t->args.norm;
	*a = (norm_args){.kind = !t->plain && rng_chance(&t->r, 0.4) ? HEC_NORM_RMS
	                                                             : HEC_NORM_LAYER,
	                 .eps = rng_chance(&t->r, 0.5) ? 1e-5 : 1e-6};
	trial_note(t, "%s", a->kind == HEC_NORM_RMS ? " rms" : " layer");
	return a;
}

static void make_norm_fwd(trial *t)
{
	int64_t N, C;
	choose_rows(t, &N, &C, 1024, 512);
	norm_args *a = choose_norm(t);
	bool in_place = !t->plain && rng_chance(&t->r, 0.3);
	bool mean = rng_chance(&t->r, 0.7), rstd = rng_chance(&t->r, 0.7);
	trial_note(t, "%s", in_place ? " in place" : "");
	operand *x = trial_add_2d(t, "x", in_place ? INOUT : IN, N, C);
	operand_normal(t, x, rng_chance(&t->r, 0.3) ? 30 : 0.3, 1);
	add_parameters(t, C, rng_chance(&t->r, 0.7) && a->kind == HEC_NORM_LAYER);
	operand *gamma = trial_find(t, "gamma"), *beta = trial_find(t, "beta");
	operand *y = in_place ? x : trial_add_2d(t, "y", OUT, N, C);
	operand *m_out = mean && a->kind == HEC_NORM_LAYER ? trial_add_1d(t, "mean", OUT, N) : NULL;
	operand *r_out = rstd ? trial_add_1d(t, "rstd", OUT, N) : NULL;
	for (int64_t n = 0; n < N; n++) {
		moments m = row_moments(x, n, a->kind, a->eps);
		if (m_out)
			m_out->scale[at(m_out, n, 0, 0, 0)] = m.mean_scale;
		if (r_out)
			r_out->scale[at(r_out, n, 0, 0, 0)] = m.rstd_scale;
		for (int64_t c = 0; c < C; c++) {
			double v = x->value[at(x, n, c, 0, 0)];
			double g = fabs(gamma->value[at(gamma, c, 0, 0, 0)]);
			double b = beta ? fabs(beta->value[at(beta, c, 0, 0, 0)]) : 0;
			y->scale[at(y, n, c, 0, 0)] = g * (m.rstd * (fabs(v) + m.mean_scale) +
			                                   fabs(v - m.mean) * m.rstd_scale) +
			                              b;
		}
	}
}

static hec_status call_norm_fwd(hec_ctx *ctx, run *r)
{
	norm_args a = r->t->args.norm;
	a.x = run_tensor(r, "x");
	a.gamma = run_tensor(r, "gamma");
	a.beta = run_tensor(r, "beta");
	a.y = run_tensor(r, "y") ? run_tensor(r, "y") : a.x;
	a.mean = run_tensor(r, "mean");
	a.rstd = run_tensor(r, "rstd");
	return CALL(ctx, r, norm_fwd, &a);
}

/* mean and rstd as forward would have left them, rounded to f32. */
static void add_moments(trial *t, const operand *x, const norm_args *a)
{
	operand *mean = trial_add_1d(t, "mean", IN, x->shape[0]);
	operand *rstd = trial_add_1d(t, "rstd", IN, x->shape[0]);
	for (int64_t n = 0; n < x->shape[0]; n++) {
		moments m = row_moments(x, n, a->kind, a->eps);
		mean->value[at(mean, n, 0, 0, 0)] = as_f32(m.mean);
		rstd->value[at(rstd, n, 0, 0, 0)] = as_f32(m.rstd);
	}
}

static void scale_norm_bwd(trial *t, const norm_args *a)
{
	operand *x = trial_find(t, "x"), *dy = trial_find(t, "dy"), *dx = trial_find(t, "dx");
	operand *gamma = trial_find(t, "gamma"), *mean = trial_find(t, "mean");
	operand *rstd = trial_find(t, "rstd"), *dgamma = trial_find(t, "dgamma");
	operand *dbeta = trial_find(t, "dbeta");
	int64_t N = x->shape[0], C = x->shape[1];
	for (int64_t n = 0; n < N; n++) {
		double r = rstd->value[at(rstd, n, 0, 0, 0)];
		double m = a->kind == HEC_NORM_LAYER ? mean->value[at(mean, n, 0, 0, 0)] : 0;
		double g_mean = 0, gx_mean = 0, gh_mean = 0;
		for (int64_t c = 0; c < C; c++) {
			double v = x->value[at(x, n, c, 0, 0)],
			       d = fabs(dy->value[at(dy, n, c, 0, 0)]);
			double g = d * fabs(gamma->value[at(gamma, c, 0, 0, 0)]);
			double h = r * (fabs(v) + fabs(m));
			g_mean += g / (double)C;
			gx_mean += g * fabs(v - m) * r / (double)C;
			gh_mean += g * h / (double)C;
			if (dgamma)
				dgamma->scale[at(dgamma, c, 0, 0, 0)] += d * h;
			if (dbeta)
				dbeta->scale[at(dbeta, c, 0, 0, 0)] += d;
		}
		for (int64_t c = 0; c < C; c++) {
			double v = x->value[at(x, n, c, 0, 0)], h = r * (fabs(v) + fabs(m));
			double g = fabs(dy->value[at(dy, n, c, 0, 0)]) *
			           fabs(gamma->value[at(gamma, c, 0, 0, 0)]);
			int64_t where = at(dx, n, c, 0, 0);
			dx->scale[where] =
				(a->accumulate ? fabs(dx->value[where]) : 0) +
				r * (g + g_mean + h * gx_mean + fabs(v - m) * r * gh_mean);
		}
	}
}

static void start_scale(operand *o)
{
	for (int64_t i = 0; i < o->extent; i++)
		o->scale[i] = isnan(o->value[i]) ? 0 : fabs(o->value[i]);
}

static void make_norm_bwd(trial *t)
{
	int64_t N, C;
	choose_rows(t, &N, &C, 1024, 512);
	norm_args *a = choose_norm(t);
	operand *x = trial_add_2d(t, "x", IN, N, C);
	operand_normal(t, x, rng_chance(&t->r, 0.3) ? 30 : 0.3, 1);
	add_parameters(t, C, false);
	add_moments(t, trial_find(t, "x"), a);
	operand_normal(t, trial_add_2d(t, "dy", IN, N, C), 0, 1);
	a->accumulate = t->plain || rng_chance(&t->r, 0.5);
	operand *dx = trial_add_2d(t, "dx", a->accumulate ? INOUT : OUT, N, C);
	if (a->accumulate)
		operand_normal(t, dx, 0, 1);
	else
		trial_note(t, " written");
	if (t->plain || rng_chance(&t->r, 0.8)) {
		operand *dgamma = trial_add_1d(t, "dgamma", INOUT, C);
		operand_normal(t, dgamma, 0, 1);
		start_scale(dgamma);
	}
	if (a->kind == HEC_NORM_LAYER && rng_chance(&t->r, 0.8)) {
		operand *dbeta = trial_add_1d(t, "dbeta", INOUT, C);
		operand_normal(t, dbeta, 0, 1);
		start_scale(dbeta);
	}
	scale_norm_bwd(t, a);
	t->terms = (double)(C + N);
	t->bytes *= 2;
}

static hec_status call_norm_bwd(hec_ctx *ctx, run *r)
{
	norm_args a = r->t->args.norm;
	a.x = run_tensor(r, "x");
	a.gamma = run_tensor(r, "gamma");
	a.mean = run_tensor(r, "mean");
	a.rstd = run_tensor(r, "rstd");
	a.dy = run_tensor(r, "dy");
	a.dx = run_tensor(r, "dx");
	a.dgamma = run_tensor(r, "dgamma");
	a.dbeta = run_tensor(r, "dbeta");
	return CALL(ctx, r, norm_bwd, &a);
}

static double row_lse(const operand *x, int64_t n, double *unsure)
{
	int64_t V = x->shape[1];
	double most = -INFINITY, size = 0, sum = 0;
	for (int64_t v = 0; v < V; v++) {
		double l = x->value[at(x, n, v, 0, 0)];
		most = fmax(most, l);
		size = fmax(size, fabs(l));
	}
	for (int64_t v = 0; v < V; v++)
		sum += exp(x->value[at(x, n, v, 0, 0)] - most);
	double lse = most + log(sum);
	*unsure = 1 + fabs(lse);
	for (int64_t v = 0; v < V; v++) {
		double l = x->value[at(x, n, v, 0, 0)];
		*unsure += exp(l - lse) * (fabs(l) + size);
	}
	return lse;
}

static operand *make_logits(trial *t, bool in_place)
{
	int64_t N, V;
	choose_rows(t, &N, &V, 64, 32000);
	cross_entropy_args *a = &t->args.cross_entropy;
	*a = (cross_entropy_args){.ignore = -100,
	                          .smoothing = rng_chance(&t->r, 0.5) ? 0.1 : 0,
	                          .scale = 1 / (double)(N + 1)};
	trial_note(t, " smoothing %g%s", a->smoothing, in_place ? " in place" : "");
	operand *x = trial_add_2d(t, "logits", in_place ? INOUT : IN, N, V);
	operand_normal(t, x, rng_chance(&t->r, 0.3) ? 20 : 0, rng_chance(&t->r, 0.3) ? 10 : 1);
	operand *targets = trial_add(t, "targets", IN, HEC_I32, LAYOUT_ANY, 1, (int64_t[]){N});
	operand_integers(t, targets, 0, V);
	for (int64_t n = 0; n < N; n++) {
		if (rng_chance(&t->r, 0.1))
			targets->value[at(targets, n, 0, 0, 0)] = -100;
	}
	return x;
}

static void make_loss_fwd(trial *t)
{
	make_logits(t, false);
	operand *x = trial_find(t, "logits"), *targets = trial_find(t, "targets");
	int64_t N = x->shape[0], V = x->shape[1];
	operand *losses = trial_add_1d(t, "losses", OUT, N), *lse = trial_add_1d(t, "lse", OUT, N);
	double e = t->args.cross_entropy.smoothing;
	for (int64_t n = 0; n < N; n++) {
		double size, target = targets->value[at(targets, n, 0, 0, 0)];
		row_lse(x, n, &size);
		lse->scale[at(lse, n, 0, 0, 0)] = size;
		if (target < 0)
			continue;
		size += (1 - e) * fabs(x->value[at(x, n, (int64_t)target, 0, 0)]);
		for (int64_t v = 0; v < V; v++)
			size += e / (double)V * fabs(x->value[at(x, n, v, 0, 0)]);
		losses->scale[at(losses, n, 0, 0, 0)] = size;
	}
	t->bytes /= 2;
}

static void make_loss_bwd(trial *t)
{
	bool in_place = !t->plain && rng_chance(&t->r, 0.4);
	operand *x = make_logits(t, in_place), *targets = trial_find(t, "targets");
	int64_t N = x->shape[0], V = x->shape[1];
	operand *lse = trial_add_1d(t, "lse", IN, N);
	operand *d = in_place ? x : trial_add_2d(t, "dlogits", OUT, N, V);
	const cross_entropy_args *a = &t->args.cross_entropy;
	for (int64_t n = 0; n < N; n++) {
		double unsure, log_sum = as_f32(row_lse(x, n, &unsure));
		int64_t target = (int64_t)targets->value[at(targets, n, 0, 0, 0)];
		lse->value[at(lse, n, 0, 0, 0)] = log_sum;
		for (int64_t v = 0; v < V; v++) {
			double l = x->value[at(x, n, v, 0, 0)];
			double p = exp(l - log_sum) + BOUND_TINY;
			double share =
				(v == target ? 1 - a->smoothing : 0) + a->smoothing / (double)V;
			d->scale[at(d, n, v, 0, 0)] =
				target < 0 ? 0
					   : a->scale * (p * (1 + fabs(l) + fabs(log_sum)) + share);
		}
	}
}

static void make_logsumexp(trial *t)
{
	int64_t N, V;
	choose_rows(t, &N, &V, 64, 32000);
	operand *x = trial_add_2d(t, "x", IN, N, V), *lse = trial_add_1d(t, "lse", OUT, N);
	operand_normal(t, x, rng_chance(&t->r, 0.3) ? 20 : 0, rng_chance(&t->r, 0.3) ? 10 : 1);
	for (int64_t n = 0; n < N; n++)
		(void)row_lse(x, n, &lse->scale[at(lse, n, 0, 0, 0)]);
	t->bytes /= 2;
}

static hec_status call_logsumexp(hec_ctx *ctx, run *r)
{
	logsumexp_args a = {run_tensor(r, "x"), run_tensor(r, "lse")};
	return CALL(ctx, r, logsumexp, &a);
}

static void make_pool(trial *t)
{
	int64_t N, C;
	choose_rows(t, &N, &C, 128, 768);
	N = N > 0 ? N : 1;
	pool_args *a = &t->args.pool;
	*a = (pool_args){.kind = t->plain ? POOL_SUM : (pool_kind)rng_below(&t->r, 3),
	                 .scale = 1 / (double)N};
	trial_note(t, " kind %d", (int)a->kind);
	operand *x = trial_add_2d(t, "x", IN, N, C), *y = trial_add_1d(t, "y", OUT, C);
	operand_normal(t, x, 0.2, 1);
	for (int64_t c = 0; c < C; c++)
		for (int64_t n = 0; n < N; n++)
			y->scale[at(y, c, 0, 0, 0)] +=
				a->kind == POOL_MAX
					? 0
					: (a->kind == POOL_SUM ? 1 : (double)(n + 1)) * a->scale *
						  fabs(x->value[at(x, n, c, 0, 0)]);
	t->terms = (double)N;
	t->bytes /= 2;
}

static hec_status call_pool(hec_ctx *ctx, run *r)
{
	pool_args a = r->t->args.pool;
	a.x = run_tensor(r, "x");
	a.y = run_tensor(r, "y");
	return CALL(ctx, r, pool, &a);
}

static void make_normalize(trial *t)
{
	int64_t N, C;
	choose_rows(t, &N, &C, 1024, 768);
	bool in_place = !t->plain && rng_chance(&t->r, 0.3), zero = rng_chance(&t->r, 0.2);
	t->args.normalize.least = 1e-12;
	trial_note(t, "%s%s", in_place ? " in place" : "", zero ? " zero" : "");
	operand *x = trial_add_2d(t, "x", in_place ? INOUT : IN, N, C);
	operand *y = in_place ? x : trial_add_2d(t, "y", OUT, N, C);
	operand_normal(t, x, 0, zero ? 0 : 1);
	for (int64_t n = 0; n < N; n++) {
		double sum = 0;
		for (int64_t c = 0; c < C; c++)
			sum += pow(x->value[at(x, n, c, 0, 0)], 2);
		for (int64_t c = 0; c < C; c++)
			y->scale[at(y, n, c, 0, 0)] =
				fabs(x->value[at(x, n, c, 0, 0)]) / fmax(sqrt(sum), 1e-12);
	}
}

static hec_status call_normalize(hec_ctx *ctx, run *r)
{
	normalize_args a = r->t->args.normalize;
	a.x = run_tensor(r, "x");
	a.y = run_tensor(r, "y") ? run_tensor(r, "y") : a.x;
	return CALL(ctx, r, normalize, &a);
}

static hec_status call_loss_fwd(hec_ctx *ctx, run *r)
{
	cross_entropy_args a = r->t->args.cross_entropy;
	a.logits = run_tensor(r, "logits");
	a.targets = run_tensor(r, "targets");
	a.losses = run_tensor(r, "losses");
	a.lse = run_tensor(r, "lse");
	return CALL(ctx, r, cross_entropy_fwd, &a);
}

static hec_status call_loss_bwd(hec_ctx *ctx, run *r)
{
	cross_entropy_args a = r->t->args.cross_entropy;
	a.logits = run_tensor(r, "logits");
	a.targets = run_tensor(r, "targets");
	a.lse = run_tensor(r, "lse");
	a.dlogits = run_tensor(r, "dlogits") ? run_tensor(r, "dlogits") : a.logits;
	return CALL(ctx, r, cross_entropy_bwd, &a);
}

static operand *make_sum(trial *t, hec_dtype dtype, bool per_column)
{
	int64_t N, C;
	choose_rows(t, &N, &C, 1024, 512);
	operand *x = trial_add_2d(t, "x", IN, N, C);
	operand_normal(t, x, 0.2, 1);
	operand *sum = trial_add(t, "sum", INOUT, dtype, LAYOUT_CONTIGUOUS, 1,
	                         (int64_t[]){per_column ? C : 1});
	operand_normal(t, sum, 0, 1);
	start_scale(sum);
	t->terms = (double)(per_column ? N : N * C);
	t->bytes /= 2;
	return sum;
}

static void make_sum_rows(trial *t)
{
	operand *sum = make_sum(t, HEC_F32, true), *x = trial_find(t, "x");
	EACH_ELEMENT(x, n, c, k, l)
	sum->scale[at(sum, c, 0, 0, 0)] += fabs(x->value[at(x, n, c, k, l)]);
}

static void make_sum_all(trial *t)
{
	operand *sum = make_sum(t, HEC_F64, false), *x = trial_find(t, "x");
	EACH_ELEMENT(x, n, c, k, l)
	sum->scale[sum->origin] += fabs(x->value[at(x, n, c, k, l)]);
}

static void make_sum_squares(trial *t)
{
	operand *sum = make_sum(t, HEC_F64, false), *x = trial_find(t, "x");
	EACH_ELEMENT(x, n, c, k, l)
	sum->scale[sum->origin] += pow(x->value[at(x, n, c, k, l)], 2);
}

static hec_status call_sum_rows(hec_ctx *ctx, run *r)
{
	reduce_args a = {run_tensor(r, "x"), run_tensor(r, "sum")};
	return CALL(ctx, r, sum_rows, &a);
}

static hec_status call_sum_all(hec_ctx *ctx, run *r)
{
	reduce_args a = {run_tensor(r, "x"), run_tensor(r, "sum")};
	return CALL(ctx, r, sum_all, &a);
}

static hec_status call_sum_squares(hec_ctx *ctx, run *r)
{
	reduce_args a = {run_tensor(r, "x"), run_tensor(r, "sum")};
	return CALL(ctx, r, sum_squares, &a);
}

const check_op row_checks[] = {
	{"norm_fwd", make_norm_fwd, call_norm_fwd, false},
	{"norm_bwd", make_norm_bwd, call_norm_bwd, false},
	{"cross_entropy_fwd", make_loss_fwd, call_loss_fwd, false},
	{"cross_entropy_bwd", make_loss_bwd, call_loss_bwd, false},
	{"logsumexp", make_logsumexp, call_logsumexp, false},
	{"pool", make_pool, call_pool, false},
	{"normalize", make_normalize, call_normalize, false},
	{"sum_rows", make_sum_rows, call_sum_rows, false},
	{"sum_all", make_sum_all, call_sum_all, false},
	{"sum_squares", make_sum_squares, call_sum_squares, false},
	{NULL, NULL, NULL, false},
};
