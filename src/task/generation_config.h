/* generation_config.h — how a directory's generation_config.json says to write. */
#ifndef TASK_GENERATION_CONFIG_H
#define TASK_GENERATION_CONFIG_H

#include <hecate/decode.h>

typedef struct generation_config {
	hec_decode_options options; /* points at the two lists */
	int32_t *suppress, *ends;
} generation_config;

/* What greedy or beam search takes of the file; keys that it does not know are passed over, as others
 * do. The file may be missing: then the defaults. start: how many tokens a row begins with, which
 * max_length and min_length count. */
hec_status generation_config_read(const char *dir, int64_t vocab, int64_t start,
                                  generation_config *out);
void generation_config_free(generation_config *g); /* takes a zeroed one */

#endif
