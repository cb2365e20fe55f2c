/* text.c — the steps for people: words, formula, shape, numbers, heat map. Small problems
 * show every head side by side; larger ones the numbers of head 0 and a heat map of each. */
#include "cli/explain/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/explain/block.h"
#include "cli/explain/page.h"

#define SMALL_ROWS 6   /* up to here, and … */
#define SMALL_WIDTH 16 /* … here, all numbers are shown */
#define HEAT_MAPS_MOST 32
#define MATRIX_MOST 8 /* rows and columns of a matrix shown */
#define WIDE_MOST 3   /* the same where X is wide */

void page_line(const terminal *term, ink which, const char *line)
{
	text t = {0};
	text_ink(&t, term, which);
	text_add(&t, "%s", line);
	text_ink(&t, term, INK_PLAIN);
	fprintf(term->out, "%s\n", t.data);
	text_free(&t);
}

void explain_show_title(const terminal *term, const char *name, const char *summary,
                        const char *look)
{
	page_line(term, INK_TITLE, name);
	if (*summary)
		terminal_words(term, INK_PLAIN, 0, summary);
	if (*look)
		terminal_words(term, INK_GOOD, 0, look);
	fputc('\n', term->out);
}

void explain_show_note(const terminal *term, const char *note)
{
	if (!*note)
		return;
	fputc('\n', term->out);
	terminal_words(term, INK_FAINT, 0, note);
}

void page_step(page *g, const char *title, const char *words)
{
	text t = {0};
	text_add(&t, "%d. %s", ++g->number, title);
	fputc('\n', g->term->out);
	page_line(g->term, INK_STEP, t.data);
	terminal_words(g->term, INK_FAINT, 2, words);
	fputc('\n', g->term->out);
	text_free(&t);
}

/* "₀" for head 0; nothing where there is one head only. */
static const char *head_subscript(const page *g, int64_t head, char out[64])
{
	char digits[24];
	size_t used = 0;
	out[0] = '\0';
	if (g->p->heads == 1)
		return out;
	snprintf(digits, sizeof digits, "%" PRId64, head);
	for (const char *d = digits; *d; d++)
		used += (size_t)snprintf(out + used, 64 - used, "\xE2\x82%c", 0x80 + (*d - '0'));
	return out;
}

/* The matrix of a step: title is a format that takes the head's subscript up to three times. */
void page_matrix(const page *g, text *blocks, size_t *count, const char *name, int64_t head,
                 const char *title, const matrix_look *look)
{
	char sub[64], full[160];
	const step *s = find_step(g->s, name, head);
	if (!s)
		return;
	size_t used = 0;
	head_subscript(g, head < 0 ? 0 : head, sub);
	for (const char *c = title; *c && used + sizeof sub < sizeof full; c++)
		used += (size_t)(*c == '#' ? snprintf(full + used, sizeof full - used, "%s", sub)
		                           : snprintf(full + used, sizeof full - used, "%c", *c));
	full[used] = '\0';
	matrix_look own = *look;
	own.title = full;
	text_matrix(&blocks[(*count)++], g->term, &s->values, &own);
}

static void add_given(const terminal *term, text *blocks, size_t *count, const explain_problem *p,
                      given which, int most)
{
	bool queries = which == GIVEN_X;
	bool has_tokens = queries && p->tokens && p->token_count == (size_t)p->given[0].shape[0];
	matrix_look look = {.title = given_names[which],
	                    .rows = has_tokens ? p->tokens : NULL,
	                    .most_rows = most,
	                    .most_columns = most};
	if (is_given(p, which))
		text_matrix(&blocks[(*count)++], term, &p->given[which], &look);
}

static bool is_small(const explain_problem *p)
{
	return p->given[GIVEN_X].shape[0] <= SMALL_ROWS && key_source(p)->shape[0] <= SMALL_ROWS &&
	       p->given[GIVEN_X].shape[1] <= SMALL_WIDTH;
}

void explain_show_given(const terminal *term, const explain_problem *p)
{
	text blocks[GIVEN_COUNT + 1] = {{0}};
	size_t count = 0;
	int most = is_small(p) ? MATRIX_MOST : WIDE_MOST;
	page_line(term, INK_STEP, "Given");
	for (int i = 0; i < GIVEN_COUNT; i++)
		add_given(term, blocks, &count, p, (given)i, most);
	fputc('\n', term->out);
	terminal_flow(term, blocks, count);
}

static void show_sizes(const page *g)
{
	const explain_problem *p = g->p;
	text t = {0};
	text_add(&t, "%" PRId64 " quer%s", p->given[GIVEN_X].shape[0],
	         p->given[GIVEN_X].shape[0] == 1 ? "y" : "ies");
	text_add(&t, ", %" PRId64 " key%s", key_source(p)->shape[0],
	         key_source(p)->shape[0] == 1 ? "" : "s");
	text_add(&t, ", d_model = %" PRId64, p->given[GIVEN_X].shape[1]);
	text_add(&t, ", %" PRId64 " head%s of d_k = %" PRId64 " and d_v = %" PRId64, p->heads,
	         p->heads == 1 ? "" : "s", p->d_k, p->d_v);
	text_add(&t, "%s%s", p->causal ? ", causal" : "", p->mask.rank > 0 ? ", masked" : "");
	fputc('\n', g->term->out);
	terminal_words(g->term, INK_FAINT, 2, t.data);
	text_free(&t);
}

static void show_projections(page *g)
{
	bool cross = is_given(g->p, GIVEN_MEMORY);
	char titles[3][64];
	static const char *const names[] = {"Q", "K", "V"};
	for (int i = 0; i < 3; i++)
		snprintf(titles[i], sizeof titles[i], "%s# = %s·W_%s#%s%s", names[i],
		         cross && i > 0 ? "memory" : "X", names[i],
		         is_given(g->p, (given)(GIVEN_B_Q + i)) ? " + b_" : "",
		         is_given(g->p, (given)(GIVEN_B_Q + i)) ? names[i] : "");
	char words[256];
	snprintf(words, sizeof words, "%s%s",
	         cross ? "Every row of X becomes a query; every row of memory a key and a value."
	               : "Every row of X becomes a query, a key and a value.",
	         g->p->heads == 1 ? "" : " Each head has its own columns of W_Q, W_K and W_V.");
	page_step(g, "Project", words);
	for (int64_t h = 0; h < g->heads_shown; h++) {
		text blocks[3] = {{0}};
		size_t count = 0;
		for (int i = 0; i < 3; i++) {
			matrix_look look = {.rows = i == 0 ? g->queries : g->keys,
			                    .most_rows = g->most,
			                    .most_columns = g->most};
			page_matrix(g, blocks, &count, names[i], h, titles[i], &look);
		}
		if (h > 0)
			fputc('\n', g->term->out);
		terminal_flow(g->term, blocks, count);
	}
}

/* A step with one T×S matrix a head. */
static void show_scores(page *g, const char *name, const char *title, bool hide, bool heat)
{
	text blocks[SMALL_HEADS] = {{0}};
	size_t count = 0;
	matrix_look look = {.rows = g->queries,
	                    .columns = g->keys,
	                    .hidden = hide ? g->p : NULL,
	                    .heat = heat,
	                    .most_rows = SCORES_MOST,
	                    .most_columns = SCORES_MOST};
	for (int64_t h = 0; h < g->heads_shown; h++)
		page_matrix(g, blocks, &count, name, h, title, &look);
	terminal_flow(g->term, blocks, count);
}

bool page_is_masked(const page *g)
{
	return g->p->causal || g->p->mask.rank > 0;
}

static void show_comparison(page *g)
{
	page_step(g, "Compare", "One dot product for every query and every key.");
	show_scores(g, "scores", "scores# = Q#·K#ᵀ", false, false);

	char words[256], title[64];
	snprintf(words, sizeof words,
	         "Times 1/√d_k = 1/√%" PRId64
	         " = %.4g: a sum of d_k products spreads like √d_k, and "
	         "without this the softmax of wide heads would pick one key only.",
	         g->p->d_k, 1 / sqrt((double)g->p->d_k));
	page_step(g, "Scale", words);
	snprintf(title, sizeof title, "scaled# = scores#/√%" PRId64, g->p->d_k);
	show_scores(g, "scaled", title, false, false);
}

static void show_mask(page *g)
{
	char words[256];
	int64_t ahead = key_source(g->p)->shape[0] - g->p->given[GIVEN_X].shape[0];
	if (!g->p->causal)
		snprintf(words, sizeof words,
		         "What a query does not see (·) is left out, whatever is stored there.");
	else if (ahead == 0)
		snprintf(words, sizeof words,
		         "A query sees itself and what came before. What it does not see (·) is "
		         "left "
		         "out, whatever is stored there.");
	else
		snprintf(words, sizeof words,
		         "Causal: query t sees the keys up to t %c %" PRId64
		         ", so that the last query sees the last key. What is not seen (·) is left "
		         "out, whatever is stored there.",
		         ahead > 0 ? '+' : '-', ahead > 0 ? ahead : -ahead);
	page_step(g, "Mask", words);
	show_scores(g, "masked", "masked#", true, false);
}

static void show_legend(const page *g)
{
	text legend = {0};
	text_heat_legend(&legend, g->term);
	fputc('\n', g->term->out);
	terminal_flow(g->term, &legend, 1);
}

static void show_heat_maps(const page *g)
{
	text blocks[HEAT_MAPS_MOST] = {{0}};
	size_t count = 0;
	for (int64_t h = 0; h < g->p->heads && count < HEAT_MAPS_MOST; h++) {
		char sub[64], title[96];
		snprintf(title, sizeof title, "weights%s", head_subscript(g, h, sub));
		const step *s = find_step(g->s, "weights", h);
		if (s)
			text_heat_map(&blocks[count++], g->term, &s->values, title);
	}
	fputc('\n', g->term->out);
	terminal_flow(g->term, blocks, count);
	int64_t more = g->p->heads - HEAT_MAPS_MOST;
	if (more > 0) {
		char words[64];
		snprintf(words, sizeof words, "… and %" PRId64 " more head%s", more,
		         more == 1 ? "" : "s");
		fputc('\n', g->term->out);
		terminal_words(g->term, INK_FAINT, 2, words);
	}
}

static void show_softmax(page *g)
{
	page_step(g, "Softmax",
	          "Each row: exp(score − the row's maximum), divided by their sum. The weights of "
	          "a row "
	          "sum to 1.");
	const char *title =
		page_is_masked(g) ? "weights# = softmax(masked#)" : "weights# = softmax(scaled#)";
	bool all = g->heads_shown == g->p->heads;
	show_scores(g, "weights", title, true, all);
	if (!all)
		show_heat_maps(g);
	show_legend(g);
	if (g->s->blind_rows > 0) {
		char words[160];
		snprintf(words, sizeof words,
		         "%" PRId64 " quer%s no key at all: weights and output are 0 there.",
		         g->s->blind_rows, g->s->blind_rows == 1 ? "y sees" : "ies see");
		fputc('\n', g->term->out);
		terminal_words(g->term, INK_PLAIN, 2, words);
	}
}

static void show_mix(page *g)
{
	text blocks[SMALL_HEADS] = {{0}};
	size_t count = 0;
	matrix_look look = {.rows = g->queries, .most_rows = g->most, .most_columns = g->most};
	bool last = g->p->heads == 1 && !is_given(g->p, GIVEN_W_O);
	page_step(g, "Mix", "Each row of a head is the mean of the values, by the row's weights.");
	for (int64_t h = 0; h < g->heads_shown; h++)
		page_matrix(g, blocks, &count, "head", h,
		            last ? "output = head = weights·V" : "head# = weights#·V#", &look);
	terminal_flow(g->term, blocks, count);
}

/* A step with a single matrix. */
static void show_whole(page *g, const char *title, const char *words, const char *name,
                       const char *formula)
{
	text block = {0};
	size_t count = 0;
	matrix_look look = {.rows = g->queries, .most_rows = g->most, .most_columns = g->most};
	page_step(g, title, words);
	page_matrix(g, &block, &count, name, -1, formula, &look);
	terminal_flow(g->term, &block, count);
}

static void show_ending(page *g)
{
	char words[160], formula[64];
	const explain_problem *p = g->p;
	if (p->heads > 1) {
		snprintf(words, sizeof words,
		         "The heads side by side: h·d_v = %" PRId64 "·%" PRId64 " = %" PRId64
		         " columns. Nothing is mixed between heads yet.",
		         p->heads, p->d_v, p->heads * p->d_v);
		show_whole(g, "Join", words, "concat",
		           is_given(p, GIVEN_W_O) ? "concat" : "output = concat");
	}
	if (is_given(p, GIVEN_W_O)) {
		snprintf(words, sizeof words,
		         "W_O is %" PRId64 "×%" PRId64
		         ": it mixes the heads and gives the output its width.",
		         p->given[GIVEN_W_O].shape[0], p->given[GIVEN_W_O].shape[1]);
		snprintf(formula, sizeof formula, "output = %s·W_O%s",
		         p->heads > 1 ? "concat" : "head", is_given(p, GIVEN_B_O) ? " + b_O" : "");
		show_whole(g, "Project back", words, "output", formula);
	}
}

static void show_block(page *g)
{
	char words[160];
	snprintf(words, sizeof words,
	         "dropout sets a share of %g of the numbers to zero and enlarges the others by "
	         "1/%g; "
	         "which ones depends on the seed alone.",
	         BLOCK_DROPOUT, 1 - BLOCK_DROPOUT);
	show_whole(g, "Add the input", words, "residual", "residual = X + dropout(output)");
	show_whole(g, "ReLU block, first half",
	           "Every row by itself: wider, and only what is positive.", "hidden",
	           "hidden = ReLU(residual·W_1)");
	show_whole(
		g, "ReLU block, second half",
		"Back to the model's width, and added to what went in: as wide as X, not a matrix "
		"of queries and keys.",
		"block", "block = residual + dropout(hidden·W_2)");
}

static void show_check(const page *g)
{
	text t = {0};
	fputc('\n', g->term->out);
	text_ink(&t, g->term, INK_GOOD);
	text_add(&t, "✓ ");
	text_ink(&t, g->term, INK_PLAIN);
	text_add(&t, "Computed twice: step by step, and in one fused pass that stores no scores. ");
	if (g->s->difference == 0)
		text_add(&t, "The heads agree to the last bit.");
	else
		text_add(&t, "The heads differ by at most %.2g; rounding allows %.2g.",
		         g->s->difference, g->s->bound);
	terminal_words(g->term, INK_PLAIN, 2, t.data);
	text_free(&t);
}

page page_open(const terminal *term, const explain_problem *p, const explain_steps *s)
{
	bool small = is_small(p);
	return (page){.term = term,
	              .p = p,
	              .s = s,
	              .heads_shown = small && p->heads <= SMALL_HEADS ? p->heads : 1,
	              .most = small ? MATRIX_MOST : WIDE_MOST,
	              .queries = p->tokens,
	              .keys = is_given(p, GIVEN_MEMORY) ? NULL : p->tokens};
}

int explain_show_steps(const terminal *term, const explain_problem *p, const explain_steps *s)
{
	page g = page_open(term, p, s);
	show_sizes(&g);
	if (g.heads_shown < p->heads)
		terminal_words(term, INK_FAINT, 2,
		               "Numbers are shown for head 0; --json holds them all.");
	show_projections(&g);
	show_comparison(&g);
	if (page_is_masked(&g))
		show_mask(&g);
	show_softmax(&g);
	show_mix(&g);
	show_ending(&g);
	if (p->block)
		show_block(&g);
	show_check(&g);
	return g.number;
}
