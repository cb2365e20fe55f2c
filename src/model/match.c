/* match.c — every tensor that a model has is looked for before any is read, so that one error names all
 * that are missing or misshapen, those of layers that follow each other as one. */
#include "model/match.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "model/layer_names.h"

/* ---- what is wrong ---- */

typedef enum problem_kind { NO_PROBLEM, MISSING, OTHER_TYPE, OTHER_SHAPE } problem_kind;

typedef struct problem {
	problem_kind kind;
	char detail[2 * SAFETENSORS_SHAPE_TEXT + 40];
} problem;

/* Tensors of which the same is wrong are gathered and said together: "tensors 'a', 'h.*.b' (0 … 11) are
 * missing". */
#define TEXT_MOST (STATUS_MESSAGE - 512) /* what is left serves the name of the directory */
#define WORDS_MOST 64                    /* beside names and detail */

typedef struct problems {
	char text[TEXT_MOST];
	size_t used, left_out;
	struct {
		problem what;
		/* So that the first problem always fits into the text. */
		char names[TEXT_MOST - sizeof(problem) - WORDS_MOST];
		size_t used, tensors;
		char first[WEIGHT_NAME], last[WEIGHT_NAME]; /* of layers, not yet in names */
		size_t layers;
	} now;
} problems;

/* Puts a text behind another; false and nothing where it does not fit. */
__attribute__((format(printf, 4, 5))) static bool put(char *text, size_t room, size_t *used,
                                                      const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const int n = vsnprintf(text + *used, room - *used, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room - *used) {
		text[*used] = '\0';
		return false;
	}
	*used += (size_t)n;
	return true;
}

static void end_layers(problems *p)
{
	char pattern[LAYER_NAMES_TEXT], range[LAYER_RANGE_TEXT];
	if (p->now.layers == 0)
		return;
	layer_names_text(p->now.first, p->now.last, pattern, range);
	if (put(p->now.names, sizeof p->now.names, &p->now.used, "%s'%s'%s",
	        p->now.used ? ", " : "", pattern, range))
		p->now.tensors += p->now.layers;
	else
		p->left_out += p->now.layers;
	p->now.layers = 0;
}

static void end_problem(problems *p)
{
	static const char *const verbs[][2] = {[MISSING] = {"is missing", "are missing"},
	                                       [OTHER_TYPE] = {"is of type", "are of type"},
	                                       [OTHER_SHAPE] = {"has shape", "have shape"}};
	end_layers(p);
	const bool several = p->now.tensors > 1;
	if (p->now.tensors > 0 &&
	    !put(p->text, sizeof p->text, &p->used, "%s%s %s %s%s", p->used ? "; " : "",
	         several ? "tensors" : "tensor", p->now.names, verbs[p->now.what.kind][several],
	         p->now.what.detail))
		p->left_out += p->now.tensors;
	p->now.used = p->now.tensors = 0;
}

static void note_problem(problems *p, const char *name, const problem *what)
{
	if (p->now.what.kind != what->kind || strcmp(p->now.what.detail, what->detail) != 0) {
		end_problem(p);
		p->now.what = *what;
	}
	if (p->now.layers > 0 && !layer_name_follows(p->now.last, name))
		end_layers(p);
	if (p->now.layers++ == 0)
		snprintf(p->now.first, sizeof p->now.first, "%s", name);
	snprintf(p->now.last, sizeof p->now.last, "%s", name);
}

/* ---- where it is ---- */

/* By this name, or with the old names of norms. */
static const safetensors_entry *find_by_either_name(const safetensors *files, const char *name)
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

/* base: the name without the prefix of the base model. Files of a base model alone have none; files with some
 * heads (answers of Llama) have another. */
static const safetensors_entry *find_base(const safetensors *files, const family *f,
                                          const char *base)
{
	const safetensors_entry *e = find_by_either_name(files, base);
	const char *tried = "";
	for (const family_architecture *a = f->architectures; !e && a->name; a++) {
		const char *prefix = a->prefix ? a->prefix : f->prefix;
		char name[WEIGHT_NAME];
		if (strcmp(prefix, tried) == 0)
			continue;
		tried = prefix;
		if (snprintf(name, sizeof name, "%s%s", prefix, base) < WEIGHT_NAME)
			e = find_by_either_name(files, name);
	}
	return e;
}

static const safetensors_entry *find_weight(const safetensors *files, const family *f,
                                            const weight *w)
{
	const safetensors_entry *e = find_by_either_name(files, w->name);
	const family_tensor *row = w->row;
	const size_t prefix = strlen(f->prefix);
	/* w->base is 0 for what is no part of the base model, and for all where its prefix is empty: then only what
	 * the head owns is no part of it. */
	if (!e && (w->base > 0 || (row && prefix == 0 && strncmp(row->ours, "head.", 5) != 0)))
		e = find_base(files, f, w->name + w->base);
	while (!e && row && (++row)->ours && (row->flags & TENSOR_INSTEAD)) {
		char name[WEIGHT_NAME];
		if (weights_name(row->theirs, w->layer, name) != HEC_OK)
			break;
		e = find_by_either_name(files, name);
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
		if (w->base == 0 || !w->entry)
			continue;
		const char *name = w->entry->name, *base = w->name + w->base;
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

#define LABELS "head.labels."

static bool may_be_fresh(const weight *w, match_mode mode)
{
	return mode == MATCH_WHAT_FITS ||
	       (mode == MATCH_HEAD && strncmp(our_name(w), "head.", 5) == 0);
}

static problem problem_of(const safetensors_entry *e, const safetensors_entry *wanted)
{
	char is[SAFETENSORS_SHAPE_TEXT], asked[SAFETENSORS_SHAPE_TEXT];
	problem p = {NO_PROBLEM, ""};
	if (!e) {
		p.kind = MISSING;
	} else if (!is_number(e)) {
		p.kind = OTHER_TYPE;
		snprintf(p.detail, sizeof p.detail, " %s, not F32, F16, BF16 or F64",
		         safetensors_dtype_name(e->dtype));
	} else if (!same_shape(wanted, e)) {
		p.kind = OTHER_SHAPE;
		snprintf(p.detail, sizeof p.detail, " %s, config.json asks for %s",
		         safetensors_shape_text(e, is), safetensors_shape_text(wanted, asked));
	}
	return p;
}

static void set_fresh(weight *w)
{
	w->entry = NULL;
	w->rows_read = 0;
	w->fresh = true;
}

/* w->entry: what was found. */
static void match_one(weight *w, file_prefix prefix, match_mode mode, problems *p)
{
	char name[WEIGHT_NAME];
	safetensors_entry wanted = {0};
	const safetensors_entry *e = w->entry;
	wanted.rank = weights_file_shape(w, wanted.shape);
	w->rows_read = w->shape[0];
	const problem what = problem_of(e, &wanted);
	if (what.kind == NO_PROBLEM)
		return;
	if (!may_be_fresh(w, mode) || what.kind == OTHER_TYPE) {
		note_problem(p, name_there(w, e, prefix, name), &what);
		return;
	}
	safetensors_entry cut = wanted;
	if (e && is_table(w) && e->rank == wanted.rank) {
		cut.shape[0] = e->shape[0];
		w->rows_read = min_i64(e->shape[0], wanted.shape[0]);
	}
	if (!e || !same_shape(&cut, e))
		set_fresh(w);
	else
		w->fresh = e->shape[0] < wanted.shape[0];
}

hec_status match_weights(matching *m, match_mode mode)
{
	problems p = {0};
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].parts > 0)
			m->list[i].entry = find_weight(m->files, m->family, &m->list[i]);
	const file_prefix prefix = prefix_there(m);
	for (size_t i = 0; i < m->count; i++) {
		weight *w = &m->list[i];
		if (w->parts == 0)
			continue;
		if (m->fresh_labels && strncmp(our_name(w), LABELS, strlen(LABELS)) == 0)
			set_fresh(w);
		else
			match_one(w, prefix, mode, &p);
		m->fresh_count += w->fresh;
	}
	end_problem(&p);
	if (p.used == 0 && p.left_out == 0)
		return HEC_OK;
	if (p.left_out > 0)
		return fail(HEC_ERR_FORMAT, "%s: %s; and %zu more", m->dir, p.text, p.left_out);
	return fail(HEC_ERR_FORMAT, "%s: %s", m->dir, p.text);
}
