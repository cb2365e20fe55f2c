/* text_inputs.h — many texts to inputs of a model, all or none. */
#ifndef TASK_TEXT_INPUTS_H
#define TASK_TEXT_INPUTS_H

#include "task/batches.h"

/* Sees an encoding before it is gone; anything but HEC_OK ends the work. */
typedef hec_status encoded_fn(void *user, int64_t text, const hec_encoding *e);

typedef struct text_inputs {
	int64_t n;
	const char *const *texts; /* [n] */
	const size_t *bytes;      /* [n]; NULL: zero bytes end them */
	const char *const *pairs; /* [n]; NULL: none */
	const size_t *pair_bytes;
	int64_t longest; /* tokens; 0: as many as the model takes */
	bool truncate, lossy;
	encoded_fn *encoded; /* or NULL */
	void *user;
} text_inputs;

/* Whether the caller gave what must be there. */
hec_status text_inputs_check(const task_model *m, const text_inputs *t);

/* The inputs, for batch_inputs_free. After a failure hec_error_item() is the text that is to blame. */
hec_status text_inputs_encode(const task_model *m, const text_inputs *t, batch_input **out);

#endif
