/* transcribe_settings.h — what the options of `hecate transcribe` say. */
#ifndef CLI_TASKS_TRANSCRIBE_SETTINGS_H
#define CLI_TASKS_TRANSCRIBE_SETTINGS_H

#include "cli/model/run.h"
#include "cli/tasks/transcribe_show.h"

#define TRANSCRIBE_BATCH_MOST 64
#define TEMPERATURES_MOST 32

typedef struct transcribe_settings {
	const char *language, *task, *out_dir, *temperatures;
	int64_t beam, batch, max_tokens, best_of;
	double no_speech, compression, log_prob, silence; /* below −1e9: not said */
	option_seed seed;
	bool json, tokens, srt, vtt, timestamps, words, plain, no_previous;
	double temperature[TEMPERATURES_MOST]; /* those of the list */
} transcribe_settings;

/* Reads the options. PARSED, or the exit code to end with. */
int transcribe_settings_read(transcribe_settings *s, const command *self, model_args *m, int argc,
                             char **argv, int *operands);
/* What they mean for so many files. EXIT_DONE, or what to end with. The options point into s. */
int transcribe_settings_take(transcribe_settings *s, const command *self, int files,
                             transcript_look *look, hec_transcribe_options *o);

#endif
