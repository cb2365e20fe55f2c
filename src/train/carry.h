/* carry.h — folders of modules beside a model. */
#ifndef TRAIN_CARRY_H
#define TRAIN_CARRY_H

#include "base/status.h"

/* modules.json of sentence-transformers and the settings of what it names, from one directory to another:
 * all, or, where it names something with weights of its own, nothing. */
hec_status carry_modules(const char *from, const char *to);

#endif
