/* foreign_model.h — what somebody named as a model, where it is none that Hecate reads. */
#ifndef CLI_MODEL_FOREIGN_MODEL_H
#define CLI_MODEL_FOREIGN_MODEL_H

#include <stddef.h>

#define FOREIGN_MODEL_ROOM 400

/* What lies at the path and what to do, as a sentence; "" where it may be a model: then loading tells what is wrong
 * with it. */
void foreign_model(const char *path, char sentence[FOREIGN_MODEL_ROOM]);

#endif
