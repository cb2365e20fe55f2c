/* writer.c — a session as large as a call needs it, and hec_decode over it. */
#include "task/writer.h"

#include "base/size.h"
#include "base/status.h"
#include "task/task_model.h"

int64_t writer_max_source(const hec_model *model)
{
	return task_stack_longest(&hec_model_config_of(model)->encoder);
}

/* What is written, it writes one after the other: any number, where there is no last position. */
int64_t writer_max_target(const hec_model *model)
{
	return hec_stack_config_max_positions(&hec_model_config_of(model)->decoder);
}

hec_status writer_check_batch(const char *task, int64_t batch)
{
	if (batch < 1 || batch > WRITER_BATCH_MOST)
		return fail(HEC_ERR_ARGUMENT, "%s: batch is %lld; it is from 1 to %d", task,
		            (long long)batch, WRITER_BATCH_MOST);
	return HEC_OK;
}

hec_status writer_check_decode(const char *task, const hec_decode_options *o)
{
	if (o->nbest < 1 || o->nbest > o->beams)
		return fail(HEC_ERR_ARGUMENT, "%s: nbest is %lld, with %lld beams", task,
		            (long long)o->nbest, (long long)o->beams);
	if (o->max_tokens < 1 && o->max_tokens != -1)
		return fail(HEC_ERR_ARGUMENT,
		            "%s: max_tokens is %lld; it is 1 or more, or -1 for no limit", task,
		            (long long)o->max_tokens);
	return HEC_OK;
}

/* Sizes go up in steps, so that a few texts more or a longer one do not need a new session. */
static int64_t round_up(int64_t n, int64_t most)
{
	int64_t size = 32;
	while (size < n)
		size *= 2;
	return min_i64(size, most);
}

static hec_status need_session(writer *w, const hec_session_options *wanted, int64_t batch)
{
	const hec_session_options *made = &w->made;
	if (w->session && made->beams == wanted->beams && made->sources >= wanted->sources &&
	    made->sources <= batch && made->max_source >= wanted->max_source &&
	    made->max_target >= wanted->max_target)
		return HEC_OK;
	hec_session_options o = *wanted;
	if (o.max_source > 0)
		o.max_source = round_up(o.max_source, writer_max_source(w->model));
	o.max_target = round_up(o.max_target, writer_max_target(w->model));
	hec_session_destroy(w->session);
	w->session = NULL;
	HEC_TRY(hec_session_create(w->ctx, w->model, &o, &w->session));
	w->made = o;
	return HEC_OK;
}

hec_status writer_run(writer *w, int64_t n, const int32_t *const *ids, const int64_t *lengths,
                      const int64_t *most, int64_t batch, const hec_decode_options *options,
                      hec_decoded **out)
{
	const bool prompts = hec_model_config_of(w->model)->encoder.layers == 0;
	hec_session_options wanted = HEC_SESSION_OPTIONS_INIT;
	hec_decode_options o = *options;
	wanted.beams = o.beams;
	wanted.sources = min_i64(n, batch);
	for (int64_t i = 0; i < n; i++) {
		/* What a row begins with is fed, and all that is written but the last. */
		int64_t begin = prompts ? lengths[i] : 1;
		wanted.max_target = max_i64(wanted.max_target, begin + most[i] - 1);
		if (!prompts)
			wanted.max_source = max_i64(wanted.max_source, lengths[i]);
	}
	HEC_TRY(need_session(w, &wanted, batch));
	o.max_tokens = -1;
	o.max_tokens_each = most;
	return hec_decode(w->session, n, ids, lengths, &o, out);
}

void writer_close(writer *w)
{
	hec_session_destroy(w->session);
	*w = (writer){0};
}
