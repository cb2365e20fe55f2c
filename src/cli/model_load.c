/* model_load.c — a model that is to be other than its config.json says, and what was done about it. */
#include "model_load.h"

hec_model_load_options model_load_options(const option_list *overrides)
{
	return (hec_model_load_options){.size = sizeof(hec_model_load_options),
	                                .overrides = overrides->items,
	                                .override_count = overrides->count};
}

void model_load_tell(const option_list *overrides, const hec_model *model)
{
	if (overrides->count > 0)
		fputs(hec_model_report(model), stderr);
}

hec_status model_load(hec_ctx *ctx, const char *dir, const option_list *overrides, hec_model **out)
{
	const hec_model_load_options options = model_load_options(overrides);
	hec_status status = hec_model_load_with(ctx, dir, &options, out);
	if (status == HEC_OK)
		model_load_tell(overrides, *out);
	return status;
}
