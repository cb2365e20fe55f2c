/* page.h — what the pages for people share: numbered steps, and matrices of each head that is shown. */
#ifndef CLI_EXPLAIN_PAGE_H
#define CLI_EXPLAIN_PAGE_H

#include "cli/explain/matrix_text.h"
#include "cli/explain/steps.h"
#include "cli/io/terminal.h"

#define SMALL_HEADS 3  /* up to here every head of a small problem is shown */
#define SCORES_MOST 12 /* rows and columns of a matrix of scores shown */

typedef struct page {
	const terminal *term;
	const explain_problem *p;
	const explain_steps *s;
	int number;           /* of the step that was shown last */
	int64_t heads_shown;  /* with numbers */
	int most;             /* rows and columns of a matrix shown */
	char *const *queries; /* labels, or NULL */
	char *const *keys;
} page;

page page_open(const terminal *term, const explain_problem *p, const explain_steps *s);
/* One line, and one in small print. */
void page_line(const terminal *term, ink which, const char *line);
/* The heading of the next step, and words below it. */
void page_step(page *g, const char *title, const char *words);
/* The matrix of a step as a block to flow; nothing where there is no such step. head −1: of no single head.
 * title: "#" stands for the head's subscript. */
void page_matrix(const page *g, text *blocks, size_t *count, const char *name, int64_t head,
                 const char *title, const matrix_look *look);
bool page_is_masked(const page *g);

#endif
