/* rope.h — rotary positions in config.json, of every family that has them. */
#ifndef MODEL_FAMILY_ROPE_H
#define MODEL_FAMILY_ROPE_H

#include "model/family.h"

/* p->max must be read already. */
hec_status rope_read(const json_scope *s, hec_position_config *p);
hec_status rope_write(const hec_position_config *p, json_t *config);

#endif
