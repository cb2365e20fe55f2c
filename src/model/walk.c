/* walk.c — the parameters of a model in their order: embeddings, encoder, decoder, head. */
#include <stdio.h>

#include "base/status.h"
#include "model/model.h"
#include "nn/param.h"

static hec_status walk_table(const param_walk *walk, const char *name, hec_tensor *table,
                             int64_t rows, int64_t columns)
{
	char full[PARAM_NAME];
	HEC_TRY(param_join(walk->prefix, name, full));
	hec_param p = {.name = full,
	               .tensor = table,
	               .rank = 2,
	               .shape = {rows, columns},
	               .init = HEC_INIT_NORMAL};
	return walk->fn(walk->user, &p);
}

static hec_status walk_layers(const param_walk *walk, model_stack *s)
{
	for (int64_t i = 0; i < s->config->layers; i++) {
		char number[32], name[PARAM_NAME];
		(void)snprintf(number, sizeof number, "layers.%lld", (long long)i);
		HEC_TRY(param_join(walk->prefix, number, name));
		HEC_TRY(s->encoder ? hec_encoder_layer_params(&s->encoder[i], name, walk->fn,
		                                              walk->user)
		                   : hec_decoder_layer_params(&s->decoder[i], name, walk->fn,
		                                              walk->user));
	}
	return HEC_OK;
}

static hec_status walk_front(const param_walk *walk, const char *name, front_layer *f, int64_t C,
                             int64_t in)
{
	char outer[PARAM_NAME], full[PARAM_NAME];
	HEC_TRY(param_join(walk->prefix, name, outer));
	HEC_TRY(param_join(outer, "w", full));
	const hec_param w = {.name = full,
	                     .tensor = &f->w,
	                     .rank = 3,
	                     .shape = {C, in, FRONT_TAPS},
	                     .init = HEC_INIT_XAVIER};
	HEC_TRY(walk->fn(walk->user, &w));
	HEC_TRY(param_join(outer, "b", full));
	const hec_param b = {
		.name = full, .tensor = &f->b, .rank = 1, .shape = {C}, .init = HEC_INIT_ZERO};
	return walk->fn(walk->user, &b);
}

static hec_status walk_stack(const param_walk *walk, const hec_model_config *c, model_stack *s,
                             bool own_embedding)
{
	const hec_stack_config *sc = s->config;
	const hec_position_config *p = &sc->position;
	if (own_embedding)
		HEC_TRY(walk_table(walk, "embedding", &s->embedding.table, c->vocab, c->width));
	if (c->front.features > 0 && s->encoder) {
		HEC_TRY(walk_front(walk, "front1", &s->front[0], c->width, c->front.features));
		HEC_TRY(walk_front(walk, "front2", &s->front[1], c->width, c->width));
	}
	if (c->types > 0 && s->encoder)
		HEC_TRY(walk_table(walk, "types", &s->types.table, c->types, c->width));
	if (p->kind == HEC_POSITION_LEARNED)
		HEC_TRY(walk_table(walk, "positions", &s->positions, p->offset + p->max, c->width));
	if (p->kind == HEC_POSITION_RELATIVE)
		HEC_TRY(walk_table(walk, "relative", &s->relative.table, p->buckets,
		                   sc->attention.heads));
	if (sc->embedding_norm)
		HEC_TRY(walk_norm(walk, "embedding_norm", &s->embedding_norm, c->width));
	HEC_TRY(walk_layers(walk, s));
	return sc->final_norm ? walk_norm(walk, "final_norm", &s->final_norm, c->width) : HEC_OK;
}

static hec_status walk_head(const param_walk *walk, hec_model *m)
{
	const hec_model_config *c = &m->config;
	param_walk head = {"head", walk->fn, walk->user};
	const bool plain = c->head == HEC_HEAD_CLASSIFY && c->head_plain;
	if (c->head == HEC_HEAD_MASKED || (c->head == HEC_HEAD_CLASSIFY && !plain) || c->pooler)
		HEC_TRY(walk_linear(&head, "dense", &m->dense, c->width, c->width, true));
	if (c->head == HEC_HEAD_MASKED)
		HEC_TRY(walk_norm(&head, "norm", &m->norm, c->width));
	if (c->head >= HEC_HEAD_CLASSIFY)
		return walk_linear(&head, "labels", &m->labels, c->labels, c->width, !plain);
	if (!head_is_vocabulary(c->head))
		return HEC_OK;
	if (c->separate_output)
		HEC_TRY(walk_linear(&head, "output", &m->output, c->vocab, c->width, false));
	if (!c->output_bias)
		return HEC_OK;
	hec_param b = {.name = "head.output.b",
	               .tensor = &m->output.b,
	               .rank = 1,
	               .shape = {c->vocab},
	               .init = HEC_INIT_ZERO};
	return walk->fn(walk->user, &b);
}

/* Whether such a stack is there and has a table of words. */
static bool reads_words(const hec_model *m, bool encoder)
{
	return encoder ? model_has_encoder(m) && !model_has_front(m) : model_has_decoder(m);
}

void model_tie(hec_model *m)
{
	const hec_model_config *c = &m->config;
	if (reads_words(m, true) && model_has_decoder(m) && !c->separate_embeddings)
		m->decoder.embedding.table = m->encoder.embedding.table;
	if (head_is_vocabulary(c->head) && !c->separate_output)
		m->output.w = model_last_stack(m)->embedding.table;
}

hec_status model_walk(hec_model *m, hec_param_fn *fn, void *user)
{
	const hec_model_config *c = &m->config;
	const bool both = model_has_encoder(m) && model_has_decoder(m),
		   shared = !both || !c->separate_embeddings;
	param_walk walk = {"", fn, user};
	if (shared)
		HEC_TRY(walk_table(&walk, "embedding",
		                   reads_words(m, true) ? &m->encoder.embedding.table
		                                        : &m->decoder.embedding.table,
		                   c->vocab, c->width));
	param_walk encoder = {"encoder", fn, user}, decoder = {"decoder", fn, user};
	if (model_has_encoder(m))
		HEC_TRY(walk_stack(&encoder, c, &m->encoder, !shared));
	if (model_has_decoder(m))
		HEC_TRY(walk_stack(&decoder, c, &m->decoder, !shared));
	return walk_head(&walk, m);
}
