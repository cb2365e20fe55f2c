/* sources.h — texts to what an encoder reads: the task's prefix before them, the language they are in, and
 * several pieces for one that is too long. */
#ifndef TASK_SOURCES_H
#define TASK_SOURCES_H

#include "task/task_model.h"

/* How texts are read. */
typedef struct source_rules {
	const task_model *model;
	const char *prefix; /* before each text; NULL: nothing */
	int64_t longest;    /* tokens of a source */
	bool truncate, lossy;
	bool windows;     /* a text that is longer becomes several sources, which overlap */
	int32_t language; /* takes the place of the language that the tokenizer adds; −1: stays */
} source_rules;

typedef struct sources {
	int32_t **ids;    /* [n] */
	int64_t *lengths; /* [n] */
	int64_t *which;   /* [n] the text of each, in order */
	int64_t n, capacity;
	hec_encoding encoding;
} sources;

/* A text without a word gives none. */
hec_status sources_add(sources *s, const source_rules *rules, int64_t which, const char *text,
                       size_t bytes);
void sources_free(sources *s); /* takes a zeroed one */

#endif
