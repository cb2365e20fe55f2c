/* flag.h — `--attend` of every application: looks inside what it just ran, for its first input.
 *
 *     ATTEND_OPTION(&w->attend),                                   a row of the table
 *     attend_flag_text(&w->attend, self, model, tokenizer, …)      after the results of a call */
#ifndef CLI_ATTEND_FLAG_H
#define CLI_ATTEND_FLAG_H

#include "cli/attend/model.h"
#include "cli/command/command.h"

typedef struct attend_flag {
	option_picture picture; /* the option's value */
	hec_ctx *ctx;
	bool shown; /* the first input was looked at */
} attend_flag;

/* clang-format off */
#define ATTEND_OPTION_BEFORE(flag, files) \
	{OPTION_PICTURE, "--attend", "[FILE]", "what the heads looked at in the first input: to " \
	 "FILE.svg, FILE.html, - (standard output) or else standard error", &(flag)->picture, files, 0}
#define ATTEND_OPTION(flag) ATTEND_OPTION_BEFORE(flag, 0)       /* operands are texts */
#define ATTEND_OPTION_FILES(flag) ATTEND_OPTION_BEFORE(flag, 1) /* operands are files */
/* clang-format on */

/* Whether there is something to show now. */
bool attend_flag_wants(const attend_flag *f);

/* A pass that ran; title: what it was about. */
int attend_flag_pass(attend_flag *f, const command *self, const attend_pass *p, const char *title);
/* A text (with a pair: NULL: none) that a model read. What is longer than the model takes loses its end. */
int attend_flag_text(attend_flag *f, const command *self, const hec_model *model,
                     const hec_tokenizer *tokenizer, const char *text, size_t bytes,
                     const char *pair, size_t pair_bytes);

#endif
