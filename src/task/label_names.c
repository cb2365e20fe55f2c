/* label_names.c — sorted by name, those of one name lie together. */
#include "task/label_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

#define ID_MOST 24 /* bytes of " (9223372036854775807)" */

typedef struct named {
	const char *name;
	int64_t label;
} named;

static hec_status no_memory(int64_t n)
{
	return fail(HEC_ERR_MEMORY, "classify: no memory for %lld labels", (long long)n);
}

static int by_name(const void *a, const void *b)
{
	const named *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : x->label < y->label ? -1 : 1;
}

static const char *name_of(const hec_model *m, char **names, int64_t i)
{
	return names ? names[i] : hec_model_label(m, i);
}

/* All labels in the order of their names; whether two have the same. */
static bool has_twins(const hec_model *m, char **names, named *list, int64_t n)
{
	bool found = false;
	for (int64_t i = 0; i < n; i++)
		list[i] = (named){name_of(m, names, i), i};
	qsort(list, (size_t)n, sizeof *list, by_name);
	for (int64_t i = 1; i < n; i++)
		found = found || strcmp(list[i - 1].name, list[i].name) == 0;
	return found;
}

static hec_status copy_names(const hec_model *m, int64_t n, char **names)
{
	for (int64_t i = 0; i < n; i++) {
		const char *name = hec_model_label(m, i);
		const size_t room = name ? strlen(name) + 1 : sizeof "LABEL_" + ID_MOST;
		names[i] = mem_alloc(room);
		if (!names[i])
			return no_memory(n);
		if (name)
			memcpy(names[i], name, room);
		else
			(void)snprintf(names[i], room, "LABEL_%lld", (long long)i);
	}
	return HEC_OK;
}

static hec_status add_id(char **name, int64_t i)
{
	const size_t room = strlen(*name) + ID_MOST;
	char *longer = mem_alloc(room);
	if (!longer)
		return no_memory(i);
	(void)snprintf(longer, room, "%s (%lld)", *name, (long long)i);
	mem_free(*name);
	*name = longer;
	return HEC_OK;
}

/* The list is sorted by names that are those of `names`. */
static hec_status part_twins(char **names, const named *list, int64_t n)
{
	for (int64_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && strcmp(list[first].name, list[end].name) == 0;)
			end++;
		/* From the last one: the first is what the others are compared with. */
		for (int64_t i = end; end - first > 1 && i-- > first;)
			HEC_TRY(add_id(&names[list[i].label], list[i].label));
	}
	return HEC_OK;
}

static hec_status make(const hec_model *m, int64_t n, named *list, char ***out)
{
	if (hec_model_label(m, 0) && !has_twins(m, NULL, list, n))
		return HEC_OK;
	*out = mem_zeros((size_t)n, sizeof **out);
	if (!*out)
		return no_memory(n);
	HEC_TRY(copy_names(m, n, *out));
	if (!has_twins(m, *out, list, n))
		return HEC_OK;
	HEC_TRY(part_twins(*out, list, n));
	/* A name with an id behind it may be another's already. Of names that all end in their ids no two are
	 * the same. */
	for (int64_t i = 0, same = has_twins(m, *out, list, n); same && i < n; i++)
		HEC_TRY(add_id(&(*out)[i], i));
	return HEC_OK;
}

hec_status label_names_make(const hec_model *model, char ***out)
{
	const int64_t n = hec_model_config_of(model)->labels;
	named *list = mem_zeros((size_t)n, sizeof *list);
	*out = NULL;
	if (!list)
		return no_memory(n);
	hec_status status = make(model, n, list, out);
	mem_free(list);
	if (status != HEC_OK) {
		label_names_free(*out, n);
		*out = NULL;
	}
	return status;
}

void label_names_free(char **names, int64_t labels)
{
	for (int64_t i = 0; names && i < labels; i++)
		mem_free(names[i]);
	mem_free(names);
}
