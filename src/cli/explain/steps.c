/* steps.c — the computation, each step by a public call of the library. */
#include "cli/explain/steps.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/attention.h>
#include <hecate/linear.h>

#include "cli/explain/block.h"
#include "cli/command/try.h"

/* Sizes and tensors while computing. */
typedef struct step_tensors {
	hec_ctx *ctx;
	const explain_problem *p;
	explain_steps *out;
	int64_t T, S, H, K, D;
	hec_tensor q, k, v;                         /* [T or S, H·K or H·D] */
	hec_tensor scores, scaled, masked, weights; /* [1, H, T, S] */
	hec_tensor fused, unfused;                  /* [T, H·D] */
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

static void add_step(explain_steps *out, const char *name, int64_t head, const hec_tensor *values)
{
	out->steps[out->count++] = (step){name, head, *values};
}

static hec_status make_matrix(step_tensors *w, int64_t rows, int64_t columns, hec_tensor *out)
{
	return hec_arena_tensor(w->out->arena, HEC_F32, 2, (const int64_t[]){rows, columns}, out);
}

/* y = x·W + b, made in the arena. The library keeps W as [out, in]: a transposed view. */
static hec_status project_input(step_tensors *w, const hec_tensor *x, given weight, given bias,
                                hec_tensor *y)
{
	hec_linear linear = {.b = w->p->given[bias]};
	TRY(hec_tensor_transpose(&w->p->given[weight], 0, 1, &linear.w));
	TRY(make_matrix(w, x->shape[0], w->p->given[weight].shape[1], y));
	return hec_linear_fwd(w->ctx, &linear, HEC_ACT_NONE, x, NULL, y, NULL);
}

static hec_status as_heads(const step_tensors *w, const hec_tensor *t, int64_t size,
                           hec_tensor *out)
{
	return hec_tensor_reshape(t, 4, (const int64_t[]){1, t->shape[0], w->H, size}, out);
}

static hec_status compute_attention(step_tensors *w)
{
	int64_t scores_shape[] = {1, w->H, w->T, w->S};
	hec_tensor *const matrices[] = {&w->scores, &w->scaled, &w->masked, &w->weights};
	for (int i = 0; i < 4; i++)
		TRY(hec_arena_tensor(w->out->arena, HEC_F32, 4, scores_shape, matrices[i]));
	TRY(make_matrix(w, w->T, w->H * w->D, &w->fused));
	TRY(make_matrix(w, w->T, w->H * w->D, &w->unfused));

	hec_tensor q, k, v, fused, unfused;
	TRY(as_heads(w, &w->q, w->K, &q));
	TRY(as_heads(w, &w->k, w->K, &k));
	TRY(as_heads(w, &w->v, w->D, &v));
	TRY(as_heads(w, &w->fused, w->D, &fused));
	TRY(as_heads(w, &w->unfused, w->D, &unfused));

	hec_mask mask = HEC_MASK_INIT;
	mask.causal = w->p->causal;
	if (w->p->mask.rank > 0)
		TRY(hec_tensor_reshape(&w->p->mask, 4, (const int64_t[]){1, 1, w->T, w->S},
		                       &mask.visible));
	hec_attention_steps steps = {.size = sizeof steps,
	                             .scores = &w->scores,
	                             .scaled = &w->scaled,
	                             .masked = &w->masked,
	                             .weights = &w->weights,
	                             .out = &unfused};
	TRY(hec_attention_unfused(w->ctx, NULL, &q, &k, &v, &mask, &steps));
	return hec_attention_fwd(w->ctx, NULL, &q, &k, &v, &mask, &fused, NULL);
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

static hec_status list_head(step_tensors *w, int64_t h)
{
	hec_tensor view;
	TRY(hec_tensor_slice(&w->q, 1, h * w->K, w->K, &view));
	add_step(w->out, "Q", h, &view);
	TRY(hec_tensor_slice(&w->k, 1, h * w->K, w->K, &view));
	add_step(w->out, "K", h, &view);
	TRY(hec_tensor_slice(&w->v, 1, h * w->D, w->D, &view));
	add_step(w->out, "V", h, &view);
	const hec_tensor *const matrices[] = {&w->scores, &w->scaled, &w->masked, &w->weights};
	static const char *const names[] = {"scores", "scaled", "masked", "weights"};
	for (int i = 0; i < 4; i++) {
		view = head_matrix(matrices[i], h);
		add_step(w->out, names[i], h, &view);
	}
	TRY(hec_tensor_slice(&w->fused, 1, h * w->D, w->D, &view));
	add_step(w->out, "head", h, &view);
	return HEC_OK;
}

/* How far two float computations of one output element may be apart, by the usual count of
 * roundings (unit roundoff u): a score of K products is off by at most (K + 6)·u·Σ|q·k|/√K, which
 * moves a weight by a factor of at most exp of twice that; the softmax and the sum over S keys add
 * at most (2S + 16)·u. Both computations may be off, in opposite directions. */
static double score_rounding(const step_tensors *w, int64_t h, int64_t t)
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

static double allowed_difference(const step_tensors *w, int64_t h, int64_t t, int64_t d, double off)
{
	hec_tensor weights = head_matrix(&w->weights, h);
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

static bool compare_head(step_tensors *w, int64_t h, int64_t t, char *error, size_t error_size)
{
	explain_steps *out = w->out;
	double off = score_rounding(w, h, t);
	for (int64_t d = 0; d < w->D; d++) {
		double fused = value_at(&w->fused, t, h * w->D + d);
		double unfused = value_at(&w->unfused, t, h * w->D + d);
		double difference = fabs(fused - unfused),
		       bound = allowed_difference(w, h, t, d, off);
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

static bool compare_heads(step_tensors *w, char *error, size_t error_size)
{
	for (int64_t h = 0; h < w->H; h++)
		for (int64_t t = 0; t < w->T; t++)
			if (!compare_head(w, h, t, error, error_size))
				return false;
	return true;
}

static bool all_finite(const step_tensors *w, const step *s, char *error, size_t error_size)
{
	bool scores = strcmp(s->name, "scores") == 0 || strcmp(s->name, "scaled") == 0 ||
	              strcmp(s->name, "masked") == 0;
	int64_t rows = s->values.rank == 1 ? 1 : s->values.shape[0];
	int64_t columns = s->values.shape[s->values.rank - 1];
	for (int64_t t = 0; t < rows; t++)
		for (int64_t c = 0; c < columns; c++) {
			double value = value_at(&s->values, t, c);
			if (isfinite(value) || (scores && !problem_sees(w->p, t, c)))
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

static hec_status list_given(step_tensors *w)
{
	for (int i = 0; i < GIVEN_COUNT; i++)
		if (is_given(w->p, (given)i))
			add_step(w->out, given_names[i], -1, &w->p->given[i]);
	return HEC_OK;
}

static hec_status run_steps(step_tensors *w)
{
	const explain_problem *p = w->p;
	TRY(list_given(w));
	TRY(project_input(w, &p->given[GIVEN_X], GIVEN_W_Q, GIVEN_B_Q, &w->q));
	TRY(project_input(w, key_source(p), GIVEN_W_K, GIVEN_B_K, &w->k));
	TRY(project_input(w, key_source(p), GIVEN_W_V, GIVEN_B_V, &w->v));
	TRY(compute_attention(w));
	for (int64_t h = 0; h < w->H; h++)
		TRY(list_head(w, h));
	add_step(w->out, "concat", -1, &w->fused);
	w->out->output = w->fused;
	if (is_given(p, GIVEN_W_O))
		TRY(project_input(w, &w->fused, GIVEN_W_O, GIVEN_B_O, &w->out->output));
	add_step(w->out, "output", -1, &w->out->output);
	if (p->block)
		TRY(block_steps(w->ctx, p, w->out));
	return HEC_OK;
}

static size_t arena_bytes(const step_tensors *w)
{
	int64_t out = is_given(w->p, GIVEN_W_O) ? w->p->given[GIVEN_W_O].shape[1] : 0;
	int64_t numbers = (w->T + w->S) * w->H * w->K + w->S * w->H * w->D +
	                  4 * w->H * w->T * w->S + 2 * w->T * w->H * w->D + w->T * out;
	if (w->p->block)
		numbers += block_numbers(w->T, w->p->given[GIVEN_X].shape[1]);
	return (size_t)numbers * sizeof(float) + 64 * 64; /* and the alignment of each */
}

hec_status explain_compute(hec_ctx *ctx, const explain_problem *p, explain_steps *out, char *error,
                           size_t error_size)
{
	*out = (explain_steps){0};
	step_tensors w = {.ctx = ctx,
	                  .p = p,
	                  .out = out,
	                  .T = p->given[GIVEN_X].shape[0],
	                  .S = key_source(p)->shape[0],
	                  .H = p->heads,
	                  .K = p->d_k,
	                  .D = p->d_v};
	out->steps = calloc((size_t)w.H * 8 + GIVEN_COUNT + 2 + BLOCK_STEPS, sizeof *out->steps);
	hec_status status =
		out->steps ? hec_arena_create(arena_bytes(&w), &out->arena) : HEC_ERR_MEMORY;
	if (status == HEC_OK)
		status = run_steps(&w);
	if (status != HEC_OK) {
		snprintf(error, error_size, "%s",
		         out->steps ? hec_error_message() : "out of memory");
		return status;
	}
	for (size_t i = 0; i < out->count; i++)
		if (!all_finite(&w, &out->steps[i], error, error_size))
			return HEC_ERR_ARGUMENT;
	for (int64_t t = 0; t < w.T; t++) {
		int64_t seen = 0;
		for (int64_t s = 0; s < w.S; s++)
			seen += problem_sees(p, t, s);
		out->blind_rows += seen == 0;
	}
	return compare_heads(&w, error, error_size) ? HEC_OK : HEC_ERR_INTERNAL;
}

void explain_steps_free(explain_steps *s)
{
	free(s->steps);
	hec_arena_destroy(s->arena);
	*s = (explain_steps){0};
}
