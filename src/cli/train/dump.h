/* dump.h — --dump-batches: what is learned from, for comparison with others. */
#ifndef CLI_TRAIN_DUMP_H
#define CLI_TRAIN_DUMP_H

#include <stdio.h>

#include <hecate/trainer.h>

/* One line of JSON: {"step": 1, "targets": [[…]], "ids": …, "decoder_ids": …, "features": …}. False: it could
 * not be written. */
bool train_dump(FILE *out, int64_t step, const hec_batch *batch);

#endif
