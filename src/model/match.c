/* match.c — every tensor that a model has is looked for before any is read, so that one error names all
 * that are missing or misshapen. */
#include "model/match.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"

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

/* By this name, or with the old names of norms. */
static const safetensors_entry *find_old(const safetensors *files, const char *name)
{
	static const char *const endings[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
	                                         {"LayerNorm.bias", "LayerNorm.beta"}};
	const safetensors_entry *e = safetensors_find(files, name);
	size_t n = strlen(name);
	for (size_t i = 0; !e && i < 2; i++) {
		size_t end = strlen(endings[i][0]);
		char old[WEIGHT_NAME];
		if (n < end || strcmp(name + n - end, endings[i][0]) != 0)
			continue;
		snprintf(old, sizeof old, "%.*s%s", (int)(n - end), name, endings[i][1]);
		e = safetensors_find(files, old);
	}
	return e;
}

/* base: without the prefix of the base model, which files of a base model lack, and which is another
 * one for some heads. */
static const safetensors_entry *find_base(const safetensors *files, const family *f,
                                          const char *base)
{
	const safetensors_entry *e = find_old(files, base);
	const char *tried = "";
	for (const family_architecture *a = f->architectures; !e && a->name; a++) {
		const char *prefix = a->prefix ? a->prefix : f->prefix;
		char name[WEIGHT_NAME];
		if (strcmp(prefix, tried) == 0)
			continue;
		tried = prefix;
		if (snprintf(name, sizeof name, "%s%s", prefix, base) < WEIGHT_NAME)
			e = find_old(files, name);
	}
	return e;
}

static const safetensors_entry *find_weight(const safetensors *files, const family *f,
                                            const weight *w)
{
	const safetensors_entry *e = find_old(files, w->name);
	const family_tensor *row = w->row;
	const size_t prefix = strlen(f->prefix);
	/* With no prefix to tell by, w->base does. */
	if (!e && (w->base > 0 || (row && prefix == 0 && strncmp(row->ours, "head.", 5) != 0)))
		e = find_base(files, f, w->name + w->base);
	while (!e && row && (++row)->ours && (row->flags & TENSOR_INSTEAD)) {
		char name[WEIGHT_NAME];
		if (weights_name(row->theirs, w->layer, name) != HEC_OK)
			break;
		e = find_old(files, name);
		if (!e && strncmp(name, f->prefix, prefix) == 0)
			e = find_base(files, f, name + prefix);
	}
	return e;
}

/* ---- what it is called there ---- */

/* What these files put before the names of the base model, as the first tensor that is found tells. */
typedef struct file_prefix {
	const char *text; /* NULL: as the family has it */
	size_t bytes;
} file_prefix;

static file_prefix prefix_there(const matching *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const weight *w = &m->list[i];
		if (w->base == 0 || !m->found[i].entry)
			continue;
		const char *name = m->found[i].entry->name, *base = w->name + w->base;
		const size_t all = strlen(name), n = strlen(base);
		if (all >= n && strcmp(name + all - n, base) == 0)
			return (file_prefix){name, all - n};
	}
	return (file_prefix){0};
}

static const char *name_there(const weight *w, const safetensors_entry *e, file_prefix prefix,
                              char name[WEIGHT_NAME])
{
	if (e)
		return e->name;
	if (w->base == 0 || !prefix.text)
		return w->name;
	snprintf(name, WEIGHT_NAME, "%.*s%s", (int)prefix.bytes, prefix.text, w->name + w->base);
	return name;
}

/* ---- whether it fits ---- */

static bool same_shape(const safetensors_entry *a, const safetensors_entry *b)
{
	return a->rank == b->rank &&
	       memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

static bool is_number(const safetensors_entry *e)
{
	hec_dtype dtype;
	return safetensors_dtype_known(e->dtype, &dtype) && dtype != HEC_I8 && dtype != HEC_I32;
}

static const char *our_name(const weight *w)
{
	return w->row ? w->row->ours : w->name;
}

/* A row for each word, position or type, which mean the same whatever the other rows are. */
static bool is_table(const weight *w)
{
	static const char *const ends[] = {"embedding", "positions", "types", "head.output.w",
	                                   "head.output.b"};
	const char *name = our_name(w);
	const size_t n = strlen(name);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		const size_t end = strlen(ends[i]);
		if (n >= end && strcmp(name + n - end, ends[i]) == 0)
			return w->parts == 1 && !w->as_row;
	}
	return false;
}

static bool may_be_fresh(const weight *w, match_mode mode)
{
	return mode == MATCH_WHAT_FITS ||
	       (mode == MATCH_HEAD && strncmp(our_name(w), "head.", 5) == 0);
}

/* "" where there is nothing wrong. */
static void say_problem(const char *name, const safetensors_entry *e,
                        const safetensors_entry *wanted, char *what, size_t size)
{
	char is[SAFETENSORS_SHAPE_TEXT], asked[SAFETENSORS_SHAPE_TEXT];
	*what = '\0';
	if (!e)
		snprintf(what, size, "tensor '%s' is missing", name);
	else if (!is_number(e))
		snprintf(what, size, "tensor '%s' is of type %s, not F32, F16, BF16 or F64", name,
		         safetensors_dtype_name(e->dtype));
	else if (!same_shape(wanted, e))
		snprintf(what, size, "tensor '%s' has shape %s, config.json asks for %s", name,
		         safetensors_shape_text(e, is), safetensors_shape_text(wanted, asked));
}

/* to->entry: what was found. */
static void match_one(const weight *w, file_prefix prefix, match_mode mode, match *to, problems *p)
{
	char what[2 * SAFETENSORS_SHAPE_TEXT + WEIGHT_NAME + 80], name[WEIGHT_NAME];
	safetensors_entry wanted = {0};
	const safetensors_entry *e = to->entry;
	wanted.rank = weights_file_shape(w, wanted.shape);
	to->rows = w->shape[0];
	say_problem(name_there(w, e, prefix, name), e, &wanted, what, sizeof what);
	if (!*what)
		return;
	if (!may_be_fresh(w, mode) || (e && !is_number(e))) {
		note(p, what);
		return;
	}
	safetensors_entry cut = wanted;
	if (e && is_table(w) && e->rank == wanted.rank) {
		cut.shape[0] = e->shape[0];
		to->rows = min_i64(e->shape[0], wanted.shape[0]);
	}
	if (!e || !same_shape(&cut, e))
		*to = (match){.fresh = true};
	else
		to->fresh = e->shape[0] < wanted.shape[0];
}

hec_status match_weights(matching *m, match_mode mode)
{
	problems p = {0};
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].parts > 0)
			m->found[i].entry = find_weight(m->files, m->family, &m->list[i]);
	const file_prefix prefix = prefix_there(m);
	for (size_t i = 0; i < m->count; i++) {
		if (m->list[i].parts == 0)
			continue;
		match_one(&m->list[i], prefix, mode, &m->found[i], &p);
		m->any_fresh += m->found[i].fresh;
	}
	if (p.count == 0)
		return HEC_OK;
	if (p.left_out > 0)
		return fail(HEC_ERR_FORMAT, "%s: %s; and %zu more", m->dir, p.text, p.left_out);
	return fail(HEC_ERR_FORMAT, "%s: %s", m->dir, p.text);
}
