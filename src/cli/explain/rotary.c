/* rotary.c — rotary positions on one head of four numbers, through the library: the same query and the same key
 * at six positions, turned, and compared. Then once more 100 positions later. */
#include "cli/explain/rotary.h"

#include <hecate/attention.h>
#include <hecate/position.h>

#include "cli/command/try.h"
#include "cli/explain/matrix_text.h"
#include "cli/explain/show.h"

#define BASE 10000.0
#define WIDTH 4 /* of the head: two pairs */
#define ROWS 6  /* positions shown */
#define LATER 100

static const float query[WIDTH] = {1, 0, 1, 0}, key[WIDTH] = {0, 1, 1, 0};

typedef struct turned {
	float q[ROWS * WIDTH], k[ROWS * WIDTH], scores[ROWS * ROWS];
} turned;

static hec_status turn(hec_ctx *ctx, const hec_rotary *rotary, const float *x, int32_t first,
                       float *y)
{
	hec_tensor from = hec_tensor_4d((void *)(uintptr_t)x, HEC_F32, 1, ROWS, 1, WIDTH);
	hec_tensor to = hec_tensor_4d(y, HEC_F32, 1, ROWS, 1, WIDTH);
	from.stride[1] = 0; /* the same numbers at each position */
	return hec_rotary_apply(ctx, rotary, false, &from, &first, &to);
}

static hec_status turn_and_compare(hec_ctx *ctx, const hec_rotary *rotary, int32_t first,
                                   turned *out)
{
	TRY(turn(ctx, rotary, query, first, out->q));
	TRY(turn(ctx, rotary, key, first, out->k));
	hec_tensor q = hec_tensor_4d(out->q, HEC_F32, 1, ROWS, 1, WIDTH);
	hec_tensor k = hec_tensor_4d(out->k, HEC_F32, 1, ROWS, 1, WIDTH);
	hec_tensor scores = hec_tensor_4d(out->scores, HEC_F32, 1, 1, ROWS, ROWS);
	hec_attention_steps steps = {.size = sizeof steps, .scores = &scores};
	return hec_attention_unfused(ctx, NULL, &q, &k, &k, NULL, &steps);
}

typedef struct part {
	const char *name; /* for machines */
	const char *title;
	const char *words; /* ahead of it, or NULL */
	hec_tensor values;
} part;

static void show_parts(const terminal *term, const part *parts, int count)
{
	explain_show_title(
		term, ROTARY_NAME, ROTARY_SUMMARY,
		"Look at the scores: along each diagonal they are the same. A score knows how far "
		"two words are apart, and nothing else about where they stand.");
	for (int i = 0; i < count; i++) {
		text block = {0};
		matrix_look look = {
			.title = parts[i].title, .most_rows = ROWS, .most_columns = ROWS};
		text_matrix(&block, term, &parts[i].values, &look);
		if (parts[i].words) {
			terminal_words(term, INK_FAINT, 2, parts[i].words);
			fputc('\n', term->out);
		}
		terminal_flow(term, &block, 1);
		if (i + 1 < count)
			fputc('\n', term->out);
	}
}

hec_status explain_rotary(hec_ctx *ctx, const terminal *term, bool json)
{
	static float cosine[(LATER + ROWS) * WIDTH / 2], sine[(LATER + ROWS) * WIDTH / 2];
	static turned here, later;
	hec_rotary rotary = {.pairs = HEC_ROTARY_INTERLEAVED,
	                     .cosine = hec_tensor_2d(cosine, HEC_F32, LATER + ROWS, WIDTH / 2),
	                     .sine = hec_tensor_2d(sine, HEC_F32, LATER + ROWS, WIDTH / 2)};
	TRY(hec_rotary_fill(ctx, BASE, &rotary));
	TRY(turn_and_compare(ctx, &rotary, 0, &here));
	TRY(turn_and_compare(ctx, &rotary, LATER, &later));
	const part parts[] = {
		{"cosine", "cos(t·θ)",
	         "A head of 4 numbers is 2 pairs. At position t, pair i turns by the "
	         "angle t·θᵢ, θᵢ = 10000^(−2i/4): θ₀ = 1, θ₁ = 0.01.",
	         hec_tensor_2d(cosine, HEC_F32, ROWS, WIDTH / 2)},
		{"sine", "sin(t·θ)", NULL, hec_tensor_2d(sine, HEC_F32, ROWS, WIDTH / 2)},
		{"Q", "Q: row t is (1, 0, 1, 0) at position t",
	         "A pair (x, y) becomes (x·cos − y·sin, x·sin + y·cos). Its length stays.",
	         hec_tensor_2d(here.q, HEC_F32, ROWS, WIDTH)},
		{"K", "K: row s is (0, 1, 1, 0) at position s", NULL,
	         hec_tensor_2d(here.k, HEC_F32, ROWS, WIDTH)},
		{"scores", "scores = Q·Kᵀ",
	         "Turning both by the same angle changes no dot product: only the difference t − s "
	         "counts. Here the score is sin(t − s) + cos((t − s)/100).",
	         hec_tensor_2d(here.scores, HEC_F32, ROWS, ROWS)},
		{"scores_later", "scores at the positions 100 … 105",
	         "The same words 100 positions later: the same scores, but for rounding.",
	         hec_tensor_2d(later.scores, HEC_F32, ROWS, ROWS)},
	};
	const int count = sizeof parts / sizeof *parts;
	if (!json) {
		show_parts(term, parts, count);
		return HEC_OK;
	}
	json_begin(ROTARY_NAME, term->out);
	for (int i = 0; i < count; i++)
		json_step(parts[i].name, -1, &parts[i].values, i == 0, term->out);
	json_end(&parts[4].values, NULL, term->out);
	return HEC_OK;
}
