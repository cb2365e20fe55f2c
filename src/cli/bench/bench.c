/* bench.c — `hecate bench`: each operation as a share of what this machine can do.
 *
 * First the ceilings, then the rows; all rates are of the public calls, on bound threads. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench/measure.h"
#include "cli/bench/model.h"
#include "cli/bench/report.h"
#include "cli/command/command.h"
#include "cli/io/terminal.h"

#define ROW_MS 600
#define MOST_SHAPES 128

/* Variants as a set. */
#define HAS(v) (1u << (v))
#define ATTENTION_ONES (HAS(BENCH_MASK) | HAS(BENCH_BIAS) | HAS(BENCH_INTERLEAVED))
#define CACHE_ONES (HAS(BENCH_COLD) | HAS(BENCH_WARM))

/* What each operation takes; anything else is wrong usage, not something to be passed over. */
static const struct bench_op {
	const char *name;
	bench_setup *setup;
	const char *letters;
	unsigned variants;
	bool causal;
} ops[] = {
	{"gemm", gemm_setup, "MNK", CACHE_ONES, false},
	{"attention_fwd", attention_fwd_setup, "BHGTSKD", ATTENTION_ONES, true},
	{"attention_bwd", attention_bwd_setup, "BHGTSKD", ATTENTION_ONES, true},
	{"attention_step", attention_step_setup, "BHGTSKD", CACHE_ONES, true},
	{"attention_call", attention_call_setup, "BHGTSKD", ATTENTION_ONES, true},
	{MEMORY_OP, NULL, "BHTK", 0, false},
	{"encoder_layer_fwd", encoder_fwd_setup, "BTCFH", 0, false},
	{"encoder_layer_bwd", encoder_bwd_setup, "BTCFH", 0, false},
	{"encoder_layer_pack", encoder_pack_setup, "BTCFH", 0, false},
	{"norm", norm_setup, "NC", 0, false},
	{"norm_bwd", norm_bwd_setup, "NC", 0, false},
	{"activation", activation_setup, "NF", 0, false},
	{"activation_bwd", activation_bwd_setup, "NF", 0, false},
	{"cross_entropy", cross_entropy_setup, "NV", 0, false},
	{"cross_entropy_bwd", cross_entropy_bwd_setup, "NV", 0, false},
	{"embedding", embedding_setup, "NVC", 0, false},
	{"embedding_bwd", embedding_bwd_setup, "NVC", 0, false},
	{"adamw", adamw_setup, "N", 0, false},
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

/* Memory is measured in a process of its own, which may use every core that this one may: so no
 * context is bound meanwhile. */
static hec_status run_memory_row(const hec_ctx_options *options, bench_result *r,
                                 bench_report *report)
{
	shape_default(&r->shape, 'B', 1);
	shape_default(&r->shape, 'H', 8);
	shape_default(&r->shape, 'T', 16384);
	shape_default(&r->shape, 'K', 64);
	hec_ctx_destroy(report->ctx);
	report->ctx = NULL;
	TRY(attention_memory(options, &r->shape, &r->memory_fwd, &r->memory_bwd, report->error));
	TRY(hec_ctx_create(options, &report->ctx));
	report_add(report, r);
	return HEC_OK;
}

/* One row, measured. */
static hec_status run_row(const hec_ctx_options *options, const bench_row *row, double seconds,
                          bench_report *report)
{
	bench_result r = {.row = *row};
	const struct bench_op *op = find_op(row->op);
	if (!shape_parse(row->shape, op->letters, &r.shape, report->error, sizeof report->error))
		return HEC_ERR_ARGUMENT;
	if (!op->setup)
		return run_memory_row(options, &r, report);
	bench_case c = {.ctx = report->ctx,
	                .shape = r.shape,
	                .causal = row->causal,
	                .variant = row->variant};
	hec_status status = op->setup(&c);
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
	else
		memcpy(report->error, c.error, sizeof c.error);
	return status;
}

typedef struct asked {
	const char *op, *shape, *dtype, *variant, *model, *mode;
	int64_t threads, ms;
	bool causal, json;
} asked;

static bool find_variant(const char *name, bench_variant *out)
{
	for (int v = BENCH_PLAIN + 1; v <= BENCH_WARM; v++) {
		if (strcmp(bench_variant_name((bench_variant)v), name) == 0) {
			*out = (bench_variant)v;
			return true;
		}
	}
	return false;
}

/* What the options ask for, as one row; false: no single row, but those of the table. */
static bool single_row(const asked *a, bench_row *out)
{
	if (!a->op || (!a->shape && !a->variant && !a->causal))
		return false;
	*out = (bench_row){a->op, a->shape ? a->shape : "", a->causal, BENCH_PLAIN, GOAL_NONE, 0};
	if (a->variant)
		(void)find_variant(a->variant, &out->variant);
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
	for (char *at = out->copy; at; out->count++) {
		if (out->count < MOST_SHAPES)
			out->text[out->count] = at;
		at = strchr(at, ';');
		if (at)
			*at++ = '\0';
	}
	return true;
}

static int no_such_op(const command *self, const char *name)
{
	text list = {0};
	for (size_t i = 0; i < OPS; i++)
		text_add(&list, "%s%s", i ? ", " : "", ops[i].name);
	int code = command_usage(self, "there is no operation '%.40s'; there are: %s", name,
	                         list.data);
	text_free(&list);
	return code;
}

static int wrong_variant(const command *self, const struct bench_op *op, const char *name)
{
	text list = {0};
	for (int v = BENCH_PLAIN + 1; v <= BENCH_WARM; v++) {
		if (op->variants & HAS(v))
			text_add(&list, "%s%s", list.data ? ", " : "",
			         bench_variant_name((bench_variant)v));
	}
	int code = command_usage(self, "--variant %.40s: those of %s are: %s", name, op->name,
	                         list.data ? list.data : "none");
	text_free(&list);
	return code;
}

static int check_asked(const command *self, const asked *a, const shape_list *shapes)
{
	bench_shape shape;
	bench_variant variant = BENCH_PLAIN;
	char error[BENCH_ERROR];
	const struct bench_op *op = a->op ? find_op(a->op) : NULL;
	if (a->op && !op)
		return no_such_op(self, a->op);
	if ((a->shape || a->variant || a->causal) && !op)
		return command_usage(self, "--shape, --variant and --causal need --op");
	if (shapes->count > MOST_SHAPES)
		return command_usage(self, "--shape has %zu shapes, %d are the most", shapes->count,
		                     MOST_SHAPES);
	for (size_t i = 0; op && i < shapes->count; i++) {
		if (!shape_parse(shapes->text[i], op->letters, &shape, error, sizeof error))
			return command_usage(self, "%s", error);
	}
	if (a->variant && (!find_variant(a->variant, &variant) || !(op->variants & HAS(variant))))
		return wrong_variant(self, op, a->variant);
	if (a->causal && !op->causal)
		return command_usage(self, "%s has nothing causal", op->name);
	if (strcmp(a->dtype, "f32") != 0)
		return command_usage(self, "--dtype %.20s: only f32 has kernels", a->dtype);
	return PARSED;
}

/* A word on the terminal about what takes its time; NULL: takes it away again. */
static void show_progress(const bench_row *row)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s%s%s", row ? row->op : "", row ? " " : "",
		        row ? row->shape : "");
}

/* A row, shown to people as soon as it is there. Nobody reads on where a write has failed. */
static hec_status show_row(const hec_ctx_options *options, const asked *a, const bench_row *row,
                           bench_report *report)
{
	if (ferror(stdout))
		return HEC_OK;
	hec_status status = run_row(options, row, 1e-3 * (double)a->ms, report);
	show_progress(NULL);
	if (status == HEC_OK && !a->json) {
		report_text_row(report, stdout);
		fflush(stdout);
	}
	return status;
}

static hec_status run_all(const hec_ctx_options *options, const asked *a, const shape_list *shapes,
                          bench_report *report)
{
	bench_row one;
	if (single_row(a, &one)) {
		for (size_t i = 0; i < shapes->count; i++) {
			one.shape = shapes->text[i];
			TRY(show_row(options, a, &one, report));
		}
		return HEC_OK;
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (a->op && strcmp(a->op, rows[i].op) != 0)
			continue;
		show_progress(&rows[i]);
		TRY(show_row(options, a, &rows[i], report));
	}
	return HEC_OK;
}

static int measure_rows(const command *self, const asked *a, const shape_list *shapes)
{
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = (int)a->threads;
	options.bind = true;
	hec_ctx *ctx = NULL;
	if (hec_ctx_create(&options, &ctx) != HEC_OK)
		return command_failed(self, "%s", hec_error_message());
	bench_report report;
	hec_status status = report_open(ctx, ROWS + MOST_SHAPES, 1e-3 * (double)a->ms, &report);
	if (status == HEC_OK && !a->json) {
		report_text_begin(&report, stdout);
		fflush(stdout);
	}
	if (status == HEC_OK)
		status = run_all(&options, a, shapes, &report);
	if (status == HEC_OK)
		(a->json ? report_json : report_text_end)(&report, stdout);
	int code = EXIT_DONE;
	if (status != HEC_OK)
		code = command_failed(self, "%s",
		                      *report.error ? report.error : hec_error_message());
	report_close(&report);
	return code;
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
		{OPTION_TEXT, "--model", "NAME",
	         "a whole model: transformer-small, transformer-base, gpt-small, transformer-tiny",
	         &a.model, 0, 0},
		{OPTION_TEXT, "--mode", "train|translate", "what it does", &a.mode, 0, 0},
		{OPTION_WHOLE, "--threads", "N", "threads, each bound to a core", &a.threads, 1,
	         HEC_MAX_THREADS},
		{OPTION_WHOLE, "--ms", "N", "milliseconds of timing a row", &a.ms, 1, 60000},
		{OPTION_FLAG, "--json", NULL, "for machines", &a.json, 0, 0},
		{0},
	};
	int operands = 0, code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (operands > 0)
		return command_usage(self, "'%.40s' is not an option", argv[0]);
	if (a.model || a.mode) {
		if (a.op || a.shape || a.variant || a.causal)
			return command_usage(self, "--model goes with --mode, --threads, --ms and "
			                           "--json alone");
		return bench_model(self,
		                   &(bench_model_asked){a.model, a.mode, a.threads, a.ms, a.json});
	}
	shape_list shapes;
	if (!shapes_split(a.shape, &shapes))
		return command_failed(self, "no memory");
	code = check_asked(self, &a, &shapes);
	if (code == PARSED)
		code = measure_rows(self, &a, &shapes);
	free(shapes.copy);
	return code;
}

const command command_bench = {
	"bench",
	"Measures each operation against this machine's own ceilings",
	"bench [--op NAME [--shape …] [--causal] [--variant NAME]] [--threads N] [--json]\n"
	"bench --model NAME --mode train|translate [--threads N] [--json]",
	"First the ceilings, in the same run: multiply-adds from registers at each instruction\n"
	"level, and reading memory. Then each operation through the public calls: the median of\n"
	"many, its spread (quartile range / median) and its share of the ceiling. A row during "
	"which\n"
	"the ceiling fell by more than 5 % is measured again.\n\n"
	"With --model: a whole model with fresh parameters, learning from random tokens or\n"
	"translating them (greedy, then four beams), in tokens of the target a second.\n\n"
	"Example: hecate bench --op attention_fwd --shape B=1,H=8,T=2048,K=64,D=64 --threads 2\n",
	run_bench,
};
