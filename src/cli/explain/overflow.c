/* overflow.c — the softmax with and without the subtraction of the row's maximum, on the
 * last row of a problem and on larger inputs. The naive one is computed here, as its formula is written;
 * the other one by the library. */
#include "cli/explain/overflow.h"

#include <math.h>

#include <hecate/attention.h>

#include "cli/explain/matrix_text.h"

#define KEYS_MOST 16
#define SIZES 3

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

/* Each row of x, times a factor, through both. */
static hec_status run_both(hec_ctx *ctx, const hec_tensor *scaled, int64_t S,
                           float x[SIZES][KEYS_MOST], float naive[SIZES][KEYS_MOST],
                           float right[SIZES][KEYS_MOST])
{
	static const float factors[SIZES] = {0.1f, 1, 10};
	for (int f = 0; f < SIZES; f++) {
		for (int64_t i = 0; i < S; i++)
			x[f][i] = factors[f] * (float)value_at(scaled, scaled->shape[0] - 1, i);
		naive_softmax(x[f], S, naive[f]);
		hec_status status = library_softmax(ctx, x[f], S, right[f]);
		if (status != HEC_OK)
			return status;
	}
	return HEC_OK;
}

hec_status explain_show_overflow(hec_ctx *ctx, const terminal *term, const explain_problem *p,
                                 const explain_steps *s)
{
	static char *const rows[SIZES] = {"0.1·scaled", "scaled", "10·scaled"};
	const hec_tensor *scaled = &find_step(s, "scaled", 0)->values;
	int64_t S = scaled->shape[1] < KEYS_MOST ? scaled->shape[1] : KEYS_MOST;
	float numbers[3][SIZES][KEYS_MOST];
	hec_status status = run_both(ctx, scaled, S, numbers[0], numbers[1], numbers[2]);
	if (status != HEC_OK)
		return status;

	text heading = {0}, blocks[3] = {{0}};
	text_ink(&heading, term, INK_STEP);
	text_add(&heading, "Why the maximum is subtracted");
	text_ink(&heading, term, INK_PLAIN);
	fprintf(term->out, "\n%s\n", heading.data);
	text_free(&heading);
	terminal_words(
		term, INK_FAINT, 2,
		"The last row once more, smaller and larger. exp(x) is above the largest float "
		"where x > 88.7, and ∞/∞ is not a number. exp(x − max)/Σ is the same quotient "
		"and never overflows.");
	static const char *const titles[] = {"x", "exp(x)/Σ", "exp(x − max)/Σ"};
	for (int i = 0; i < 3; i++) {
		hec_tensor t = hec_tensor_2d(numbers[i], HEC_F32, SIZES, S);
		t.stride[0] = KEYS_MOST;
		matrix_look look = {.title = titles[i],
		                    .rows = rows,
		                    .columns = p->tokens,
		                    .most_rows = SIZES,
		                    .most_columns = 8};
		text_matrix(&blocks[i], term, &t, &look);
	}
	fputc('\n', term->out);
	terminal_flow(term, blocks, 3);
	return HEC_OK;
}
