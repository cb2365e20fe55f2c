/* tokenize.h — the parts of `hecate tokenize`. */
#ifndef CLI_INSPECT_TOKENIZE_H
#define CLI_INSPECT_TOKENIZE_H

#include <hecate/tokenizer.h>

#include "cli/command/command.h"

/* What --train and its options ask for. */
typedef struct tokenize_training {
	option_list files;
	const char *out;
	int64_t vocab, min_frequency, threads;
	bool byte_level, unicode; /* the alphabet; neither: bytes */
} tokenize_training;

int tokenize_train(const command *self, const tokenize_training *asked);

/* The text of the conversation in the file, for free(); prompt: with what comes before an answer. */
int tokenize_chat(const command *self, const char *model, const char *file, bool prompt,
                  char **text, size_t *bytes);

#endif
