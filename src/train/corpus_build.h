/* corpus_build.h — what the makers of examples share. */
#ifndef TRAIN_CORPUS_BUILD_H
#define TRAIN_CORPUS_BUILD_H

#include <stdio.h>

#include "train/corpus.h"
#include "train/lines.h"

typedef struct builder {
	const hec_corpus_options *o;
	hec_lines *lines; /* NULL for answer */
	hec_encoding side[2];
	FILE *tokens, *index;
	char *names[4]; /* tokens, index: new, final */
	corpus_header header;
	int32_t *piece;  /* the example that is being made */
	int64_t pending; /* lm: ids of it so far */
	int32_t eos, cls, sep;
	char *joined; /* a source with what stands before it; lm: lines that are still to be encoded */
	size_t joined_bytes, joined_room;
} builder;

/* One more example. */
hec_status builder_put(builder *b, const int32_t *source, size_t n, const int32_t *target,
                       size_t m);
/* A text that gives no example, by the number of its tokens. */
void builder_leave_out(builder *b, size_t tokens);
/* corpus_sound.c: a name of a sound and its text. */
hec_status builder_put_sound(builder *b, const example *e);
/* corpus_answer.c: all questions of SQuAD's files. */
hec_status builder_put_answers(builder *b);

#endif
