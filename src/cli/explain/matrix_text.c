/* matrix_text.c — numbers in columns. A matrix gets as many decimals as its largest number leaves
 * room for; whole numbers have none, and what would round to zero is shown by its exponent. */
#include "cli/explain/matrix_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <hecate/width.h>

#define ROWS_MOST 24
#define COLUMNS_MOST 32
#define CELL 24          /* bytes of a number */
#define LABEL 64         /* bytes of a label */
#define LABEL_COLUMNS 10 /* and its width */
#define HEAT_MOST 32
#define GAP_INDEX (-1) /* where the middle is left out */

/* Which of n lines are shown: all, or the first ones, a gap and the last. Returns how many. */
static int choose_indices(int64_t n, int most, int64_t *index)
{
	int count = 0;
	if (n <= most + 1) { /* a gap takes a line as well */
		for (; count < n; count++)
			index[count] = count;
		return count;
	}
	for (; count < most - 1; count++)
		index[count] = count;
	index[count++] = GAP_INDEX;
	index[count++] = n - 1;
	return count;
}

/* Decimals for what is shown of a matrix, and its largest number. */
typedef struct scale {
	int decimals; /* −1: all with exponents */
	bool fewer;   /* than there could be: what rounds to zero is then shown so */
	double largest;
} scale;

static scale choose_scale(const hec_tensor *m, const int64_t *rows, int row_count,
                          const int64_t *columns, int column_count)
{
	double largest = 0;
	bool whole = true;
	for (int r = 0; r < row_count; r++)
		for (int c = 0; c < column_count; c++) {
			if (rows[r] == GAP_INDEX || columns[c] == GAP_INDEX)
				continue;
			double value = value_at(m, rows[r], columns[c]);
			if (!isfinite(value))
				continue;
			largest = fmax(largest, fabs(value));
			whole = whole && value == floor(value);
		}
	int decimals = largest < 10 ? 4 : largest < 100 ? 3 : largest < 1000 ? 2 : 1;
	return (scale){largest >= 1e6 ? -1 : whole ? 0 : decimals, false, largest};
}

/* "2.1e-09" → "2.1e-9". */
static void short_exponent(char *number)
{
	char *e = strchr(number, 'e');
	if (!e)
		return;
	char *digits = e + 2, *to = e[1] == '-' ? e + 2 : e + 1;
	while (*digits == '0' && digits[1])
		digits++;
	memmove(to, digits, strlen(digits) + 1);
}

/* Exactly zero stands out among numbers that are only small, and exactly one among weights. */
static bool is_exact(double value, const scale *s)
{
	return value == 0 || (value == 1 && s->largest == 1);
}

static void format_number(double value, const scale *s, char out[CELL])
{
	int decimals = s->decimals;
	if (isnan(value))
		snprintf(out, CELL, "NaN");
	else if (isinf(value))
		snprintf(out, CELL, value > 0 ? "∞" : "−∞");
	else if (is_exact(value, s))
		snprintf(out, CELL, value == 0 ? "0" : "1");
	else if (decimals < 0)
		snprintf(out, CELL, "%.3e", value);
	else if (fabs(value) < 0.5 * pow(10, -decimals) && !s->fewer)
		snprintf(out, CELL, "%.1e", value);
	else
		snprintf(out, CELL, "%.*f", decimals, value);
	short_exponent(out);
}

typedef struct layout {
	int64_t rows[ROWS_MOST + 2], columns[COLUMNS_MOST + 2];
	int row_count, column_count;
	char cells[ROWS_MOST + 2][COLUMNS_MOST + 2][CELL];
	char labels[COLUMNS_MOST + 2][LABEL]; /* above the columns */
	int before[COLUMNS_MOST + 2];         /* columns up to the decimal point */
	int width[COLUMNS_MOST + 2];
	int label_width; /* of the rows */
} layout;

/* Columns of the terminal up to the decimal point of a number, or all of it. */
static int before_point(const char *cell)
{
	size_t n = *cell == 'N' ? 1 : strcspn(cell, "."); /* NaN hangs over to the right */
	return hec_display_width(cell, n);
}

/* fewer: so many decimals less than there would be, but two at least. */
static void fill_cells(layout *l, const hec_tensor *m, const matrix_look *look, int fewer)
{
	scale size = choose_scale(m, l->rows, l->row_count, l->columns, l->column_count);
	if (size.decimals > 2 && fewer > 0) {
		size.decimals = size.decimals - fewer > 2 ? size.decimals - fewer : 2;
		size.fewer = true;
	}
	for (int r = 0; r < l->row_count; r++)
		for (int c = 0; c < l->column_count; c++) {
			char *cell = l->cells[r][c];
			int64_t t = l->rows[r], s = l->columns[c];
			if (t == GAP_INDEX)
				snprintf(cell, CELL, "⋮");
			else if (s == GAP_INDEX)
				snprintf(cell, CELL, "…");
			else if (look->hidden && !problem_sees(look->hidden, t, s))
				snprintf(cell, CELL, "·");
			else
				format_number(value_at(m, t, s), &size, cell);
		}
}

static void measure_numbers(layout *l, const matrix_look *look)
{
	for (int c = 0; c < l->column_count; c++) {
		int before = 0, after = 0;
		for (int r = 0; r < l->row_count; r++) {
			int b = before_point(l->cells[r][c]);
			int a = hec_display_width(l->cells[r][c], strlen(l->cells[r][c])) - b;
			before = b > before ? b : before;
			after = a > after ? a : after;
		}
		l->before[c] = before;
		l->width[c] = before + after;
		l->labels[c][0] = '\0';
		if (look->columns && l->columns[c] != GAP_INDEX) {
			int w = hec_text_clean(look->columns[l->columns[c]], LABEL_COLUMNS,
			                       l->labels[c], LABEL);
			if (w > l->width[c]) {
				l->before[c] += w - l->width[c];
				l->width[c] = w;
			}
		}
	}
	l->label_width = 0;
	for (int r = 0; r < l->row_count && look->rows; r++) {
		char label[LABEL];
		int w = l->rows[r] == GAP_INDEX ? 1
		                                : hec_text_clean(look->rows[l->rows[r]],
		                                                 LABEL_COLUMNS, label, LABEL);
		l->label_width = w > l->label_width ? w : l->label_width;
	}
}

static int total_width(const layout *l, bool heat)
{
	int width = l->label_width + (l->label_width > 0) + 4 + (heat ? 2 : 0);
	for (int c = 0; c < l->column_count; c++)
		width += l->width[c] + (c > 0 ? 2 : 0) + (heat ? 2 : 0);
	return width;
}

static void put_padded(text *t, const char *word, int width)
{
	text_add(t, "%s%*s", word, width - hec_display_width(word, strlen(word)), "");
}

static void put_title(text *t, const terminal *term, const hec_tensor *m, const char *title)
{
	text_ink(t, term, INK_FORMULA);
	text_add(t, "%s", title);
	text_ink(t, term, INK_FAINT);
	if (m->rank == 1)
		text_add(t, "  %" PRId64, m->shape[0]);
	else
		text_add(t, "  %" PRId64 "×%" PRId64, m->shape[0], m->shape[1]);
	text_ink(t, term, INK_PLAIN);
	text_add(t, "\n");
}

static void put_column_labels(text *t, const terminal *term, const layout *l)
{
	text_ink(t, term, INK_FAINT);
	text_add(t, "%*s", l->label_width + (l->label_width > 0) + 2, "");
	for (int c = 0; c < l->column_count; c++) {
		int w = hec_display_width(l->labels[c], strlen(l->labels[c]));
		text_add(t, "%s%*s%s", c > 0 ? "  " : "", l->width[c] - w, "", l->labels[c]);
	}
	text_ink(t, term, INK_PLAIN);
	text_add(t, "\n");
}

static void put_heat(text *t, const terminal *term, const layout *l, const hec_tensor *m, int r)
{
	text_add(t, "  ");
	for (int c = 0; c < l->column_count; c++) {
		if (l->rows[r] == GAP_INDEX || l->columns[c] == GAP_INDEX)
			text_add(t, "%s", l->rows[r] == GAP_INDEX ? "⋮ " : "… ");
		else
			text_heat(t, term, value_at(m, l->rows[r], l->columns[c]));
	}
	text_trim(t);
}

static void put_row(text *t, const terminal *term, const layout *l, const hec_tensor *m,
                    const matrix_look *look, int r)
{
	const char *left = l->row_count == 1      ? "["
	                   : r == 0               ? "⎡"
	                   : r + 1 < l->row_count ? "⎢"
	                                          : "⎣";
	const char *right = l->row_count == 1      ? "]"
	                    : r == 0               ? "⎤"
	                    : r + 1 < l->row_count ? "⎥"
	                                           : "⎦";
	text_ink(t, term, INK_FAINT);
	if (look->rows) {
		char label[LABEL] = "⋮";
		if (l->rows[r] != GAP_INDEX)
			hec_text_clean(look->rows[l->rows[r]], LABEL_COLUMNS, label, LABEL);
		put_padded(t, label, l->label_width + 1);
	}
	text_add(t, "%s ", left);
	text_ink(t, term, INK_PLAIN);
	for (int c = 0; c < l->column_count; c++) {
		const char *cell = l->cells[r][c];
		int pad = l->before[c] - before_point(cell);
		text_add(t, "%s%*s", c > 0 ? "  " : "", pad, "");
		put_padded(t, cell, l->width[c] - pad);
	}
	text_ink(t, term, INK_FAINT);
	text_add(t, " %s", right);
	text_ink(t, term, INK_PLAIN);
	if (look->heat)
		put_heat(t, term, l, m, r);
	text_add(t, "\n");
}

/* Fewer decimals before columns are left out, but all decimals where columns are left out anyway. */
static void choose_layout(layout *l, const terminal *term, const hec_tensor *m,
                          const matrix_look *look)
{
	int room = term->columns - 2;
	int most_rows = look->most_rows < ROWS_MOST ? look->most_rows : ROWS_MOST;
	int most_columns = look->most_columns < COLUMNS_MOST ? look->most_columns : COLUMNS_MOST;
	l->row_count = choose_indices(m->rank == 1 ? 1 : m->shape[0], most_rows, l->rows);
	for (int fewer = 0; fewer <= 2; fewer++) {
		l->column_count = choose_indices(m->shape[m->rank - 1], most_columns, l->columns);
		fill_cells(l, m, look, fewer);
		measure_numbers(l, look);
		if (total_width(l, look->heat) <= room)
			return;
	}
	do {
		l->column_count = choose_indices(m->shape[m->rank - 1], --most_columns, l->columns);
		fill_cells(l, m, look, 0);
		measure_numbers(l, look);
	} while (total_width(l, look->heat) > room && most_columns > 2);
}

void text_matrix(text *t, const terminal *term, const hec_tensor *m, const matrix_look *look)
{
	layout l;
	choose_layout(&l, term, m, look);
	put_title(t, term, m, look->title);
	if (look->columns)
		put_column_labels(t, term, &l);
	for (int r = 0; r < l.row_count; r++)
		put_row(t, term, &l, m, look, r);
}

void text_heat_map(text *t, const terminal *term, const hec_tensor *weights, const char *title)
{
	text_ink(t, term, INK_FAINT);
	text_add(t, "%s", title);
	text_ink(t, term, INK_PLAIN);
	text_add(t, "\n");
	int fit = (term->columns - 4) / 2;
	int64_t rows = weights->shape[0], columns = weights->shape[1];
	int64_t most = fit < HEAT_MOST ? fit : HEAT_MOST;
	for (int64_t r = 0; r < rows && r < HEAT_MOST; r++) {
		for (int64_t c = 0; c < columns && c < most; c++)
			text_heat(t, term, value_at(weights, r, c));
		text_trim(t);
		text_add(t, "%s\n", columns > most ? "…" : "");
	}
	if (rows > HEAT_MOST)
		text_add(t, "⋮ of %" PRId64 " rows\n", rows);
}

void text_heat_legend(text *t, const terminal *term)
{
	text_ink(t, term, INK_FAINT);
	if (term->colour == HEC_VIEW_PLAIN) {
		text_add(t, "· is 0, ░ below ¼, ▒ below ½, ▓ below ¾, █ up to 1");
	} else {
		text_add(t, "0 ");
		for (int i = 0; i <= 8; i++)
			text_heat(t, term, i / 8.0);
		text_ink(t, term, INK_FAINT);
		text_add(t, " 1");
	}
	text_ink(t, term, INK_PLAIN);
	text_add(t, "\n");
}
