/* positions.c — angle(t, i) = t / 10000^(2i/d_model); its sine and cosine, in two orders. */
#include "cli/explain/positions.h"

#include <hecate/position.h>

#include "cli/explain/show.h"
#include "cli/explain/matrix_text.h"

#define BASE 10000.0
#define TABLE_ROWS 10 /* small enough to read */
#define TABLE_WIDTH 8
#define PICTURE_ROWS 16 /* numbers of a position: large enough to see waves */
#define PICTURE_POSITIONS 128

static void show_table(const terminal *term, const char *title, const hec_tensor *table)
{
	text block = {0};
	matrix_look look = {.title = title, .most_rows = TABLE_ROWS, .most_columns = TABLE_WIDTH};
	text_matrix(&block, term, table, &look);
	fputc('\n', term->out);
	terminal_flow(term, &block, 1);
}

/* Positions run to the right, numbers of a position downwards, so that waves look like waves. */
static void show_picture(const terminal *term, const char *title, const hec_tensor *table)
{
	text block = {0};
	int64_t T = table->shape[0], C = table->shape[1];
	int64_t fit = term->columns - 8 < T ? term->columns - 8 : T;
	text_ink(&block, term, INK_FORMULA);
	text_add(&block, "%s", title);
	text_ink(&block, term, INK_FAINT);
	text_add(&block, "  positions 0 … %d →, numbers 0 … %d ↓\n", (int)fit - 1, (int)C - 1);
	text_ink(&block, term, INK_PLAIN);
	for (int64_t c = 0; c < C; c++) {
		text_ink(&block, term, INK_FAINT);
		text_add(&block, "%3d ", (int)c);
		text_ink(&block, term, INK_PLAIN);
		for (int64_t t = 0; t < fit; t++)
			text_wave(&block, term, value_at(table, t, c));
		text_trim(&block);
		text_add(&block, "\n");
	}
	fputc('\n', term->out);
	terminal_flow(term, &block, 1);
}

static hec_status fill_tables(hec_ctx *ctx, int64_t rows, int64_t width, float *interleaved,
                              float *halves, hec_tensor tables[2])
{
	tables[0] = hec_tensor_2d(interleaved, HEC_F32, rows, width);
	tables[1] = hec_tensor_2d(halves, HEC_F32, rows, width);
	hec_status status =
		hec_position_sinusoidal(ctx, HEC_SINUSOID_INTERLEAVED, BASE, 0, &tables[0]);
	if (status != HEC_OK)
		return status;
	return hec_position_sinusoidal(ctx, HEC_SINUSOID_HALVES, BASE, 0, &tables[1]);
}

static void show_positions(const terminal *term, const hec_tensor small[2],
                           const hec_tensor large[2])
{
	explain_show_title(term, POSITIONS_NAME, POSITIONS_SUMMARY, POSITIONS_LOOK);
	terminal_words(
		term, INK_FAINT, 2,
		"Attention by itself does not know the order of its keys. So each position t has "
		"a row of sines and cosines that is added to the token's own row: fast waves in "
		"the first numbers, slower and slower ones after them, angle(t, i) = "
		"t / 10000^(2i/d_model).");
	show_table(term, "interleaved (2017 paper): sin, cos, sin, cos, …", &small[0]);
	show_table(term, "halves (Marian): all sines, then all cosines", &small[1]);
	show_picture(term, "interleaved", &large[0]);
	show_picture(term, "halves", &large[1]);
	text legend = {0};
	text_ink(&legend, term, INK_FAINT);
	text_add(&legend, "−1 ");
	for (int i = -4; i <= 4; i++)
		text_wave(&legend, term, i / 4.0);
	text_ink(&legend, term, INK_FAINT);
	text_add(&legend, " 1");
	text_ink(&legend, term, INK_PLAIN);
	text_add(&legend, "\n");
	fputc('\n', term->out);
	terminal_flow(term, &legend, 1);
}

hec_status explain_positions(hec_ctx *ctx, const terminal *term, bool json)
{
	static float small_numbers[2][TABLE_ROWS * TABLE_WIDTH];
	static float large_numbers[2][PICTURE_POSITIONS * PICTURE_ROWS];
	hec_tensor small[2], large[2];
	hec_status status = fill_tables(ctx, TABLE_ROWS, TABLE_WIDTH, small_numbers[0],
	                                small_numbers[1], small);
	if (status == HEC_OK)
		status = fill_tables(ctx, PICTURE_POSITIONS, PICTURE_ROWS, large_numbers[0],
		                     large_numbers[1], large);
	if (status != HEC_OK)
		return status;
	if (!json) {
		show_positions(term, small, large);
		return HEC_OK;
	}
	json_begin(POSITIONS_NAME, term->out);
	json_step("interleaved", -1, &small[0], true, term->out);
	json_step("halves", -1, &small[1], false, term->out);
	json_end(&small[0], NULL, term->out);
	return HEC_OK;
}
