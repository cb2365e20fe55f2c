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
