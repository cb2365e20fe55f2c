/* golden_lines.h — files that a peer wrote with a JSON object on each line, and the members of one. */
#ifndef TESTS_SUPPORT_GOLDEN_LINES_H
#define TESTS_SUPPORT_GOLDEN_LINES_H

#include <jansson.h>

#include "support/test.h"

/* A file or a model of tests/golden/answer_fill (tools/goldens/answer_fill.py). */
void answers_path(const char *name, char path[512]);
/* Others in their place, made live by tools/parity: the folder $HECATE_GOLDEN_ANSWERS; NULL: none. */
const char *answers_live(void);
/* That of answers_live where there is one. */
void answers_compared_path(const char *name, char path[512]);

/* All lines as an array, to json_decref; fewer than `least` are a failure. */
json_t *golden_lines(const kit *k, const char *path, size_t least);

int64_t golden_whole(const json_t *object, const char *key);
double golden_real(const json_t *object, const char *key);
const char *golden_words(const json_t *object, const char *key);

#endif
