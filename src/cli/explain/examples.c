/* examples.c — the table of built-in examples. Small ones have fixed matrices or weights in
 * [0, 1), as they were published; wide ones have weights of variance 1/d_model, without which a softmax
 * over hundreds of products picks one key and nothing is left to see. */
#include "cli/explain/examples.h"
#include "cli/command/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/multi_head.h>
#include <hecate/random.h>

static hec_status make_matrix(explain_problem *p, given which, int64_t rows, int64_t columns)
{
	return explain_problem_make(p, which, 2, rows, columns) ? HEC_OK : HEC_ERR_MEMORY;
}

static hec_status fixed_matrix(explain_problem *p, given which, int64_t rows, int64_t columns,
                               const float *values)
{
	TRY(make_matrix(p, which, rows, columns));
	memcpy(p->given[which].data, values, (size_t)(rows * columns) * sizeof *values);
	return HEC_OK;
}

static hec_status identity_matrix(explain_problem *p, given which, int64_t n)
{
	TRY(make_matrix(p, which, n, n));
	for (int64_t i = 0; i < n; i++)
		((float *)p->given[which].data)[i * n + i] = 1;
	return HEC_OK;
}

/* 1, 2, 3, … row by row. */
static hec_status counting_matrix(explain_problem *p, given which, int64_t rows, int64_t columns)
{
	TRY(make_matrix(p, which, rows, columns));
	for (int64_t i = 0; i < rows * columns; i++)
		((float *)p->given[which].data)[i] = (float)(i + 1);
	return HEC_OK;
}

/* W_Q, W_K, W_V and W_O for a width, uniform in [low, high). d_k = d_v = 0: width / heads, and the
 * library says so where that does not divide. */
static hec_status random_weights(hec_ctx *ctx, explain_problem *p, int64_t width, int64_t heads,
                                 int64_t d_k, int64_t d_v, double low, double high)
{
	hec_multi_head_config config = {
		.size = sizeof config, .width = width, .heads = heads, .d_k = d_k, .d_v = d_v};
	TRY(hec_multi_head_resolve(&config));
	p->heads = heads;
	p->d_k = config.d_k;
	p->d_v = config.d_v;
	TRY(make_matrix(p, GIVEN_W_Q, width, heads * p->d_k));
	TRY(make_matrix(p, GIVEN_W_K, width, heads * p->d_k));
	TRY(make_matrix(p, GIVEN_W_V, width, heads * p->d_v));
	TRY(make_matrix(p, GIVEN_W_O, heads * p->d_v, width));
	for (int i = GIVEN_W_Q; i <= GIVEN_W_O; i++)
		TRY(hec_random_uniform(ctx, p->seed, (uint64_t)i, low, high, &p->given[i]));
	return HEC_OK;
}

static hec_status build_two_heads(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	TRY(counting_matrix(p, GIVEN_X, 2, 4));
	return random_weights(ctx, p, 4, heads ? heads : 2, 0, 0, 0, 1);
}

static hec_status name_tokens(explain_problem *p, const char *const *words, size_t count)
{
	p->tokens = calloc(count, sizeof *p->tokens);
	for (; p->tokens && p->token_count < count; p->token_count++) {
		p->tokens[p->token_count] = strdup(words[p->token_count]);
		if (!p->tokens[p->token_count])
			return HEC_ERR_MEMORY;
	}
	return p->tokens ? HEC_OK : HEC_ERR_MEMORY;
}

/* The columns of X are: animal, thing, deed, pronoun. A key and a value is the word itself. A query
 * says what a word looks for: an animal or a thing looks for a deed, a deed for an animal that does
 * it and a thing, a pronoun for an animal above all. */
static hec_status build_pronoun(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	static const char *const words[] = {"cat", "drank", "milk", "it", "purred"};
	static const float x[] = {1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0};
	static const float w_q[] = {0, 0, 4, 0, 0, 0, 4, 0, 4, 2, 0, 0, 6, 2, 0, 0};
	(void)ctx;
	p->heads = heads ? heads : 1;
	TRY(fixed_matrix(p, GIVEN_X, 5, 4, x));
	TRY(fixed_matrix(p, GIVEN_W_Q, 4, 4, w_q));
	TRY(identity_matrix(p, GIVEN_W_K, 4));
	TRY(identity_matrix(p, GIVEN_W_V, 4));
	return name_tokens(p, words, sizeof words / sizeof *words);
}

static hec_status build_four_words(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	static const char *const words[] = {"思考", "编程", "很", "有趣"};
	(void)ctx;
	p->heads = heads ? heads : 1;
	TRY(counting_matrix(p, GIVEN_X, 4, 4));
	TRY(identity_matrix(p, GIVEN_W_Q, 4));
	TRY(identity_matrix(p, GIVEN_W_K, 4));
	TRY(identity_matrix(p, GIVEN_W_V, 4));
	return name_tokens(p, words, sizeof words / sizeof *words);
}

static hec_status two_by_two_weights(int64_t heads, explain_problem *p)
{
	p->heads = heads ? heads : 1;
	TRY(identity_matrix(p, GIVEN_W_Q, 2));
	TRY(fixed_matrix(p, GIVEN_W_K, 2, 2, (const float[]){1, 1, 0, 1}));
	return fixed_matrix(p, GIVEN_W_V, 2, 2, (const float[]){1, 2, 3, 4});
}

static hec_status build_two_by_two(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	(void)ctx;
	TRY(counting_matrix(p, GIVEN_X, 2, 2));
	return two_by_two_weights(heads, p);
}

static hec_status build_as_printed(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	(void)ctx;
	TRY(counting_matrix(p, GIVEN_X, 1, 3));
	return two_by_two_weights(heads, p);
}

static hec_status random_input(hec_ctx *ctx, explain_problem *p, int64_t rows, int64_t width)
{
	TRY(make_matrix(p, GIVEN_X, rows, width));
	return hec_random_normal(ctx, p->seed, GIVEN_X, 0, 1, &p->given[GIVEN_X]);
}

static hec_status build_five_by_two(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	TRY(counting_matrix(p, GIVEN_X, 3, 5));
	return random_weights(ctx, p, 5, heads ? heads : 2, 0, 0, 0, 1);
}

static hec_status build_five_by_two_free(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	TRY(random_input(ctx, p, 3, 5));
	return random_weights(ctx, p, 5, heads ? heads : 2, 2, 3, 0, 1);
}

static hec_status random_wide(hec_ctx *ctx, explain_problem *p, int64_t rows, int64_t width,
                              int64_t heads)
{
	double high = sqrt(3.0 / (double)width);
	TRY(random_input(ctx, p, rows, width));
	return random_weights(ctx, p, width, heads, 0, 0, -high, high);
}

static hec_status build_ten_by_128(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	p->causal = true;
	p->block = true;
	return random_wide(ctx, p, 10, 128, heads ? heads : 4);
}

static hec_status build_base(hec_ctx *ctx, int64_t heads, explain_problem *p)
{
	return random_wide(ctx, p, 6, 512, heads ? heads : 8);
}

static const example examples[] = {
	{"pronoun", "cat drank milk it purred: a pronoun finds its noun",
         "Look at \"it\" in step 4: 0.78 of its weight lies on \"cat\".",
         "Every row of the output is a mixture of values: \"it\" came in as a pronoun and nothing "
         "else, and "
         "goes out as mostly an animal. The columns of X stand for animal, thing, deed, pronoun. "
         "W_Q says "
         "what each of them looks for: a pronoun looks for an animal (6) more than for a thing "
         "(2). A "
         "person chose these numbers; a trained model learns them.",
         false, build_pronoun},
	{"two-heads", "X of 2×4, two heads of d_k = d_v = 2, random weights",
         "Look at the shapes: each head is 2×2, the heads side by side are 2×4, the output is 2×4.",
         "The values depend on the weights: another --seed gives other values. Numbers as large as "
         "those "
         "of this X saturate the softmax: all the weight lies on the second row.",
         true, build_two_heads},
	{"four-words", "思考 编程 很 有趣: one head of width 4, and why the maximum is subtracted",
         "Look at the weights: every word attends to the last one, whose numbers are the largest.",
         "This example was published with the score 28.28, weights that are all 0.25 and the "
         "output "
         "[6.75, 8.75, 10.75, 12.75]. These cannot all hold: equal weights with V = X give the "
         "mean of "
         "the rows, [7, 8, 9, 10]. With W_Q = W_K = W_V = I nearly all the weight lies on the "
         "longest "
         "row.",
         false, build_four_words},
	{"two-by-two", "X of 2×2 by hand: Q, K, V, scores, softmax, output",
         "Look at each step with a pencil: every number up to step 2 is a sum of two small "
         "products.",
         "This example was published with weights that are all 0.5 and the output [[8, 11], [8, "
         "11]]. "
         "The scores of a row differ by 10 or more before scaling, so the weights are far from "
         "equal.",
         false, build_two_by_two},
	{"two-by-two-as-printed",
         "the same with the input [1, 2, 3], as it was published: the shapes do not fit",
         "Look at the error: X has 3 columns, and W_Q has 2 rows.",
         "See `hecate explain two-by-two` for an input that fits.", false, build_as_printed},
	{"five-by-two", "d_model = 5 and 2 heads, \"d_k = 2.5\": 5 does not divide by 2", "",
         "See `hecate explain five-by-two-free` for d_k and d_v that are chosen freely.", true,
         build_five_by_two},
	{"five-by-two-free", "d_model = 5 and 2 heads with d_k = 2 and d_v = 3",
         "Look at the shape of W_O: 2 heads of d_v = 3 make 6 rows.",
         "The heads side by side are 2·3 = 6 wide, not 5: that is fine, because W_O is 6×5. Only "
         "the input and the output have the model's width.",
         true, build_five_by_two_free},
	{"ten-by-128", "10×128, 4 heads, causal, then a ReLU block with dropout and residual",
         "Look at the triangles of weights: a query sees itself and what came before.",
         "This example was published with a 10×10 matrix of ones as the output. The output is "
         "10×128. The "
         "causal weights are 10×10: zero above the diagonal, and each row sums to 1.",
         true, build_ten_by_128},
	{"base", "the base model of 2017: d_model = 512, 8 heads, d_k = d_v = 64",
         "Look at the heads: each has weights of its own.", "", true, build_base},
};

const example *example_at(size_t i)
{
	return i < sizeof examples / sizeof examples[0] ? &examples[i] : NULL;
}

const example *example_find(const char *name)
{
	for (size_t i = 0; example_at(i); i++)
		if (strcmp(example_at(i)->name, name) == 0)
			return example_at(i);
	return NULL;
}
