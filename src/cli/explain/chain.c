/* chain.c — the formulas, one after the other. */
#include "cli/explain/chain.h"

#include <math.h>

#include "cli/command/try.h"
#include "cli/explain/steps.h"

/* Above this the rounding of a score decides the weights: all that is known is that they are from 0 to 1. */
#define ROUNDING_DECIDES 0.1

double chain_loss(const explain_problem *p, const hec_tensor *output, const hec_tensor *d_output)
{
	double sum = 0;
	bool is_linear = is_given(p, GIVEN_D_OUTPUT);
	for (int64_t t = 0; t < output->shape[0]; t++)
		for (int64_t c = 0; c < output->shape[1]; c++) {
			double y = *double_at(output, t, c);
			sum += is_linear ? *double_at(d_output, t, c) * y : y * y / 2;
		}
	return sum;
}

static hec_status make_forward(chain *c, hec_arena *arena)
{
	const explain_problem *p = c->p;
	TRY(bounded_make(arena, c->T, c->H * c->K, &c->q));
	TRY(bounded_make(arena, c->S, c->H * c->K, &c->k));
	TRY(bounded_make(arena, c->S, c->H * c->D, &c->v));
	TRY(bounded_make(arena, c->H * c->T, c->S, &c->scaled));
	TRY(bounded_make(arena, c->H * c->T, c->S, &c->weights));
	TRY(bounded_make(arena, c->T, c->H * c->D, &c->concat));
	c->output = c->concat;
	if (is_given(p, GIVEN_W_O))
		TRY(bounded_make(arena, c->T, p->given[GIVEN_W_O].shape[1], &c->output));
	return HEC_OK;
}

static hec_status make_backward(chain *c, hec_arena *arena)
{
	for (int i = 0; i <= GIVEN_B_O; i++)
		if (is_given(c->p, (given)i))
			TRY(bounded_make(arena, c->given[i].value.shape[0],
			                 c->given[i].value.shape[1], &c->d_given[i]));
	TRY(bounded_make(arena, c->T, c->output.value.shape[1], &c->d_output));
	c->d_concat = c->d_output;
	if (is_given(c->p, GIVEN_W_O))
		TRY(bounded_make(arena, c->T, c->H * c->D, &c->d_concat));
	TRY(bounded_make(arena, c->T, c->H * c->K, &c->dq));
	TRY(bounded_make(arena, c->S, c->H * c->K, &c->dk));
	TRY(bounded_make(arena, c->S, c->H * c->D, &c->dv));
	TRY(bounded_make(arena, c->H * c->T, c->S, &c->d_weights));
	TRY(bounded_make(arena, c->H * c->T, 1, &c->row_sums));
	TRY(bounded_make(arena, c->H * c->T, c->S, &c->d_scaled));
	return bounded_make(arena, c->H * c->T, c->S, &c->d_scores);
}

hec_status chain_make(const explain_problem *p, const hec_tensor *given_f64, rounding r,
                      hec_arena *arena, chain *out)
{
	*out = (chain){.p = p,
	               .r = r,
	               .T = p->given[GIVEN_X].shape[0],
	               .S = key_source(p)->shape[0],
	               .H = p->heads,
	               .K = p->d_k,
	               .D = p->d_v};
	for (int i = 0; i < GIVEN_COUNT; i++)
		if (is_given(p, (given)i))
			out->given[i] = bounded_exact(&given_f64[i]);
	TRY(make_forward(out, arena));
	return make_backward(out, arena);
}

/* ---- forward ---- */

static given key_given(const chain *c)
{
	return is_given(c->p, GIVEN_MEMORY) ? GIVEN_MEMORY : GIVEN_X;
}

/* y = x·W + b. */
static void project(const chain *c, const bounded *x, given weight, bounded *y)
{
	for (int64_t t = 0; is_given(c->p, bias_of(weight)) && t < y->value.shape[0]; t++)
		for (int64_t i = 0; i < y->value.shape[1]; i++)
			*double_at(&y->value, t, i) =
				*double_at(&c->given[bias_of(weight)].value, 0, i);
	bounded_multiply(x, &c->given[weight], c->r, y);
}

/* Row t of head h: weights from scores. A score that is off by x changes a weight by a factor of e^x and the
 * sum by as much again. */
static void softmax_row(chain *c, int64_t h, int64_t t)
{
	double max = -INFINITY, sum = 0, off = 0;
	for (int64_t s = 0; s < c->S; s++) {
		if (!problem_sees(c->p, t, s))
			continue;
		double x = *double_at(&c->scaled.value, h * c->T + t, s);
		max = fmax(max, x);
		off = fmax(off,
		           *double_at(&c->scaled.error, h * c->T + t, s) + 4 * c->r.unit * fabs(x));
	}
	for (int64_t s = 0; s < c->S; s++)
		if (problem_sees(c->p, t, s))
			sum += exp(*double_at(&c->scaled.value, h * c->T + t, s) - max);
	double share = expm1(2 * fmin(off, 1)) + (2 * (double)c->S + 16) * c->r.unit;
	for (int64_t s = 0; s < c->S; s++) {
		if (!problem_sees(c->p, t, s))
			continue;
		double w = exp(*double_at(&c->scaled.value, h * c->T + t, s) - max) / sum;
		*double_at(&c->weights.value, h * c->T + t, s) = w;
		*double_at(&c->weights.error, h * c->T + t, s) =
			off > ROUNDING_DECIDES ? 1 : w * share + c->r.least;
	}
}

typedef struct head_views {
	bounded q, k, v, concat, scaled, weights;
	bounded d_concat, dq, dk, dv, d_weights, row_sums, d_scaled, d_scores;
} head_views;

static head_views head_of(const chain *c, int64_t h)
{
	int64_t K = c->K, D = c->D, T = c->T;
	return (head_views){.q = bounded_columns(&c->q, h * K, K),
	                    .k = bounded_columns(&c->k, h * K, K),
	                    .v = bounded_columns(&c->v, h * D, D),
	                    .concat = bounded_columns(&c->concat, h * D, D),
	                    .scaled = bounded_rows(&c->scaled, h * T, T),
	                    .weights = bounded_rows(&c->weights, h * T, T),
	                    .d_concat = bounded_columns(&c->d_concat, h * D, D),
	                    .dq = bounded_columns(&c->dq, h * K, K),
	                    .dk = bounded_columns(&c->dk, h * K, K),
	                    .dv = bounded_columns(&c->dv, h * D, D),
	                    .d_weights = bounded_rows(&c->d_weights, h * T, T),
	                    .row_sums = bounded_rows(&c->row_sums, h * T, T),
	                    .d_scaled = bounded_rows(&c->d_scaled, h * T, T),
	                    .d_scores = bounded_rows(&c->d_scores, h * T, T)};
}

void chain_forward(chain *c)
{
	project(c, &c->given[GIVEN_X], GIVEN_W_Q, &c->q);
	project(c, &c->given[key_given(c)], GIVEN_W_K, &c->k);
	project(c, &c->given[key_given(c)], GIVEN_W_V, &c->v);
	for (int64_t h = 0; h < c->H; h++) {
		head_views v = head_of(c, h);
		bounded kt = bounded_transpose(&v.k);
		bounded_multiply(&v.q, &kt, c->r, &v.scaled);
		bounded_scale(&v.scaled, 1 / sqrt((double)c->K), c->r);
		for (int64_t t = 0; t < c->T; t++)
			softmax_row(c, h, t);
		bounded_multiply(&v.weights, &v.v, c->r, &v.concat);
	}
	if (is_given(c->p, GIVEN_W_O))
		project(c, &c->concat, GIVEN_W_O, &c->output);
	c->loss = chain_loss(c->p, &c->output.value, &c->given[GIVEN_D_OUTPUT].value);
}

/* ---- backward ---- */

static void begin_gradient(chain *c)
{
	const bounded *from =
		is_given(c->p, GIVEN_D_OUTPUT) ? &c->given[GIVEN_D_OUTPUT] : &c->output;
	for (int64_t t = 0; t < c->T; t++)
		for (int64_t i = 0; i < c->output.value.shape[1]; i++) {
			double d = *double_at(&from->value, t, i);
			*double_at(&c->d_output.value, t, i) = d;
			*double_at(&c->d_output.error, t, i) = c->r.unit * fabs(d) + c->r.least;
		}
}

/* dy at y = x·W + b: adds to dx (or NULL), dW and db. */
static void unproject(chain *c, const bounded *x, given weight, const bounded *dy, bounded *dx)
{
	bounded xt = bounded_transpose(x), wt = bounded_transpose(&c->given[weight]);
	bounded ones = bounded_ones(dy->value.shape[0]);
	bounded_multiply(&xt, dy, c->r, &c->d_given[weight]);
	if (is_given(c->p, bias_of(weight)))
		bounded_multiply(&ones, dy, c->r, &c->d_given[bias_of(weight)]);
	bounded_multiply(dy, &wt, c->r, dx);
}

static bounded row_of(const bounded *m, int64_t t)
{
	return bounded_rows(m, t, 1);
}

/* r = Σ weights ∘ d_weights. The library computes the same number as Σ d_head ∘ head, which needs no stored
 * weights: what that may be off is added to the bound. */
static void sum_row(chain *c, const head_views *v, int64_t t)
{
	double fused = 0, fused_off = 0;
	bounded other = {hec_tensor_2d(&fused, HEC_F64, 1, 1),
	                 hec_tensor_2d(&fused_off, HEC_F64, 1, 1)};
	bounded sum = row_of(&v->row_sums, t), weights = row_of(&v->weights, t);
	bounded d_weights = row_of(&v->d_weights, t), d_head = row_of(&v->d_concat, t);
	bounded head = row_of(&v->concat, t);
	d_weights = bounded_transpose(&d_weights);
	head = bounded_transpose(&head);
	bounded_multiply(&weights, &d_weights, c->r, &sum);
	bounded_multiply(&d_head, &head, c->r, &other);
	*double_at(&sum.error, 0, 0) += fused_off;
}

static void softmax_gradient(chain *c, const head_views *v, int64_t t)
{
	double sum = *double_at(&v->row_sums.value, t, 0);
	double sum_off = *double_at(&v->row_sums.error, t, 0);
	for (int64_t s = 0; s < c->S; s++) {
		double w = *double_at(&v->weights.value, t, s);
		double w_off = *double_at(&v->weights.error, t, s);
		double d = *double_at(&v->d_weights.value, t, s);
		double d_off = *double_at(&v->d_weights.error, t, s);
		double *out = double_at(&v->d_scaled.value, t, s);
		*out = w * (d - sum);
		if (problem_sees(c->p, t, s)) /* else exactly 0 */
			*double_at(&v->d_scaled.error, t, s) =
				w_off * fabs(d - sum) + (w + w_off) * (d_off + sum_off) +
				4 * c->r.unit * (w + w_off) * (fabs(d) + fabs(sum)) + c->r.least;
		*double_at(&v->d_scores.value, t, s) = *out;
		*double_at(&v->d_scores.error, t, s) = *double_at(&v->d_scaled.error, t, s);
	}
}

static void head_backward(chain *c, int64_t h)
{
	head_views v = head_of(c, h);
	bounded weights_t = bounded_transpose(&v.weights), vt = bounded_transpose(&v.v);
	bounded d_scores_t = bounded_transpose(&v.d_scores);
	bounded_multiply(&weights_t, &v.d_concat, c->r, &v.dv);
	bounded_multiply(&v.d_concat, &vt, c->r, &v.d_weights);
	for (int64_t t = 0; t < c->T; t++) {
		sum_row(c, &v, t);
		softmax_gradient(c, &v, t);
	}
	bounded_scale(&v.d_scores, 1 / sqrt((double)c->K), c->r);
	bounded_multiply(&v.d_scores, &v.k, c->r, &v.dq);
	bounded_multiply(&d_scores_t, &v.q, c->r, &v.dk);
}

void chain_backward(chain *c)
{
	given source = key_given(c);
	begin_gradient(c);
	if (is_given(c->p, GIVEN_W_O))
		unproject(c, &c->concat, GIVEN_W_O, &c->d_output, &c->d_concat);
	for (int64_t h = 0; h < c->H; h++)
		head_backward(c, h);
	unproject(c, &c->given[GIVEN_X], GIVEN_W_Q, &c->dq, &c->d_given[GIVEN_X]);
	unproject(c, &c->given[source], GIVEN_W_K, &c->dk, &c->d_given[source]);
	unproject(c, &c->given[source], GIVEN_W_V, &c->dv, &c->d_given[source]);
}
