/* sums.h — size and CRC-32 of each file of a folder, as an object: {"config.json": {"size": 812, "sum": "0c9f31aa"}, …}.
 *
 * Against chance, not against a forger: CRC-32 finds every change within 32 neighbouring bits, and of all
 * others it passes one in 2^32. */
#ifndef TRAIN_SUMS_H
#define TRAIN_SUMS_H

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

uint32_t sum_of_bytes(const void *data, uint64_t size);

/* Of every file in it but those whose names begin with a dot, which others put there (.DS_Store, .nfs0001);
 * *out for json_decref. */
hec_status sums_make(const char *folder, json_t **out);
/* Each file that sums names is there and has that size and that sum; `but` (or NULL) may be missing, and is not
 * looked at. The error names the file, what was written and what is there. */
hec_status sums_check(const char *folder, const json_t *sums, const char *but);

#endif
