/* trainer.h — the inside of hec_trainer, and one pass over a batch. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include <hecate/trainer.h>

#include "base/status.h"

/* Neighbours in the block with the same decay are updated in one call. */
typedef struct decay_range {
	int64_t begin, end; /* elements */
	bool decay;
} decay_range;

struct hec_trainer {
	hec_ctx *ctx;
	hec_model *model, *grad, *first, *second; /* first, second: moments */
	hec_arena *arena;
	hec_trainer_options options;
	decay_range *ranges;
	size_t range_count;
	int64_t step, skips; /* taken, of which nothing came */
	/* of the step under way */
	int64_t batches, targets;
	double loss;
	bool broken;            /* something was not finite */
	hec_step_report report; /* of the last step that ended */
};

/* The options with their defaults, checked. */
hec_status trainer_take_options(const hec_trainer_options *given, hec_trainer_options *o);

/* What hec_trainer_plan tells, by options that are taken already. */
hec_status trainer_measure(hec_ctx *ctx, const hec_model *model, const hec_trainer_options *o,
                           hec_trainer_memory *memory);

/* Forward, loss and, where grad is given, backward. Nothing stays in the arena. */
hec_status trainer_pass(hec_ctx *ctx, hec_arena *arena, const hec_model *model,
                        const hec_batch *batch, const hec_dropout_key *key, double smoothing,
                        hec_model *grad, /* added to; or NULL */
                        double *sum, int64_t *targets /* both added to */);

#endif
