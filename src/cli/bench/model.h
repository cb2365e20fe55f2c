/* model.h — whole models: how many tokens a second they learn and write. */
#ifndef CLI_BENCH_MODEL_H
#define CLI_BENCH_MODEL_H

#include "cli/command/command.h"

typedef struct bench_model_asked {
	const char *model, *mode;
	int64_t threads, ms;
	bool json;
} bench_model_asked;

/* Returns the exit code. */
int bench_model(const command *self, const bench_model_asked *asked);

#endif
