/* rope.h — rotary positions in config.json, of every family that has them. */
#ifndef MODEL_FAMILY_ROPE_H
#define MODEL_FAMILY_ROPE_H

#include "model/family.h"

/* p->max must be read already. */
hec_status rope_read(const json_scope *s, hec_position_config *p);
/* What it reads, for read_keys. */
#define ROPE_KEYS                                                                                  \
	"rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor",                  \
		"original_max_position_embeddings", "rope_long"
hec_status rope_write(const hec_position_config *p, json_t *config);

/* A list of factors, at most HEC_ROTARY_FACTORS; *count where it is not 0: so many. */
hec_status rope_read_factors(const json_scope *s, const char *key, double *out, int64_t *count);
hec_status rope_put_factors(json_t *to, const char *key, const double *list, int64_t count);

#endif
