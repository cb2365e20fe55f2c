/* examples.h — the built-in examples, each as a problem. Several were published elsewhere with wrong numbers:
 * their notes say which, for a reader who never saw them. */
#ifndef CLI_EXPLAIN_EXAMPLES_H
#define CLI_EXPLAIN_EXAMPLES_H

#include <hecate/context.h>

#include "cli/explain/problem.h"

typedef struct example {
	const char *name;
	const char *summary;
	const char *look; /* what to look for, ahead of the numbers; "" for nothing */
	const char *note; /* what else to know, after them; "" for nothing */
	bool random;      /* has weights that depend on the seed */
	/* Makes the problem, unchecked, random weights by p->seed; heads 0: the example's own. HEC_OK,
	 * or the library's message is set (but for HEC_ERR_MEMORY of the problem's own memory). */
	hec_status (*build)(hec_ctx *ctx, int64_t heads, explain_problem *p);
} example;

/* Example i, NULL past the end. */
const example *example_at(size_t i);
const example *example_find(const char *name); /* NULL: there is none */

#endif
