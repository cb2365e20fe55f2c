/* model.c — making a model, in two steps: first its layers and the table of its parameters, which take no memory
 * to speak of; then places for the parameters in one block, and their first values.
 *
 * The walk over the parameters runs once to count them, once to list them, and again for each thing that
 * is done to every parameter. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/ops.h>
#include <hecate/random.h>

#include "backend/backend.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "tensor/check.h"

#define ALIGN_ELEMENTS                                                                             \
	16             /* of a parameter in the block: a vector of any level, a line of the cache */
#define ALIGN_BYTES 64 /* of a tensor in an arena */

bool model_has_encoder(const hec_model *m)
{
	return m->config.encoder.layers > 0;
}

bool model_has_decoder(const hec_model *m)
{
	return m->config.decoder.layers > 0;
}

bool model_has_front(const hec_model *m)
{
	return m->config.front.features > 0;
}

bool model_is_fixed(const hec_model *m, const hec_tensor *param)
{
	return (param == &m->encoder.positions && m->config.encoder.position.fixed) ||
	       (param == &m->decoder.positions && m->config.decoder.position.fixed);
}

const model_stack *model_last_stack(const hec_model *m)
{
	return model_has_decoder(m) ? &m->decoder : &m->encoder;
}

/* ---- layers without parameters yet ---- */

static hec_status setup_encoder(const hec_stack_config *c, model_stack *s, unsigned site)
{
	for (int64_t i = 0; i < c->layers; i++) {
		hec_encoder_layer_config layer = {
			.size = sizeof layer,
			.attention = c->attention,
			.feed_forward = c->feed_forward,
			.norm = c->norm,
			.norm_eps = c->norm_eps,
			.norm_first = c->norm_first,
			.residual_linear = c->residual_linear,
			.site = (uint16_t)(site + (unsigned)i * HEC_ENCODER_LAYER_SITES),
		};
		HEC_TRY(hec_encoder_layer_setup(&layer, &s->encoder[i]));
		if (c->position.kind == HEC_POSITION_ROTARY)
			s->encoder[i].attention.rotary = &s->rotary;
	}
	return HEC_OK;
}

static hec_status setup_decoder(const hec_stack_config *c, model_stack *s, bool cross,
                                unsigned site)
{
	for (int64_t i = 0; i < c->layers; i++) {
		hec_decoder_layer_config layer = {
			.size = sizeof layer,
			.self = c->attention,
			.feed_forward = c->feed_forward,
			.norm = c->norm,
			.norm_eps = c->norm_eps,
			.norm_first = c->norm_first,
			.residual_linear = c->residual_linear,
			.site = (uint16_t)(site + (unsigned)i * HEC_DECODER_LAYER_SITES),
		};
		if (cross) {
			layer.cross = c->attention;
			layer.cross.fused = false; /* its q and its k, v read different rows */
		}
		HEC_TRY(hec_decoder_layer_setup(&layer, &s->decoder[i]));
		if (c->position.kind == HEC_POSITION_ROTARY)
			s->decoder[i].self.rotary = &s->rotary;
	}
	return HEC_OK;
}

static void setup_stack(const hec_model *m, const hec_stack_config *sc, bool bidirectional,
                        unsigned site, model_stack *s)
{
	const hec_model_config *c = &m->config;
	const hec_norm norm = {.kind = sc->norm, .eps = sc->norm_eps};
	s->config = sc;
	s->dtype = m->dtype;
	s->width = c->width;
	s->embedding =
		(hec_embedding){.scale = sc->embedding_scale, .padding_id = model_padding_row(c)};
	s->pad_id = c->pad_id;
	s->types = (hec_embedding){.scale = 1, .padding_id = -1};
	s->rotary.pairs = sc->position.pairs;
	s->relative = (hec_relative_bias){.bidirectional = bidirectional,
	                                  .max_distance = sc->position.max_distance};
	s->embedding_norm = s->final_norm = norm;
	s->site = (uint16_t)site;
}

static hec_status setup_layers(hec_model *m)
{
	const hec_model_config *c = &m->config;
	unsigned site = 0;
	if (model_has_encoder(m)) {
		m->encoder.encoder =
			mem_zeros((size_t)c->encoder.layers, sizeof(hec_encoder_layer));
		if (!m->encoder.encoder)
			return fail(HEC_ERR_MEMORY, "model: no memory for %lld encoder layers",
			            (long long)c->encoder.layers);
		setup_stack(m, &c->encoder, true, site++, &m->encoder);
		HEC_TRY(setup_encoder(&c->encoder, &m->encoder, site));
		site += (unsigned)c->encoder.layers * HEC_ENCODER_LAYER_SITES;
	}
	if (model_has_decoder(m)) {
		m->decoder.decoder =
			mem_zeros((size_t)c->decoder.layers, sizeof(hec_decoder_layer));
		if (!m->decoder.decoder)
			return fail(HEC_ERR_MEMORY, "model: no memory for %lld decoder layers",
			            (long long)c->decoder.layers);
		setup_stack(m, &c->decoder, false, site++, &m->decoder);
		HEC_TRY(setup_decoder(&c->decoder, &m->decoder, model_has_encoder(m), site));
		site += (unsigned)c->decoder.layers * HEC_DECODER_LAYER_SITES;
	}
	m->head_site = (uint16_t)site;
	m->norm = (hec_norm){.kind = model_last_stack(m)->config->norm,
	                     .eps = model_last_stack(m)->config->norm_eps};
	return HEC_OK;
}

/* ---- the table of parameters ---- */

typedef struct listing {
	hec_model *model;
	bool count_only;
	size_t count, name_bytes;
	size_t elements; /* in the block */
} listing;

/* A parameter's row of the table; its place is not known yet. */
static void list_param(const listing *at, const hec_param *p, size_t n)
{
	hec_model *m = at->model;
	char *name = memcpy(m->names + at->name_bytes, p->name, strlen(p->name) + 1);
	hec_model_param *row = &m->params[at->count];
	*row = (hec_model_param){.name = name,
	                         .rank = p->rank,
	                         .offset = (int64_t)at->elements,
	                         .count = (int64_t)n,
	                         .decay = p->rank > 1 && !model_is_fixed(m, p->tensor)};
	memcpy(row->shape, p->shape, sizeof row->shape);
	m->places[at->count].linear = packs_linear(m, p);
}

static hec_status add_param(void *user, const hec_param *p)
{
	listing *at = user;
	size_t n = 1, room, end;
	for (int i = 0; i < p->rank; i++) {
		if (!size_mul(n, (size_t)p->shape[i], &n) || n > PTRDIFF_MAX / 8)
			return fail(HEC_ERR_MEMORY, "%s: more than can be addressed", p->name);
	}
	if (!size_align(n, ALIGN_ELEMENTS, &room) || !size_add(at->elements, room, &end) ||
	    end > PTRDIFF_MAX / 8)
		return fail(HEC_ERR_MEMORY, "%s: the model is more than can be addressed", p->name);
	if (!at->count_only)
		list_param(at, p, n);
	at->count++;
	at->name_bytes += strlen(p->name) + 1;
	at->elements = end;
	return HEC_OK;
}

static hec_status make_table(hec_model *m)
{
	listing counted = {.model = m, .count_only = true}, listed = {.model = m};
	HEC_TRY(model_walk(m, add_param, &counted));
	m->params = mem_zeros(counted.count, sizeof *m->params);
	m->places = mem_zeros(counted.count, sizeof *m->places);
	m->names = mem_alloc(counted.name_bytes);
	if (!m->params || !m->places || !m->names)
		return fail(HEC_ERR_MEMORY, "model: no memory for a table of %zu parameters",
		            counted.count);
	m->count = counted.count;
	m->block = hec_tensor_1d(NULL, m->dtype, (int64_t)counted.elements);
	return model_walk(m, add_param, &listed);
}

/* ---- the block ---- */

typedef struct setting {
	const hec_model *model;
	size_t count;
} setting;

static hec_status set_tensor(void *user, const hec_param *p)
{
	setting *s = user;
	*p->tensor = hec_model_tensor(s->model, s->count++);
	return HEC_OK;
}

hec_status model_set_tensors(hec_model *m)
{
	setting s = {.model = m};
	HEC_TRY(model_walk(m, set_tensor, &s));
	model_tie(m);
	return HEC_OK;
}

/* Elements of a parameter in the block, what is left free behind it included. */
static size_t room_of(const hec_model_param *p)
{
	return (size_t)div_up(p->count, ALIGN_ELEMENTS) * ALIGN_ELEMENTS;
}

static bool has_data(const hec_model *m, size_t i)
{
	return !m->packed_only || !m->places[i].linear;
}

/* Memory for all parameters but those that are only packed. */
static hec_status make_block(hec_model *m, bool to_measure)
{
	const size_t size = hec_dtype_size(m->dtype);
	size_t elements = 0;
	void *data;
	for (size_t i = 0; i < m->count; i++)
		elements += has_data(m, i) ? room_of(&m->params[i]) : 0;
	HEC_TRY(to_measure ? hec_arena_create_reserved(elements * size, &m->memory)
	                   : hec_arena_create(elements * size, &m->memory));
	HEC_TRY(hec_arena_alloc(m->memory, elements * size, &data));
	if (!to_measure) /* addresses alone read as zeros, too */
		memset(data, 0, elements * size);
	m->block.data = m->packed_only ? NULL : data;
	char *at = data;
	for (size_t i = 0; i < m->count; i++) {
		m->places[i].data = has_data(m, i) ? at : NULL;
		at += has_data(m, i) ? room_of(&m->params[i]) * size : 0;
	}
	return model_set_tensors(m);
}

/* ---- tables of positions ---- */

/* Bytes of a stack's tables, and where `tables` is given, their places in it. */
static hec_status place_tables(const hec_model *m, model_stack *s, hec_arena *tables, size_t *bytes)
{
	if (!s->config)
		return HEC_OK;
	const hec_position_config *p = &s->config->position;
	const bool sinusoidal = p->kind == HEC_POSITION_SINUSOIDAL;
	if (!sinusoidal && p->kind != HEC_POSITION_ROTARY)
		return HEC_OK;
	const int64_t shape[2] = {p->max, sinusoidal ? m->config.width : p->rotary_width / 2};
	size_t one;
	if (!size_mul((size_t)shape[0], (size_t)shape[1], &one) ||
	    !size_mul(one, hec_dtype_size(m->dtype), &one) || !size_add(one, ALIGN_BYTES, &one) ||
	    !size_mul(one, sinusoidal ? 1 : 2, &one) || !size_add(*bytes, one, bytes))
		return fail(HEC_ERR_MEMORY, "model: tables of %lld positions", (long long)p->max);
	if (!tables)
		return HEC_OK;
	if (sinusoidal)
		return hec_arena_tensor(tables, m->dtype, 2, shape, &s->positions);
	HEC_TRY(hec_arena_tensor(tables, m->dtype, 2, shape, &s->rotary.cosine));
	return hec_arena_tensor(tables, m->dtype, 2, shape, &s->rotary.sine);
}

static hec_status make_tables(hec_model *m)
{
	size_t bytes = 0;
	HEC_TRY(place_tables(m, &m->encoder, NULL, &bytes));
	HEC_TRY(place_tables(m, &m->decoder, NULL, &bytes));
	if (bytes == 0)
		return HEC_OK;
	HEC_TRY(hec_arena_create(bytes, &m->tables));
	HEC_TRY(place_tables(m, &m->encoder, m->tables, &bytes));
	return place_tables(m, &m->decoder, m->tables, &bytes);
}

static hec_status fill_tables(hec_ctx *ctx, model_stack *s)
{
	if (!s->config)
		return HEC_OK;
	const hec_position_config *p = &s->config->position;
	if (p->kind == HEC_POSITION_SINUSOIDAL)
		return hec_position_sinusoidal(ctx, p->sinusoid, p->base, 0, &s->positions);
	if (p->kind == HEC_POSITION_ROTARY)
		return hec_rotary_fill_scaled(ctx, p->base, &p->scaling, &s->rotary);
	return HEC_OK;
}

static void copy_table(const hec_tensor *from, hec_tensor *to)
{
	if (is_present(from))
		memcpy(to->data, from->data,
		       (size_t)hec_tensor_count(from) * hec_dtype_size(from->dtype));
}

static void copy_tables(const model_stack *from, model_stack *to)
{
	if (from->config && from->config->position.kind == HEC_POSITION_SINUSOIDAL)
		copy_table(&from->positions, &to->positions);
	copy_table(&from->rotary.cosine, &to->rotary.cosine);
	copy_table(&from->rotary.sine, &to->rotary.sine);
}

hec_status hec_model_set_start(hec_model *model, int32_t start_id)
{
	HEC_TRY(CHECK_GIVEN("model", model));
	if (!model_has_encoder(model) || !model_has_decoder(model))
		return fail(HEC_ERR_ARGUMENT,
		            "model: it has no decoder behind an encoder to start");
	if (start_id < 0 || start_id >= model->config.vocab)
		return fail(HEC_ERR_ARGUMENT, "model: start_id %d is not 0 … %lld", (int)start_id,
		            (long long)model->config.vocab - 1);
	model->config.start_id = start_id;
	return HEC_OK;
}

/* ---- making and unmaking ---- */

void hec_model_destroy(hec_model *m)
{
	if (!m)
		return;
	hec_arena_destroy(m->memory);
	hec_arena_destroy(m->tables);
	hec_arena_destroy(m->packs);
	mem_free(m->encoder.encoder);
	mem_free(m->decoder.decoder);
	mem_free(m->params);
	mem_free(m->places);
	mem_free(m->names);
	mem_free(m->label_names);
	mem_free(m->ignored);
	mem_free(m->lost);
	mem_free(m->report);
	mem_free(m);
}

hec_status model_describe(const hec_model_config *config, hec_dtype dtype, hec_model **out)
{
	HEC_TRY(CHECK_GIVEN("model", config));
	if (dtype != HEC_F32 && dtype != HEC_F64)
		return fail(HEC_ERR_ARGUMENT, "model: parameters in %s; f32 and f64 can be run",
		            hec_dtype_name(dtype));
	hec_model_config resolved = *config;
	HEC_TRY(hec_model_config_resolve(&resolved));
	hec_model *m = mem_zeros(1, sizeof *m);
	if (!m)
		return fail(HEC_ERR_MEMORY, "model: no memory");
	m->config = resolved;
	m->dtype = dtype;
	hec_status status = setup_layers(m);
	if (status == HEC_OK)
		status = make_table(m);
	if (status != HEC_OK)
		hec_model_destroy(m);
	else
		*out = m;
	return status;
}

hec_status model_each_param(const hec_model_config *config, hec_param_fn *fn, void *user)
{
	hec_model *m = mem_zeros(1, sizeof *m);
	if (!m)
		return fail(HEC_ERR_MEMORY, "model: no memory");
	m->config = *config;
	hec_status status = setup_layers(m);
	if (status == HEC_OK)
		status = model_walk(m, fn, user);
	hec_model_destroy(m);
	return status;
}

hec_status model_place(hec_ctx *ctx, hec_model *m, bool to_run, bool to_measure)
{
	m->packed_only = to_run && ctx_backend(ctx)->ops[m->dtype].gemm_layout;
	HEC_TRY(make_block(m, to_measure));
	HEC_TRY(make_tables(m));
	HEC_TRY(fill_tables(ctx, &m->encoder));
	HEC_TRY(fill_tables(ctx, &m->decoder));
	return m->packed_only ? packs_place(ctx, m) : HEC_OK;
}

/* What another model has beside its parameters. */
static hec_status copy_rest(const hec_model *from, hec_model *m)
{
	HEC_TRY(make_block(m, false));
	HEC_TRY(make_tables(m));
	copy_tables(&from->encoder, &m->encoder);
	copy_tables(&from->decoder, &m->decoder);
	m->family = from->family;
	return from->label_names ? hec_model_set_labels(m, (const char *const *)from->label_names,
	                                                from->config.labels)
	                         : HEC_OK;
}

hec_status hec_model_create_like(const hec_model *model, hec_model **out)
{
	HEC_TRY(CHECK_GIVEN("model", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("model", model));
	hec_model *m;
	HEC_TRY(model_describe(&model->config, model->dtype, &m));
	hec_status status = copy_rest(model, m);
	if (status != HEC_OK)
		hec_model_destroy(m);
	else
		*out = m;
	return status;
}

/* ---- first values ---- */

typedef struct starting {
	hec_param_alloc alloc;
	double matrices; /* standard deviation of linears' matrices; 0: Xavier */
	double tables;   /* and of embeddings */
	const bool *chosen;
	const hec_model *model;
} starting;

/* Positions that are never learned. */
static hec_status start_fixed(starting *s, const hec_param *p)
{
	const hec_model_config *c = &s->model->config;
	const hec_position_config *at = p->tensor == &s->model->encoder.positions
	                                        ? &c->encoder.position
	                                        : &c->decoder.position;
	s->alloc.count++;
	return hec_position_sinusoidal(s->alloc.ctx, at->sinusoid, at->base, 0, p->tensor);
}

static hec_status start_param(void *user, const hec_param *p)
{
	starting *s = user;
	if (s->chosen && !s->chosen[s->alloc.count]) {
		s->alloc.count++; /* each has a stream of its own, whichever start */
		return HEC_OK;
	}
	if (model_is_fixed(s->model, p->tensor))
		return start_fixed(s, p);
	double deviation = p->init == HEC_INIT_NORMAL   ? s->tables
	                   : p->init == HEC_INIT_XAVIER ? s->matrices
	                                                : 0;
	if (deviation == 0)
		return hec_param_initialise(&s->alloc, p);
	return hec_random_normal(s->alloc.ctx, s->alloc.seed, s->alloc.count++, 0, deviation,
	                         p->tensor);
}

static hec_status zero_row(hec_ctx *ctx, const hec_tensor *table, int32_t row)
{
	hec_tensor one;
	HEC_TRY(hec_tensor_slice(table, 0, row, 1, &one));
	return hec_tensor_fill(ctx, 0, &one);
}

hec_status model_zero_padding(hec_ctx *ctx, hec_model *m)
{
	int32_t row = model_padding_row(&m->config);
	if (row < 0)
		return HEC_OK;
	if (model_has_encoder(m) && !model_has_front(m))
		HEC_TRY(zero_row(ctx, &m->encoder.embedding.table, row));
	return model_has_decoder(m) ? zero_row(ctx, &m->decoder.embedding.table, row) : HEC_OK;
}

hec_status model_start(hec_ctx *ctx, hec_model *m, uint64_t seed, const bool *chosen)
{
	const hec_model_config *c = &m->config;
	starting s = {.alloc = {.size = sizeof s.alloc, .ctx = ctx, .seed = seed},
	              .matrices = c->init_std,
	              .chosen = chosen,
	              .model = m,
	              .tables = c->init_std > 0 ? c->init_std : 1 / sqrt((double)c->width)};
	HEC_TRY(model_walk(m, start_param, &s));
	return model_zero_padding(ctx, m);
}

hec_status hec_model_create(hec_ctx *ctx, const hec_model_config *config, hec_dtype dtype,
                            uint64_t seed, hec_model **out)
{
	HEC_TRY(CHECK_GIVEN("model", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("model", ctx));
	hec_model *m;
	HEC_TRY(model_describe(config, dtype, &m));
	hec_status status = model_place(ctx, m, false, false);
	if (status == HEC_OK)
		status = model_start(ctx, m, seed, NULL);
	if (status != HEC_OK)
		hec_model_destroy(m);
	else
		*out = m;
	return status;
}

/* ---- looking at it ---- */

static size_t arena_bytes(const hec_arena *arena)
{
	return arena ? hec_arena_peak(arena) : 0;
}

size_t hec_model_bytes(const hec_model *m)
{
	return m ? arena_bytes(m->memory) + arena_bytes(m->tables) + arena_bytes(m->packs) : 0;
}

const hec_model_config *hec_model_config_of(const hec_model *m)
{
	return &m->config;
}

const char *hec_model_ignored(const hec_model *m)
{
	return m->ignored ? m->ignored : "";
}

const char *hec_model_lost(const hec_model *m)
{
	return m->lost ? m->lost : "";
}

const char *hec_model_report(const hec_model *m)
{
	return m->report ? m->report : "";
}

size_t hec_model_param_count(const hec_model *m)
{
	return m->count;
}

const hec_model_param *hec_model_param_at(const hec_model *m, size_t i)
{
	return i < m->count ? &m->params[i] : NULL;
}

hec_tensor hec_model_block(const hec_model *m)
{
	return m->block;
}

hec_tensor hec_model_tensor(const hec_model *m, size_t i)
{
	const hec_model_param *p = hec_model_param_at(m, i);
	hec_tensor t = HEC_TENSOR_NONE;
	if (!p)
		return t;
	t = hec_tensor_1d(m->places[i].data, m->dtype, p->count);
	t.rank = p->rank;
	for (int i_axis = p->rank - 1; i_axis >= 0; i_axis--) {
		t.shape[i_axis] = p->shape[i_axis];
		t.stride[i_axis] =
			i_axis == p->rank - 1 ? 1 : t.stride[i_axis + 1] * t.shape[i_axis + 1];
	}
	return t;
}
