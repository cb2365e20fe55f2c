/* load.h — `--override KEY=VALUE` of the commands that load a model, and what they say of its tensors. */
#ifndef CLI_MODEL_LOAD_H
#define CLI_MODEL_LOAD_H

#include <hecate/model.h>

#include "cli/command/command.h"

/* The row of a command's table; list is an option_list. */
#define OPTION_OVERRIDE(list)                                                                      \
	{                                                                                          \
		OPTION_EACH, "--override", "KEY=VALUE",                                            \
			"config.json says this instead: what fits is loaded, the rest starts "     \
			"fresh",                                                                   \
			&(list), 0, 0                                                              \
	}

/* What hec_model_load takes. */
hec_model_load_options model_load_options(const option_list *overrides);
/* Says on standard error what became of the tensors, where something was overridden; else, in one line,
 * that weights of layers in the files were left unused, where that is so. */
void model_load_tell(const command *self, const option_list *overrides, const hec_model *model);

/* The next name of what hec_model_ignored and hec_model_lost give, without its newline; *list goes behind it. */
bool ignored_next(const char **list, const char **name, size_t *bytes);
size_t ignored_count(const char *list);

#endif
