/* measure.h — ceilings, timing, and when to believe a timing.
 *
 * The ceiling is looked at again and again while a case is timed. Where it fell by more than 5 %
 * against the best of the run, the machine was busy or slow, and the case is timed again. */
#ifndef CLI_BENCH_MEASURE_H
#define CLI_BENCH_MEASURE_H

#include "cli/bench/case.h"

#define BENCH_LEVELS 8

typedef struct bench_ceilings {
	int count; /* levels of this CPU */
	const char *isa[BENCH_LEVELS];
	double gflops[BENCH_LEVELS];
	int own; /* which of them the context uses */
	double read_gbs;
} bench_ceilings;

/* Takes at most that many seconds for each ceiling. */
hec_status ceilings_measure(hec_ctx *ctx, double seconds, bench_ceilings *out);

typedef struct bench_timing {
	double ms;     /* of one call: the median */
	double spread; /* (third quartile − first) / median */
	bool steady;   /* the ceiling held while it was measured */
} bench_timing;

/* Times c->call for about that many seconds; raises ceilings where they turn out higher. */
hec_status case_measure(bench_case *c, bench_ceilings *ceilings, double seconds, bench_timing *out);

/* What attention over T positions takes beyond its inputs and outputs, in a process of its own:
 * bytes of the forward and of the backward pass. Where it fails, error says why. */
hec_status attention_memory(const hec_ctx_options *options, const bench_shape *shape, double *fwd,
                            double *bwd, char error[BENCH_ERROR]);

#endif
