/* load.c — a Hugging Face directory becomes a model.
 *
 * Nothing is sized by config.json before the files are seen to hold about as much: a few bytes cannot
 * ask for terabytes. All tensors are looked for before any is read, so that one error names all that
 * are missing or misshapen. Reading goes through a piece of memory of fixed size, and from there into
 * the packs of the kernels: no matrix exists whole in any other form. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hecate/ops.h>

#include "base/quote.h"
#include "base/size.h"
#include "model/family.h"
#include "model/labels.h"
#include "model/model.h"
#include "tensor/check.h"

#define PIECE ((size_t)1 << 20)       /* bytes read at a time */
#define WHOLE_ROWS 64                 /* at a time where there are so many: a panel of a pack */
#define TABLE_MOST ((int64_t)1 << 27) /* numbers in a table of positions that no file holds */

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
	*out = malloc(bytes);
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
	free(d->path);
}

static hec_status read_config(const char *path, description *d)
{
	HEC_TRY(config_path(path, &d->path));
	HEC_TRY(json_file_read(d->path, JSON_CONFIG_MOST, &d->root));
	HEC_TRY(json_scope_root(d->path, d->root, &d->scope));
	HEC_TRY(family_find(&d->scope, &d->family));
	HEC_TRY(family_read(d->family, &d->scope, &d->config));
	hec_status status = hec_model_config_resolve(&d->config);
	return status == HEC_OK ? status : fail_in(status, "%s", d->path);
}

static hec_status open_config(const char *path, description *d)
{
	*d = (description){0};
	hec_status status = read_config(path, d);
	if (status != HEC_OK)
		close_config(d);
	return status;
}

hec_status hec_model_config_read(const char *path, hec_model_config *out)
{
	description d;
	HEC_TRY(CHECK_GIVEN("model config", path));
	HEC_TRY(CHECK_GIVEN("model config", out));
	HEC_TRY(open_config(path, &d));
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

/* A config.json that asks for far more than the files hold is refused before memory is asked for. */
static hec_status check_size(const char *dir, const hec_model_config *c, const safetensors *files)
{
	uint64_t asked = 0, there = 0, tensors = safetensors_count(files);
	for (size_t i = 0; i < tensors; i++)
		there += safetensors_at(files, i)->count;
	if ((uint64_t)(c->encoder.layers + c->decoder.layers) > tensors)
		return fail(HEC_ERR_FORMAT,
		            "%s: config.json asks for %" PRId64 " and %" PRId64
		            " layers; the files hold %" PRIu64 " tensors",
		            dir, c->encoder.layers, c->decoder.layers, tensors);
	HEC_TRY(model_each_param(c, count_param, &asked));
	if (asked / 4 > there + ((uint64_t)1 << 20))
		return fail(HEC_ERR_FORMAT,
		            "%s: config.json asks for %" PRIu64 " numbers; the files hold %" PRIu64,
		            dir, asked, there);
	HEC_TRY(check_tables(dir, &c->encoder, c->width));
	return check_tables(dir, &c->decoder, c->width);
}

/* ---- finding every tensor ---- */

typedef struct problems {
	char text[700];
	size_t used, count, left_out;
} problems;

static void note(problems *p, const char *what)
{
	size_t n = strlen(what);
	p->count++;
	if (p->left_out > 0 || p->used + n + 3 > sizeof p->text) {
		p->left_out++;
		return;
	}
	p->used += (size_t)snprintf(p->text + p->used, sizeof p->text - p->used, "%s%s",
	                            p->used ? "; " : "", what);
}

/* By the name of the table; without the prefix of the base model; with the old names of norms. */
static const safetensors_entry *find_named(const safetensors *files, const family *f,
                                           const char *name)
{
	static const char *const endings[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
	                                         {"LayerNorm.bias", "LayerNorm.beta"}};
	const safetensors_entry *e = safetensors_find(files, name);
	size_t prefix = strlen(f->prefix), n = strlen(name);
	for (size_t i = 0; !e && i < 2; i++) {
		size_t end = strlen(endings[i][0]);
		char old[WEIGHT_NAME];
		if (n < end || strcmp(name + n - end, endings[i][0]) != 0)
			continue;
		snprintf(old, sizeof old, "%.*s%s", (int)(n - end), name, endings[i][1]);
		e = find_named(files, f, old);
	}
	if (!e && prefix > 0 && strncmp(name, f->prefix, prefix) == 0)
		e = find_named(files, f, name + prefix);
	return e;
}

static const safetensors_entry *find_weight(const safetensors *files, const family *f,
                                            const weight *w)
{
	const safetensors_entry *e = find_named(files, f, w->name);
	const family_tensor *row = w->row;
	while (!e && row && (++row)->ours && (row->flags & TENSOR_INSTEAD)) {
		char name[WEIGHT_NAME];
		if (weights_name(row->theirs, w->layer, name) != HEC_OK)
			break;
		e = find_named(files, f, name);
	}
	return e;
}

static bool same_shape(const safetensors_entry *a, const safetensors_entry *b)
{
	return a->rank == b->rank &&
	       memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

static void check_weight(const weight *w, const safetensors_entry *e, problems *p)
{
	hec_dtype dtype;
	char what[2 * SAFETENSORS_SHAPE_TEXT + WEIGHT_NAME + 80], is[SAFETENSORS_SHAPE_TEXT],
		asked[SAFETENSORS_SHAPE_TEXT];
	safetensors_entry wanted = {0};
	wanted.rank = weights_file_shape(w, wanted.shape);
	if (!e)
		snprintf(what, sizeof what, "tensor '%s' is missing", w->name);
	else if (!same_shape(&wanted, e))
		snprintf(what, sizeof what, "tensor '%s' has shape %s, config.json asks for %s",
		         w->name, safetensors_shape_text(e, is),
		         safetensors_shape_text(&wanted, asked));
	else if (!safetensors_dtype_known(e->dtype, &dtype) || dtype == HEC_I8 || dtype == HEC_I32)
		snprintf(what, sizeof what, "tensor '%s' is of type %s, not F32, F16, BF16 or F64",
		         w->name, safetensors_dtype_name(e->dtype));
	else
		return;
	note(p, what);
}

static hec_status check_weights(const char *dir, const safetensors *files, const family *f,
                                const weight *list, size_t count, const safetensors_entry **found)
{
	problems p = {0};
	for (size_t i = 0; i < count; i++) {
		if (list[i].parts == 0)
			continue;
		found[i] = find_weight(files, f, &list[i]);
		check_weight(&list[i], found[i], &p);
	}
	if (p.count == 0)
		return HEC_OK;
	if (p.left_out > 0)
		return fail(HEC_ERR_FORMAT, "%s: %s; and %zu more", dir, p.text, p.left_out);
	return fail(HEC_ERR_FORMAT, "%s: %s", dir, p.text);
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
	void *raw;     /* PIECE */
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

static hec_status read_weight(hec_ctx *ctx, const safetensors *files, const weight *w,
                              const safetensors_entry *e, const pieces *memory)
{
	hec_dtype dtype = HEC_F32;
	(void)safetensors_dtype_known(e->dtype, &dtype);
	int64_t rows = w->shape[0], row = 1;
	for (int i = 1; i < w->rank; i++)
		row *= w->shape[i];
	int64_t room = (int64_t)(PIECE / hec_dtype_size(dtype));
	if (row > room)
		return fail(HEC_ERR_UNSUPPORTED,
		            "tensor '%s': rows of %" PRId64
		            " numbers are longer than is read at once",
		            w->name, row);
	int64_t step = row > 0 ? room / row : rows;
	if (step > WHOLE_ROWS)
		step -= step % WHOLE_ROWS;
	for (int64_t at = 0; at < rows && row > 0; at += step) {
		int64_t n = min_i64(step, rows - at);
		hec_tensor piece =
			w->rank == 1 ? hec_tensor_1d(memory->raw, dtype, n)
			: w->rank == 2
				? hec_tensor_2d(memory->raw, dtype, n, w->shape[1])
				: hec_tensor_3d(memory->raw, dtype, n, w->shape[1], w->shape[2]);
		HEC_TRY(safetensors_read(files, e, (uint64_t)(at * row), (uint64_t)(n * row),
		                         memory->raw));
		HEC_TRY(widen(ctx, w, memory, &piece));
		HEC_TRY(spread(ctx, w, &piece, at));
	}
	return HEC_OK;
}

/* The names of what no weight was read from. */
static hec_status list_ignored(const safetensors *files, const safetensors_entry **found,
                               size_t count, char **out)
{
	size_t all = safetensors_count(files), bytes = 1;
	bool *used = calloc(all + 1, sizeof *used);
	if (!used)
		return no_memory();
	for (size_t i = 0; i < count; i++)
		if (found[i])
			used[found[i] - safetensors_at(files, 0)] = true;
	for (size_t i = 0; i < all; i++)
		bytes += used[i] ? 0 : strlen(safetensors_at(files, i)->name) + 1;
	char *text = malloc(bytes), *at = text;
	for (size_t i = 0; text && i < all; i++)
		if (!used[i])
			at += sprintf(at, "%s\n", safetensors_at(files, i)->name);
	if (text)
		*at = '\0';
	free(used);
	*out = text;
	return text ? HEC_OK : no_memory();
}

static hec_status read_weights(hec_ctx *ctx, const char *dir, const safetensors *files,
                               const family *f, const weight *list, size_t count, char **ignored)
{
	const safetensors_entry **found = calloc(count + 1, sizeof *found);
	pieces memory = {malloc(PIECE), malloc(2 * PIECE)};
	hec_status status = found && memory.raw && memory.floats ? HEC_OK : no_memory();
	if (status == HEC_OK)
		status = check_weights(dir, files, f, list, count, found);
	for (size_t i = 0; status == HEC_OK && i < count; i++)
		if (found[i])
			status = read_weight(ctx, files, &list[i], found[i], &memory);
	if (status == HEC_OK)
		status = list_ignored(files, found, count, ignored);
	free(memory.raw);
	free(memory.floats);
	free(found);
	return status;
}

static hec_status fill(hec_ctx *ctx, const char *dir, const safetensors *files, const family *f,
                       hec_model *m)
{
	weight *list;
	size_t count;
	HEC_TRY(weights_list(f, m, &list, &count));
	hec_status status = read_weights(ctx, dir, files, f, list, count, &m->ignored);
	free(list);
	return status;
}

static hec_status load(hec_ctx *ctx, const char *dir, const safetensors *files, description *d,
                       hec_model **out)
{
	hec_model *m;
	if (d->family->look)
		HEC_TRY(d->family->look(files, &d->config));
	HEC_TRY(check_size(dir, &d->config, files));
	HEC_TRY(model_create_empty(ctx, &d->config, HEC_F32, true, &m));
	m->family = d->family;
	hec_status status = fill(ctx, dir, files, d->family, m);
	if (status == HEC_OK)
		status = labels_read(&d->scope, m);
	if (status != HEC_OK)
		hec_model_destroy(m);
	else
		*out = m;
	return status;
}

hec_status hec_model_load(hec_ctx *ctx, const char *dir, hec_model **out)
{
	HEC_TRY(CHECK_GIVEN("model", ctx));
	HEC_TRY(CHECK_GIVEN("model", dir));
	HEC_TRY(CHECK_GIVEN("model", out));
	description d;
	safetensors *files;
	HEC_TRY(open_config(dir, &d));
	hec_status status = safetensors_open_folder(dir, &files);
	if (status == HEC_OK) {
		status = load(ctx, dir, files, &d, out);
		safetensors_close(files);
	}
	close_config(&d);
	return status;
}
