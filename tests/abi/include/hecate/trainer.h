/* trainer.h — learning, one step at a time: forward, loss, backward, clipping, AdamW.
 *
 * A step is one or more batches whose gradients are summed, then one update by the mean over all the
 * targets that counted. train.h is the loop around it: data, validation, checkpoints. A trainer
 * belongs to one thread; a step allocates nothing. */
#ifndef HECATE_TRAINER_H
#define HECATE_TRAINER_H

#include <hecate/model.h>

HEC_BEGIN

/* How the learning rate goes, with s the step (1 … N) and w the steps of warm-up, at least 1. What falls to
 * lr_end gets there one step after the last. */
typedef enum hec_schedule {
	HEC_SCHEDULE_INVERSE_SQRT = 0, /* lr · min(s/w, √(w/s)) */
	HEC_SCHEDULE_NOAM, /* lr · C^−½ · min(s^−½, s · w^−3/2): the 2017 paper, lr 1 */
	HEC_SCHEDULE_COSINE, /* up to lr in w steps, then lr_end + (lr − lr_end) · ½(1 + cos πx),
	                       * x = (s − w) / (N + 1 − w) */
	HEC_SCHEDULE_LINEAR,  /* up to lr in w steps, then lr_end + (lr − lr_end) · (1 − x) */
	HEC_SCHEDULE_CONSTANT /* up to lr in w steps, then lr */
} hec_schedule;

typedef struct hec_trainer_options { /* options */
	size_t size;                 /* sizeof(hec_trainer_options) */
	hec_schedule schedule;
	double lr, lr_end; /* lr_end: of cosine and linear, where they would arrive at step N + 1 */
	int64_t warmup, steps; /* w, N */
	double beta1, beta2, eps, weight_decay;
	double clip;      /* gradients longer than this are cut to it; 0: never */
	double smoothing; /* of the labels; ANSWER has none */
	uint64_t seed;    /* of dropout */
	/* The largest batch: rows · longest sequence ≤ max_tokens on each side. Features count as the
	 * positions of the encoder, whatever max_source is; one row of them may always be. */
	int64_t max_rows, max_tokens, max_source, max_target;
} hec_trainer_options;

/* clang-format off */
#define HEC_TRAINER_OPTIONS_INIT \
	{.size = sizeof(hec_trainer_options), .lr = 1e-3, .warmup = 1000, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, \
	 .clip = 1.0, .smoothing = 0.1, .seed = 1, .max_tokens = 2048, .max_source = 128, .max_target = 128}
/* clang-format on */

/* What is read and what is to come out. targets: [B, T] for every position of the decoder, [B, S] of
 * the encoder, or [B] for a label each; −100 where nothing is asked. */
typedef struct hec_batch { /* options */
	size_t size;       /* sizeof(hec_batch) */
	const hec_model_input *input;
	hec_tensor targets; /* i32 */
} hec_batch;

/* clang-format off */
#define HEC_BATCH_INIT {.size = sizeof(hec_batch)}
/* clang-format on */

typedef struct hec_step_report { /* result */
	int64_t step;            /* this one, from 1 */
	double loss;     /* mean over the targets, in nats: with dropout, without label smoothing */
	int64_t targets; /* how many counted */
	double lr;
	double grad_norm; /* of the mean, before clipping */
	bool skipped;     /* loss or gradient was not finite: nothing was changed */
	int64_t skips;    /* so far */
} hec_step_report;

/* hec_trainer_options.max_tokens is at most that: what a step keeps is some kilobytes a token. */
#define HEC_MAX_BATCH_TOKENS (1 << 24)

typedef struct hec_trainer hec_trainer;

/* Learns in place: the model (f32) changes with each step and must outlive the trainer. */
HEC_API HEC_MUST_USE hec_status hec_trainer_create(hec_ctx *ctx, hec_model *model,
                                                   const hec_trainer_options *options,
                                                   hec_trainer **out);
HEC_API void hec_trainer_destroy(hec_trainer *trainer); /* takes NULL */

/* Bytes that learning takes by the options: weights, gradients and moments (16 for each parameter), what
 * the passes over the largest batch keep, and the weights as the kernels want them. Found by a dry run:
 * nothing is computed. */
typedef struct hec_trainer_memory { /* result */
	size_t parameters, activations, packs;
} hec_trainer_memory;
HEC_API HEC_MUST_USE hec_status hec_trainer_plan(hec_ctx *ctx, const hec_model *model,
                                                 const hec_trainer_options *options,
                                                 hec_trainer_memory **out);
HEC_API void hec_trainer_memory_free(hec_trainer_memory *memory); /* takes NULL */

/* Adds the gradient of a batch to the step that is under way; after a failure the step is of no use. */
HEC_API HEC_MUST_USE hec_status hec_trainer_add(hec_trainer *trainer, const hec_batch *batch);
/* Forgets the step that is under way, if there is one. */
HEC_API void hec_trainer_drop(hec_trainer *trainer);
/* Ends the step: updates the model, unless something was not finite. */
HEC_API HEC_MUST_USE hec_status hec_trainer_apply(hec_trainer *trainer);
/* Both: a step of n batches; after a failure nothing of it is left. */
HEC_API HEC_MUST_USE hec_status hec_trainer_step(hec_trainer *trainer,
                                                 const hec_batch *const *batches, size_t n);
/* Of the last step that ended, until the next one; before the first all zeros. */
HEC_API const hec_step_report *hec_trainer_report(const hec_trainer *trainer);
/* Adds the loss of a batch, without dropout and smoothing, and the number of its targets. */
HEC_API HEC_MUST_USE hec_status hec_trainer_loss(hec_trainer *trainer, const hec_batch *batch,
                                                 double *sum, int64_t *targets);

HEC_API int64_t hec_trainer_steps(const hec_trainer *trainer); /* taken so far, skipped ones too */
HEC_API hec_model *hec_trainer_model(const hec_trainer *trainer);

/* A folder that holds the model (f32) and optimizer.safetensors: moments and counts. Loading
 * continues with the same bits; a file that is cut short or belongs to another model (only its rates of
 * dropout may differ) is refused, and the trainer stays as it was. No memory is taken for a second one:
 * everything is read twice, and where files change in between, the trainer is of no use any more.
 * Between steps only. */
HEC_API HEC_MUST_USE hec_status hec_trainer_save(hec_trainer *trainer, const char *dir);
HEC_API HEC_MUST_USE hec_status hec_trainer_load(hec_trainer *trainer, const char *dir);

HEC_END

#endif
