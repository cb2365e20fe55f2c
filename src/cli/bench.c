/* bench.c — `hecate bench`: each operation as a share of what this machine can do.
 *
 * First the ceilings, then the rows; all rates are of the public calls, on bound threads. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_measure.h"
#include "bench_report.h"
#include "command.h"

#define ROW_MS 600
#define MEMORY_OP "attention_memory"
#define MOST_SHAPES 128

static const struct bench_op {
	const char *name;
	bench_setup *setup;
} ops[] = {
	{"gemm", gemm_setup},
	{"attention_fwd", attention_fwd_setup},
	{"attention_bwd", attention_bwd_setup},
	{"attention_step", attention_step_setup},
	{"attention_call", attention_call_setup},
	{MEMORY_OP, NULL},
	{"encoder_layer_fwd", encoder_fwd_setup},
	{"encoder_layer_bwd", encoder_bwd_setup},
	{"encoder_layer_pack", encoder_pack_setup},
	{"norm", norm_setup},
	{"norm_bwd", norm_bwd_setup},
	{"activation", activation_setup},
	{"activation_bwd", activation_bwd_setup},
	{"cross_entropy", cross_entropy_setup},
	{"cross_entropy_bwd", cross_entropy_bwd_setup},
	{"embedding", embedding_setup},
	{"embedding_bwd", embedding_bwd_setup},
	{"adamw", adamw_setup},
};
#define OPS (sizeof ops / sizeof *ops)

/* The rows of a run without --shape, with what is to be reached (docs/performance.md). */
static const bench_row rows[] = {
	{"gemm", "M=128,N=768,K=768", false, BENCH_PLAIN, GOAL_FRACTION, 0.93},
	{"gemm", "M=1024,N=2048,K=512", false, BENCH_PLAIN, GOAL_FRACTION, 0.93},
	{"gemm", "M=512,N=768,K=768", false, BENCH_PLAIN, GOAL_FRACTION, 0.93},
	{"gemm", "M=1024,N=32000,K=512", false, BENCH_PLAIN, GOAL_FRACTION, 0.93},
	{"gemm", "M=32,N=2048,K=512", false, BENCH_WARM, GOAL_FRACTION, 0.85},
	{"gemm", "M=32,N=768,K=768", false, BENCH_WARM, GOAL_FRACTION, 0.85},
	{"gemm", "M=1,N=32000,K=512", false, BENCH_COLD, GOAL_FRACTION, 0.85},
	{"gemm", "M=1,N=2048,K=512", false, BENCH_COLD, GOAL_FRACTION, 0.85},
	{"attention_fwd", "B=1,H=8,T=2048,K=64,D=64", false, BENCH_PLAIN, GOAL_FRACTION, 0.88},
	{"attention_fwd", "B=1,H=8,T=2048,K=64,D=64", true, BENCH_PLAIN, GOAL_TIME, 0.56},
	{"attention_fwd", "B=4,H=12,T=512,K=64,D=64", false, BENCH_PLAIN, GOAL_FRACTION, 0.86},
	{"attention_fwd", "B=4,H=12,T=512,K=64,D=64", true, BENCH_PLAIN, GOAL_TIME, 0.58},
	{"attention_fwd", "B=4,H=12,T=512,K=64,D=64", false, BENCH_MASK, GOAL_RATE, 0.8},
	{"attention_fwd", "B=4,H=12,T=512,K=64,D=64", false, BENCH_BIAS, GOAL_RATE, 0.8},
	{"attention_fwd", "B=4,H=12,T=512,K=64,D=64", false, BENCH_INTERLEAVED, GOAL_RATE, 0.8},
	{"attention_fwd", "B=4,H=12,T=512,K=128,D=128", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_fwd", "B=4,H=12,T=512,K=32,D=32", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_fwd", "B=4,H=12,T=512,K=64,D=96", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_fwd", "B=4,H=12,T=513,K=64,D=64", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_fwd", "B=8,H=8,T=128,K=64,D=64", false, BENCH_PLAIN, GOAL_FRACTION, 0.82},
	{"attention_fwd", "B=8,H=8,T=128,K=64,D=64", true, BENCH_PLAIN, GOAL_TIME, 0.62},
	{"attention_fwd", "B=8,H=8,T=127,K=64,D=64", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_fwd", "B=32,H=8,T=32,K=64,D=64", false, BENCH_PLAIN, GOAL_FRACTION, 0.66},
	{"attention_fwd", "B=32,H=8,T=32,K=64,D=64", true, BENCH_PLAIN, GOAL_NONE, 0},
	{"attention_bwd", "B=1,H=8,T=2048,K=64,D=64", false, BENCH_PLAIN, GOAL_FRACTION, 0.88},
	{"attention_bwd", "B=1,H=8,T=2048,K=64,D=64", true, BENCH_PLAIN, GOAL_TIME, 0.56},
	{"attention_bwd", "B=4,H=12,T=512,K=64,D=64", false, BENCH_PLAIN, GOAL_FRACTION, 0.86},
	{"attention_bwd", "B=4,H=12,T=512,K=64,D=64", true, BENCH_PLAIN, GOAL_TIME, 0.58},
	{"attention_bwd", "B=4,H=12,T=512,K=64,D=64", false, BENCH_MASK, GOAL_RATE, 0.8},
	{"attention_bwd", "B=4,H=12,T=512,K=64,D=64", false, BENCH_BIAS, GOAL_RATE, 0.8},
	{"attention_bwd", "B=4,H=12,T=512,K=64,D=64", false, BENCH_INTERLEAVED, GOAL_RATE, 0.8},
	{"attention_bwd", "B=4,H=12,T=512,K=128,D=128", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_bwd", "B=4,H=12,T=512,K=32,D=32", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_bwd", "B=4,H=12,T=512,K=64,D=96", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_bwd", "B=4,H=12,T=513,K=64,D=64", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_bwd", "B=8,H=8,T=128,K=64,D=64", false, BENCH_PLAIN, GOAL_FRACTION, 0.78},
	{"attention_bwd", "B=8,H=8,T=128,K=64,D=64", true, BENCH_PLAIN, GOAL_TIME, 0.62},
	{"attention_bwd", "B=8,H=8,T=127,K=64,D=64", false, BENCH_PLAIN, GOAL_RATE, 0.8},
	{"attention_bwd", "B=32,H=8,T=32,K=64,D=64", false, BENCH_PLAIN, GOAL_FRACTION, 0.60},
	{"attention_bwd", "B=32,H=8,T=32,K=64,D=64", true, BENCH_PLAIN, GOAL_NONE, 0},
	{"attention_step", "B=1,H=8,T=1,S=2048,K=64,D=64", false, BENCH_COLD, GOAL_FRACTION, 0.8},
	{"attention_step", "B=1,H=8,T=1,S=2048,K=64,D=64", false, BENCH_WARM, GOAL_NONE, 0},
	{"attention_call", "B=1,H=1,T=1,S=1,K=8,D=8", false, BENCH_PLAIN, GOAL_MS, 0.002},
	{MEMORY_OP, "B=1,H=8,T=16384,K=64", false, BENCH_PLAIN, GOAL_MEGABYTES, 64},
	{"encoder_layer_fwd", "B=8,T=128,C=512,F=2048,H=8", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"encoder_layer_bwd", "B=8,T=128,C=512,F=2048,H=8", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"encoder_layer_pack", "B=8,T=128,C=512,F=2048,H=8", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"norm", "", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"norm_bwd", "", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"activation", "", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"activation_bwd", "", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"cross_entropy", "", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"cross_entropy_bwd", "", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"embedding", "", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"embedding_bwd", "", false, BENCH_PLAIN, GOAL_NONE, 0},
	{"adamw", "", false, BENCH_PLAIN, GOAL_NONE, 0},
};
#define ROWS (sizeof rows / sizeof *rows)

static const struct bench_op *find_op(const char *name)
{
	for (size_t i = 0; i < OPS; i++) {
		if (strcmp(ops[i].name, name) == 0)
			return &ops[i];
	}
	return NULL;
}

/* One row, timed. */
static hec_status run_row(hec_ctx *ctx, const hec_ctx_options *options, const bench_row *row,
                          double seconds, bench_report *report)
{
	bench_result r = {.row = *row};
	char error[128];
	if (!shape_parse(row->shape, &r.shape, error, sizeof error))
		return HEC_ERR_ARGUMENT;
	if (strcmp(row->op, MEMORY_OP) == 0) {
		shape_default(&r.shape, 'B', 1);
		shape_default(&r.shape, 'H', 8);
		shape_default(&r.shape, 'T', 16384);
		shape_default(&r.shape, 'K', 64);
		BENCH_TRY(attention_memory(options, &r.shape, &r.memory_fwd, &r.memory_bwd));
		report_add(report, &r);
		return HEC_OK;
	}
	bench_case c = {
		.ctx = ctx, .shape = r.shape, .causal = row->causal, .variant = row->variant};
	hec_status status = find_op(row->op)->setup(&c);
	if (status == HEC_OK)
		status = case_measure(&c, &report->ceilings, seconds, &r.timing);
	r.shape = c.shape;
	r.row.variant = c.variant;
	r.flops = c.flops;
	r.bytes = c.bytes;
	r.memory = c.memory;
	hec_arena_destroy(c.arena);
	if (status == HEC_OK)
		report_add(report, &r);
	return status;
}

typedef struct asked {
	const char *op, *shape, *dtype, *variant;
	int64_t threads, ms;
	bool causal, json;
} asked;

/* What the options ask for, as one row; false: no single row, but those of the table. */
static bool single_row(const asked *a, bench_row *out)
{
	if (!a->op || (!a->shape && !a->variant && !a->causal))
		return false;
	*out = (bench_row){a->op, a->shape ? a->shape : "", a->causal, BENCH_PLAIN, GOAL_NONE, 0};
	for (int v = BENCH_PLAIN; a->variant && v <= BENCH_WARM; v++) {
		if (strcmp(bench_variant_name((bench_variant)v), a->variant) == 0)
			out->variant = (bench_variant)v;
	}
	return true;
}

/* The shapes of --shape, which are separated by semicolons. */
typedef struct shape_list {
	char *copy;
	const char *text[MOST_SHAPES];
	size_t count;
} shape_list;

static bool shapes_split(const char *text, shape_list *out)
{
	*out = (shape_list){.text = {""}, .count = 1};
	if (!text)
		return true;
	out->copy = malloc(strlen(text) + 1);
	if (!out->copy)
		return false;
	strcpy(out->copy, text);
	out->count = 0;
	for (char *at = out->copy; at && out->count < MOST_SHAPES; out->count++) {
		out->text[out->count] = at;
		at = strchr(at, ';');
		if (at)
			*at++ = '\0';
	}
	return true;
}

static int check_asked(const command *self, const asked *a, const shape_list *shapes)
{
	bench_shape shape;
	char error[160];
	if (a->op && !find_op(a->op)) {
		char list[512] = "";
		for (size_t i = 0; i < OPS; i++) {
			strcat(list, i ? ", " : "");
			strcat(list, ops[i].name);
		}
		return command_usage(self, "there is no operation '%.40s'; there are: %s", a->op,
		                     list);
	}
	if ((a->shape || a->variant || a->causal) && !a->op)
		return command_usage(self, "--shape, --variant and --causal need --op");
	for (size_t i = 0; i < shapes->count; i++) {
		if (!shape_parse(shapes->text[i], &shape, error, sizeof error))
			return command_usage(self, "%s", error);
	}
	bench_row row;
	if (a->variant && single_row(a, &row) && row.variant == BENCH_PLAIN)
		return command_usage(self, "--variant is mask, bias, interleaved, cold or warm");
	if (strcmp(a->dtype, "f32") != 0)
		return command_usage(self, "--dtype %.20s: only f32 has kernels", a->dtype);
	return PARSED;
}

static hec_status run_all(hec_ctx *ctx, const hec_ctx_options *options, const asked *a,
                          const shape_list *shapes, bench_report *report)
{
	bench_row one;
	double seconds = 1e-3 * (double)a->ms;
	if (single_row(a, &one)) {
		for (size_t i = 0; i < shapes->count; i++) {
			one.shape = shapes->text[i];
			BENCH_TRY(run_row(ctx, options, &one, seconds, report));
		}
		return HEC_OK;
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (a->op && strcmp(a->op, rows[i].op) != 0)
			continue;
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r\033[K%s %s", rows[i].op, rows[i].shape);
		BENCH_TRY(run_row(ctx, options, &rows[i], seconds, report));
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	return HEC_OK;
}

static int measure(const command *self, const asked *a, const shape_list *shapes)
{
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = (int)a->threads;
	options.bind = true;
	hec_ctx *ctx = NULL;
	if (hec_ctx_create(&options, &ctx) != HEC_OK)
		return command_failed(self, "%s", hec_error_message());
	bench_report report;
	hec_status status = report_open(ctx, ROWS + MOST_SHAPES, 1e-3 * (double)a->ms, &report);
	if (status == HEC_OK)
		status = run_all(ctx, &options, a, shapes, &report);
	if (status == HEC_OK)
		(a->json ? report_json : report_text)(&report, stdout);
	report_close(&report);
	hec_ctx_destroy(ctx);
	return status == HEC_OK ? EXIT_DONE : command_failed(self, "%s", hec_error_message());
}

static int run_bench(const command *self, int argc, char **argv)
{
	asked a = {.dtype = "f32", .ms = ROW_MS};
	const option table[] = {
		{OPTION_TEXT, "--op", "NAME", "one operation", &a.op, 0, 0},
		{OPTION_TEXT, "--shape", "B=1,T=512,…", "a shape of it, or several with ; between",
	         &a.shape, 0, 0},
		{OPTION_FLAG, "--causal", NULL, "attention to the past alone", &a.causal, 0, 0},
		{OPTION_TEXT, "--variant", "NAME",
	         "mask, bias, interleaved (attention); cold, warm (gemm, attention_step)",
	         &a.variant, 0, 0},
		{OPTION_TEXT, "--dtype", "f32", "the type of numbers", &a.dtype, 0, 0},
		{OPTION_WHOLE, "--threads", "N", "threads, each bound to a core", &a.threads, 1,
	         1024},
		{OPTION_WHOLE, "--ms", "N", "milliseconds of timing a row", &a.ms, 1, 60000},
		{OPTION_FLAG, "--json", NULL, "for machines", &a.json, 0, 0},
		{0},
	};
	int operands = 0, code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (operands > 0)
		return command_usage(self, "'%.40s' is not an option", argv[0]);
	shape_list shapes;
	if (!shapes_split(a.shape, &shapes))
		return command_failed(self, "no memory");
	code = check_asked(self, &a, &shapes);
	if (code == PARSED)
		code = measure(self, &a, &shapes);
	free(shapes.copy);
	return code;
}

const command command_bench = {
	"bench",
	"Measure each operation against this machine's own ceilings",
	"bench [--op NAME [--shape …] [--causal] [--variant NAME]] [--threads N] [--json]",
	"First the ceilings, in the same run: multiply-adds from registers at each instruction\n"
	"level, and reading memory. Then each operation through the public calls: the median of\n"
	"many, its spread (quartile range / median) and its share of the ceiling. A row during "
	"which\n"
	"the ceiling fell by more than 5 % is measured again.\n\n"
	"Example: hecate bench --op attention_fwd --shape B=1,H=8,T=2048,K=64,D=64 --threads 2\n",
	run_bench,
};
