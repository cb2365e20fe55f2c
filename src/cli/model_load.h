/* model_load.h — `--override KEY=VALUE` of the commands that load a model. */
#ifndef CLI_MODEL_LOAD_H
#define CLI_MODEL_LOAD_H

#include <hecate/model.h>

#include "options.h"

/* The row of a command's table; list is an option_list. */
#define OPTION_OVERRIDE(list)                                                                      \
	{                                                                                          \
		OPTION_EACH, "--override", "KEY=VALUE",                                            \
			"config.json says this instead: what fits is loaded, the rest starts "     \
			"fresh",                                                                   \
			&(list), 0, 0                                                              \
	}

/* What hec_model_load_with takes. */
hec_model_load_options model_load_options(const option_list *overrides);
/* Says on standard error what became of the tensors, where something was overridden. */
void model_load_tell(const option_list *overrides, const hec_model *model);
/* hec_model_load with what is overridden, told. */
hec_status model_load(hec_ctx *ctx, const char *dir, const option_list *overrides, hec_model **out);

#endif
