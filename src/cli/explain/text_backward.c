/* text_backward.c — the backward pass for people: from the loss to everything that was given, then the gradients
 * once more by differences. */
#include "cli/explain/show.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/explain/page.h"
#include "cli/io/plural.h"

#define DIFFERENCES_MOST 24 /* numbers shown; of more, the largest gradient of each matrix */
#define BLOCKS_MOST 12
#define WORDS 400

typedef struct shown {
	const char *name, *title;
	bool scores; /* T×S: labels of keys above, and hidden where a query sees nothing */
	char *const *rows;
} shown;

/* Matrices of each head that is shown, or of no head, side by side. */
static void show_matrices(const page *g, const shown *list, int count, bool heads)
{
	for (int64_t h = heads ? 0 : -1; h < (heads ? g->heads_shown : 0); h++) {
		text blocks[BLOCKS_MOST] = {{0}};
		size_t used = 0;
		for (int i = 0; i < count; i++) {
			bool scores = list[i].scores;
			matrix_look look = {.rows = list[i].rows,
			                    .columns = scores ? g->keys : NULL,
			                    .hidden = scores ? g->p : NULL,
			                    .most_rows = scores ? SCORES_MOST : g->most,
			                    .most_columns = scores ? SCORES_MOST : g->most};
			page_matrix(g, blocks, &used, list[i].name, h, list[i].title, &look);
		}
		if (h > 0)
			fputc('\n', g->term->out);
		terminal_flow(g->term, blocks, used);
	}
}

static void show_loss(page *g, const explain_gradient *gradient)
{
	bool is_linear = is_given(g->p, GIVEN_D_OUTPUT);
	char words[WORDS];
	fputc('\n', g->term->out);
	page_line(g->term, INK_TITLE, "Backward");
	snprintf(words, sizeof words,
	         "The loss is L = %s = %.6g%s. The gradient dY of a matrix Y has the shape of Y: "
	         "it says how "
	         "much L grows for each unit by which a number of Y grows.",
	         is_linear ? "Σ d_output ∘ output" : "½·Σ output²", gradient->loss,
	         g->p->block ? ", of the output of attention: the ReLU block is left out" : "");
	terminal_words(g->term, INK_FAINT, 2, words);
	page_step(g, "Begin at the output",
	          is_linear ? "The gradient at the output is given."
	                    : "The slope of ½·y² is y: the gradient at the output is the output.");
	const shown list[] = {
		{"d_output", is_linear ? "d_output" : "d_output = output", false, g->queries}};
	show_matrices(g, list, 1, false);
}

static void show_output_projection(page *g)
{
	bool heads = g->p->heads > 1;
	page_step(g, "Back through W_O",
	          heads ? "Each head has its own columns of d_concat: its d_head."
	                : "d_concat is the gradient at the head.");
	const shown list[] = {
		{"d_concat", "d_concat = d_output·W_Oᵀ", false, g->queries},
		{"dW_O", heads ? "dW_O = concatᵀ·d_output" : "dW_O = headᵀ·d_output", false, NULL},
		{"db_O", "db_O = Σ rows of d_output", false, NULL}};
	show_matrices(g, list, 3, false);
}

static void show_mixing(page *g)
{
	page_step(g, "Back through the mixing",
	          "A value gets the gradient of every query that looked at it, by the weight of "
	          "the look. A "
	          "weight gets the dot product of its value and the gradient of the query's head.");
	bool plain = !is_given(g->p, GIVEN_W_O) && g->p->heads == 1;
	const shown list[] = {{"dV", plain ? "dV = weightsᵀ·d_output" : "dV# = weights#ᵀ·d_head#",
	                       false, g->keys},
	                      {"d_weights",
	                       plain ? "d_weights = d_output·Vᵀ" : "d_weights# = d_head#·V#ᵀ", true,
	                       g->queries}};
	show_matrices(g, list, 2, true);
}

static void show_softmax(page *g)
{
	page_step(g, "Back through the softmax",
	          "Weights of a row sum to 1, so raising all scores of a row changes nothing: only "
	          "the "
	          "distance from r, the mean of d_weights by the weights, counts. A weight near 0 "
	          "or a row "
	          "with one weight near 1 lets almost nothing through.");
	const shown list[] = {{"row_sums", "r# = Σ weights# ∘ d_weights#", false, g->queries},
	                      {"d_scaled",
	                       page_is_masked(g) ? "d_masked# = weights# ∘ (d_weights# − r#)"
	                                         : "d_scaled# = weights# ∘ (d_weights# − r#)",
	                       true, g->queries}};
	show_matrices(g, list, 2, true);
}

static void show_scores(page *g)
{
	char title[96];
	page_step(g, "Back through the scale",
	          page_is_masked(g)
	                  ? "A score that is not seen (·) gets exactly no gradient. The others are "
	                    "divided as the scores were."
	                  : "Divided as the scores were.");
	snprintf(title, sizeof title, "d_scores# = %s#/√%" PRId64,
	         page_is_masked(g) ? "d_masked" : "d_scaled", g->p->d_k);
	const shown scores[] = {{"d_scores", title, true, g->queries}};
	show_matrices(g, scores, 1, true);

	page_step(g, "Back through the comparison",
	          "A score is the product of a query and a key: each gets the other, times the "
	          "gradient of "
	          "the score, summed over all scores that it is part of.");
	const shown list[] = {{"dQ", "dQ# = d_scores#·K#", false, g->queries},
	                      {"dK", "dK# = d_scores#ᵀ·Q#", false, g->keys}};
	show_matrices(g, list, 2, true);
}

static void show_projections(page *g)
{
	bool cross = is_given(g->p, GIVEN_MEMORY);
	page_step(g, "Back through the projections",
	          cross ? "X made the queries, memory made keys and values: each gets their "
	                  "gradients back "
	                  "through the weights."
	                : "X made queries, keys and values: it gets three gradients, added up.");
	const char *source = cross ? "memory" : "X";
	char titles[2][32];
	snprintf(titles[0], sizeof titles[0], "dW_K = %sᵀ·dK", source);
	snprintf(titles[1], sizeof titles[1], "dW_V = %sᵀ·dV", source);
	const shown list[] = {
		{"dW_Q", "dW_Q = Xᵀ·dQ", false, NULL},
		{"dW_K", titles[0], false, NULL},
		{"dW_V", titles[1], false, NULL},
		{"db_Q", "db_Q = Σ rows of dQ", false, NULL},
		{"db_K", "db_K = Σ rows of dK", false, NULL},
		{"db_V", "db_V = Σ rows of dV", false, NULL},
		{"dX", cross ? "dX = dQ·W_Qᵀ" : "dX = dQ·W_Qᵀ + dK·W_Kᵀ + dV·W_Vᵀ", false,
	         g->queries},
		{"d_memory", "d_memory = dK·W_Kᵀ + dV·W_Vᵀ", false, NULL},
	};
	show_matrices(g, list, sizeof list / sizeof *list, false);
}

/* ---- the check ---- */

static void put_difference(text *t, const difference *d)
{
	char place[64];
	snprintf(place, sizeof place, "%s[%" PRId64 "][%" PRId64 "]", d->name, d->row, d->column);
	text_add(t, "%-16s %14.8g %14.8g %9.1e\n", place, d->analytic, d->other,
	         difference_apart(d));
}

static void show_table(const page *g, const explain_gradient *gradient)
{
	text t = {0};
	text_ink(&t, g->term, INK_FORMULA);
	text_add(&t, "%-16s %14s %14s %9s\n", "number", "by formula", "by differences", "apart");
	text_ink(&t, g->term, INK_PLAIN);
	bool all = gradient->count <= DIFFERENCES_MOST;
	const difference *largest = NULL;
	for (size_t i = 0; i < gradient->count; i++) {
		const difference *d = &gradient->differences[i];
		bool last = i + 1 == gradient->count || strcmp(d->name, d[1].name) != 0;
		if (!largest || fabs(d->analytic) > fabs(largest->analytic))
			largest = d;
		if (all)
			put_difference(&t, d);
		else if (last)
			put_difference(&t, largest);
		if (last)
			largest = NULL;
	}
	terminal_flow(g->term, &t, 1);
}

static void show_verdict(const page *g, bool good, const char *words)
{
	text t = {0};
	fputc('\n', g->term->out);
	if (good) {
		text_ink(&t, g->term, INK_GOOD);
		text_add(&t, "✓ ");
		text_ink(&t, g->term, INK_PLAIN);
	}
	text_add(&t, "%s", words);
	terminal_words(g->term, INK_PLAIN, 2, t.data);
	text_free(&t);
}

static void show_library(const page *g, const explain_gradient *gradient, int which)
{
	static const char *const names[] = {
		"The library's own backward pass, fused and in doubles,",
		"The same in 32-bit floats, as training runs it,"};
	const difference *d = &gradient->library[which].worst;
	bool done = gradient->library[which].done, agrees = done && difference_agrees(d);
	char words[WORDS];
	if (!done)
		snprintf(words, sizeof words,
		         "%s is not compared: the scores are so large that rounding decides the "
		         "weights.",
		         names[which]);
	else
		snprintf(words, sizeof words,
		         "%s %s: at most %.2g apart, at %s[%" PRId64 "][%" PRId64
		         "]; rounding allows %.2g there.",
		         names[which], agrees ? "agrees" : "DIFFERS", difference_apart(d), d->name,
		         d->row, d->column, d->allowed);
	show_verdict(g, agrees, words);
}

static void show_check(page *g, const explain_gradient *gradient)
{
	char words[WORDS];
	size_t agree = 0;
	for (size_t i = 0; i < gradient->count; i++)
		agree += difference_agrees(&gradient->differences[i]);
	snprintf(words, sizeof words,
	         "The formulas against the loss itself, in doubles: a number x is moved by ±h, and "
	         "the slope is "
	         "(L(x + h) − L(x − h)) / 2h, for smaller and smaller h.%s",
	         gradient->count > DIFFERENCES_MOST
	                 ? " Shown is the largest gradient of each matrix."
	                 : "");
	page_step(g, "Check by differences", words);
	if (gradient->count > 0) {
		show_table(g, gradient);
		snprintf(words, sizeof words, "%zu of %zu number%s agree%s.", agree,
		         gradient->count, plural((int64_t)gradient->count),
		         gradient->count == 1 ? "s" : "");
	} else {
		snprintf(words, sizeof words,
		         "The scores are so large that the rounding of doubles decides the "
		         "weights: no "
		         "slope can be measured.");
	}
	show_verdict(g, gradient->count > 0 && agree == gradient->count, words);
	show_library(g, gradient, LIBRARY_DOUBLES);
	show_library(g, gradient, LIBRARY_FLOATS);
}

void explain_show_gradient(const terminal *term, const explain_problem *p,
                           const explain_gradient *gradient, int number)
{
	page g = page_open(term, p, &gradient->steps);
	g.number = number;
	show_loss(&g, gradient);
	if (is_given(p, GIVEN_W_O))
		show_output_projection(&g);
	show_mixing(&g);
	show_softmax(&g);
	show_scores(&g);
	show_projections(&g);
	show_check(&g, gradient);
}
