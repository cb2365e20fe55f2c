/* report.c — what became of the tensors of the files, in lines for people. Tensors of layers that follow
 * each other share a line: "fresh: h.*.ln_1.weight [30] (2 … 11)". */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "model/layer_names.h"
#include "model/match.h"

#define LINE_MOST 1024
#define LINES_MOST 400 /* of what is ignored, by names that a file chose */

static hec_status no_memory(void)
{
	return fail(HEC_ERR_MEMORY, "no memory to say what was loaded");
}

/* ---- a text that grows ---- */

typedef struct text {
	char *bytes;
	size_t used, room;
	bool failed; /* no memory */
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...)
{
	char line[LINE_MOST];
	va_list args;
	va_start(args, format);
	const int n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	const size_t length = n < 0 ? 0 : n < LINE_MOST ? (size_t)n : LINE_MOST - 1;
	if (t->used + length + 1 > t->room) {
		const size_t room = 2 * t->room + LINE_MOST;
		char *bigger = mem_resize(t->bytes, room);
		t->failed = t->failed || !bigger;
		t->bytes = bigger ? bigger : t->bytes;
		t->room = bigger ? room : t->room;
	}
	if (t->failed)
		return;
	memcpy(t->bytes + t->used, line, length + 1);
	t->used += length;
}

/* One line for names first … last, which follow each other. */
static void put_names(text *to, const char *kind, const char *first, const char *last,
                      const char *what)
{
	char pattern[LAYER_NAMES_TEXT], range[LAYER_RANGE_TEXT];
	layer_names_text(first, last, pattern, range);
	put(to, "%s: %s%s%s\n", kind, pattern, what, range);
}

/* ---- what is read, cut and fresh ---- */

/* What is to be said of a weight: NULL: nothing. */
static const char *kind_of(const weight *f)
{
	if (!f->entry)
		return f->fresh ? "fresh" : NULL;
	return f->fresh ? "extended" : f->rows_read < f->entry->shape[0] ? "cut" : NULL;
}

static void say_what(const weight *w, char what[SAFETENSORS_SHAPE_TEXT + 80])
{
	char shape[SAFETENSORS_SHAPE_TEXT];
	safetensors_entry wanted = {0};
	wanted.rank = weights_file_shape(w, wanted.shape);
	if (!w->entry)
		sprintf(what, " %s", safetensors_shape_text(&wanted, shape));
	else
		sprintf(what, ": %" PRId64 " rows, of which the files have %" PRId64, w->shape[0],
		        w->entry->shape[0]);
}

static void put_kind(text *to, const matching *m, const char *kind)
{
	for (size_t i = 0; i < m->count; i++) {
		const char *own = kind_of(&m->list[i]);
		if (!own || strcmp(own, kind) != 0)
			continue;
		char what[SAFETENSORS_SHAPE_TEXT + 80];
		const char *first = m->list[i].name, *last = first;
		say_what(&m->list[i], what);
		while (i + 1 < m->count && m->list[i + 1].parts > 0 &&
		       (own = kind_of(&m->list[i + 1])) && strcmp(own, kind) == 0 &&
		       layer_name_follows(last, m->list[i + 1].name))
			last = m->list[++i].name;
		put_names(to, kind, first, last, what);
	}
}

/* ---- what is ignored ---- */

static int by_pattern(const void *a, const void *b)
{
	return layer_names_compare(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the files' tensors that nothing is read from; for mem_free(). */
static const char **unused(const matching *m, size_t *count)
{
	const size_t all = safetensors_count(m->files);
	const char **names = mem_zeros(all + 1, sizeof *names);
	bool *used = mem_zeros(all + 1, sizeof *used);
	*count = 0;
	for (size_t i = 0; used && i < m->count; i++)
		if (m->list[i].entry)
			used[m->list[i].entry - safetensors_at(m->files, 0)] = true;
	for (size_t i = 0; used && names && i < all; i++)
		if (!used[i])
			names[(*count)++] = safetensors_at(m->files, i)->name;
	if (!used) {
		mem_free(names);
		return NULL;
	}
	mem_free(used);
	return names;
}

/* Whether a tensor is a weight of a layer, as far as the family's names tell. */
static bool is_weight_of_layer(const family *f, const char *name)
{
	const size_t length = strlen(name);
	for (const char *const *ending = f->no_weights; ending && *ending; ending++) {
		const size_t n = strlen(*ending);
		if (length >= n && strcmp(name + length - n, *ending) == 0)
			return false;
	}
	return layer_name_has_number(name);
}

/* Names, each with a newline: all, or those of weights of layers. */
static char *join_names(const family *f, const char *const *names, size_t count, bool lost)
{
	size_t bytes = 1;
	for (size_t i = 0; i < count; i++)
		bytes += strlen(names[i]) + 1;
	char *all = mem_alloc(bytes), *at = all;
	for (size_t i = 0; all && i < count; i++)
		if (!lost || is_weight_of_layer(f, names[i]))
			at += sprintf(at, "%s\n", names[i]);
	if (all)
		*at = '\0';
	return all;
}

hec_status report_ignored(const matching *m, char **ignored, char **lost)
{
	size_t count;
	const char **names = unused(m, &count);
	if (!names)
		return no_memory();
	*ignored = join_names(m->family, names, count, false);
	*lost = join_names(m->family, names, count, true);
	mem_free(names);
	return *ignored && *lost ? HEC_OK : no_memory();
}

static hec_status put_ignored(text *to, const matching *m)
{
	size_t count, lines = 0;
	const char **names = unused(m, &count);
	if (!names)
		return no_memory();
	qsort(names, count, sizeof *names, by_pattern);
	for (size_t i = 0; i < count; i++) {
		const char *first = names[i];
		if (lines++ == LINES_MOST) {
			put(to, "ignored: %zu more\n", count - i);
			break;
		}
		while (i + 1 < count && layer_name_follows(names[i], names[i + 1]))
			i++;
		put_names(to, "ignored", first, names[i], "");
	}
	mem_free(names);
	return HEC_OK;
}

hec_status report_make(const matching *m, char **out)
{
	text t = {0};
	size_t whole = 0;
	for (size_t i = 0; i < m->count; i++)
		whole += m->list[i].entry && !kind_of(&m->list[i]);
	put(&t, "loaded: %zu tensors as they are\n", whole);
	put_kind(&t, m, "cut");
	put_kind(&t, m, "extended");
	put_kind(&t, m, "fresh");
	hec_status status = put_ignored(&t, m);
	if (status == HEC_OK && t.failed)
		status = no_memory();
	if (status != HEC_OK)
		mem_free(t.bytes);
	else
		*out = t.bytes;
	return status;
}
