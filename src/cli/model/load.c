/* load.c — a model that is to be other than its config.json says, and what became of its tensors. */
#include "cli/model/load.h"

#include <ctype.h>
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

static bool ends(const char *name, size_t bytes, const char *with)
{
	const size_t n = strlen(with);
	return bytes >= n && memcmp(name + bytes - n, with, n) == 0;
}

/* "encoder.layer.6.…": part of a layer, by the number in its name. */
static bool in_layer(const char *name, size_t bytes)
{
	for (size_t i = 0; i + 1 < bytes; i++) {
		size_t end = i + 1;
		while (name[i] == '.' && end < bytes && isdigit((unsigned char)name[end]))
			end++;
		if (end > i + 1 && end < bytes && name[end] == '.')
			return true;
	}
	return false;
}

/* A weight of a layer: something of what was learned is left out. Heads, tables that are tied and those that
 * are computed are no part of a layer; these are, and hold masks, angles, and a table that T5 never reads. */
static bool is_lost(const char *name, size_t bytes)
{
	static const char *const no_weights[] = {".attn.bias", ".attn.masked_bias",
	                                         ".rotary_emb.inv_freq",
	                                         ".EncDecAttention.relative_attention_bias.weight"};
	for (size_t i = 0; i < sizeof no_weights / sizeof *no_weights; i++)
		if (ends(name, bytes, no_weights[i]))
			return false;
	return in_layer(name, bytes);
}

/* The first of them, and how many. */
static size_t count_lost(const char *list, const char **first, size_t *length)
{
	const char *name;
	size_t bytes, count = 0;
	while (ignored_next(&list, &name, &bytes)) {
		if (!is_lost(name, bytes) || count++ > 0)
			continue;
		*first = name;
		*length = bytes;
	}
	return count;
}

void model_load_tell(const command *self, const option_list *overrides, const hec_model *model)
{
	const char *first = "";
	size_t bytes = 0;
	if (overrides->count > 0) {
		say_lines(hec_model_report(model));
		return;
	}
	const size_t lost = count_lost(hec_model_ignored(model), &first, &bytes);
	if (lost > 0)
		say_line("hecate %s: %zu tensor%s of layers %s not used, %.*s%s%s: `hecate info` "
		         "lists %s",
		         self->name, lost, plural((int64_t)lost), lost == 1 ? "is" : "are",
		         bytes < NAME_MOST ? (int)bytes : NAME_MOST, first,
		         bytes < NAME_MOST ? "" : "…", lost == 1 ? "" : " the first",
		         lost == 1 ? "it" : "them");
}
