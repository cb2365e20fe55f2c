/* generation_config.h — how a directory's generation_config.json and config.json say to write. */
#ifndef TASK_GENERATION_CONFIG_H
#define TASK_GENERATION_CONFIG_H

#include <hecate/decode.h>
#include <hecate/model.h>

typedef struct generation_config {
	/* Points at the lists. sample is false: who samples asks for it, with these numbers. */
	hec_decode_options options;
	int32_t *suppress, *begin_suppress, *ends;
	bool sample;        /* what do_sample says */
	bool says_top_k;    /* options.top_k is what they say */
	int64_t max_length; /* as the files say, with what a row begins with; 0: they do not, */
	int64_t min_length; /* or max_new_tokens says more */
	bool knows_task;    /* config.json has something to say about it */
	int32_t start;      /* decoder_start_token_id; −1: they do not say it */
	char *prefix;       /* what the task puts before each text; NULL: nothing */
} generation_config;

/* What the directory says about writing: its generation_config.json, or config.json where that is missing,
 * as with Transformers; then for the task (NULL: none), e.g. "summarization", what task_specific_params of
 * config.json says. Keys that are not known are passed over, as others do, except for those that would change
 * what is written: these are refused. Where nothing is said: the defaults. start: how many tokens a row
 * begins with, which max_length and min_length count; 0: it is not known, and these are in none of the
 * options. */
hec_status generation_config_read(const char *dir, int64_t vocab, int64_t start, const char *task,
                                  generation_config *out);
/* What it says of the start holds for the model, which is the task's own. */
hec_status generation_config_start(const generation_config *g, hec_model *model);
void generation_config_free(generation_config *g); /* takes a zeroed one */

#endif
