/* context.h — where work runs: a CPU instruction level and a pool of threads.
 *
 * A context is used by one thread at a time; make one per thread that calls. After fork() the
 * child makes its own. */
#ifndef HECATE_CONTEXT_H
#define HECATE_CONTEXT_H

#include <hecate/status.h>

HEC_BEGIN

typedef struct hec_ctx hec_ctx;

#define HEC_MAX_THREADS 1024 /* of a context, and wherever threads are asked for */

typedef struct hec_ctx_options { /* options */
	size_t size;             /* sizeof(hec_ctx_options) */
	int threads;             /* 0: $HECATE_THREADS, else the cores available */
	const char *isa; /* "ref", "avx512", …; NULL: $HECATE_ISA, else the best of this CPU */
	bool bind;       /* bind each thread to one core, the caller's too until the context is
	                    destroyed (for benchmarks) */
} hec_ctx_options;

/* clang-format off */
#define HEC_CTX_OPTIONS_INIT {.size = sizeof(hec_ctx_options)}
/* clang-format on */

/* options may be NULL. A level that is unknown or that this CPU lacks is HEC_ERR_UNSUPPORTED; the
 * message lists the levels there are. */
HEC_API HEC_MUST_USE hec_status hec_ctx_create(const hec_ctx_options *options, hec_ctx **out);
HEC_API void hec_ctx_destroy(hec_ctx *ctx); /* takes NULL */

/* A context in which every operation is left out. Calls check their arguments and take what they
 * need of their arenas as in a context of these options, and neither read nor write a number:
 * outputs stay as they are. So it tells how large an arena to make, at once for any model and shape
 * (hec_arena_create_reserved); also for the tensors themselves, which then lie in such an arena.
 * Still read, since a wrong one must be found: ids, targets, and the arrays of a mask. Not measured:
 * the scratch that operations of a working context keep, a few MB a thread. */
HEC_API HEC_MUST_USE hec_status hec_ctx_create_dry(const hec_ctx_options *options, hec_ctx **out);

HEC_API int hec_ctx_threads(const hec_ctx *ctx);
HEC_API const char *hec_ctx_isa(const hec_ctx *ctx);

/* The levels built into this library, from the plainest up: name of level i, NULL past the end. */
HEC_API const char *hec_isa_name(int i);
/* Whether this CPU and operating system can run level i. */
HEC_API bool hec_isa_available(int i);

HEC_END

#endif
