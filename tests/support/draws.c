/* draws.c — chi-square tests of draws. */
#include "support/draws.h"

#include <math.h>
#include <stdlib.h>

#define EXPECTED_LEAST 5 /* in a cell: below it, chi-square's own distribution is another */
#define CELLS 8          /* of one draw, in the test of pairs */
#define UNLIKELY 1e-6
#define TERMS 10000

double *first_token_chances(kit *k, const hec_model *model, const int32_t *ids, int64_t n,
                            double temperature)
{
	const hec_model_config *c = hec_model_config_of(model);
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	hec_session *session;
	const bool reads = c->encoder.layers > 0;
	hec_tensor prompt = hec_tensor_2d((void *)(uintptr_t)ids, HEC_I32, 1, n), logits;
	int32_t start = c->start_id;
	hec_tensor begin = hec_tensor_2d(&start, HEC_I32, 1, 1);
	o.sources = o.beams = 1;
	o.max_source = o.max_target = n;
	logits = make(k, HEC_F32, SHAPE(1, c->vocab));
	OK(k, hec_session_create(k->ctx, model, &o, &session));
	OK(k, hec_session_start(session, 1, reads ? &prompt : NULL, NULL));
	OK(k, hec_session_step(session, reads ? &begin : &prompt, NULL, &logits));
	hec_session_destroy(session);
	double *p = malloc((size_t)c->vocab * sizeof *p), most = -INFINITY, sum = 0;
	assert_non_null(p);
	for (int64_t v = 0; v < c->vocab; v++)
		most = fmax(most, get(&logits, v));
	for (int64_t v = 0; v < c->vocab; v++)
		sum += p[v] = exp((get(&logits, v) - most) / temperature);
	for (int64_t v = 0; v < c->vocab; v++)
		p[v] /= sum;
	return p;
}

/* ---- chi-square ---- */

/* P(chi-square of df > x): the incomplete gamma function, by its series or its continued fraction (Lentz). */
static double beyond(double x, double df)
{
	const double a = df / 2, z = x / 2;
	if (z <= 0)
		return 1;
	const double scale = exp(-z + a * log(z) - lgamma(a));
	if (z < a + 1) {
		double term = 1 / a, sum = term;
		for (int i = 1; i < TERMS && term > sum * 1e-15; i++)
			sum += term *= z / (a + i);
		return 1 - sum * scale;
	}
	double b = z + 1 - a, c = 1e300, d = 1 / b, h = d;
	for (int i = 1; i < TERMS; i++) {
		const double f = -i * (i - a);
		b += 2;
		d = 1 / (f * d + b);
		c = b + f / c;
		h *= c * d;
		if (fabs(c * d - 1) < 1e-15)
			break;
	}
	return h * scale;
}

typedef struct chi_square {
	double x, df;
	double rest_seen, rest_expected; /* cells too small to stand alone */
} chi_square;

static void add_cell(chi_square *t, double seen, double expected)
{
	if (expected < EXPECTED_LEAST) {
		t->rest_seen += seen;
		t->rest_expected += expected;
		return;
	}
	t->x += (seen - expected) * (seen - expected) / expected;
	t->df++;
}

static double finish(chi_square *t)
{
	if (t->rest_expected > 0) {
		const double expected = fmax(t->rest_expected, EXPECTED_LEAST);
		const double off = t->rest_seen - t->rest_expected;
		t->x += off * off / expected;
		t->df++;
	}
	assert_true(t->df > 1); /* else it tells nothing */
	return beyond(t->x, t->df - 1);
}

double draws_fit(const draws *d)
{
	int64_t *count = calloc((size_t)d->values, sizeof *count);
	assert_non_null(count);
	for (int64_t i = 0; i < d->n; i++)
		count[d->drawn[i]]++;
	chi_square t = {0};
	for (int64_t v = 0; v < d->values; v++)
		add_cell(&t, (double)count[v], d->chances[v] * (double)d->n);
	free(count);
	return finish(&t);
}

/* Values one after the other share a cell until it has its part of the probability. */
static int cut_into_cells(const draws *d, int *cell, double *p)
{
	double sum = 0;
	int last = 0;
	p[0] = 0;
	for (int64_t v = 0; v < d->values; v++) {
		if (p[last] > 0 && last + 1 < CELLS && sum >= (double)(last + 1) / CELLS)
			p[++last] = 0;
		cell[v] = last;
		p[last] += d->chances[v];
		sum += d->chances[v];
	}
	return last + 1;
}

double draws_apart(const draws *d, int64_t lag)
{
	int *cell = malloc((size_t)d->values * sizeof *cell);
	assert_non_null(cell);
	double p[CELLS];
	const int cells = cut_into_cells(d, cell, p);
	int64_t seen[CELLS][CELLS] = {{0}}, pairs = 0;
	/* The draws of every other block of `lag` are the first of their pair. */
	for (int64_t i = 0; i + lag < d->n; i++) {
		if (i / lag % 2)
			continue;
		seen[cell[d->drawn[i]]][cell[d->drawn[i + lag]]]++;
		pairs++;
	}
	free(cell);
	chi_square t = {0};
	for (int a = 0; a < cells; a++)
		for (int b = 0; b < cells; b++)
			add_cell(&t, (double)seen[a][b], p[a] * p[b] * (double)pairs);
	return finish(&t);
}

void check_draws(const kit *k, const char *what, const draws *d, const int64_t *lags)
{
	double p = draws_fit(d);
	CHECK(k, p > UNLIKELY, "%s: that they follow their chances has probability %g", what, p);
	for (; *lags > 0; lags++) {
		p = draws_apart(d, *lags);
		CHECK(k, p > UNLIKELY, "%s: that draws %lld apart have no link has probability %g",
		      what, (long long)*lags, p);
	}
}
