/* text_to_text.h — what `hecate translate` and `hecate summarize` share: settings, and the work. */
#ifndef CLI_TASKS_TEXT_TO_TEXT_H
#define CLI_TASKS_TEXT_TO_TEXT_H

#include <hecate/translate.h>

#include "cli/io/line_work.h"
#include "cli/model/run.h"

#define TEXT_BATCH 16
#define TEXT_BATCH_MOST 4096

typedef struct text_to_text {
	model_args m;
	const char *task, *prefix, *from_language, *to_language;
	int64_t beam, nbest, max_tokens, min_tokens, no_repeat, batch;
	double length_penalty;
	bool json, lossy, truncate, windows;
	bool task_said; /* by the user: a model that does not know it is an error */
} text_to_text;

/* Nothing is asked for. */
#define TEXT_TO_TEXT_INIT                                                                          \
	{                                                                                          \
		.batch = TEXT_BATCH, .min_tokens = -1, .no_repeat = -1, .length_penalty = -1000    \
	}

/* Rows that both tables have; s is a text_to_text. */
/* clang-format off */
#define TEXT_TO_TEXT_WRITING(s) \
	OPTION_BEAM((s)->beam), OPTION_LENGTH_PENALTY((s)->length_penalty)
#define TEXT_TO_TEXT_RUNNING(s) \
	OPTION_INPUT((s)->m.input), \
	OPTION_OVERRIDE((s)->m.overrides), \
	{OPTION_WHOLE, "--batch", "N", "lines at a time (default: 16)", &(s)->batch, 1, TEXT_BATCH_MOST}, \
	OPTION_THREADS((s)->m.threads), \
	OPTION_LOSSY((s)->lossy), \
	OPTION_KEEP_GOING((s)->m.keep_going), \
	OPTION_TRUNCATE((s)->truncate), \
	ATTEND_OPTION(&(s)->m.attend)
/* clang-format on */

int text_to_text_run(const command *self, text_to_text *s, int operands, char **argv);

#endif
