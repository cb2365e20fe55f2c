/* override.h — what config.json is to say instead: by keys, or by the head that is asked for. */
#ifndef MODEL_OVERRIDE_H
#define MODEL_OVERRIDE_H

#include "model/family.h"

/* Changes root, and finds the family that it then describes. */
hec_status override_apply(const char *file, const hec_model_load_options *options, json_t *root,
                          const family **out);
/* Whether anything is to be other than the files say. */
bool override_any(const hec_model_load_options *options);

#endif
