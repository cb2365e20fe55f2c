/* report.h — the results of a run, as a table or as JSON. */
#ifndef CLI_BENCH_REPORT_H
#define CLI_BENCH_REPORT_H

#include <stdio.h>

#include "cli/bench/measure.h"

#define MEMORY_OP "attention_memory" /* the one row that is not timed */

typedef enum bench_goal {
	GOAL_NONE = 0,
	GOAL_FRACTION, /* of the ceiling: at least */
	GOAL_TIME,     /* of the time of the same row without --causal: at most */
	GOAL_RATE,     /* of the rate of the first row of this operation with that many rows of
	                   queries: at least */
	GOAL_MS,       /* at most */
	GOAL_MEGABYTES /* at most */
} bench_goal;

typedef struct bench_row {
	const char *op, *shape;
	bool causal;
	bench_variant variant;
	bench_goal kind;
	double goal;
} bench_row;

typedef struct bench_result {
	bench_row row;
	bench_shape shape;
	bench_timing timing;
	double flops, bytes;
	bool memory;
	double memory_fwd, memory_bwd; /* bytes; of attention_memory */
} bench_result;

typedef struct bench_report {
	hec_ctx *ctx;                   /* NULL while another process measures */
	bench_ceilings ceilings, first; /* as they are now, and before the rows */
	bench_result *results;
	size_t count, room;
	char error[BENCH_ERROR];
} bench_report;

/* Measures the ceilings, each for at most that many seconds. The context is the report's from now on,
 * also where this fails: report_close destroys it. */
hec_status report_open(hec_ctx *ctx, size_t room, double seconds, bench_report *out);
void report_close(bench_report *report);
void report_add(bench_report *report, const bench_result *result);

/* For people, as it comes: the ceilings; the row that was added last; what is to be said about all. */
void report_text_begin(const bench_report *report, FILE *out);
void report_text_row(const bench_report *report, FILE *out);
void report_text_end(const bench_report *report, FILE *out);
/* For machines, one document. */
void report_json(const bench_report *report, FILE *out);

#endif
