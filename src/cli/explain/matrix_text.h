/* matrix_text.h — a matrix as lines of text: brackets, aligned points, labels, the middle left out. */
#ifndef CLI_EXPLAIN_MATRIX_TEXT_H
#define CLI_EXPLAIN_MATRIX_TEXT_H

#include "cli/explain/steps.h"
#include "cli/io/terminal.h"

typedef struct matrix_look {
	const char *title;             /* "Q = X·W_Q"; its shape is put behind it */
	char *const *rows;             /* labels, or NULL */
	char *const *columns;          /* labels, or NULL */
	const explain_problem *hidden; /* cells that this problem does not see are "·"; or NULL */
	bool heat;                     /* each row once more as cells of a heat map */
	int most_rows, most_columns;   /* shown; a larger matrix has its middle left out */
} matrix_look;

void text_matrix(text *t, const terminal *term, const hec_tensor *m, const matrix_look *look);

/* Weights as a heat map alone. */
void text_heat_map(text *t, const terminal *term, const hec_tensor *weights, const char *title);
/* One line that says what the colours or shades of a heat map mean. */
void text_heat_legend(text *t, const terminal *term);

#endif
