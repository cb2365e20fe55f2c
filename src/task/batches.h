/* batches.h — many inputs through one model: those of like length together, each with a result of its
 * own, to the bit what it would be alone. For tasks that only read (embed, classify, answer, fill); what writes text
 * goes through writer.h and the scheduler of src/decode. */
#ifndef TASK_BATCHES_H
#define TASK_BATCHES_H

#include <hecate/status.h>

#include "task/task_model.h"

typedef struct batch_input {
	int32_t *ids;   /* [n] */
	int32_t *types; /* [n]; NULL: 0 */
	int64_t n;
} batch_input;

/* What an encoding holds, in memory of its own. */
hec_status batch_input_copy(const hec_encoding *e, batch_input *out);
void batch_inputs_free(batch_input *inputs, int64_t n); /* the array, too; takes NULL */

typedef enum batch_want {
	BATCH_LOGITS, /* [labels] of a model that classifies, else [n, labels], [n, 2], [n, V] */
	BATCH_HIDDEN, /* [n, C] before any head; the encoder's where there is one */
	BATCH_LAST,   /* [n, C] what the head is given: of the last stack */
	BATCH_POOLED  /* [C] */
} batch_want;

/* The rows of one input, f32, valid until it returns. Anything but HEC_OK ends the work. */
typedef hec_status batch_fn(void *user, int64_t input, const hec_tensor *rows);

typedef struct batch_work {
	const task_model *model;
	batch_want want;
	const batch_input *inputs; /* [n] */
	int64_t n;
	int64_t tokens; /* at a time, padding counted, unless one input alone has more; 0: 2048 */
	batch_fn *take_rows; /* once for each input, in any order */
	void *user;
	hec_progress_fn *progress; /* in inputs; or NULL */
	void *progress_user;
	const char *phase; /* of progress; NULL: "texts" */
} batch_work;

#define BATCH_SHAPES 128

/* Of one model. Starts zeroed. Keeps its memory between calls; a call needs more at most once, before
 * the first batch runs. */
typedef struct batches {
	hec_arena *arena;
	size_t bytes;
	/* What is known to fit: a batch with no more rows, none of them longer, fits as well. */
	struct batch_shape {
		batch_want want;
		int64_t B, S;
	} shapes[BATCH_SHAPES]; /* none within another; the latest last */
	size_t shape_count;
} batches;

/* After a failure hec_error_item() is the input that is to blame. */
hec_status batches_run(batches *b, const batch_work *work);
void batches_free(batches *b);

#endif
