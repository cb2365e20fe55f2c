/* settings.h — every number that `hecate train` takes: one table for flags, help, train.json and
 * --dump-config. 0 and "auto" are settled by the task and the data before learning begins. */
#ifndef CLI_TRAIN_SETTINGS_H
#define CLI_TRAIN_SETTINGS_H

#include <hecate/train.h>
#include <jansson.h>

#include "cli/command/options.h"

typedef struct train_settings {
	const char *task;
	option_list train, valid, overrides;
	const char *out, *from, *config, *tokenizer, *source_prefix, *from_lang, *to_lang,
		*language, *speech_task;
	bool resume, dump_config, json, quiet, truncate;
	/* data */
	int64_t vocab, max_length, stride;
	/* model */
	int64_t width, encoder_layers, decoder_layers, heads, hidden;
	double dropout, attention_dropout, activation_dropout;
	/* learning */
	const char *schedule;
	double lr, lr_end, beta1, beta2, eps, weight_decay, clip, smoothing, mask_rate;
	int64_t warmup;
	const char *batch_tokens;
	int64_t batch_rows, accumulate, memory;
	int64_t steps, epochs;
	double time;
	/* looking after it */
	int64_t report_every, valid_every, save_every, keep, average, patience;
	int64_t valid_sentences, valid_beam;
	const char *best, *dtype, *dump_batches;
	option_seed seed;
	int64_t threads;
	/* settled: not flags */
	hec_task task_id;
	int64_t micro_tokens; /* of batch_tokens */
	bool sounds;          /* what is learned from: the model reads them */
	int64_t places,
		mels; /* that each takes in the encoder; bands of each of two frames a place */
} train_settings;

void settings_default(train_settings *s);

#define SETTINGS_MOST 64
/* The options of the command over *s, {0} last. */
const option *settings_options(train_settings *s);

/* All that matters to a run, by name, as JSON: train.json and --dump-config. */
void settings_print(const train_settings *s, FILE *out);
/* Takes what train.json says over *s; texts belong to root. False: why stands in error. */
bool settings_take_json(train_settings *s, const json_t *root, char *error, size_t room);

/* What nobody set, by whether a model is pretrained: 0 and less than 0 become what is usual. Then words into numbers; false: what is wrong stands in error. */
bool settings_check(train_settings *s, char *error, size_t room);

hec_schedule settings_schedule(const train_settings *s);
hec_metric settings_metric(const train_settings *s);
hec_dtype settings_dtype(const train_settings *s);

#endif
