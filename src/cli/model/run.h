/* run.h — what surrounds a command that runs a model: a context of so many threads, the folder, the
 * model with what is overridden, and the end of all.
 *
 *     static const model_work answering_work = {load_answerer, answer_operands, destroy_answerer};
 *     return model_run(self, &mine.m, &answering_work, &mine, operands, argv);
 */
#ifndef CLI_MODEL_RUN_H
#define CLI_MODEL_RUN_H

#include "cli/attend/flag.h"
#include "cli/io/input.h"
#include "cli/model/load.h"
#include "cli/model/path.h"

/* What the options of such a command say; all zero: nothing. */
typedef struct model_args {
	const char *named;     /* -m DIR */
	option_list overrides; /* OPTION_OVERRIDE */
	int64_t threads;       /* OPTION_THREADS */
	attend_flag attend;    /* ATTEND_OPTION */
	bool keep_going;       /* OPTION_KEEP_GOING */
	input_options input;   /* OPTION_INPUT */
	bool any_writer;       /* the model that comes with hecate, a translator, will do */
} model_args;

/* What a command adds; job is its own. */
typedef struct model_work {
	/* Loads what it works with from the folder, whose path stays until the end. Returns the model
	 * inside; NULL: hec_error_message() says why not. */
	const hec_model *(*load)(void *job, hec_ctx *ctx, const char *path,
	                         const hec_model_load_options *options);
	int (*work)(void *job, int operands, char **argv); /* returns the exit code */
	void (*end)(void *job); /* also of what was not loaded, or only half */
} model_work;

/* Returns the exit code: what is wrong has been said. */
int model_run(const command *self, model_args *m, const model_work *w, void *job, int operands,
              char **argv);

#endif
