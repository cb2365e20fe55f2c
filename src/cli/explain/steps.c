/* steps.c — the computation, each step by a public call of the library. */
#include "cli/explain/steps.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/try.h"
#include "cli/explain/block.h"
#include "cli/explain/pass.h"

/* Tensors while computing. */
typedef struct step_tensors {
	pass w; /* concat is of the fused pass */
	explain_steps *out;
	hec_tensor scores, scaled, masked, weights; /* [1, H, T, S] */
	hec_tensor unfused;                         /* [T, H·D] */
} step_tensors;

bool problem_sees(const explain_problem *p, int64_t t, int64_t s)
{
	int64_t T = p->given[GIVEN_X].shape[0], S = key_source(p)->shape[0];
	if (p->causal && s > t + S - T)
		return false;
	return p->mask.rank == 0 || ((const int8_t *)p->mask.data)[t * S + s] != 0;
}

const step *find_step(const explain_steps *s, const char *name, int64_t head)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->steps[i].head == head && strcmp(s->steps[i].name, name) == 0)
			return &s->steps[i];
	return NULL;
}

void add_step(explain_steps *out, const char *name, int64_t head, const hec_tensor *values)
{
	out->steps[out->count++] = (step){name, head, *values};
}

static hec_status compute_unfused(step_tensors *s)
{
	const pass *w = &s->w;
	int64_t scores_shape[] = {1, w->H, w->T, w->S};
	hec_tensor *const matrices[] = {&s->scores, &s->scaled, &s->masked, &s->weights};
	for (int i = 0; i < 4; i++)
		TRY(hec_arena_tensor(w->arena, HEC_F32, 4, scores_shape, matrices[i]));
	TRY(hec_arena_tensor(w->arena, HEC_F32, 2, w->concat.shape, &s->unfused));
	hec_attention_steps steps = {.size = sizeof steps,
	                             .scores = &s->scores,
	                             .scaled = &s->scaled,
	                             .masked = &s->masked,
	                             .weights = &s->weights};
	return pass_unfused(w, &steps, &s->unfused);
}

/* Head h of a [1, H, T, S] tensor. */
static hec_tensor head_matrix(const hec_tensor *t, int64_t h)
{
	hec_tensor m = hec_tensor_2d((float *)t->data + h * t->stride[1], HEC_F32, t->shape[2],
	                             t->shape[3]);
	m.stride[0] = t->stride[2];
	m.stride[1] = t->stride[3];
	return m;
}

static hec_status list_head(step_tensors *s, int64_t h)
{
	const pass *w = &s->w;
	hec_tensor view;
	TRY(hec_tensor_slice(&w->q, 1, h * w->K, w->K, &view));
	add_step(s->out, "Q", h, &view);
	TRY(hec_tensor_slice(&w->k, 1, h * w->K, w->K, &view));
	add_step(s->out, "K", h, &view);
	TRY(hec_tensor_slice(&w->v, 1, h * w->D, w->D, &view));
	add_step(s->out, "V", h, &view);
	const hec_tensor *const matrices[] = {&s->scores, &s->scaled, &s->masked, &s->weights};
	static const char *const names[] = {"scores", "scaled", "masked", "weights"};
	for (int i = 0; i < 4; i++) {
		view = head_matrix(matrices[i], h);
		add_step(s->out, names[i], h, &view);
	}
	TRY(hec_tensor_slice(&w->concat, 1, h * w->D, w->D, &view));
	add_step(s->out, "head", h, &view);
	return HEC_OK;
}

/* How far two float computations of one output element may be apart, by the usual count of
 * roundings (unit roundoff u): a score of K products is off by at most (K + 6)·u·Σ|q·k|/√K, which
 * moves a weight by a factor of at most exp of twice that; the softmax and the sum over S keys add
 * at most (2S + 16)·u. Both computations may be off, in opposite directions. */
static double score_rounding(const pass *w, int64_t h, int64_t t)
{
	double largest = 0;
	for (int64_t s = 0; s < w->S; s++) {
		double magnitude = 0;
		for (int64_t i = 0; i < w->K && problem_sees(w->p, t, s); i++)
			magnitude += fabs(value_at(&w->q, t, h * w->K + i) *
			                  value_at(&w->k, s, h * w->K + i));
		largest = fmax(largest, magnitude);
	}
	return (double)(w->K + 6) * (FLT_EPSILON / 2) * largest / sqrt((double)w->K);
}

static double allowed_difference(const step_tensors *all, int64_t h, int64_t t, int64_t d,
                                 double off)
{
	const pass *w = &all->w;
	hec_tensor weights = head_matrix(&all->weights, h);
	double mixed = 0, highest = 0;
	for (int64_t s = 0; s < w->S; s++) {
		if (!problem_sees(w->p, t, s))
			continue;
		double v = fabs(value_at(&w->v, s, h * w->D + d));
		highest = fmax(highest, v);
		mixed += value_at(&weights, t, s) * v;
	}
	double sums = (2 * (double)w->S + 16) * (FLT_EPSILON / 2);
	double tiny = (double)w->S * FLT_MIN * highest; /* what underflow may take away */
	/* Below FLT_MIN each operation rounds to a multiple of the smallest float instead. */
	tiny += (2 * (double)w->S + 16) * FLT_TRUE_MIN;
	/* Scores so large that rounding decides: both are still means of the values. */
	if (off > 0.1)
		return 2 * (highest * (1 + sums) + tiny);
	return 2 * (mixed * (expm1(2 * off) + sums) + tiny);
}

static bool compare_head(step_tensors *s, int64_t h, int64_t t, char *error, size_t error_size)
{
	explain_steps *out = s->out;
	double off = score_rounding(&s->w, h, t);
	for (int64_t d = 0; d < s->w.D; d++) {
		double fused = value_at(&s->w.concat, t, h * s->w.D + d);
		double unfused = value_at(&s->unfused, t, h * s->w.D + d);
		double difference = fabs(fused - unfused),
		       bound = allowed_difference(s, h, t, d, off);
		if (!(difference <= bound)) {
			snprintf(error, error_size,
			         "the fused pass gives %.9g at head %" PRId64 ", row %" PRId64
			         ", column %" PRId64
			         ", the unfused one %.9g: %.3g apart, rounding allows %.3g",
			         fused, h, t, d, unfused, difference, bound);
			return false;
		}
		if (difference > out->difference || out->bound == 0) {
			out->difference = difference;
			out->bound = bound;
		}
	}
	return true;
}

static bool compare_heads(step_tensors *s, char *error, size_t error_size)
{
	for (int64_t h = 0; h < s->w.H; h++)
		for (int64_t t = 0; t < s->w.T; t++)
			if (!compare_head(s, h, t, error, error_size))
				return false;
	return true;
}

static bool all_finite(const explain_problem *p, const step *s, char *error, size_t error_size)
{
	bool scores = strcmp(s->name, "scores") == 0 || strcmp(s->name, "scaled") == 0 ||
	              strcmp(s->name, "masked") == 0;
	int64_t rows = s->values.rank == 1 ? 1 : s->values.shape[0];
	int64_t columns = s->values.shape[s->values.rank - 1];
	for (int64_t t = 0; t < rows; t++)
		for (int64_t c = 0; c < columns; c++) {
			double value = value_at(&s->values, t, c);
			if (isfinite(value) || (scores && !problem_sees(p, t, c)))
				continue;
			char head[48] = "";
			if (s->head >= 0)
				snprintf(head, sizeof head, " of head %" PRId64, s->head);
			snprintf(error, error_size,
			         "%s%s is %g at row %" PRId64 ", column %" PRId64
			         ": the numbers given are too large for 32-bit floats",
			         s->name, head, value, t, c);
			return false;
		}
	return true;
}

static hec_status run_steps(step_tensors *s)
{
	const explain_problem *p = s->w.p;
	for (int i = 0; i < GIVEN_COUNT; i++)
		if (is_given(p, (given)i))
			add_step(s->out, given_names[i], -1, &p->given[i]);
	TRY(pass_forward(&s->w));
	TRY(compute_unfused(s));
	for (int64_t h = 0; h < s->w.H; h++)
		TRY(list_head(s, h));
	add_step(s->out, "concat", -1, &s->w.concat);
	s->out->output = s->w.output;
	add_step(s->out, "output", -1, &s->out->output);
	return p->block ? block_steps(s->w.ctx, p, s->out) : HEC_OK;
}

static size_t arena_bytes(const explain_problem *p)
{
	int64_t T = p->given[GIVEN_X].shape[0], S = key_source(p)->shape[0];
	int64_t numbers = pass_numbers(p) + 4 * p->heads * T * S + T * p->heads * p->d_v;
	if (p->block)
		numbers += block_numbers(T, p->given[GIVEN_X].shape[1]);
	return (size_t)numbers * sizeof(float) + (PASS_TENSORS + 16) * 64; /* each is aligned */
}

hec_status explain_compute(hec_ctx *ctx, const explain_problem *p, explain_steps *out, char *error,
                           size_t error_size)
{
	*out = (explain_steps){0};
	step_tensors s = {.out = out};
	out->steps =
		calloc((size_t)p->heads * 8 + GIVEN_COUNT + 2 + BLOCK_STEPS, sizeof *out->steps);
	hec_status status =
		out->steps ? hec_arena_create(arena_bytes(p), &out->arena) : HEC_ERR_MEMORY;
	if (status == HEC_OK)
		status = pass_make(ctx, p, HEC_F32, out->arena, &s.w);
	if (status == HEC_OK)
		status = run_steps(&s);
	if (status != HEC_OK) {
		snprintf(error, error_size, "%s",
		         out->steps ? hec_error_message() : "out of memory");
		return status;
	}
	for (size_t i = 0; i < out->count; i++)
		if (!all_finite(p, &out->steps[i], error, error_size))
			return HEC_ERR_ARGUMENT;
	for (int64_t t = 0; t < s.w.T; t++) {
		int64_t seen = 0;
		for (int64_t k = 0; k < s.w.S; k++)
			seen += problem_sees(p, t, k);
		out->blind_rows += seen == 0;
	}
	return compare_heads(&s, error, error_size) ? HEC_OK : HEC_ERR_INTERNAL;
}

void explain_steps_free(explain_steps *s)
{
	free(s->steps);
	hec_arena_destroy(s->arena);
	*s = (explain_steps){0};
}
