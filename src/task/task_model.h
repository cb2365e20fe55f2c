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
	char no_tokenizer[512]; /* why there is none, where that is allowed */
	int64_t longest; /* tokens that the model takes, what is added to a text counted in */
	int64_t cut; /* what a text is cut to, where that is less: what a model without a last position
	                    was made for (n_positions of T5) */
} task_model;

/* One application: how its handles are made and destroyed. A handle is a struct that begins with its task_model. */
typedef struct task_kind {
	const char *name;          /* as messages have it: "classify" */
	size_t bytes;              /* of a handle */
	bool may_lack_a_tokenizer; /* the caller can give ids */
	/* What comes when model and tokenizer are there: whether they are of use, what else the handle holds, and
	 * what else dir says (NULL: model and tokenizer are the caller's, and nothing is read). */
	hec_status (*finish)(void *handle, const char *dir, const hec_model_load_options *options);
	/* Frees all but the task_model; also of a handle that was not finished. */
	void (*clear)(void *handle);
} task_kind;

/* out: a T **. Of a folder's model and tokenizer; options NULL: as the files say. */
hec_status task_load(const task_kind *kind, hec_ctx *ctx, const char *dir,
                     const hec_model_load_options *options, void *out);
/* Of a model (packed for ctx) and a tokenizer that the caller keeps for as long; dir is for finish alone. */
hec_status task_create(const task_kind *kind, hec_ctx *ctx, const hec_model *model,
                       const hec_tokenizer *tokenizer, const char *dir, void *out);
void task_destroy(const task_kind *kind, void *handle); /* takes NULL */

/* Tokens that a stack takes, and to which one is cut that has more: of a stack without a last position less. */
int64_t task_stack_longest(const hec_stack_config *s);
int64_t task_stack_cut(const hec_stack_config *s);

#endif
