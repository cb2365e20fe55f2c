/* report.c — rates, shares of the ceiling and goals, printed. */
#include "cli/bench/report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/io/plural.h"
#include "cli/io/put.h"

#define RAISED 1.01 /* a ceiling: worth a word */

hec_status report_open(hec_ctx *ctx, size_t room, double seconds, bench_report *out)
{
	*out = (bench_report){.ctx = ctx, .room = room};
	out->results = calloc(room, sizeof *out->results);
	if (!out->results) {
		snprintf(out->error, sizeof out->error, "out of memory");
		return HEC_ERR_MEMORY;
	}
	hec_status status = ceilings_measure(ctx, seconds, &out->ceilings);
	out->first = out->ceilings;
	return status;
}

void report_close(bench_report *report)
{
	free(report->results);
	hec_ctx_destroy(report->ctx);
}

void report_add(bench_report *report, const bench_result *result)
{
	if (report->count < report->room)
		report->results[report->count++] = *result;
}

static bool is_timed(const bench_result *r)
{
	return strcmp(r->row.op, MEMORY_OP) != 0;
}

static double work_rate(double work, const bench_result *r)
{
	return r->timing.ms > 0 ? 1e-6 * work / r->timing.ms : 0;
}

static double ceiling_fraction(const bench_report *report, const bench_result *r)
{
	const bench_ceilings *c = &report->ceilings;
	return r->memory ? work_rate(r->bytes, r) / c->read_gbs
	                 : work_rate(r->flops, r) / c->gflops[c->own];
}

/* The row that a relative goal is about: the first plain one of the operation with the same time
 * (for GOAL_RATE: about the same). */
static const bench_result *base_of(const bench_report *report, const bench_result *r)
{
	int64_t T = shape_get(&r->shape, 'T');
	for (size_t i = 0; i < report->count; i++) {
		const bench_result *b = &report->results[i];
		int64_t other = shape_get(&b->shape, 'T');
		if (b == r || strcmp(b->row.op, r->row.op) != 0 || b->row.causal ||
		    b->row.variant != BENCH_PLAIN || b->row.kind != GOAL_FRACTION)
			continue;
		if (T == other || (r->row.kind == GOAL_RATE && T >= other - 1 && T <= other + 1))
			return b;
	}
	return NULL;
}

/* What the goal of a row is compared with; NaN: unknown. */
static double goal_value(const bench_report *report, const bench_result *r)
{
	const bench_result *b;
	switch (r->row.kind) {
	case GOAL_FRACTION:
		return ceiling_fraction(report, r);
	case GOAL_MS:
		return r->timing.ms;
	case GOAL_MEGABYTES:
		return 1e-6 * (r->memory_fwd > r->memory_bwd ? r->memory_fwd : r->memory_bwd);
	case GOAL_TIME:
		b = base_of(report, r);
		return b ? r->timing.ms / b->timing.ms : NAN;
	case GOAL_RATE:
		b = base_of(report, r);
		return b ? ceiling_fraction(report, r) / ceiling_fraction(report, b) : NAN;
	case GOAL_NONE:
		break;
	}
	return NAN;
}

static bool goal_is_least(bench_goal kind)
{
	return kind == GOAL_FRACTION || kind == GOAL_RATE;
}

static void print_goal(const bench_report *report, const bench_result *r, FILE *out)
{
	static const char *const words[] = {"",         "of ceiling", "of full time",
	                                    "of plain", "ms",         "MB"};
	double got = goal_value(report, r), goal = r->row.goal;
	if (isnan(got))
		return;
	bool least = goal_is_least(r->row.kind), met = least ? got >= goal : got <= goal;
	if (r->row.kind != GOAL_FRACTION)
		fprintf(out, "%.3g ", got);
	fprintf(out, "%s (goal %s %.3g)%s", words[r->row.kind], least ? "≥" : "≤", goal,
	        met ? "" : "  short");
}

static void print_shape(const bench_shape *shape, FILE *out)
{
	char text[96] = "";
	for (int i = 0; i < BENCH_AXES; i++) {
		bool repeats =
			(BENCH_LETTERS[i] == 'G' && shape->size[i] == shape_get(shape, 'H')) ||
			(BENCH_LETTERS[i] == 'S' && shape->size[i] == shape_get(shape, 'T'));
		size_t n = strlen(text);
		if (shape->size[i] > 0 && !repeats)
			snprintf(text + n, sizeof text - n, "%s%c %lld", n ? " " : "",
			         BENCH_LETTERS[i], (long long)shape->size[i]);
	}
	fprintf(out, "%-31s", text);
}

static void print_row(const bench_report *report, const bench_result *r, FILE *out)
{
	fprintf(out, "%-18s ", r->row.op);
	print_shape(&r->shape, out);
	fprintf(out, " %-11s ", r->row.causal ? "causal" : bench_variant_name(r->row.variant));
	if (!is_timed(r)) {
		fprintf(out, "forward %.1f MB, backward %.1f MB above tensors   ",
		        1e-6 * r->memory_fwd, 1e-6 * r->memory_bwd);
	} else {
		bool tiny = r->timing.ms < 0.01;
		fprintf(out, "%9.4f %s %8.1f %s  %5.3f  ±%4.1f %%%s ",
		        tiny ? 1e3 * r->timing.ms : r->timing.ms, tiny ? "µs" : "ms",
		        work_rate(r->memory ? r->bytes : r->flops, r),
		        r->memory ? "GB/s   " : "GFLOP/s", ceiling_fraction(report, r),
		        100 * r->timing.spread, r->timing.steady ? " " : "!");
	}
	print_goal(report, r, out);
	fputc('\n', out);
}

static void print_ceilings(const bench_ceilings *c, FILE *out)
{
	for (int i = 0; i < c->count; i++)
		fprintf(out, " %s %.1f GFLOP/s  ", c->isa[i], c->gflops[i]);
	fprintf(out, " reading %.1f GB/s\n", c->read_gbs);
}

void report_text_begin(const bench_report *report, FILE *out)
{
	int threads = hec_ctx_threads(report->ctx);
	fprintf(out, "level %s, f32, %d thread%s\n", hec_ctx_isa(report->ctx), threads,
	        plural(threads));
	fprintf(out, "ceilings ");
	print_ceilings(&report->ceilings, out);
	fprintf(out, "\n%-18s %-31s %-11s %12s %16s  %5s  %7s\n", "operation", "shape", "", "time",
	        "rate", "share", "spread");
}

void report_text_row(const bench_report *report, FILE *out)
{
	print_row(report, &report->results[report->count - 1], out);
}

void report_text_end(const bench_report *report, FILE *out)
{
	const bench_ceilings *first = &report->first, *c = &report->ceilings;
	bool unsteady = false;
	for (size_t i = 0; i < report->count; i++)
		unsteady |= is_timed(&report->results[i]) && !report->results[i].timing.steady;
	if (c->gflops[c->own] > RAISED * first->gflops[c->own] ||
	    c->read_gbs > RAISED * first->read_gbs) {
		fputs("\nceilings found higher on the way, so early shares are too large: ", out);
		print_ceilings(c, out);
	}
	if (unsteady)
		fputs("\n! while this was measured, more than 5 % of the machine went elsewhere\n",
		      out);
}

static json_t *shape_json(const bench_shape *shape)
{
	json_t *o = json_object();
	for (int i = 0; i < BENCH_AXES; i++) {
		char name[2] = {BENCH_LETTERS[i], 0};
		if (shape->size[i] > 0)
			json_object_set_new(o, name, json_integer(shape->size[i]));
	}
	return o;
}

static json_t *result_json(const bench_report *report, const bench_result *r)
{
	json_t *o = json_object();
	json_object_set_new(o, "op", json_string(r->row.op));
	json_object_set_new(o, "dtype", json_string("f32"));
	json_object_set_new(o, "isa", json_string(hec_ctx_isa(report->ctx)));
	json_object_set_new(o, "threads", json_integer(hec_ctx_threads(report->ctx)));
	json_object_set_new(o, "shape", shape_json(&r->shape));
	json_object_set_new(o, "causal", json_boolean(r->row.causal));
	if (r->row.variant != BENCH_PLAIN)
		json_object_set_new(o, "variant", json_string(bench_variant_name(r->row.variant)));
	if (!is_timed(r)) {
		json_object_set_new(o, "fwd_bytes", json_real(r->memory_fwd));
		json_object_set_new(o, "bwd_bytes", json_real(r->memory_bwd));
		return o;
	}
	json_object_set_new(o, "gflops", json_real(work_rate(r->flops, r)));
	json_object_set_new(o, "gbs", json_real(work_rate(r->bytes, r)));
	json_object_set_new(o, "ceiling", json_string(r->memory ? "read" : "fma"));
	json_object_set_new(o, "fraction", json_real(ceiling_fraction(report, r)));
	json_object_set_new(o, "ms", json_real(r->timing.ms));
	json_object_set_new(o, "spread", json_real(r->timing.spread));
	json_object_set_new(o, "steady", json_boolean(r->timing.steady));
	return o;
}

void report_json(const bench_report *report, FILE *out)
{
	const bench_ceilings *c = &report->ceilings;
	json_t *root = json_object(), *ceilings = json_array(), *results = json_array();
	for (int i = 0; i < c->count; i++) {
		json_t *o = json_object();
		json_object_set_new(o, "isa", json_string(c->isa[i]));
		json_object_set_new(o, "dtype", json_string("f32"));
		json_object_set_new(o, "threads", json_integer(hec_ctx_threads(report->ctx)));
		json_object_set_new(o, "gflops", json_real(c->gflops[i]));
		json_array_append_new(ceilings, o);
	}
	for (size_t i = 0; i < report->count; i++)
		json_array_append_new(results, result_json(report, &report->results[i]));
	json_object_set_new(root, "ceilings", ceilings);
	json_object_set_new(root, "read_gbs", json_real(c->read_gbs));
	json_object_set_new(root, "results", results);
	(void)put_json_value(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6), out);
	fputc('\n', out);
	json_decref(root);
}
