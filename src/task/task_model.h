/* task_model.h — what every application holds: a model, its tokenizer, and where they run. */
#ifndef TASK_TASK_MODEL_H
#define TASK_TASK_MODEL_H

#include <hecate/model.h>
#include <hecate/tokenizer.h>

/* Tokens of a text that a model without a last position takes (T5, which measures distances): more would take
 * hours, and more memory than there is. */
#define TASK_TOKENS_MOST 32768

typedef struct task_model {
	const char *task; /* for messages: "classify" */
	hec_ctx *ctx;
	const hec_model *model;
	const hec_tokenizer *tokenizer;
	hec_model *own_model; /* NULL: the caller's */
	hec_tokenizer *own_tokenizer;
	int64_t longest; /* tokens that the model takes, what is added to a text counted in */
	int64_t cut; /* what a text is cut to, where that is less: what a model without a last position
	                    was made for (n_positions of T5) */
} task_model;

/* Reads both of a folder. On failure nothing is held; task_model_free is still fine. */
hec_status task_model_load(const char *task, hec_ctx *ctx, const char *dir,
                           const hec_model_load_options *options, /* NULL: as it is */
                           task_model *out);
/* Of a model (packed for ctx) and a tokenizer that the caller keeps for as long. */
hec_status task_model_take(const char *task, hec_ctx *ctx, const hec_model *model,
                           const hec_tokenizer *tokenizer, task_model *out);
void task_model_free(task_model *m); /* takes a zeroed one */

/* Tokens that a stack takes, and to which one is cut that has more: of a stack without a last position less. */
int64_t task_stack_longest(const hec_stack_config *s);
int64_t task_stack_cut(const hec_stack_config *s);

typedef struct task_text {
	const char *text, *pair; /* pair NULL: none */
	size_t bytes, pair_bytes;
	int64_t longest; /* tokens; 0: as many as the model takes */
	bool truncate;   /* what is longer loses its end; else it is an error that says how long */
	bool lossy;      /* invalid UTF-8 counts as U+FFFD; else it is an error */
} task_text;

/* With what the post-processor adds. */
hec_status task_encode(const task_model *m, const task_text *text, hec_encoding *out);

/* Whether a token of the text itself is there, not only what was added. */
bool task_has_words(const hec_encoding *e);

#endif
