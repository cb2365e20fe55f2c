/* gradient.c — the steps of the backward pass as a list, and the library's gradient beside them. */
#include "cli/explain/gradient.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <hecate/ops.h>

#include "cli/command/try.h"

const char *const gradient_names[GIVEN_COUNT] = {"dX",   "d_memory", "dW_Q",    "dW_K",
                                                 "dW_V", "dW_O",     "db_Q",    "db_K",
                                                 "db_V", "db_O",     "d_output"};

#define FLOAT_UNIT (FLT_EPSILON / 2)
#define DOUBLE_UNIT (DBL_EPSILON / 2)
#define UNITS                                                                                      \
	(FLOAT_UNIT /                                                                              \
	 DOUBLE_UNIT) /* the bounds of the chain, of doubles, times this are those of floats */
#define SCORE_OFF_MOST 0.08 /* of a score in floats; up to here e^2x − 1 is below 1.1·2x … */
#define CURVED 1.1          /* … and the bounds still grow in proportion */

static hec_status list_steps(const chain *c, explain_steps *out)
{
	add_step(out, "d_output", -1, &c->d_output.value);
	if (is_given(c->p, GIVEN_W_O))
		add_step(out, "d_concat", -1, &c->d_concat.value);
	const struct {
		const char *name;
		const bounded *of;
		int64_t width; /* of a head's columns; 0: the heads stand below one another */
	} parts[] = {{"d_head", &c->d_concat, c->D},
	             {"dV", &c->dv, c->D},
	             {"d_weights", &c->d_weights, 0},
	             {"row_sums", &c->row_sums, 0},
	             {"d_scaled", &c->d_scaled, 0},
	             {"d_scores", &c->d_scores, 0},
	             {"dQ", &c->dq, c->K},
	             {"dK", &c->dk, c->K}};
	for (int64_t h = 0; h < c->H; h++)
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			bounded view = parts[i].width > 0
			                       ? bounded_columns(parts[i].of, h * parts[i].width,
			                                         parts[i].width)
			                       : bounded_rows(parts[i].of, h * c->T, c->T);
			add_step(out, parts[i].name, h, &view.value);
		}
	for (int i = GIVEN_B_O; i >= 0; i--) { /* from the output back to the input */
		if (!is_given(c->p, (given)i))
			continue;
		hec_tensor t = c->d_given[i].value;
		if (is_bias((given)i))
			t = hec_tensor_1d(t.data, HEC_F64, t.shape[1]);
		add_step(out, gradient_names[i], -1, &t);
	}
	return HEC_OK;
}

/* ---- the library's gradient ---- */

typedef struct comparison {
	double units;      /* of the bounds of the chain */
	difference *worst; /* so far */
	char *error;
	size_t error_size;
} comparison;

static bool compare_with(const comparison *k, const bounded *steps, const char *name,
                         const hec_tensor *library)
{
	for (int64_t r = 0; r < steps->value.shape[0]; r++)
		for (int64_t i = 0; i < steps->value.shape[1]; i++) {
			difference d = {name,
			                r,
			                i,
			                *double_at(&steps->value, r, i),
			                value_at(library, r, i),
			                *double_at(&steps->error, r, i) * k->units};
			if (!isfinite(d.other)) {
				snprintf(k->error, k->error_size,
				         "%s is %s at row %" PRId64 ", column %" PRId64
				         ": the numbers given are too large for the gradients of "
				         "32-bit floats",
				         name, isnan(d.other) ? "not a number" : "infinite", r, i);
				return false;
			}
			bool fails = !difference_agrees(&d), failed = !difference_agrees(k->worst);
			if (fails > failed ||
			    (fails == failed && difference_apart(&d) >= difference_apart(k->worst)))
				*k->worst = d;
		}
	return true;
}

static bool compare_all(const comparison *k, const chain *c, const pass_gradient *library)
{
	if (!compare_with(k, &c->dv, "dV", &library->v) ||
	    !compare_with(k, &c->dq, "dQ", &library->q) ||
	    !compare_with(k, &c->dk, "dK", &library->k))
		return false;
	for (int i = 0; i <= GIVEN_B_O; i++)
		if (is_given(c->p, (given)i) &&
		    !compare_with(k, &c->d_given[i], gradient_names[i], &library->given[i]))
			return false;
	return true;
}

/* Rounding of large scores decides the weights: nothing can be said of their gradient. The bounds are
 * those of doubles, times `units`. */
static bool rounding_decides(const chain *c, double units)
{
	for (int64_t t = 0; t < c->H * c->T; t++)
		for (int64_t s = 0; s < c->S; s++)
			if (problem_sees(c->p, t % c->T, s) &&
			    *double_at(&c->scaled.error, t, s) * units > SCORE_OFF_MOST)
				return true;
	return false;
}

static hec_status compare_in(hec_dtype dtype, const pass *doubles, const chain *c,
                             explain_gradient *g, char *error, size_t error_size)
{
	const int which = dtype == HEC_F64 ? LIBRARY_DOUBLES : LIBRARY_FLOATS;
	const comparison k = {.units = dtype == HEC_F64 ? 2 : UNITS * CURVED,
	                      .worst = &g->library[which].worst,
	                      .error = error,
	                      .error_size = error_size};
	pass w = *doubles;
	pass_gradient library;
	hec_tensor d_output;
	g->library[which].done = !rounding_decides(c, dtype == HEC_F64 ? 1 : UNITS);
	if (!g->library[which].done)
		return HEC_OK;
	if (dtype != HEC_F64)
		TRY(pass_make(doubles->ctx, c->p, dtype, doubles->arena, &w));
	TRY(pass_forward(&w));
	TRY(hec_arena_tensor(w.arena, dtype, 2, c->d_output.value.shape, &d_output));
	TRY(hec_tensor_copy(w.ctx, &c->d_output.value, &d_output));
	TRY(pass_backward(&w, &d_output, &library));
	return compare_all(&k, c, &library) ? HEC_OK : HEC_ERR_ARGUMENT;
}

/* ---- all of it ---- */

static size_t arena_bytes(const explain_problem *p)
{
	size_t tensors = BOUNDED_TENSORS + 2 * PASS_TENSORS;
	return (size_t)explain_backward_numbers(p) * sizeof(float) + tensors * 128;
}

static hec_status run_backward(hec_ctx *ctx, const explain_problem *p, explain_gradient *g,
                               char *error, size_t error_size)
{
	const rounding doubles = {DOUBLE_UNIT, FLT_MIN / UNITS};
	hec_arena *arena = g->steps.arena;
	pass w;
	chain c;
	TRY(pass_make(ctx, p, HEC_F64, arena, &w));
	TRY(chain_make(p, w.given, doubles, arena, &c));
	chain_forward(&c);
	chain_backward(&c);
	g->loss = c.loss;
	TRY(list_steps(&c, &g->steps));
	TRY(compare_in(HEC_F64, &w, &c, g, error, error_size));
	TRY(compare_in(HEC_F32, &w, &c, g, error, error_size));
	return rounding_decides(&c, 1) ? HEC_OK : explain_differentiate(&w, &c, g);
}

hec_status explain_backward(hec_ctx *ctx, const explain_problem *p, explain_gradient *out,
                            char *error, size_t error_size)
{
	*out = (explain_gradient){.loss = 0};
	*error = '\0';
	out->steps.steps = calloc((size_t)p->heads * 8 + GIVEN_COUNT + 2, sizeof(step));
	hec_status status = out->steps.steps ? hec_arena_create(arena_bytes(p), &out->steps.arena)
	                                     : HEC_ERR_MEMORY;
	bool library = out->steps.steps != NULL;
	if (status == HEC_OK)
		status = run_backward(ctx, p, out, error, error_size);
	if (status != HEC_OK && !*error)
		snprintf(error, error_size, "%s", library ? hec_error_message() : "out of memory");
	return status;
}

bool explain_gradient_agrees(const explain_gradient *g, char *error, size_t error_size)
{
	static const char *const ways[] = {"the library's backward pass in doubles",
	                                   "the library's backward pass in floats",
	                                   "differences of the loss"};
	const difference *d = NULL;
	const char *way = ways[2];
	for (int i = 0; i < 2 && !d; i++)
		if (g->library[i].done && !difference_agrees(&g->library[i].worst)) {
			d = &g->library[i].worst;
			way = ways[i];
		}
	for (size_t i = 0; i < g->count && !d; i++)
		if (!difference_agrees(&g->differences[i]))
			d = &g->differences[i];
	if (!d)
		return true;
	snprintf(error, error_size,
	         "%s[%" PRId64 "][%" PRId64 "] is %.9g by its formula and %.9g by %s: %.3g apart, "
	         "the errors of both allow %.3g",
	         d->name, d->row, d->column, d->analytic, d->other, way, difference_apart(d),
	         d->allowed);
	return false;
}

void explain_gradient_free(explain_gradient *g)
{
	explain_steps_free(&g->steps);
	free(g->differences);
	*g = (explain_gradient){.loss = 0};
}
