/* labels.h — the names of labels in and out of config.json. */
#ifndef MODEL_LABELS_H
#define MODEL_LABELS_H

#include <hecate/model.h>

#include "format/json.h"

hec_status labels_read(const json_scope *config, hec_model *model);
/* Where the model has names: over those that the family wrote. */
hec_status labels_write(const hec_model *model, json_t *config);

#endif
