/* rows.c — sharing rows among threads. */
#include "backend/cpu/rows.h"

#include "base/size.h"

/* Waking a thread costs a few microseconds: a task must be worth several of them. */
#define TASK_WORK 16384

typedef struct rows_call {
	rows_body *body;
	const void *args;
	int64_t count, per_task;
	char *scratch;
	size_t scratch_stride;
} rows_call;

static void rows_task(void *arg, int64_t task, int worker)
{
	const rows_call *call = arg;
	int64_t begin = task * call->per_task;
	int64_t end = min_i64(begin + call->per_task, call->count);
	void *scratch = NULL;
	if (call->scratch)
		scratch = call->scratch + (size_t)worker * call->scratch_stride;
	call->body(call->args, begin, end, scratch);
}

hec_status rows_run(hec_ctx *ctx, int64_t count, int64_t cost, size_t scratch_bytes,
                    rows_body *body, const void *args)
{
	if (count <= 0)
		return HEC_OK;
	rows_call call = {.body = body, .args = args, .count = count};
	call.per_task = max_i64(1, TASK_WORK / max_i64(cost, 1));
	if (scratch_bytes > 0)
		HEC_TRY(ctx_scratch(ctx, scratch_bytes, &call.scratch, &call.scratch_stride));
	pool_run(ctx_pool(ctx), div_up(count, call.per_task), rows_task, &call);
	return HEC_OK;
}

typedef struct spans_call {
	span_body *body;
	const void *args;
	int64_t C;
} spans_call;

static void span_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const spans_call *call = args;
	for (int64_t row = begin; row < end; row++)
		call->body(call->args, row, 0, call->C);
}

/* Long rows are cut at multiples of 16 elements, so that only the last vector is not full. */
#define SPAN 1024

static void span_flat(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const spans_call *call = args;
	call->body(call->args, 0, begin * SPAN, min_i64(end * SPAN, call->C));
}

hec_status spans_run(hec_ctx *ctx, int64_t rows, int64_t C, bool flat, int64_t cost,
                     span_body *body, const void *args)
{
	spans_call call = {body, args, flat ? rows * C : C};
	if (flat)
		return rows_run(ctx, div_up(call.C, SPAN), cost * SPAN, 0, span_flat, &call);
	return rows_run(ctx, rows, cost * C, 0, span_rows, &call);
}
