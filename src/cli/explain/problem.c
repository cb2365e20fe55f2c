/* problem.c — memory and checks of a problem, wherever it came from. */
#include "cli/explain/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <hecate/multi_head.h>

#include "cli/io/plural.h"

const char *const given_names[GIVEN_COUNT] = {"X",   "memory", "W_Q", "W_K", "W_V",     "W_O",
                                              "b_Q", "b_K",    "b_V", "b_O", "d_output"};

/* Beyond these nobody reads the numbers any more, and a small file could ask for much memory and
 * time. */
#define HEADS_MOST INT64_C(4096)
#define SIZE_MOST (INT64_C(1) << 20)     /* of d_k, d_v */
#define NUMBERS_MOST (INT64_C(1) << 26)  /* of all steps together */
#define PRODUCTS_MOST (INT64_C(1) << 31) /* to compute them */

/* Backward, each number forward and each one given has at most: a double, its gradient and the bounds of both
 * (16 floats, but scores and weights, which are 4 of the 4·H·T·S, have 5 matrices: 20 of 16), a double to be
 * moved, and floats of the library's pass. */
#define FLOATS_PER_NUMBER 16

void explain_problem_free(explain_problem *p)
{
	for (int i = 0; i < GIVEN_COUNT; i++)
		free(p->given[i].data);
	free(p->mask.data);
	for (size_t i = 0; i < p->token_count; i++)
		free(p->tokens[i]);
	free(p->tokens);
	*p = (explain_problem){0};
}

bool explain_problem_make(explain_problem *p, given which, int rank, int64_t rows, int64_t columns)
{
	float *data = calloc((size_t)(rank == 1 ? columns : rows * columns), sizeof *data);
	if (!data)
		return false;
	free(p->given[which].data);
	p->given[which] = rank == 1 ? hec_tensor_1d(data, HEC_F32, columns)
	                            : hec_tensor_2d(data, HEC_F32, rows, columns);
	return true;
}

bool explain_problem_make_mask(explain_problem *p, int64_t rows, int64_t columns)
{
	int8_t *data = calloc((size_t)(rows * columns), 1);
	if (!data)
		return false;
	free(p->mask.data);
	p->mask = hec_tensor_2d(data, HEC_I8, rows, columns);
	return true;
}

#define SAY(...) (snprintf(error, error_size, __VA_ARGS__), false)
#define N PRId64

static bool check_size(const char *name, int64_t value, int64_t most, char *error,
                       size_t error_size)
{
	if (value >= 1 && value <= most)
		return true;
	return SAY("%s is %" N ", it must be from 1 to %" N, name, value, most);
}

/* The product a·b of two matrices: as many rows in b as columns in a. */
static bool check_product(const explain_problem *p, given a, given b, char *error,
                          size_t error_size)
{
	const hec_tensor *x = &p->given[a], *w = &p->given[b];
	if (x->shape[1] == w->shape[0])
		return true;
	return SAY("%s has shape [%" N ", %" N "] and %s has shape [%" N ", %" N "]: for %s·%s, %s "
	           "must have as many rows as %s has columns (%" N " is not %" N ")",
	           given_names[a], x->shape[0], x->shape[1], given_names[b], w->shape[0],
	           w->shape[1], given_names[a], given_names[b], given_names[b], given_names[a],
	           w->shape[0], x->shape[1]);
}

/* Columns of W are heads · d; *d is filled in where it was left open. */
static bool check_columns(const explain_problem *p, given which, const char *d_name, int64_t *d,
                          char *error, size_t error_size)
{
	const char *name = given_names[which];
	int64_t columns = p->given[which].shape[1];
	if (*d == 0) {
		if (columns % p->heads != 0 || columns < p->heads)
			return SAY("%s has %" N " column%s: %" N " does not divide by %" N
			           " heads; say %s, or give another number of heads",
			           name, columns, plural(columns), columns, p->heads, d_name);
		*d = columns / p->heads;
	}
	if (!check_size(d_name, *d, SIZE_MOST, error, error_size))
		return false;
	if (columns != p->heads * *d)
		return SAY("%s has shape [%" N ", %" N "], %" N " head%s of %s = %" N " need%s [%" N
		           ", %" N "]",
		           name, p->given[which].shape[0], columns, p->heads, plural(p->heads),
		           d_name, *d, p->heads == 1 ? "s" : "", p->given[which].shape[0],
		           p->heads * *d);
	return true;
}

static bool check_bias(const explain_problem *p, given bias, given weight, char *error,
                       size_t error_size)
{
	if (!is_given(p, bias))
		return true;
	if (!is_given(p, weight))
		return SAY("%s is given without %s", given_names[bias], given_names[weight]);
	if (p->given[bias].shape[0] == p->given[weight].shape[1])
		return true;
	return SAY("%s has %" N " number%s, %s has shape [%" N ", %" N "]: it needs %" N,
	           given_names[bias], p->given[bias].shape[0], plural(p->given[bias].shape[0]),
	           given_names[weight], p->given[weight].shape[0], p->given[weight].shape[1],
	           p->given[weight].shape[1]);
}

static bool check_masks(const explain_problem *p, char *error, size_t error_size)
{
	int64_t T = p->given[GIVEN_X].shape[0], S = key_source(p)->shape[0];
	if (p->mask.rank > 0 && (p->mask.shape[0] != T || p->mask.shape[1] != S))
		return SAY("mask has shape [%" N ", %" N "], %" N " quer%s and %" N
		           " key%s need [%" N ", %" N "]",
		           p->mask.shape[0], p->mask.shape[1], T, T == 1 ? "y" : "ies", S,
		           plural(S), T, S);
	if (p->tokens && p->token_count != (size_t)T)
		return SAY("tokens has %zu entr%s, X has %" N " row%s", p->token_count,
		           p->token_count == 1 ? "y" : "ies", T, plural(T));
	return true;
}

static double output_width(const explain_problem *p)
{
	return is_given(p, GIVEN_W_O) ? (double)p->given[GIVEN_W_O].shape[1]
	                              : (double)p->heads * (double)p->d_v;
}

static bool check_gradient(const explain_problem *p, char *error, size_t error_size)
{
	const hec_tensor *d = &p->given[GIVEN_D_OUTPUT];
	int64_t T = p->given[GIVEN_X].shape[0], out = (int64_t)output_width(p);
	if (!is_given(p, GIVEN_D_OUTPUT) || (d->shape[0] == T && d->shape[1] == out))
		return true;
	return SAY("d_output has shape [%" N ", %" N "], the output has [%" N ", %" N "]",
	           d->shape[0], d->shape[1], T, out);
}

double explain_problem_numbers(const explain_problem *p)
{
	double T = (double)p->given[GIVEN_X].shape[0], S = (double)key_source(p)->shape[0];
	double H = (double)p->heads, K = (double)p->d_k, D = (double)p->d_v;
	return (T + S) * H * K + S * H * D + 4 * H * T * S + 2 * T * H * D + T * output_width(p);
}

double explain_problem_products(const explain_problem *p)
{
	double T = (double)p->given[GIVEN_X].shape[0], S = (double)key_source(p)->shape[0];
	double H = (double)p->heads, K = (double)p->d_k, D = (double)p->d_v;
	double C = (double)p->given[GIVEN_X].shape[1], M = (double)key_source(p)->shape[1];
	return T * C * H * K + S * M * H * (K + D) + H * T * S * (K + D) +
	       T * H * D * output_width(p);
}

double explain_backward_numbers(const explain_problem *p)
{
	double all = 0;
	for (int i = 0; i < GIVEN_COUNT; i++)
		all += is_given(p, (given)i) ? (double)hec_tensor_count(&p->given[i]) : 0;
	return FLOATS_PER_NUMBER * (explain_problem_numbers(p) + all);
}

static bool check_amount(const explain_problem *p, char *error, size_t error_size)
{
	const hec_tensor *given_t = p->given;
	double T = (double)given_t[GIVEN_X].shape[0], S = (double)key_source(p)->shape[0];
	double H = (double)p->heads;
	double numbers = explain_problem_numbers(p), products = explain_problem_products(p);
	const char *way = p->backward ? ", forward and backward," : "";
	if (p->backward) {
		numbers = explain_backward_numbers(p);
		products *= 3;
	}
	if (numbers > (double)NUMBERS_MOST)
		return SAY(
			"%.0f queries, %.0f keys and %.0f heads%s are %.0f numbers to show, more "
			"than "
			"%" N,
			T, S, H, way, numbers, NUMBERS_MOST);
	if (products > (double)PRODUCTS_MOST)
		return SAY("%.0f queries, %.0f keys and %.0f heads of this size%s take %.0f "
		           "products, more "
		           "than %" N,
		           T, S, H, way, products, PRODUCTS_MOST);
	return true;
}

bool explain_problem_check(explain_problem *p, char *error, size_t error_size)
{
	static const given needed[] = {GIVEN_X, GIVEN_W_Q, GIVEN_W_K, GIVEN_W_V};
	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		if (!is_given(p, needed[i]))
			return SAY("%s is missing", given_names[needed[i]]);
	given source = is_given(p, GIVEN_MEMORY) ? GIVEN_MEMORY : GIVEN_X;
	if (!check_size("heads", p->heads, HEADS_MOST, error, error_size) ||
	    !check_product(p, GIVEN_X, GIVEN_W_Q, error, error_size) ||
	    !check_product(p, source, GIVEN_W_K, error, error_size) ||
	    !check_product(p, source, GIVEN_W_V, error, error_size) ||
	    !check_columns(p, GIVEN_W_Q, "d_k", &p->d_k, error, error_size) ||
	    !check_columns(p, GIVEN_W_K, "d_k", &p->d_k, error, error_size) ||
	    !check_columns(p, GIVEN_W_V, "d_v", &p->d_v, error, error_size))
		return false;
	const hec_tensor *out = &p->given[GIVEN_W_O];
	if (is_given(p, GIVEN_W_O) && out->shape[0] != p->heads * p->d_v)
		return SAY("W_O has shape [%" N ", %" N "], %" N " head%s of d_v = %" N
		           " side by side: [%" N ", %" N "], so W_O needs %" N " row%s",
		           out->shape[0], out->shape[1], p->heads, plural(p->heads), p->d_v,
		           p->given[GIVEN_X].shape[0], p->heads * p->d_v, p->heads * p->d_v,
		           plural(p->heads * p->d_v));
	return check_bias(p, GIVEN_B_Q, GIVEN_W_Q, error, error_size) &&
	       check_bias(p, GIVEN_B_K, GIVEN_W_K, error, error_size) &&
	       check_bias(p, GIVEN_B_V, GIVEN_W_V, error, error_size) &&
	       check_bias(p, GIVEN_B_O, GIVEN_W_O, error, error_size) &&
	       check_masks(p, error, error_size) && check_gradient(p, error, error_size) &&
	       check_amount(p, error, error_size);
}
