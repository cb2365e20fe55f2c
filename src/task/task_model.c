/* task_model.c — a model and its tokenizer, checked to belong together, in the handle of an application. */
#include "task/task_model.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"

static bool has_last_position(const hec_stack_config *s)
{
	return hec_stack_config_max_positions(s) < INT64_MAX;
}

int64_t task_stack_longest(const hec_stack_config *s)
{
	return has_last_position(s) ? s->position.max : TASK_TOKENS_MOST;
}

int64_t task_stack_cut(const hec_stack_config *s)
{
	return s->position.max > 0 ? min_i64(s->position.max, task_stack_longest(s))
	                           : task_stack_longest(s);
}

static hec_status check(task_model *m)
{
	const hec_model_config *c = hec_model_config_of(m->model);
	if (m->tokenizer && hec_tokenizer_vocab(m->tokenizer) > c->vocab)
		return fail(HEC_ERR_FORMAT, "%s: the tokenizer has %lld ids, the model %lld",
		            m->task, (long long)hec_tokenizer_vocab(m->tokenizer),
		            (long long)c->vocab);
	const hec_stack_config *stacks[] = {&c->encoder, &c->decoder};
	m->longest = m->cut = INT64_MAX;
	for (int i = 0; i < 2; i++) {
		if (stacks[i]->layers == 0)
			continue;
		m->longest = min_i64(m->longest, task_stack_longest(stacks[i]));
		if (!has_last_position(stacks[i]))
			m->cut = min_i64(m->cut, task_stack_cut(stacks[i]));
	}
	return HEC_OK;
}

/* The model last: it takes the longest, and a tokenizer that is not there is known before. */
static hec_status load(const task_kind *kind, task_model *m, const char *dir,
                       const hec_model_load_options *options)
{
	if (!m->ctx || !dir)
		return fail(HEC_ERR_ARGUMENT, "%s: ctx or dir is NULL", kind->name);
	hec_status status = hec_tokenizer_load(dir, &m->own_tokenizer);
	if (status != HEC_OK && (status == HEC_ERR_MEMORY || !kind->may_lack_a_tokenizer))
		return status;
	if (status != HEC_OK)
		snprintf(m->no_tokenizer, sizeof m->no_tokenizer, "%s", hec_error_message());
	HEC_TRY(hec_model_load(m->ctx, dir, options, &m->own_model));
	m->tokenizer = m->own_tokenizer;
	m->model = m->own_model;
	return check(m);
}

static hec_status take(const task_kind *kind, task_model *m, const hec_model *model,
                       const hec_tokenizer *tokenizer)
{
	if (!m->ctx || !model || (!tokenizer && !kind->may_lack_a_tokenizer))
		return fail(HEC_ERR_ARGUMENT, "%s: ctx, model or tokenizer is NULL", kind->name);
	snprintf(m->no_tokenizer, sizeof m->no_tokenizer, "%s: there is no tokenizer", kind->name);
	m->model = model;
	m->tokenizer = tokenizer;
	return check(m);
}

static hec_status handle_make(const task_kind *kind, hec_ctx *ctx, void *out, task_model **m)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "%s: out is NULL", kind->name);
	memset(out, 0, sizeof(void *));
	*m = mem_zeros(1, kind->bytes);
	if (!*m)
		return fail(HEC_ERR_MEMORY, "%s: no memory", kind->name);
	**m = (task_model){.task = kind->name, .ctx = ctx};
	return HEC_OK;
}

/* The handle for *out, or no handle. */
static hec_status handle_give(const task_kind *kind, hec_status status, void *handle, void *out)
{
	if (status == HEC_OK)
		memcpy(out, &handle, sizeof handle);
	else
		task_destroy(kind, handle);
	return status;
}

hec_status task_load(const task_kind *kind, hec_ctx *ctx, const char *dir,
                     const hec_model_load_options *options, void *out)
{
	task_model *m;
	HEC_TRY(handle_make(kind, ctx, out, &m));
	hec_status status = load(kind, m, dir, options);
	if (status == HEC_OK)
		status = kind->finish(m, dir, options);
	return handle_give(kind, status, m, out);
}

hec_status task_create(const task_kind *kind, hec_ctx *ctx, const hec_model *model,
                       const hec_tokenizer *tokenizer, const char *dir, void *out)
{
	task_model *m;
	HEC_TRY(handle_make(kind, ctx, out, &m));
	hec_status status = take(kind, m, model, tokenizer);
	if (status == HEC_OK)
		status = kind->finish(m, dir, NULL);
	return handle_give(kind, status, m, out);
}

void task_destroy(const task_kind *kind, void *handle)
{
	task_model *m = handle;
	if (!m)
		return;
	kind->clear(handle);
	hec_model_destroy(m->own_model);
	hec_tokenizer_destroy(m->own_tokenizer);
	mem_free(handle);
}
