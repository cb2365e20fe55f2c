/* config_file.c — config.json, with what is overridden, becomes a resolved configuration. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/status.h"
#include "model/config_file.h"
#include "model/model.h"
#include "model/override.h"
#include "tensor/check.h"

static hec_status config_path(const char *path, char **out)
{
	struct stat info;
	size_t n = strlen(path), bytes = n + sizeof "/config.json";
	bool named = n >= 5 && strcmp(path + n - 5, ".json") == 0;
	bool folder = stat(path, &info) == 0 ? S_ISDIR(info.st_mode) : !named;
	*out = mem_alloc(bytes);
	if (!*out)
		return fail(HEC_ERR_MEMORY, "no memory to load a model");
	snprintf(*out, bytes, "%s%s", path, folder ? "/config.json" : "");
	return HEC_OK;
}

void config_file_close(config_file *d)
{
	json_decref(d->root);
	mem_free(d->path);
}

static hec_status read_config(const char *path, const hec_model_load_options *o, config_file *d)
{
	HEC_TRY(config_path(path, &d->path));
	HEC_TRY(json_file_read(d->path, JSON_CONFIG_MOST, &d->root));
	HEC_TRY(json_scope_root(d->path, d->root, &d->scope));
	HEC_TRY(override_apply(d->path, o, d->root, &d->family));
	HEC_TRY(family_read(d->family, &d->scope, &d->config));
	hec_status status = hec_model_config_resolve(&d->config);
	return status == HEC_OK ? status : fail_in(status, "%s", d->path);
}

hec_status config_file_open(const char *path, const hec_model_load_options *o, config_file *d)
{
	*d = (config_file){0};
	hec_status status = read_config(path, o, d);
	if (status != HEC_OK)
		config_file_close(d);
	return status;
}

hec_status load_options_read(const hec_model_load_options *given, hec_model_load_options *o)
{
	*o = (hec_model_load_options){.size = sizeof *o};
	HEC_TRY(options_take("hec_model_load_options", o, sizeof *o, given));
	return o->override_count > 0 ? check_given("model", "overrides", o->overrides) : HEC_OK;
}

hec_status hec_model_config_read(const char *path, const hec_model_load_options *options,
                                 hec_model_config *out)
{
	double rate;
	return model_config_read_to_learn(path, options, out, &rate);
}

hec_status model_config_read_to_learn(const char *path, const hec_model_load_options *options,
                                      hec_model_config *out, double *rate)
{
	hec_model_load_options o;
	config_file d;
	HEC_TRY(CHECK_GIVEN("model config", path));
	HEC_TRY(CHECK_GIVEN("model config", out));
	HEC_TRY(load_options_read(options, &o));
	HEC_TRY(config_file_open(path, &o, &d));
	*out = d.config;
	*rate = d.family->fine_tuning_rate > 0 ? d.family->fine_tuning_rate : FINE_TUNING_RATE;
	config_file_close(&d);
	return HEC_OK;
}
