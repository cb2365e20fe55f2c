/* info_facts.c — counting parameters, and measuring memory by dry runs: the very calls that running
 * and training make, with every operation left out. */
#include "cli/inspect/info_facts.h"

#include <string.h>

#include <hecate/session.h>
#include <hecate/trainer.h>

#include "cli/model/reserve.h"

/* ---- parameters ---- */

static bool begins_with(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static part part_of(const char *name)
{
	static const char *const tables[] = {"embedding", "types", "positions", "relative"};
	if (begins_with(name, "head."))
		return PART_HEAD;
	part stack = begins_with(name, "encoder.") ? PART_ENCODER : PART_DECODER;
	if (begins_with(name, "encoder.") || begins_with(name, "decoder."))
		name += strlen("encoder.");
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		if (begins_with(name, tables[i])) /* embedding_norm too */
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

int64_t info_longest(const hec_model_config *config)
{
	const int64_t max = hec_model_config_max_tokens(config);
	return max < INT64_MAX ? max : 0;
}

/* A session writes: it wants a decoder, and a head with words. */
static bool can_write(const hec_model_config *c)
{
	return c->decoder.layers > 0 && c->head == HEC_HEAD_LM;
}

static hec_status measure_writing(hec_ctx *ctx, const hec_model *model, info_memory *m)
{
	hec_session *session = NULL;
	hec_session_options options = HEC_SESSION_OPTIONS_INIT;
	options.max_source = options.max_target = m->length;
	hec_status status = hec_session_create(ctx, model, &options, &session);
	if (status == HEC_OK)
		m->session = hec_session_bytes(session);
	hec_session_destroy(session);
	return status;
}

/* Others are run by one pass over the whole text. */
static hec_status read_dry(hec_ctx *dry, hec_arena *arena, const hec_model *model, info_memory *m)
{
	const hec_model_config *c = hec_model_config_of(model);
	hec_model_input input = {.size = sizeof input};
	hec_model_output output = {.size = sizeof output};
	const int64_t frames[3] = {1, c->front.features, 2 * c->encoder.position.max};
	hec_tensor ids; /* zeros, as all of the arena is */
	hec_status status = hec_arena_tensor(arena, HEC_I32, 2, (int64_t[]){1, m->length}, &ids);
	if (status == HEC_OK && c->front.features > 0)
		status = hec_arena_tensor(arena, HEC_F32, 3, frames, &input.features);
	if (status == HEC_OK)
		status = hec_arena_tensor(arena, HEC_F32, 3, (int64_t[]){1, m->length, c->width},
		                          &output.hidden);
	if (status != HEC_OK)
		return status;
	if (c->encoder.layers > 0 && c->front.features == 0)
		input.ids = ids;
	if (c->decoder.layers > 0)
		input.decoder_ids = ids;
	status = hec_model_fwd(dry, arena, model, &input, NULL, &output, NULL);
	m->session = hec_arena_peak(arena);
	return status;
}

static hec_status measure_reading(const hec_model *model, info_memory *m)
{
	hec_ctx *dry = NULL;
	hec_arena *arena = NULL;
	hec_status status = hec_ctx_create_dry(NULL, &dry);
	if (status == HEC_OK)
		status = reserve_arena(&arena);
	if (status == HEC_OK)
		status = read_dry(dry, arena, model, m);
	hec_arena_destroy(arena);
	hec_ctx_destroy(dry);
	return status;
}

static hec_status measure_training(hec_ctx *ctx, const hec_model *model, info_memory *m)
{
	hec_trainer_memory *plan;
	hec_trainer_options options = HEC_TRAINER_OPTIONS_INIT;
	const hec_model_config *c = hec_model_config_of(model);
	const hec_head head = c->head;
	if (head == HEC_HEAD_NONE) /* nothing to learn by */
		return HEC_OK;
	options.max_tokens = m->batch;
	options.max_source = options.max_target = m->length;
	hec_status status = hec_trainer_plan(ctx, model, &options, &plan);
	if (status != HEC_OK)
		return status;
	m->state = plan->parameters;
	m->packs = plan->packs;
	m->activations = plan->activations;
	hec_trainer_memory_free(plan);
	return HEC_OK;
}

hec_status info_measure(hec_ctx *ctx, const hec_model *model, const hec_model *unpacked,
                        info_memory *m)
{
	m->weights = hec_model_bytes(model);
	hec_status status = can_write(hec_model_config_of(model)) ? measure_writing(ctx, model, m)
	                                                          : measure_reading(model, m);
	return status == HEC_OK ? measure_training(ctx, unpacked, m) : status;
}
