/* info_facts.c — counting parameters, and measuring memory by dry runs: the very calls that running
 * and training make, with every operation left out. */
#include "info_facts.h"

#include <stdlib.h>
#include <string.h>

#include <hecate/session.h>
#include <hecate/trainer.h>

#define ARENA_ADDRESSES ((size_t)1 << 42) /* addresses, not memory */

/* ---- parameters ---- */

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static part part_of(const char *name)
{
	static const char *const tables[] = {"embedding", "types", "positions", "relative"};
	if (begins(name, "head."))
		return PART_HEAD;
	part stack = begins(name, "encoder.") ? PART_ENCODER : PART_DECODER;
	if (begins(name, "encoder.") || begins(name, "decoder."))
		name += strlen("encoder.");
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		if (begins(name, tables[i])) /* embedding_norm too */
			return PART_EMBEDDINGS;
	return stack;
}

void info_count(const hec_model *model, int64_t parameters[PARTS], int64_t *total)
{
	memset(parameters, 0, PARTS * sizeof parameters[0]);
	*total = 0;
	for (size_t i = 0; i < hec_model_param_count(model); i++) {
		const hec_model_param *p = hec_model_param_at(model, i);
		parameters[part_of(p->name)] += p->count;
		*total += p->count;
	}
}

/* ---- memory ---- */

static int64_t longest(const hec_stack_config *s)
{
	bool bounded = s->layers > 0 && s->position.kind != HEC_POSITION_NONE &&
	               s->position.kind != HEC_POSITION_RELATIVE;
	return bounded ? s->position.max : 0;
}

int64_t info_longest(const hec_model_config *config)
{
	int64_t a = longest(&config->encoder), b = longest(&config->decoder);
	return a == 0 || (b > 0 && b < a) ? b : a;
}

static hec_status measure_running(hec_ctx *ctx, const hec_model *model, info_memory *m)
{
	hec_session *session = NULL;
	hec_session_options options = HEC_SESSION_OPTIONS_INIT;
	m->weights = hec_model_bytes(model);
	if (hec_model_config_of(model)->decoder.layers == 0)
		return HEC_OK; /* a session writes; an encoder alone only reads */
	options.max_source = options.max_target = m->length;
	hec_status status = hec_session_create(ctx, model, &options, &session);
	if (status == HEC_OK)
		m->session = hec_session_bytes(session);
	hec_session_destroy(session);
	return status;
}

/* An encoder alone is run by one pass over the whole text. */
static hec_status measure_reading(hec_ctx *dry, hec_arena *arena, const hec_model *model,
                                  const int32_t *ids, info_memory *m)
{
	const hec_model_config *c = hec_model_config_of(model);
	hec_model_input input = {.size = sizeof input};
	hec_model_output output = {.size = sizeof output};
	input.ids = hec_tensor_2d((void *)ids, HEC_I32, 1, m->length);
	hec_status status = hec_arena_tensor(arena, HEC_F32, 3, (int64_t[]){1, m->length, c->width},
	                                     &output.hidden);
	if (status == HEC_OK)
		status = hec_model_fwd(dry, arena, model, &input, NULL, &output, NULL);
	m->session = hec_arena_peak(arena);
	return status;
}

static hec_status measure_dry(const hec_model *model, info_memory *m)
{
	hec_ctx *dry = NULL;
	hec_arena *arena = NULL;
	int32_t *ids = calloc((size_t)m->length, sizeof *ids);
	hec_status status = ids ? hec_ctx_create_dry(NULL, &dry) : HEC_ERR_MEMORY;
	if (status == HEC_OK)
		status = hec_arena_create_reserved(ARENA_ADDRESSES, &arena);
	if (status == HEC_OK)
		status = measure_reading(dry, arena, model, ids, m);
	hec_arena_destroy(arena);
	hec_ctx_destroy(dry);
	free(ids);
	return status;
}

static hec_status measure_training(hec_ctx *ctx, hec_model *model, info_memory *m)
{
	hec_trainer_memory plan = {.size = sizeof plan};
	hec_trainer_options options = HEC_TRAINER_OPTIONS_INIT;
	if (hec_model_config_of(model)->head == HEC_HEAD_NONE)
		return HEC_OK; /* it has nothing to say, and so nothing to learn */
	options.max_tokens = m->batch;
	options.max_source = options.max_target = m->length;
	hec_status status = hec_trainer_plan(ctx, model, &options, &plan);
	if (status == HEC_OK)
		status = hec_model_pack(ctx, model, true);
	m->state = plan.parameters;
	m->packs = hec_model_bytes(model) - plan.parameters / 4;
	m->activations = plan.activations;
	return status;
}

hec_status info_measure(hec_ctx *ctx, hec_model *model, info_memory *m)
{
	hec_status status = measure_running(ctx, model, m);
	if (status == HEC_OK && hec_model_config_of(model)->decoder.layers == 0)
		status = measure_dry(model, m);
	if (status == HEC_OK)
		status = measure_training(ctx, model, m);
	return status;
}
