/* plan.h — the options of a call, checked. */
#ifndef DECODE_PLAN_H
#define DECODE_PLAN_H

#include <hecate/decode.h>

#include "decode/engine.h"

typedef struct plan {
	hec_decode_options o; /* top_k is resolved, max_tokens not: −1 depends on the source */
	int64_t vocab;
	const int32_t *ends;
	int64_t end_count;
	int64_t candidates; /* continuations looked at in a step: enough that `beams` of them do not
	                       end, whatever ends. Greedy and sampling: 1 */
	int32_t eos_id;     /* ends points here where the options name none */
} plan;

/* p must stay where it is: it may point into itself. */
hec_status plan_make(plan *p, const engine *e, const hec_decode_options *options);

static inline bool plan_is_end(const plan *p, int32_t id)
{
	for (int64_t i = 0; i < p->end_count; i++) {
		if (p->ends[i] == id)
			return true;
	}
	return false;
}

#endif
