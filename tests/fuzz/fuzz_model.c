/* fuzz_model.c — any bytes as a config.json: either a reason, or a model, made from a seed, that does all that
 * models do. */
#include "support/exercise.h"

#include "parts.h"

static hec_ctx *context(void)
{
	static hec_ctx *ctx;
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = 1;
	if (!ctx && hec_ctx_create(&options, &ctx) != HEC_OK)
		stop("no context");
	return ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"config.json",
	                                    "saved/",
	                                    "saved/config.json",
	                                    "saved/generation_config.json",
	                                    "saved/model.safetensors",
	                                    NULL};
	hec_model_config c;
	hec_model *m = NULL;
	parts_make(names);
	parts_write(names[0], data, size);
	if (hec_model_config_read(parts_path(names[0]), NULL, &c) != HEC_OK) {
		expect_reason();
		return 0;
	}
	if (!exercise_fits(&c))
		return 0;
	if (hec_model_create(context(), &c, HEC_F32, 7, &m) != HEC_OK)
		stop("a configuration that no model can have");
	char saved[160];
	snprintf(saved, sizeof saved, "%s", parts_path("saved"));
	const char *broken = exercise_model(context(), m, saved);
	if (broken)
		stop(broken);
	hec_model_destroy(m);
	return 0;
}
