/* weights.c — which tensors the files of a model hold, and which rows of its parameters are in each: a
 * few rows of a fused projection where the files have them apart. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "model/family.h"
#include "model/model.h"

#define PIECE_LEAST ((size_t)1 << 20)

/* Parameters by name. */
typedef struct named_param {
	const char *name;
	size_t at;
} named_param;

typedef struct lookup {
	const hec_model *model;
	const family *family;
	named_param *list;
	size_t count;
} lookup;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const named_param *)a)->name, ((const named_param *)b)->name);
}

static hec_status open_lookup(const family *f, const hec_model *model, lookup *l)
{
	*l = (lookup){.model = model, .family = f, .count = hec_model_param_count(model)};
	l->list = mem_zeros(l->count + 1, sizeof *l->list);
	if (!l->list)
		return fail(HEC_ERR_MEMORY, "no memory for the names of %zu parameters", l->count);
	for (size_t i = 0; i < l->count; i++)
		l->list[i] = (named_param){hec_model_param_at(model, i)->name, i};
	qsort(l->list, l->count, sizeof *l->list, by_name);
	return HEC_OK;
}

static weight_part whole_param(const hec_model *model, size_t i)
{
	return (weight_part){.param = i, .rows = hec_model_param_at(model, i)->shape[0]};
}

static bool find_param(const lookup *l, const char *name, weight_part *out)
{
	named_param wanted = {.name = name};
	const named_param *found = bsearch(&wanted, l->list, l->count, sizeof *l->list, by_name);
	if (found)
		*out = whole_param(l->model, found->at);
	return found != NULL;
}

/* "….q.w" → "….qkv.w"; returns 'q', 'k' or 'v', or 0 for another name. */
static char fused_name(const char *name, char fused[WEIGHT_NAME])
{
	const size_t n = strlen(name);
	if (n < 5 || name[n - 4] != '.' || name[n - 2] != '.' || !strchr("qkv", name[n - 3]))
		return 0;
	const int length =
		snprintf(fused, WEIGHT_NAME, "%.*sqkv%s", (int)(n - 3), name, name + n - 2);
	return length > 0 && length < WEIGHT_NAME ? name[n - 3] : 0;
}

static bool is_of_encoder(const char *ours)
{
	return strncmp(ours, "encoder.", 8) == 0;
}

/* Rows of q, k or v in the fused projection, where that is how the model has them. */
static bool find_in_fused(const lookup *l, const char *name, weight_part *out)
{
	char fused[WEIGHT_NAME];
	const char which = fused_name(name, fused);
	if (!which || !find_param(l, fused, out))
		return false;
	const hec_model_config *c = &l->model->config;
	const hec_multi_head_config *a =
		is_of_encoder(name) ? &c->encoder.attention : &c->decoder.attention;
	const int64_t q = a->heads * a->d_k, k = a->kv_heads * a->d_k, v = a->kv_heads * a->d_v;
	out->first = which == 'q' ? 0 : which == 'k' ? q : q + k;
	out->rows = which == 'q' ? q : which == 'k' ? k : v;
	return true;
}

/* ---- the list ---- */

typedef struct weight_list {
	weight *items;
	size_t count, room;
} weight_list;

static weight *append_weight(weight_list *l)
{
	if (l->count == l->room) {
		size_t room = l->room ? l->room * 2 : 64, bytes;
		weight *bigger =
			size_mul(room, sizeof *bigger, &bytes) ? mem_resize(l->items, bytes) : NULL;
		if (!bigger)
			return NULL;
		l->items = bigger;
		l->room = room;
	}
	weight *w = &l->items[l->count++];
	*w = (weight){.layer = -1};
	return w;
}

static hec_status no_memory(void)
{
	return fail(HEC_ERR_MEMORY, "no memory for the list of tensors");
}

hec_status weights_name(const char *pattern, int64_t layer, char name[WEIGHT_NAME])
{
	const char *star = strchr(pattern, '*');
	int n = star ? snprintf(name, WEIGHT_NAME, "%.*s%" PRId64 "%s", (int)(star - pattern),
	                        pattern, layer, star + 1)
	             : snprintf(name, WEIGHT_NAME, "%s", pattern);
	if (n < 0 || n >= WEIGHT_NAME)
		return fail(HEC_ERR_INTERNAL, "%s: the name is too long", pattern);
	return HEC_OK;
}

int weights_file_shape(const weight *w, int64_t shape[SAFETENSORS_RANK])
{
	memset(shape, 0, SAFETENSORS_RANK * sizeof *shape);
	memcpy(shape + w->as_row, w->shape, (size_t)w->rank * sizeof *shape);
	if (w->as_row)
		shape[0] = 1;
	return w->rank + w->as_row;
}

int64_t weights_row(const weight *w)
{
	int64_t n = 1;
	for (int i = 1; i < w->rank; i++)
		n *= w->shape[i];
	return n;
}

size_t weights_piece(const weight *list, size_t count)
{
	size_t bytes = PIECE_LEAST;
	for (size_t i = 0; i < count; i++) {
		const size_t row = (size_t)weights_row(&list[i]) * sizeof(double);
		bytes = row > bytes ? row : bytes;
	}
	return bytes;
}

/* Behind the parts that are there. */
static void add_part(const hec_model *model, weight *w, unsigned flags, weight_part part)
{
	const hec_model_param *p = hec_model_param_at(model, part.param);
	part.transposed = (flags & TENSOR_TRANSPOSED) && p->rank == 2;
	w->axis = part.transposed;
	w->as_row = flags & TENSOR_ROW;
	if (w->parts == 0) {
		w->rank = p->rank;
		memcpy(w->shape, p->shape, sizeof w->shape);
		if (part.transposed)
			w->shape[0] = p->shape[1];
		w->shape[w->axis] = 0;
	}
	w->shape[w->axis] += part.rows;
	w->part[w->parts++] = part;
}

static hec_status add_zero(weight_list *l, const family_tensor *row, int64_t vocab)
{
	weight *w = append_weight(l);
	if (!w)
		return no_memory();
	w->as_row = row->flags & TENSOR_ROW;
	w->rank = 1;
	w->shape[0] = vocab;
	w->row = row;
	return weights_name(row->theirs, 0, w->name);
}

/* The prefix of the base model in files with this head. */
static const char *prefix_of(const family *f, hec_head head)
{
	for (const family_architecture *a = f->architectures; a->name; a++)
		if (a->head == head)
			return a->prefix ? a->prefix : f->prefix;
	return f->prefix;
}

/* The name of a row's tensor in files with the head of this model. */
static hec_status name_row(const lookup *params, const family_tensor *row, int64_t layer, weight *w)
{
	const char *usual = params->family->prefix,
		   *own = prefix_of(params->family, params->model->config.head);
	const size_t n = strlen(usual);
	const bool of_base =
		n > 0 ? strncmp(row->theirs, usual, n) == 0 : strncmp(row->ours, "head.", 5) != 0;
	char rest[WEIGHT_NAME];
	HEC_TRY(weights_name(row->theirs + (of_base ? n : 0), layer, rest));
	w->base = of_base ? strlen(own) : 0;
	if (snprintf(w->name, WEIGHT_NAME, "%s%s", of_base ? own : "", rest) >= WEIGHT_NAME)
		return fail(HEC_ERR_INTERNAL, "%s: the name is too long", row->theirs);
	return HEC_OK;
}

static hec_status add_row(weight_list *l, const lookup *params, const family_tensor *row,
                          int64_t layer)
{
	char ours[WEIGHT_NAME];
	weight_part part;
	HEC_TRY(weights_name(row->ours, layer, ours));
	if (!find_param(params, ours, &part) && !find_in_fused(params, ours, &part))
		return row->flags & TENSOR_ZERO ? add_zero(l, row, params->model->config.vocab)
		                                : HEC_OK;
	bool joined = row->flags & TENSOR_JOINED;
	if (joined && (l->count == 0 || l->items[l->count - 1].parts >= WEIGHT_PARTS))
		return fail(HEC_ERR_INTERNAL, "%s: there is nothing to join it to", row->ours);
	weight *w = joined ? &l->items[l->count - 1] : append_weight(l);
	if (!w)
		return no_memory();
	if (!joined) {
		w->row = row;
		w->layer = layer;
		HEC_TRY(name_row(params, row, layer, w));
	}
	add_part(params->model, w, row->flags, part);
	return HEC_OK;
}

static int64_t layers_of(const hec_model_config *c, const char *ours)
{
	return is_of_encoder(ours) ? c->encoder.layers : c->decoder.layers;
}

/* Whether the flags of a row mean such a model. */
static bool is_asked(const hec_model_config *c, const family_tensor *row)
{
	const unsigned flags = row->flags, heads = flags & TENSOR_HEADS;
	const bool gated = is_of_encoder(row->ours) ? c->encoder.feed_forward.gated
	                                            : c->decoder.feed_forward.gated;
	if (heads && !(heads & TENSOR_OF(c->head)))
		return false;
	if (flags & (TENSOR_GATED | TENSOR_PLAIN) && gated != !!(flags & TENSOR_GATED))
		return false;
	return !(flags & (TENSOR_APART | TENSOR_TIED)) ||
	       c->separate_output == !!(flags & TENSOR_APART);
}

/* A row and those that are joined to it, for every layer. */
static hec_status add_group(weight_list *l, const lookup *params, const family_tensor *first,
                            const family_tensor *end)
{
	bool many = strchr(first->ours, '*') != NULL;
	int64_t layers = many ? layers_of(&params->model->config, first->ours) : 1;
	for (int64_t i = 0; i < layers; i++)
		for (const family_tensor *row = first; row < end; row++)
			HEC_TRY(add_row(l, params, row, i));
	return HEC_OK;
}

static hec_status list_theirs(weight_list *l, const lookup *params, const family_tensor *rows)
{
	for (const family_tensor *row = rows; row->ours;) {
		const family_tensor *end = row + 1;
		while (end->ours && (end->flags & TENSOR_JOINED))
			end++;
		if (!(row->flags & TENSOR_INSTEAD) && is_asked(&params->model->config, row))
			HEC_TRY(add_group(l, params, row, end));
		row = end;
	}
	return HEC_OK;
}

static hec_status list_ours(weight_list *l, const hec_model *model)
{
	for (size_t i = 0; i < hec_model_param_count(model); i++) {
		weight *w = append_weight(l);
		if (!w)
			return no_memory();
		HEC_TRY(weights_name(hec_model_param_at(model, i)->name, 0, w->name));
		add_part(model, w, 0, whole_param(model, i));
	}
	return HEC_OK;
}

/* Whether every parameter is in the list: a row that is missing from a table would be silence. */
static hec_status check_whole(const family *f, const hec_model *model, const weight_list *l)
{
	int64_t listed = 0, there = 0;
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].parts > 0)
			listed += l->items[i].shape[0] * weights_row(&l->items[i]);
	for (size_t i = 0; i < hec_model_param_count(model); i++)
		there += hec_model_param_at(model, i)->count;
	if (listed != there)
		return fail(HEC_ERR_INTERNAL,
		            "the tensors of %s hold %" PRId64 " of %" PRId64 " parameters",
		            f->model_type, listed, there);
	return HEC_OK;
}

hec_status weights_list(const family *f, const hec_model *model, weight **out, size_t *count)
{
	weight_list l = {0};
	lookup params;
	HEC_TRY(open_lookup(f, model, &params));
	hec_status status =
		f->tensors ? list_theirs(&l, &params, f->tensors) : list_ours(&l, model);
	if (status == HEC_OK)
		status = check_whole(f, model, &l);
	mem_free(params.list);
	if (status != HEC_OK) {
		mem_free(l.items);
		return status;
	}
	*out = l.items;
	*count = l.count;
	return HEC_OK;
}
