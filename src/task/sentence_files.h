/* sentence_files.h — what sentence-transformers writes beside a model: where the model lies, how its
 * hidden states become one vector, how long a text may be. */
#ifndef TASK_SENTENCE_FILES_H
#define TASK_SENTENCE_FILES_H

#include <hecate/embed.h>

#include "base/memory.h"

#define SENTENCE_POOLINGS 16 /* at most */

typedef struct sentence_files {
	char *model;                            /* the folder of the model itself, for mem_free() */
	hec_pooling pooling[SENTENCE_POOLINGS]; /* [poolings] one behind the other */
	size_t poolings;
	bool normalize;
	int64_t longest; /* tokens of a text; 0: it is not said */
} sentence_files;

/* Where there is no modules.json: dir, the mean, nothing said. On failure nothing is held. */
hec_status sentence_files_read(const char *dir, sentence_files *out);
void sentence_files_free(sentence_files *s);

#endif
