/* calls.h — every public forward and backward call, ready to be made: for tests of what holds for
 * each of them (no allocation, clean refusals). */
#ifndef TESTS_SUPPORT_CALLS_H
#define TESTS_SUPPORT_CALLS_H

#include "support/layers.h"

typedef struct call_arg {
	const char *name; /* as an error message has it */
	hec_tensor tensor;
	bool optional;
	bool output;   /* written or added to */
	unsigned free; /* bit i: axis i may have any size */
} call_arg;

#define CALL_ARGS 12

typedef struct call {
	const char *name;
	kit *k;
	hec_ctx *ctx;
	hec_arena *arena; /* NULL: the call takes none */
	int count;
	call_arg args[CALL_ARGS];
	/* Makes the call with these arguments; NULL is an absent one. */
	hec_status (*run)(struct call *c, hec_tensor *const a[CALL_ARGS]);
	layer layer;
	layer_io io;
	hec_feed_forward ff, ff_grad;
	void *kept;
} call;

#define CALLS_MOST 64
/* Fills list and returns how many there are. */
int calls_open(kit *k, hec_dtype dtype, call list[CALLS_MOST]);
/* The call with its own arguments. */
hec_status call_make(call *c);

#endif
