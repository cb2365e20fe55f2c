/* generate.h — the parts of `hecate generate`. */
#ifndef CLI_TASKS_GENERATE_H
#define CLI_TASKS_GENERATE_H

#include <hecate/chat.h>
#include <hecate/generate.h>

#include "cli/io/line_work.h"
#include "cli/io/wrap.h"
#include "cli/model/run.h"

typedef struct generating {
	const command *self;
	model_args m;
	const struct generate_settings *s; /* of generate.c: all that was asked for */
	hec_generator *generator;
	hec_decode_options decode;
	hec_generate_options options;
	bool json, stream, echo;
	bool as_lines; /* a line for each prompt, its line ends become spaces */
	/* chat: */
	hec_chat_template *chat; /* NULL: prompts are what they say */
	const char *system;      /* NULL: none */
	wrap wrap;               /* of what is printed as it is written */
	line_work lines;
} generating;

/* hec_generate of prompts of which the first has the number lines.done in the whole input, from 0 on: what a
 * prompt draws depends on the seed and its number alone, in whatever calls the others come. */
hec_status generate_call(generating *g, int64_t n, const hec_prompt *prompts,
                         hec_generations **out);
/* Prints a piece of what is written, as it is written. HEC_ERR_CANCELLED: it is to end here. */
hec_status generate_put_text(generating *g, const char *text, size_t bytes);
/* n prompts in one call; what they write is printed. As line_work_fn. */
int generate_some(generating *g, int64_t n, const hec_prompt *prompts, int64_t *failed);

/* The text of a conversation up to where the answer begins, for free(). */
hec_status generate_chat_text(const generating *g, const hec_chat_message *messages, size_t n,
                              char **text, size_t *bytes);
/* Lines as first words of conversations, each its own: a line_work_fn. */
int generate_chat_lines(void *generating, int64_t n, const char *const *texts, const size_t *bytes,
                        int64_t *failed);
/* A conversation on a terminal (generate_talk.c). */
int generate_chat_terminal(generating *g);

#endif
