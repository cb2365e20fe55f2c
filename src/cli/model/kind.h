/* kind.h — what somebody named as a model, where it is none that Hecate reads. */
#ifndef CLI_MODEL_KIND_H
#define CLI_MODEL_KIND_H

#include <stddef.h>

#define MODEL_KIND_ROOM 400

/* What lies at the path and what to do, as a sentence; "" where it may be a model: then loading tells what is wrong
 * with it. */
void model_kind(const char *path, char sentence[MODEL_KIND_ROOM]);

#endif
