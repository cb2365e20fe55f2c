/* settings.h — all that `hecate train` takes: one table for flags, help, train.json and --dump-config. What is left
 * open is settled by hec_training. */
#ifndef CLI_TRAIN_SETTINGS_H
#define CLI_TRAIN_SETTINGS_H

#include <hecate/training.h>
#include <jansson.h>

#include "cli/command/options.h"

typedef struct train_settings {
	hec_training_options
		o; /* but for what stands below, as words and lists of the command line */
	const char *task, *schedule, *batch_tokens, *best, *dtype, *effort;
	char batch_tokens_text[24]; /* batch_tokens, once it is settled */
	option_list train, valid, overrides;
	option_seed seed;
	int64_t threads;
	const char *dump_batches;
	bool dump_config, json, quiet;
} train_settings;

void settings_default(train_settings *s);

#define SETTINGS_MOST 64
/* The options of the command over *s, {0} last. */
const option *settings_options(train_settings *s);

/* All that matters to a run, by name, as JSON: train.json and --dump-config. */
void settings_print(const train_settings *s, FILE *out);
/* Takes what train.json says over *s; texts belong to root. False: why stands in error. */
bool settings_take_json(train_settings *s, const json_t *root, char *error, size_t room);

/* Words and lists become s->o. False: what is wrong stands in error. */
bool settings_check(train_settings *s, char *error, size_t room);
/* A message of the library, which calls what it was given by the names of C: 'max_length' becomes --max-length. */
void settings_message(const char *message, char *out, size_t room);
/* What a training settled. */
void settings_take(train_settings *s, const hec_training_options *settled);

#endif
