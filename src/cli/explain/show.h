/* show.h — a computed problem for people and for machines. */
#ifndef CLI_EXPLAIN_SHOW_H
#define CLI_EXPLAIN_SHOW_H

#include <stdio.h>

#include "cli/explain/gradient.h"
#include "cli/explain/steps.h"
#include "cli/io/terminal.h"

/* For machines: {"example": …, "steps": […], "output": […]}; with a gradient (or NULL) also its steps,
 * "loss", "library" and "differences". */
void explain_show_json(const char *name, const explain_steps *s, const explain_gradient *g,
                       FILE *out);
/* The parts, for what is no attention. */
void json_begin(const char *name, FILE *out);
void json_step(const char *name, int64_t head, const hec_tensor *values, bool first, FILE *out);
void json_end(const hec_tensor *output, const explain_gradient *g, FILE *out);

/* For people: title, what it is, what to look for (each may be ""), then each step with its formula,
 * shape and numbers. */
void explain_show_title(const terminal *term, const char *name, const char *summary,
                        const char *look);
void explain_show_given(const terminal *term, const explain_problem *p);
/* Returns the number of the last step. */
int explain_show_steps(const terminal *term, const explain_problem *p, const explain_steps *s);
/* The backward pass; its steps are numbered from number + 1. */
void explain_show_gradient(const terminal *term, const explain_problem *p,
                           const explain_gradient *gradient, int number);
void explain_show_note(const terminal *term, const char *note);

#endif
