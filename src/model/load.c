/* load.c — a Hugging Face directory becomes a model.
 *
 * Nothing is sized by config.json before the files are seen to hold about as much: a few bytes cannot
 * ask for terabytes. Reading goes through a piece of memory, of 1 MiB or of a row that is longer, and from
 * there into the packs of the kernels: no matrix exists whole in any other form. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hecate/ops.h>

#include "backend/backend.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "model/labels.h"
#include "model/match.h"
#include "model/model.h"
#include "model/override.h"
#include "tensor/check.h"

#define WHOLE_ROWS 64                     /* at a time where there are so many: a panel of a pack */
#define TABLE_MOST ((int64_t)1 << 27)     /* numbers in a table of positions that no file holds */
#define LAYERS_NAMED 256                  /* at most, and */
#define NUMBERS_NAMED ((uint64_t)1 << 36) /* at most, where files hold next to nothing of it */

/* ---- config.json ---- */

static hec_status no_memory(void)
{
	return fail(HEC_ERR_MEMORY, "no memory to load a model");
}

static hec_status config_path(const char *path, char **out)
{
	struct stat info;
	size_t n = strlen(path), bytes = n + sizeof "/config.json";
	bool named = n >= 5 && strcmp(path + n - 5, ".json") == 0;
	bool folder = stat(path, &info) == 0 ? S_ISDIR(info.st_mode) : !named;
	*out = mem_alloc(bytes);
	if (!*out)
		return no_memory();
	snprintf(*out, bytes, "%s%s", path, folder ? "/config.json" : "");
	return HEC_OK;
}

/* What config.json says, while it is open. */
typedef struct description {
	char *path;
	json_t *root;
	json_scope scope;
	const family *family;
	hec_model_config config; /* resolved */
} description;

static void close_config(description *d)
{
	json_decref(d->root);
	mem_free(d->path);
}

static hec_status read_config(const char *path, const hec_model_load_options *o, description *d)
{
	HEC_TRY(config_path(path, &d->path));
	HEC_TRY(json_file_read(d->path, JSON_CONFIG_MOST, &d->root));
	HEC_TRY(json_scope_root(d->path, d->root, &d->scope));
	HEC_TRY(override_apply(d->path, o, d->root, &d->family));
	HEC_TRY(family_read(d->family, &d->scope, &d->config));
	hec_status status = hec_model_config_resolve(&d->config);
	return status == HEC_OK ? status : fail_in(status, "%s", d->path);
}

static hec_status open_config(const char *path, const hec_model_load_options *o, description *d)
{
	*d = (description){0};
	hec_status status = read_config(path, o, d);
	if (status != HEC_OK)
		close_config(d);
	return status;
}

static hec_status take_options(const hec_model_load_options *given, hec_model_load_options *o)
{
	*o = (hec_model_load_options){.size = sizeof *o};
	HEC_TRY(options_take("hec_model_load_options", o, sizeof *o, given));
	return o->override_count > 0 ? check_given("model", "overrides", o->overrides) : HEC_OK;
}

hec_status hec_model_config_read(const char *path, const hec_model_load_options *options,
                                 hec_model_config *out)
{
	hec_model_load_options o;
	description d;
	HEC_TRY(CHECK_GIVEN("model config", path));
	HEC_TRY(CHECK_GIVEN("model config", out));
	HEC_TRY(take_options(options, &o));
	HEC_TRY(open_config(path, &o, &d));
	*out = d.config;
	close_config(&d);
	return HEC_OK;
}

/* ---- before anything is allocated ---- */

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

/* ---- reading ---- */

/* Rows first … first + n − 1 of the file's tensor, in piece, into the parts that have them. */
static hec_status spread(hec_ctx *ctx, const weight *w, const hec_tensor *piece, int64_t first)
{
	int64_t begin = 0, n = piece->shape[0];
	for (int i = 0; i < w->parts; i++) {
		const weight_part *part = &w->part[i];
		hec_tensor from = *piece;
		int64_t size = part->view.shape[w->axis], end = begin + size;
		if (w->axis == 0) {
			int64_t low = max_i64(first, begin), high = min_i64(first + n, end);
			if (low < high) {
				HEC_TRY(hec_tensor_slice(piece, 0, low - first, high - low, &from));
				HEC_TRY(part_put(ctx, part, low - begin, &from));
			}
		} else {
			HEC_TRY(hec_tensor_slice(piece, w->axis, begin, size, &from));
			HEC_TRY(part_put(ctx, part, first, &from));
		}
		begin = end;
	}
	return HEC_OK;
}

/* Memory for a piece as the file has it, and in f32. */
typedef struct pieces {
	size_t bytes;
	void *raw;     /* bytes */
	float *floats; /* twice that: from 16 bits to 32 */
} pieces;

/* A pack is made of f32. */
static hec_status widen(hec_ctx *ctx, const weight *w, const pieces *memory, hec_tensor *piece)
{
	bool packed = false;
	for (int i = 0; i < w->parts; i++)
		packed = packed || !w->part[i].view.data;
	if (!packed || piece->dtype == HEC_F32)
		return HEC_OK;
	hec_tensor wide = hec_tensor_2d(memory->floats, HEC_F32, piece->shape[0], piece->shape[1]);
	HEC_TRY(hec_copy(ctx, piece, &wide));
	*piece = wide;
	return HEC_OK;
}

/* Rows of a tensor that are read at once, where there is room for so many bytes. */
static int64_t rows_at_once(const weight *w, hec_dtype dtype, size_t bytes)
{
	const int64_t room = (int64_t)(bytes / hec_dtype_size(dtype)),
		      step = room / max_i64(weights_row(w), 1);
	return step > WHOLE_ROWS ? step - step % WHOLE_ROWS : step;
}

static hec_tensor piece_of(const weight *w, void *data, hec_dtype dtype, int64_t n)
{
	return w->rank == 1   ? hec_tensor_1d(data, dtype, n)
	       : w->rank == 2 ? hec_tensor_2d(data, dtype, n, w->shape[1])
	                      : hec_tensor_3d(data, dtype, n, w->shape[1], w->shape[2]);
}

static hec_status read_weight(hec_ctx *ctx, const safetensors *files, const weight *w,
                              const match *found, const pieces *memory)
{
	const safetensors_entry *e = found->entry;
	hec_dtype dtype = HEC_F32;
	(void)safetensors_dtype_known(e->dtype, &dtype);
	const int64_t rows = found->rows, row = weights_row(w),
		      step = rows_at_once(w, dtype, memory->bytes);
	for (int64_t at = 0; at < rows && row > 0; at += step) {
		int64_t n = min_i64(step, rows - at);
		hec_tensor piece = piece_of(w, memory->raw, dtype, n);
		HEC_TRY(safetensors_read(files, e, (uint64_t)(at * row), (uint64_t)(n * row),
		                         memory->raw));
		HEC_TRY(widen(ctx, w, memory, &piece));
		HEC_TRY(spread(ctx, w, &piece, at));
	}
	return HEC_OK;
}

/* ---- what goes where ---- */

static match_mode mode_of(const hec_model_load_options *o)
{
	return o->override_count > 0 ? MATCH_WHAT_FITS : override_any(o) ? MATCH_HEAD : MATCH_ALL;
}

/* A model without numbers, and what of the files goes where in it. */
typedef struct plan {
	hec_model *model;
	weight *list;
	matching matching;
} plan;

static void close_plan(plan *p)
{
	hec_model_destroy(p->model);
	mem_free(p->list);
	mem_free(p->matching.found);
	*p = (plan){0};
}

/* What of the files goes where in p->model. */
static hec_status match_plan(const char *dir, const safetensors *files, const family *family,
                             match_mode mode, bool fresh_labels, plan *p)
{
	size_t count;
	HEC_TRY(weights_list(family, p->model, &p->list, &count));
	p->matching = (matching){.dir = dir,
	                         .files = files,
	                         .family = family,
	                         .list = p->list,
	                         .count = count,
	                         .fresh_labels = fresh_labels,
	                         .found = mem_zeros(count + 1, sizeof(match))};
	return p->matching.found ? match_weights(&p->matching, mode) : no_memory();
}

static hec_status make_plan(hec_ctx *ctx, const char *dir, const safetensors *files,
                            const description *d, const hec_model_load_options *o, bool to_run,
                            plan *p)
{
	HEC_TRY(model_create_empty(ctx, &d->config, o->dtype, to_run, o->to_measure, &p->model));
	p->model->family = d->family;
	return match_plan(dir, files, d->family, mode_of(o), o->fresh_labels, p);
}

/* ---- what asks for too much ---- */

/* Tables that no file holds have no tensors. */
static void without_table(hec_stack_config *s)
{
	if (s->position.kind == HEC_POSITION_SINUSOIDAL || s->position.kind == HEC_POSITION_ROTARY)
		s->position.max = min_i64(s->position.max, 1);
}

/* The error `what`, with the tensors that are missing behind it. Of such a model only addresses and a list are
 * made, and not where that would be long. */
static hec_status refuse(hec_ctx *ctx, const char *what, const description *d,
                         const safetensors *files, match_mode mode, uint64_t asked)
{
	plan p = {0};
	hec_model_config c = d->config;
	hec_status status = HEC_OK;
	without_table(&c.encoder);
	without_table(&c.decoder);
	if (c.encoder.layers + c.decoder.layers <= LAYERS_NAMED && asked <= NUMBERS_NAMED)
		status = model_create_empty(ctx, &c, HEC_F32, false, true, &p.model);
	if (p.model)
		status = match_plan(what, files, d->family, mode, false, &p);
	const bool named = p.matching.found && status == HEC_ERR_FORMAT;
	close_plan(&p);
	return named ? status : fail(HEC_ERR_FORMAT, "%s", what);
}

/* A config.json that asks for far more than the files hold is refused before memory is asked for; what
 * the caller asks for is not. */
static hec_status check_size(hec_ctx *ctx, const char *dir, const description *d,
                             const safetensors *files, match_mode mode)
{
	const hec_model_config *c = &d->config;
	const bool overridden = mode == MATCH_WHAT_FITS;
	uint64_t asked = 0, there = 0, tensors = safetensors_count(files);
	const uint64_t layers = (uint64_t)(c->encoder.layers + c->decoder.layers);
	char what[600];
	for (size_t i = 0; i < tensors; i++)
		there += safetensors_at(files, i)->count;
	if (layers <= (tensors > LAYERS_NAMED ? tensors : LAYERS_NAMED) || overridden)
		HEC_TRY(model_each_param(c, count_param, &asked));
	if (layers > tensors && !overridden) {
		snprintf(what, sizeof what,
		         "%s: config.json asks for %" PRId64 " and %" PRId64
		         " layers; the files hold %" PRIu64 " tensors",
		         dir, c->encoder.layers, c->decoder.layers, tensors);
		return refuse(ctx, what, d, files, mode, asked);
	}
	if (asked / 4 > there + ((uint64_t)1 << 20) && !overridden) {
		snprintf(what, sizeof what,
		         "%s: config.json asks for %" PRIu64 " numbers; the files hold %" PRIu64,
		         dir, asked, there);
		return refuse(ctx, what, d, files, mode, asked);
	}
	HEC_TRY(check_tables(dir, &c->encoder, c->width));
	return check_tables(dir, &c->decoder, c->width);
}

/* ---- all of it ---- */

/* First values for parameters of which some or all is not in the files. */
static hec_status start_fresh(hec_ctx *ctx, const plan *p, uint64_t seed)
{
	const matching *m = &p->matching;
	bool *chosen = mem_zeros(hec_model_param_count(p->model) + 1, sizeof *chosen);
	if (!chosen)
		return no_memory();
	for (size_t i = 0; i < m->count; i++)
		for (int part = 0; m->found[i].fresh && part < m->list[i].parts; part++)
			chosen[m->list[i].part[part].param] = true;
	hec_status status = model_start(ctx, p->model, seed, chosen);
	mem_free(chosen);
	return status;
}

/* By their place in the files: those are then read from begin to end, as the system reads ahead. */
static int by_place(const void *a, const void *b)
{
	const safetensors_entry *x = (*(const match *const *)a)->entry,
				*y = (*(const match *const *)b)->entry;
	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static hec_status read_all(hec_ctx *ctx, const plan *p)
{
	const matching *m = &p->matching;
	const size_t bytes = weights_piece(p->list, m->count);
	pieces memory = {bytes, mem_alloc(bytes), mem_alloc(2 * bytes)};
	const match **order = mem_zeros(m->count + 1, sizeof *order);
	size_t n = 0;
	hec_status status = memory.raw && memory.floats && order ? HEC_OK : no_memory();
	for (size_t i = 0; order && i < m->count; i++)
		if (m->found[i].entry)
			order[n++] = &m->found[i];
	if (status == HEC_OK)
		qsort(order, n, sizeof *order, by_place);
	for (size_t i = 0; status == HEC_OK && i < n; i++)
		status = read_weight(ctx, m->files, &m->list[order[i] - m->found], order[i],
		                     &memory);
	mem_free(order);
	mem_free(memory.raw);
	mem_free(memory.floats);
	return status;
}

/* What starts fresh needs its block; it is packed in the end. */
static hec_status fill(hec_ctx *ctx, const char *dir, const safetensors *files,
                       const description *d, const hec_model_load_options *o, plan *p)
{
	HEC_TRY(make_plan(ctx, dir, files, d, o, !o->unpacked, p));
	const bool fresh = p->matching.any_fresh > 0 && !o->to_measure;
	if (fresh && p->model->packed_only) {
		close_plan(p);
		HEC_TRY(make_plan(ctx, dir, files, d, o, false, p));
	}
	if (fresh)
		HEC_TRY(start_fresh(ctx, p, o->seed));
	if (!o->to_measure)
		HEC_TRY(read_all(ctx, p));
	HEC_TRY(report_ignored(&p->matching, &p->model->ignored, &p->model->lost));
	HEC_TRY(report_make(&p->matching, &p->model->report));
	HEC_TRY(labels_read(&d->scope, p->model));
	return fresh && !o->unpacked ? hec_model_pack(ctx, p->model, false) : HEC_OK;
}

static hec_status load(hec_ctx *ctx, const char *dir, const safetensors *files, description *d,
                       const hec_model_load_options *o, hec_model **out)
{
	plan p = {0};
	if (d->family->look)
		HEC_TRY(d->family->look(files, &d->config));
	HEC_TRY(check_size(ctx, dir, d, files, mode_of(o)));
	hec_status status = fill(ctx, dir, files, d, o, &p);
	if (status == HEC_OK) {
		*out = p.model;
		p.model = NULL;
	}
	close_plan(&p);
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
	HEC_TRY(take_options(options, &o));
	if (o.dtype != HEC_F32 && o.dtype != HEC_F64)
		return fail(HEC_ERR_UNSUPPORTED, "model: it computes in f32 or f64, not in %s",
		            hec_dtype_name(o.dtype));
	if (ctx_backend(ctx)->dry)
		return fail(HEC_ERR_ARGUMENT, "model: a dry context reads no weights");
	description d;
	safetensors *files;
	HEC_TRY(open_config(dir, &o, &d));
	hec_status status = safetensors_open_folder(dir, &files);
	if (status == HEC_OK) {
		status = load(ctx, dir, files, &d, &o, out);
		safetensors_close(files);
	}
	close_config(&d);
	return status;
}

/* ---- into a model that is there ---- */

/* A folder whose model is that of `model`, and what of it goes where in that. */
typedef struct source {
	description d;
	safetensors *files;
	plan plan; /* its model is not ours */
} source;

static void close_source(source *s)
{
	s->plan.model = NULL;
	close_plan(&s->plan);
	safetensors_close(s->files);
	close_config(&s->d);
}

static hec_status find_source(const char *dir, hec_model *model, source *s)
{
	char difference[FAMILY_DIFFERENCE];
	HEC_TRY(safetensors_open_folder(dir, &s->files));
	if (s->d.family->look)
		HEC_TRY(s->d.family->look(s->files, &s->d.config));
	/* A bias that is zero throughout does not show in such files. */
	if (s->d.family->look && model->config.output_bias)
		s->d.config.output_bias = true;
	HEC_TRY(family_difference(&s->d.config, &model->config, difference));
	if (difference[0])
		return fail(HEC_ERR_FORMAT, "%s: holds another model: %s", dir, difference);
	s->plan.model = model;
	return match_plan(dir, s->files, s->d.family, MATCH_ALL, false, &s->plan);
}

static hec_status open_source(const char *dir, hec_model *model, source *s)
{
	const hec_model_load_options as_it_is = {.size = sizeof as_it_is};
	*s = (source){0};
	HEC_TRY(open_config(dir, &as_it_is, &s->d));
	hec_status status = find_source(dir, model, s);
	if (status != HEC_OK)
		close_source(s);
	return status;
}

/* Its block, all zero: what no file holds is. */
static hec_status clear(hec_ctx *ctx, hec_model *model)
{
	HEC_TRY(hec_model_unpack(ctx, model));
	hec_tensor block = hec_model_block(model);
	return hec_fill(ctx, 0, &block);
}

hec_status model_read_into(hec_ctx *ctx, const char *dir, hec_model *model)
{
	source s;
	HEC_TRY(open_source(dir, model, &s));
	hec_status status = clear(ctx, model);
	if (status == HEC_OK)
		status = read_all(ctx, &s.plan);
	close_source(&s);
	return status;
}

/* ---- the mean of several ---- */

/* Numbers at … at + n of tensor i, from every folder, become their mean in `piece`. */
static hec_status mean_piece(const source *sources, size_t count, size_t i, int64_t at, int64_t n,
                             float *piece, double *sum)
{
	memset(sum, 0, (size_t)n * sizeof *sum);
	for (size_t k = 0; k < count; k++) {
		const matching *m = &sources[k].plan.matching;
		const safetensors_entry *e = m->found[i].entry;
		if (sources[k].d.family != sources->d.family || !e || e->dtype != ST_F32)
			return fail(HEC_ERR_FORMAT, "%s: tensor '%s' is not as in %s", m->dir,
			            m->list[i].name, sources->plan.matching.dir);
		HEC_TRY(safetensors_read(m->files, e, (uint64_t)at, (uint64_t)n, piece));
		for (int64_t j = 0; j < n; j++)
			sum[j] += (double)piece[j];
	}
	for (int64_t j = 0; j < n; j++)
		piece[j] = (float)(sum[j] / (double)count);
	return HEC_OK;
}

static hec_status mean_weight(hec_ctx *ctx, const source *sources, size_t count, size_t i,
                              size_t bytes, float *piece, double *sum)
{
	const weight *w = &sources->plan.list[i];
	const int64_t rows = sources->plan.matching.found[i].rows, row = weights_row(w),
		      step = rows_at_once(w, HEC_F32, bytes);
	for (int64_t at = 0; at < rows && row > 0; at += step) {
		int64_t n = min_i64(step, rows - at);
		const hec_tensor from = piece_of(w, piece, HEC_F32, n);
		HEC_TRY(mean_piece(sources, count, i, at * row, n * row, piece, sum));
		HEC_TRY(spread(ctx, w, &from, at));
	}
	return HEC_OK;
}

static hec_status mean_all(hec_ctx *ctx, const source *sources, size_t count, hec_model *model)
{
	const matching *m = &sources->plan.matching;
	const size_t bytes = weights_piece(sources->plan.list, m->count);
	float *piece = mem_alloc(bytes);
	double *sum = mem_alloc(bytes / sizeof *piece * sizeof *sum);
	hec_status status = piece && sum ? clear(ctx, model) : no_memory();
	for (size_t i = 0; status == HEC_OK && i < m->count; i++)
		if (m->found[i].entry)
			status = mean_weight(ctx, sources, count, i, bytes, piece, sum);
	mem_free(piece);
	mem_free(sum);
	return status;
}

hec_status model_read_mean(hec_ctx *ctx, const char *const *dirs, size_t count, hec_model *model)
{
	source *sources = mem_zeros(count + 1, sizeof *sources);
	size_t opened = 0;
	hec_status status = sources ? HEC_OK : no_memory();
	while (status == HEC_OK && opened < count) {
		status = open_source(dirs[opened], model, &sources[opened]);
		opened += status == HEC_OK;
	}
	if (status == HEC_OK && count > 0)
		status = mean_all(ctx, sources, count, model);
	for (size_t i = 0; i < opened; i++)
		close_source(&sources[i]);
	mem_free(sources);
	return status;
}
