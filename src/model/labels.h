/* labels.h — the names of labels in and out of config.json. */
#ifndef MODEL_LABELS_H
#define MODEL_LABELS_H

#include <hecate/model.h>

#include "format/json.h"

/* How many there are, where the head has labels. */
hec_status labels_count(const json_scope *config, hec_model_config *c);
/* Names for each, where nobody gave them any. */
hec_status labels_plain(const hec_model_config *c, json_t *config);

hec_status labels_read(const json_scope *config, hec_model *model);
/* Where the model has names: over those that the family wrote. */
hec_status labels_write(const hec_model *model, json_t *config);

#endif
