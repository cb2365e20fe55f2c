/* explain_overflow.c — the softmax with and without the subtraction of the row's maximum, on the
 * last row of a problem and on larger inputs. The naive one is computed here, as tutorials write
 * it; the other one by the library. */
#include "explain_overflow.h"

#include <math.h>

#include <hecate/attention.h>

#include "matrix_text.h"

#define KEYS_MOST 16

/* exp(x) / Σ exp(x) in floats: overflows where x is above 88.7. */
static void naive_softmax(const float *x, int64_t n, float *y)
{
	float sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += y[i] = expf(x[i]);
	for (int64_t i = 0; i < n; i++)
		y[i] /= sum;
}

/* The library's softmax of one row: attention of a query whose scaled scores are x, because the
 * keys are the numbers themselves and K = 1. */
static hec_status library_softmax(hec_ctx *ctx, float *x, int64_t n, float *y)
{
	float one = 1;
	hec_tensor q = hec_tensor_4d(&one, HEC_F32, 1, 1, 1, 1);
	hec_tensor k = hec_tensor_4d(x, HEC_F32, 1, n, 1, 1);
	hec_tensor weights = hec_tensor_4d(y, HEC_F32, 1, 1, 1, n);
	hec_attention_steps steps = {.size = sizeof steps, .weights = &weights};
	return hec_attention_unfused(ctx, NULL, &q, &k, &k, NULL, &steps);
}

hec_status explain_show_overflow(hec_ctx *ctx, const terminal *term, const explain_problem *p,
                                 const explain_steps *s)
{
	const hec_tensor *scaled = &find_step(s, "scaled", 0)->values;
	int64_t S = scaled->shape[1] < KEYS_MOST ? scaled->shape[1] : KEYS_MOST;
	static const float factors[] = {0.1f, 1, 10};
	static const char *const names[] = {"0.1·scaled", "scaled", "10·scaled"};
	float x[3][KEYS_MOST], naive[3][KEYS_MOST], right[3][KEYS_MOST];
	for (int f = 0; f < 3; f++) {
		for (int64_t i = 0; i < S; i++)
			x[f][i] = factors[f] * (float)value_at(scaled, scaled->shape[0] - 1, i);
		naive_softmax(x[f], S, naive[f]);
		hec_status status = library_softmax(ctx, x[f], S, right[f]);
		if (status != HEC_OK)
			return status;
	}
	(void)p;
	fputc('\n', term->out);
	text heading = {0};
	text_ink(&heading, term, INK_STEP);
	text_add(&heading, "Why the maximum is subtracted");
	text_ink(&heading, term, INK_PLAIN);
	fprintf(term->out, "%s\n", heading.data ? heading.data : "");
	text_free(&heading);
	terminal_words(
		term, INK_FAINT, 2,
		"The last row again, smaller and larger. exp(x) is above the largest float for "
		"x > 88.7, and ∞/∞ is not a number (NaN). exp(x − max)/Σ is the same quotient and "
		"never overflows.");
	for (int f = 0; f < 3; f++) {
		text blocks[3] = {{0}};
		const float *const rows[] = {x[f], naive[f], right[f]};
		const char *const titles[] = {names[f], "exp(x)/Σ", "exp(x − max)/Σ"};
		for (int i = 0; i < 3; i++) {
			hec_tensor t = hec_tensor_1d((void *)rows[i], HEC_F32, S);
			matrix_look look = {.title = titles[i], .most_rows = 1, .most_columns = 8};
			text_matrix(&blocks[i], term, &t, &look);
		}
		fputc('\n', term->out);
		terminal_flow(term, blocks, 3);
	}
	return HEC_OK;
}
