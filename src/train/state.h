/* state.h — where a run stands: everything that a resumed run needs besides weights and moments. */
#ifndef TRAIN_STATE_H
#define TRAIN_STATE_H

#include <hecate/train.h>

#include <jansson.h>

#include "train/batch.h"

/* What must be as it was, or the same batches would not come. */
typedef struct run_identity {
	uint64_t seed, dropout_seed;
	int64_t max_tokens, max_rows, accumulate;
	uint32_t data, valid; /* checksums; valid 0: none */
} run_identity;

typedef struct run_state {
	run_identity identity;
	int64_t step;
	batch_place place;
	/* since the last report */
	double loss_sum;
	int64_t loss_targets, report_step;
	double last_norm;
	double seconds; /* of learning */
	/* by metric; best_step 0: none yet */
	double best[HEC_METRICS];
	int64_t best_step[HEC_METRICS];
	/* The best of the validations that were due, which patience goes by: one more, where the time
	 * was up, shall not change when a run ends. NaN: none yet. */
	double due[HEC_METRICS];
	int64_t stale; /* validations that were due since the best by the chosen metric */
	int64_t valid_step;
	int chosen; /* metric whose best model lies in DIR itself; −1: an older program did not say */
} run_state;

/* files: the sums of the files beside it (sums.h). A file that is not as it was written, be it in one byte, is
 * refused. *files (or NULL) is for json_decref. */
hec_status state_write(const char *path, const run_state *state, json_t *files);
hec_status state_read(const char *path, run_state *state, json_t **files);
/* HEC_ERR_FORMAT with what differs. */
hec_status identity_check(const char *path, const run_identity *was, const run_identity *is);

#endif
