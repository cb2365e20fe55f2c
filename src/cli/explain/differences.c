/* differences.c — the slope of the loss in one number x, from the loss at x ± h in doubles: central differences
 * at smaller and smaller h, extrapolated to h = 0 (Ridders 1982). The estimate that is kept has the smallest
 * error: how far it is from its neighbours, and what the rounding of the loss makes of it, which grows as h
 * falls. */
#include "cli/explain/gradient.h"

#include <math.h>
#include <stdlib.h>

#include "cli/command/try.h"

#define LEVELS 6
#define SHRINK 4.0 /* h from one level to the next */
#define FIRST 1.0  /* h of the first level, as a share of the largest number of the matrix, … */
#define SCORE_MOST                                                                                 \
	0.25 /* … and less, until no score moves further: beyond, the softmax is no longer smooth */
#define SHRINKS_MOST 200
#define SURE 4            /* the error that was estimated, times this, is allowed */
#define NUMBERS_MOST 64   /* of one matrix */
#define PRODUCTS_MOST 3e8 /* of all passes together, but for one number of each matrix */

typedef struct probe {
	pass *w;
	const chain *c;             /* before anything was moved */
	const hec_tensor *d_output; /* given, or NULL */
	double noise;               /* of the loss: what rounding may have done to it */
} probe;

static hec_status loss_at(probe *p, double *x, double value, double *loss)
{
	*x = value;
	TRY(pass_forward(p->w));
	*loss = chain_loss(p->w->p, &p->w->output, p->d_output);
	return HEC_OK;
}

/* (L(x + h) − L(x − h)) / 2h, and the noise of it. */
static hec_status central_difference(probe *p, double *x, double h, double *slope, double *noise)
{
	double at = *x, low = at - h, high = at + h; /* what is really stored */
	double below = 0, above = 0;
	hec_status status = loss_at(p, x, low, &below);
	if (status == HEC_OK)
		status = loss_at(p, x, high, &above);
	*x = at;
	bool moved = high > low; /* else h is below the last digit of x */
	*slope = moved ? (above - below) / (high - low) : 0;
	*noise = moved ? 2 * p->noise / (high - low) : INFINITY;
	return status;
}

/* The furthest that a visible score of the last pass is from where it was. */
static double score_moved(const probe *p)
{
	const pass *w = p->w;
	double most = 0;
	for (int64_t h = 0; h < w->H; h++)
		for (int64_t t = 0; t < w->T; t++)
			for (int64_t s = 0; s < w->S; s++) {
				double score = 0;
				if (!problem_sees(w->p, t, s))
					continue;
				for (int64_t i = h * w->K; i < (h + 1) * w->K; i++)
					score += *double_at(&w->q, t, i) * *double_at(&w->k, s, i);
				double was = *double_at(&p->c->scaled.value, h * w->T + t, s);
				most = fmax(most, fabs(score / sqrt((double)w->K) - was));
			}
	return most;
}

/* A step that is small enough to begin with. */
static hec_status first_step(probe *p, double *x, double *h)
{
	double at = *x, loss;
	hec_status status = HEC_OK;
	for (int i = 0; i < SHRINKS_MOST; i++, *h /= SHRINK) {
		status = loss_at(p, x, at + *h, &loss);
		if (status != HEC_OK || score_moved(p) <= SCORE_MOST)
			break;
	}
	*x = at;
	return status;
}

static hec_status find_slope(probe *p, double *x, double scale, double *slope, double *error)
{
	double table[LEVELS][LEVELS], h = FIRST * scale;
	*slope = 0;
	*error = INFINITY;
	TRY(first_step(p, x, &h));
	for (int i = 0; i < LEVELS; i++, h /= SHRINK) {
		double noise = 0, factor = SHRINK * SHRINK;
		TRY(central_difference(p, x, h, &table[i][0], &noise));
		if (2 * noise > *error)
			return HEC_OK; /* nothing better can follow */
		for (int j = 1; j <= i; j++, factor *= SHRINK * SHRINK) {
			table[i][j] =
				(table[i][j - 1] * factor - table[i - 1][j - 1]) / (factor - 1);
			double off = fmax(fabs(table[i][j] - table[i][j - 1]),
			                  fabs(table[i][j] - table[i - 1][j - 1])) +
			             2 * noise;
			if (off < *error) {
				*error = off;
				*slope = table[i][j];
			}
		}
	}
	return HEC_OK;
}

static double largest_of(const hec_tensor *t)
{
	double most = 0;
	int64_t rows = t->rank == 1 ? 1 : t->shape[0];
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < t->shape[t->rank - 1]; c++)
			most = fmax(most, fabs(*double_at(t, r, c)));
	return most;
}

/* As many numbers of the matrix as asked for, spread over all of it. */
static hec_status probe_matrix(probe *p, const chain *c, given which, int64_t most,
                               explain_gradient *g)
{
	hec_tensor *t = &p->w->given[which];
	int64_t count = hec_tensor_count(t), columns = t->shape[t->rank - 1];
	int64_t taken = count < most ? count : most;
	double scale = largest_of(t);
	for (int64_t i = 0; i < taken; i++) {
		int64_t at = (2 * i + 1) * count / (2 * taken), row = at / columns,
			column = at % columns;
		difference *d = &g->differences[g->count];
		double error, steps_error = *double_at(&c->d_given[which].error, row, column);
		*d = (difference){.name = gradient_names[which],
		                  .row = row,
		                  .column = column,
		                  .analytic = *double_at(&c->d_given[which].value, row, column)};
		TRY(find_slope(p, double_at(t, row, column), scale > 0 ? scale : 1, &d->other,
		               &error));
		d->allowed = SURE * error + steps_error;
		g->count += isfinite(d->allowed) != 0; /* else it could not be moved */
	}
	return HEC_OK;
}

/* Of the loss: that of the outputs, and of adding up. */
static double loss_noise(const chain *c)
{
	double noise = 0, magnitude = 0;
	for (int64_t t = 0; t < c->T; t++)
		for (int64_t i = 0; i < c->output.value.shape[1]; i++) {
			double d = fabs(*double_at(&c->d_output.value, t, i));
			noise += d * *double_at(&c->output.error, t, i);
			magnitude += d * fabs(*double_at(&c->output.value, t, i));
		}
	double terms = (double)(c->T * c->output.value.shape[1]);
	return noise + (terms + 2) * c->r.unit * magnitude;
}

hec_status explain_differentiate(pass *w, const chain *c, explain_gradient *g)
{
	int64_t matrices = 0;
	for (int i = 0; i <= GIVEN_B_O; i++)
		matrices += is_given(w->p, (given)i);
	double passes = PRODUCTS_MOST / explain_problem_products(w->p);
	double share = passes / ((2.0 * LEVELS + 2) * (double)matrices);
	int64_t most = share < 1 ? 1 : share > NUMBERS_MOST ? NUMBERS_MOST : (int64_t)share;
	g->differences = calloc((size_t)(matrices * most), sizeof *g->differences);
	if (!g->differences)
		return HEC_ERR_MEMORY;
	probe p = {w, c, &w->given[GIVEN_D_OUTPUT], loss_noise(c)};
	for (int i = 0; i <= GIVEN_B_O; i++)
		if (is_given(w->p, (given)i))
			TRY(probe_matrix(&p, c, (given)i, most, g));
	return HEC_OK;
}
