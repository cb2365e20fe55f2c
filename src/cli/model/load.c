/* load.c — a model that is to be other than its config.json says, and what became of its tensors. */
#include "cli/model/load.h"

#include <string.h>

#include "cli/io/plural.h"
#include "cli/io/say.h"

#define NAME_MOST 60 /* bytes of a name */

hec_model_load_options model_load_options(const option_list *overrides)
{
	return (hec_model_load_options){.size = sizeof(hec_model_load_options),
	                                .overrides = overrides->items,
	                                .override_count = overrides->count};
}

/* ---- what a model has no use for ---- */

bool ignored_next(const char **list, const char **name, size_t *bytes)
{
	*name = *list;
	*bytes = strcspn(*list, "\n");
	*list += *bytes + ((*list)[*bytes] != '\0');
	return *list != *name;
}

size_t ignored_count(const char *list)
{
	const char *name;
	size_t bytes, count = 0;
	while (ignored_next(&list, &name, &bytes))
		count++;
	return count;
}

void model_load_tell(const command *self, const option_list *overrides, const hec_model *model)
{
	if (overrides->count > 0) {
		say_lines(hec_model_report(model));
		return;
	}
	const char *list = hec_model_lost(model), *first = list;
	const size_t lost = ignored_count(list), bytes = strcspn(first, "\n");
	if (lost > 0)
		say_line("hecate %s: %zu tensor%s of layers %s not used, %.*s%s%s: `hecate info` "
		         "lists %s",
		         self->name, lost, plural((int64_t)lost), lost == 1 ? "is" : "are",
		         bytes < NAME_MOST ? (int)bytes : NAME_MOST, first,
		         bytes < NAME_MOST ? "" : "…", lost == 1 ? "" : " the first",
		         lost == 1 ? "it" : "them");
}
