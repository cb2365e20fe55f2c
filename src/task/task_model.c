/* task_model.c — a model and its tokenizer, checked to belong together. */
#include "task/task_model.h"

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
	if (hec_tokenizer_vocab(m->tokenizer) > c->vocab)
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

hec_status task_model_take(const char *task, hec_ctx *ctx, const hec_model *model,
                           const hec_tokenizer *tokenizer, task_model *out)
{
	*out = (task_model){.task = task};
	if (!ctx || !model || !tokenizer)
		return fail(HEC_ERR_ARGUMENT, "%s: ctx, model or tokenizer is NULL", task);
	out->ctx = ctx;
	out->model = model;
	out->tokenizer = tokenizer;
	return check(out);
}

static hec_status load(task_model *m, const char *dir, const hec_model_load_options *options)
{
	HEC_TRY(hec_tokenizer_load(dir, &m->own_tokenizer));
	HEC_TRY(hec_model_load(m->ctx, dir, options, &m->own_model));
	m->tokenizer = m->own_tokenizer;
	m->model = m->own_model;
	return check(m);
}

hec_status task_model_load(const char *task, hec_ctx *ctx, const char *dir,
                           const hec_model_load_options *options, task_model *out)
{
	*out = (task_model){.task = task, .ctx = ctx};
	if (!ctx || !dir)
		return fail(HEC_ERR_ARGUMENT, "%s: ctx or dir is NULL", task);
	hec_status status = load(out, dir, options);
	if (status != HEC_OK)
		task_model_free(out);
	return status;
}

void task_model_free(task_model *m)
{
	hec_model_destroy(m->own_model);
	hec_tokenizer_destroy(m->own_tokenizer);
	*m = (task_model){.task = m->task};
}

hec_status task_encode(const task_model *m, const task_text *text, hec_encoding *out)
{
	const int64_t most = text->longest > 0 ? text->longest : m->longest;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = text->lossy;
	o.pair = text->pair;
	o.pair_bytes = text->pair_bytes;
	if (text->truncate)
		o.max_length = min_i64(most, m->cut);
	HEC_TRY(hec_tokenizer_encode(m->tokenizer, text->text, text->bytes, &o, out));
	if ((int64_t)out->n > most)
		return fail(HEC_ERR_SHAPE, "the text has %zu tokens; the model takes %lld", out->n,
		            (long long)most);
	return HEC_OK;
}

bool task_has_words(const hec_encoding *e)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->sequence[i] >= 0)
			return true;
	}
	return false;
}
