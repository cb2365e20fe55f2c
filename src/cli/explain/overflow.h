/* overflow.h — what happens without the subtraction of the maximum. */
#ifndef CLI_EXPLAIN_OVERFLOW_H
#define CLI_EXPLAIN_OVERFLOW_H

#include "cli/explain/steps.h"
#include "cli/io/terminal.h"

/* Shows the softmax of head 0's last row both ways, at several sizes of its scores. */
hec_status explain_show_overflow(hec_ctx *ctx, const terminal *term, const explain_problem *p,
                                 const explain_steps *s);

#endif
