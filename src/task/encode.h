/* encode.h — a text as the ids that a model of an application reads, no longer than it takes. */
#ifndef TASK_ENCODE_H
#define TASK_ENCODE_H

#include "task/task_model.h"

typedef struct task_text {
	const char *text, *pair; /* pair NULL: none */
	size_t bytes, pair_bytes;
	int64_t longest; /* tokens; 0: as many as the model takes */
	bool truncate;   /* what is longer loses its end; else it is an error that says how long */
	bool lossy;      /* invalid UTF-8 counts as U+FFFD; else it is an error */
} task_text;

/* With what the post-processor adds. */
hec_status task_encode(const task_model *m, const task_text *text, hec_encoding *out);

/* Whether a token of the text itself is there, not only what was added. */
bool task_has_words(const hec_encoding *e);

/* A text of n tokens where the model takes so many. */
hec_status task_check_length(int64_t n, int64_t longest);

#endif
