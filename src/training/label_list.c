/* label_list.c — few labels among many lines: each is found by halving. */
#include "training/label_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"

/* As strcmp orders texts: less than 0, 0, more than 0. */
static int compare(const char *text, size_t bytes, const char *label)
{
	size_t length = strlen(label);
	int order = memcmp(text, label, bytes < length ? bytes : length);
	return order != 0 ? order : (bytes > length) - (bytes < length);
}

hec_status label_list_add(label_list *l, const char *name, size_t bytes)
{
	size_t low = 0, high = l->n;
	if (memchr(name, '\0', bytes))
		return HEC_OK; /* no name for a label: its lines are counted as of none */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(name, bytes, l->names[middle]);
		if (order == 0)
			return HEC_OK;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	if (l->n == LABELS_MOST) /* and linear time with them */
		return fail(HEC_ERR_UNSUPPORTED,
		            "more than %d labels: classify wants label, tab, text", LABELS_MOST);
	HEC_TRY(GROW(&l->names, &l->room, l->n + 1));
	char *label = mem_copy_bytes(name, bytes);
	if (!label)
		return fail(HEC_ERR_MEMORY, "no memory for the labels");
	memmove(l->names + low + 1, l->names + low, (l->n - low) * sizeof *l->names);
	l->names[low] = label;
	l->n++;
	return HEC_OK;
}

/* ---- those of a model ---- */

typedef struct label {
	const char *name;
	int32_t id;
} label;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const label *)a)->name, ((const label *)b)->name);
}

/* Sorted by name; *n 0: it has none, or they are not all named. */
static hec_status read_labels(const hec_model *model, label **out, size_t *n)
{
	const size_t count = (size_t)hec_model_config_of(model)->labels;
	label *list = mem_zeros(count + 1, sizeof *list);
	*n = 0;
	*out = list;
	if (!list)
		return fail(HEC_ERR_MEMORY, "no memory for the model's labels");
	for (size_t i = 0; i < count; i++) {
		list[i] = (label){hec_model_label(model, (int64_t)i), (int32_t)i};
		if (!list[i].name)
			return HEC_OK;
	}
	qsort(list, count, sizeof *list, by_name);
	*n = count;
	return HEC_OK;
}

/* Both are sorted. */
static bool knows_all(const label *list, size_t n, const label_list *l)
{
	size_t at = 0;
	for (size_t i = 0; i < l->n; i++) {
		while (at < n && strcmp(list[at].name, l->names[i]) < 0)
			at++;
		if (at == n || strcmp(list[at].name, l->names[i]) != 0)
			return false;
	}
	for (size_t i = 1; i < n; i++)
		if (strcmp(list[i - 1].name, list[i].name) == 0)
			return false;
	return true;
}

static hec_status take(label_list *l, const label *list, size_t n)
{
	label_list own = {.names = mem_zeros(n, sizeof *own.names),
	                  .ids = mem_zeros(n, sizeof *own.ids),
	                  .room = n};
	bool good = own.names && own.ids;
	for (; good && own.n < n; own.n++) {
		own.names[own.n] = mem_copy_text(list[own.n].name);
		own.ids[own.n] = list[own.n].id;
		good = own.names[own.n] != NULL;
	}
	if (!good) {
		label_list_free(&own);
		return fail(HEC_ERR_MEMORY, "no memory for the model's labels");
	}
	label_list_free(l);
	*l = own;
	return HEC_OK;
}

hec_status label_list_adopt(label_list *l, const hec_model *model)
{
	size_t n;
	label *list;
	hec_status status = read_labels(model, &list, &n);
	if (status == HEC_OK && n > 0 && knows_all(list, n, l))
		status = take(l, list, n);
	mem_free(list);
	return status;
}

void label_list_free(label_list *l)
{
	for (size_t i = 0; l->names && i < l->n; i++)
		mem_free(l->names[i]);
	mem_free(l->names);
	mem_free(l->ids);
	*l = (label_list){0};
}
