/* exercise.h — a model made to do all that it can do, on a few tokens: whatever its configuration says, it
 * runs, learns, and comes back from a folder the same. For hostile configurations that load; knows
 * nothing of cmocka, so that fuzz targets have it, too. */
#ifndef TESTS_SUPPORT_EXERCISE_H
#define TESTS_SUPPORT_EXERCISE_H

#include <hecate/hecate.h>

/* Whether such a model is small enough to be exercised in some milliseconds: its parameters, its tables, and
 * what a few tokens take. Nothing is made to find out. */
bool exercise_fits(const hec_model_config *config);

/* Forward with 1, 3, 5 tokens and with as many as it takes, and one more, which is refused; some steps of a
 * session; a step of learning; saved into the folder and loaded again, where the same comes out. NULL: all of
 * it held; else what did not. The message of the library says why. */
const char *exercise_model(hec_ctx *ctx, hec_model *model, const char *folder);

#endif
