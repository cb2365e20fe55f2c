/* load.c — a Hugging Face directory becomes a model.
 *
 * Nothing is sized by config.json before the files are seen to hold about as much: a few bytes cannot
 * ask for terabytes. So the model is first described, each of its tensors is looked for in the files, and
 * only then does it get memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "model/config_file.h"
#include "model/labels.h"
#include "model/match.h"
#include "model/model.h"
#include "model/override.h"
#include "model/read_weights.h"
#include "tensor/check.h"

#define TABLE_MOST ((int64_t)1 << 27)     /* numbers in a table of positions that no file holds */
#define LAYERS_NAMED 256                  /* at most, and */
#define NUMBERS_NAMED ((uint64_t)1 << 36) /* at most, where files hold next to nothing of it */

/* What is loaded, from where, and how far it has come. */
typedef struct loading {
	hec_ctx *ctx;
	const char *dir;
	const hec_model_load_options *o;
	config_file config;
	safetensors *files;
	hec_model *model; /* described, then with places */
	matching matching;
} loading;

/* ---- what asks for too much ---- */

/* Numbers in all parameters; held at UINT64_MAX. */
static hec_status count_param(void *user, const hec_param *p)
{
	uint64_t *sum = user, n = 1;
	bool fits = true;
	for (int i = 0; i < p->rank; i++)
		fits = fits && !__builtin_mul_overflow(n, (uint64_t)p->shape[i], &n);
	if (!fits || __builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
	return HEC_OK;
}

/* Numbers for each position that no file holds: of tables, or of a session's line of relative bias. */
static int64_t made_numbers(const hec_stack_config *s, int64_t width)
{
	switch (s->position.kind) {
	case HEC_POSITION_SINUSOIDAL:
		return width;
	case HEC_POSITION_ROTARY:
		return s->position.rotary_width;
	case HEC_POSITION_RELATIVE:
		return 3 * s->attention.heads;
	case HEC_POSITION_NONE:
	case HEC_POSITION_LEARNED:
		break;
	}
	return 0;
}

static hec_status check_tables(const char *dir, const hec_stack_config *s, int64_t width)
{
	const int64_t each = s->layers > 0 ? made_numbers(s, width) : 0;
	if (each > 0 && s->position.max > TABLE_MOST / each)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s/config.json: a table of %" PRId64 " positions of %" PRId64
		            " numbers is more than is made",
		            dir, s->position.max, each);
	return HEC_OK;
}

#define EXCESS 600

typedef struct excess {
	char text[EXCESS]; /* how much more than the files hold is asked for; "": not so */
	bool too_long;     /* to name what is missing */
} excess;

static match_mode mode_of(const hec_model_load_options *o)
{
	return o->override_count > 0 ? MATCH_WHAT_FITS : override_any(o) ? MATCH_HEAD : MATCH_ALL;
}

/* What config.json asks for is compared with what the files hold; what the caller asks for is not. */
static hec_status find_excess(const loading *l, excess *e)
{
	const hec_model_config *c = &l->config.config;
	const uint64_t layers = (uint64_t)(c->encoder.layers + c->decoder.layers),
		       tensors = safetensors_count(l->files);
	uint64_t asked = 0, there = 0;
	*e = (excess){0};
	if (mode_of(l->o) == MATCH_WHAT_FITS)
		return HEC_OK;
	for (size_t i = 0; i < tensors; i++)
		there += safetensors_at(l->files, i)->count;
	if (layers <= (tensors > LAYERS_NAMED ? tensors : LAYERS_NAMED))
		HEC_TRY(model_each_param(c, count_param, &asked));
	e->too_long = layers > LAYERS_NAMED || asked > NUMBERS_NAMED;
	if (layers > tensors)
		snprintf(e->text, sizeof e->text,
		         "%s: config.json asks for %" PRId64 " and %" PRId64
		         " layers; the files hold %" PRIu64 " tensors",
		         l->dir, c->encoder.layers, c->decoder.layers, tensors);
	else if (asked / 4 > there + ((uint64_t)1 << 20))
		snprintf(e->text, sizeof e->text,
		         "%s: config.json asks for %" PRIu64 " numbers; the files hold %" PRIu64,
		         l->dir, asked, there);
	return HEC_OK;
}

/* ---- what goes where ---- */

static hec_status match_model(loading *l, const char *where)
{
	matching *m = &l->matching;
	HEC_TRY(model_describe(&l->config.config, l->o->dtype, &l->model));
	l->model->family = l->config.family;
	*m = (matching){.dir = where,
	                .files = l->files,
	                .family = l->config.family,
	                .fresh_labels = l->o->fresh_labels};
	HEC_TRY(weights_list(m->family, l->model, &m->list, &m->count));
	return match_weights(m, mode_of(l->o));
}

/* The model described, and each of its tensors found in the files. Where config.json asks for far more than
 * they hold, the error says so, and names what is missing unless that would be long. */
static hec_status describe_model(loading *l)
{
	const hec_model_config *c = &l->config.config;
	excess e;
	HEC_TRY(find_excess(l, &e));
	const bool excessive = e.text[0] != '\0';
	if (excessive && e.too_long)
		return fail(HEC_ERR_FORMAT, "%s", e.text);
	if (excessive) {
		const hec_status status = match_model(l, e.text);
		return status == HEC_ERR_FORMAT ? status : fail(HEC_ERR_FORMAT, "%s", e.text);
	}
	HEC_TRY(check_tables(l->dir, &c->encoder, c->width));
	HEC_TRY(check_tables(l->dir, &c->decoder, c->width));
	return match_model(l, l->dir);
}

/* ---- all of it ---- */

/* First values for parameters of which some or all is not in the files. */
static hec_status start_fresh(const loading *l)
{
	const matching *m = &l->matching;
	bool *chosen = mem_zeros(hec_model_param_count(l->model) + 1, sizeof *chosen);
	if (!chosen)
		return fail(HEC_ERR_MEMORY, "no memory to load a model");
	for (size_t i = 0; i < m->count; i++)
		for (int part = 0; m->list[i].fresh && part < m->list[i].parts; part++)
			chosen[m->list[i].part[part].param] = true;
	hec_status status = model_start(l->ctx, l->model, l->o->seed, chosen);
	mem_free(chosen);
	return status;
}

/* What starts fresh needs its block; it is packed in the end. */
static hec_status fill_model(loading *l)
{
	const hec_model_load_options *o = l->o;
	const bool fresh = l->matching.fresh_count > 0 && !o->to_measure;
	HEC_TRY(model_place(l->ctx, l->model, !o->unpacked && !fresh, o->to_measure));
	if (fresh)
		HEC_TRY(start_fresh(l));
	if (!o->to_measure)
		HEC_TRY(weights_read(l->ctx, &l->matching, l->model));
	return fresh && !o->unpacked ? hec_model_pack(l->ctx, l->model, false) : HEC_OK;
}

static hec_status load_model(loading *l)
{
	const family *f = l->config.family;
	if (f->look)
		HEC_TRY(f->look(l->files, &l->config.config));
	HEC_TRY(describe_model(l));
	HEC_TRY(fill_model(l));
	HEC_TRY(report_ignored(&l->matching, &l->model->ignored, &l->model->lost));
	HEC_TRY(report_make(&l->matching, &l->model->report));
	return labels_read(&l->config.scope, l->model);
}

static void log_model(const loading *l)
{
	const hec_model_config *c = hec_model_config_of(l->model);
	log_line(HEC_LOG_INFO,
	         "model: %s: %s, %lld + %lld layers, width %lld, %.2f M parameters, %.0f MB",
	         l->dir, l->config.family->model_type, (long long)c->encoder.layers,
	         (long long)c->decoder.layers, (long long)c->width,
	         (double)hec_model_block(l->model).shape[0] / 1e6,
	         (double)hec_model_bytes(l->model) / 1e6);
	const char *lost = hec_model_lost(l->model);
	if (lost[0])
		log_line(HEC_LOG_WARNING,
		         "model: %s: weights of layers are not used, the first: %.*s", l->dir,
		         (int)strcspn(lost, "\n"), lost);
}

static hec_status load_folder(loading *l, hec_model **out)
{
	HEC_TRY(safetensors_open_folder(l->dir, &l->files));
	hec_status status = load_model(l);
	if (status == HEC_OK) {
		log_model(l);
		*out = l->model;
	} else {
		hec_model_destroy(l->model);
	}
	mem_free(l->matching.list);
	safetensors_close(l->files);
	return status;
}

hec_status hec_model_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                          hec_model **out)
{
	HEC_TRY(CHECK_GIVEN("model", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("model", ctx));
	HEC_TRY(CHECK_GIVEN("model", dir));
	hec_model_load_options o;
	HEC_TRY(load_options_read(options, &o));
	if (o.dtype != HEC_F32 && o.dtype != HEC_F64)
		return fail(HEC_ERR_UNSUPPORTED, "model: it computes in f32 or f64, not in %s",
		            hec_dtype_name(o.dtype));
	if (ctx_backend(ctx)->dry)
		return fail(HEC_ERR_ARGUMENT, "model: a dry context reads no weights");
	loading l = {.ctx = ctx, .dir = dir, .o = &o};
	HEC_TRY(config_file_open(dir, &o, &l.config));
	hec_status status = load_folder(&l, out);
	config_file_close(&l.config);
	return status;
}
