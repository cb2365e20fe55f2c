/* info.c — `hecate info`: what a model is, and what it takes. */
#include "cli/command/command.h"

#include <inttypes.h>
#include <stdlib.h>

#include <hecate/context.h>

#include "cli/inspect/info_facts.h"
#include "cli/model/load.h"
#include "cli/model/path.h"

#define LENGTH_DEFAULT 128
#define BATCH_DEFAULT 2048 /* tokens on each side */
#define LENGTH_MOST (1 << 20)

typedef struct request {
	const command *self;
	const char *dir;
	int64_t length, batch; /* 0: not given */
	bool json;
	option_list overrides;
} request;

static int show_info(const request *r, hec_ctx *ctx, const hec_model *unpacked, info_facts *f)
{
	int64_t longest = info_longest(f->config);
	if (longest > 0 && r->length > longest)
		return command_usage(r->self,
		                     "--length %" PRId64 ": this model's positions end at %" PRId64,
		                     r->length, longest);
	f->memory.length = r->length                                 ? r->length
	                   : longest > 0 && longest < LENGTH_DEFAULT ? longest
	                                                             : LENGTH_DEFAULT;
	f->memory.batch = r->batch < f->memory.length ? f->memory.length : r->batch;
	info_count(f->model, f->parameters, &f->total);
	if (info_measure(ctx, f->model, unpacked, &f->memory) != HEC_OK)
		return command_failed(r->self, "%s", hec_error_message());
	if (!r->json)
		info_show_text(f, r->dir, stdout);
	else if (!info_show_json(f, stdout))
		return command_failed(r->self, "out of memory");
	return EXIT_DONE;
}

/* As it runs and as it learns, without its numbers. */
static hec_status load_both(const request *r, hec_ctx *ctx, hec_model **model, hec_model **unpacked)
{
	hec_model_load_options options = model_load_options(&r->overrides);
	options.to_measure = true;
	hec_status status = hec_model_load(ctx, r->dir, &options, model);
	if (status == HEC_OK && r->overrides.count > 0)
		model_load_tell(r->self, &r->overrides, *model);
	options.unpacked = true;
	return status == HEC_OK ? hec_model_load(ctx, r->dir, &options, unpacked) : status;
}

static int load_and_show(const request *r)
{
	info_facts f = {0};
	hec_info *files = NULL;
	hec_ctx *ctx = NULL;
	hec_model *model = NULL, *unpacked = NULL;
	hec_tokenizer *tokenizer = NULL;
	hec_status status = hec_info_read(r->dir, &files);
	if (status == HEC_OK)
		status = hec_ctx_create(NULL, &ctx);
	if (status == HEC_OK)
		status = load_both(r, ctx, &model, &unpacked);
	if (status == HEC_OK)
		status = hec_tokenizer_load(r->dir, &tokenizer);
	if (status == HEC_ERR_IO && model && !*files->tokenizer)
		status = HEC_OK; /* no file of any kind of tokenizer is there */
	int code = EXIT_FAILED;
	if (status == HEC_OK) {
		f.files = files;
		f.model = model;
		f.config = hec_model_config_of(model);
		f.tokenizer = tokenizer;
		code = show_info(r, ctx, unpacked, &f);
	} else {
		code = command_failed(r->self, "%s", hec_error_message());
	}
	hec_info_free(files);
	hec_tokenizer_destroy(tokenizer);
	hec_model_destroy(model);
	hec_model_destroy(unpacked);
	hec_ctx_destroy(ctx);
	return code;
}

static int run_info(const command *self, int argc, char **argv)
{
	request r = {.self = self, .batch = BATCH_DEFAULT};
	const char *named = NULL;
	const option table[] = {
		OPTION_MODEL(named, "the model; DIR alone says the same"),
		{OPTION_WHOLE, "--length", "N", "memory for texts of N tokens (default: 128)",
	         &r.length, 1, LENGTH_MOST},
		{OPTION_WHOLE, "--batch-tokens", "N",
	         "training: tokens of a batch on each side (default: 2048)", &r.batch, 1,
	         LENGTH_MOST},
		OPTION_OVERRIDE(r.overrides),
		{OPTION_FLAG, "--json", NULL, "for machines", &r.json, 0, 0},
		{0},
	};
	int operands = 0, code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (operands + (named != NULL) > 1)
		return command_usage(self, "give the folder of one model");
	char dir[MODEL_PATH_MOST];
	code = model_folder(self, operands ? argv[0] : named, dir);
	r.dir = dir;
	return code == EXIT_DONE ? load_and_show(&r) : code;
}

const command command_info = {
	"info",
	"What a model is made of, and the memory it takes",
	"info [DIR] [--length N] [--batch-tokens N] [--override KEY=VALUE]… [--json]",
	"Without DIR it is about the model that `hecate translate` takes by default. Memory is\n"
	"measured by going through the same calls as running and training do, with every\n"
	"operation left out; the program itself, its tokenizer and texts (some 10 MB) come on\n"
	"top, and hecate train says how much.\n\n"
	"Example: hecate info models/en-de --length 64\n",
	run_info,
};
