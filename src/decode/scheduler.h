/* scheduler.h — any number of sources through an engine that holds a few at a time. */
#ifndef DECODE_SCHEDULER_H
#define DECODE_SCHEDULER_H

#include "decode/engine.h"
#include "decode/plan.h"

/* What hec_decode does, with any engine. The engine is empty before and after. *out is NULL after a failure. */
hec_status decode_run(const engine *e, int64_t n, const int32_t *const *ids, const int64_t *lengths,
                      const hec_decode_options *options, hec_decoded **out);

#endif
