/* trainer_toy.h — a trainer of a small model that learns to write words backwards. Needs support/models.h before it. */
#ifndef TESTS_TRAINER_TOY_H
#define TESTS_TRAINER_TOY_H

#include <math.h>
#include <string.h>

#include <hecate/trainer.h>

enum { ROWS = 8, LENGTH = 6, WORDS = 11 };

/* Sequences of 1 … WORDS − 2 and, as targets, the same backwards. */
typedef struct toy {
	int32_t source[ROWS * LENGTH], input[ROWS * LENGTH], target[ROWS * LENGTH];
	int32_t length[ROWS];
	hec_model_input read; /* what batch.input points at: a toy stays where it was made */
	hec_batch batch;
} toy;

static inline void make_toy(kit *k, int64_t rows, toy *t)
{
	memset(t, 0, sizeof *t);
	for (int64_t r = 0; r < rows; r++) {
		int32_t n = (int32_t)draw_in(k, 2, LENGTH);
		t->length[r] = n;
		for (int32_t i = 0; i < LENGTH; i++) {
			t->source[r * LENGTH + i] = 1 + (int32_t)(draw(k) % (WORDS - 2));
			t->target[r * LENGTH + i] = -100;
		}
		for (int32_t i = 0; i < n; i++) {
			t->target[r * LENGTH + i] = t->source[r * LENGTH + n - 1 - i];
			if (i + 1 < n)
				t->input[r * LENGTH + i + 1] = t->target[r * LENGTH + i];
		}
	}
	t->read = (hec_model_input)HEC_MODEL_INPUT_INIT;
	t->read.ids = hec_tensor_2d(t->source, HEC_I32, rows, LENGTH);
	t->read.length = t->length;
	t->read.decoder_ids = hec_tensor_2d(t->input, HEC_I32, rows, LENGTH);
	t->read.decoder_length = t->length;
	t->batch = (hec_batch)HEC_BATCH_INIT;
	t->batch.input = &t->read;
	t->batch.targets = hec_tensor_2d(t->target, HEC_I32, rows, LENGTH);
}

static inline hec_status step_once(hec_trainer *trainer, const hec_batch *batch)
{
	return hec_trainer_step(trainer, &batch, 1);
}

static inline hec_model_config toy_config(double dropout)
{
	hec_stack_config stack = {
		.layers = 1,
		.attention = {.size = sizeof stack.attention, .heads = 2, .dropout_out = dropout},
		.feed_forward = {.size = sizeof stack.feed_forward,
	                         .hidden = 64,
	                         .act = HEC_ACT_RELU,
	                         .dropout_out = dropout},
		.dropout = dropout,
		.embedding_scale = sqrt(32),
		.position = {.kind = HEC_POSITION_SINUSOIDAL, .max = 16},
	};
	return (hec_model_config){.size = sizeof(hec_model_config),
	                          .vocab = WORDS,
	                          .width = 32,
	                          .encoder = stack,
	                          .decoder = stack,
	                          .output_bias = true,
	                          .head = HEC_HEAD_LM,
	                          .pad_id = WORDS - 1,
	                          .bos_id = -1,
	                          .eos_id = 0,
	                          .start_id = WORDS - 1};
}

static inline hec_trainer_options toy_options(void)
{
	hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
	o.lr = 5e-3;
	o.warmup = 20;
	o.max_tokens = ROWS * LENGTH;
	o.max_source = o.max_target = LENGTH;
	o.max_rows = ROWS;
	return o;
}

typedef struct world {
	kit k;
	hec_model *model;
	hec_trainer *trainer;
} world;

static inline world world_open(uint64_t seed, double dropout, const hec_trainer_options *o)
{
	world w = {.k = kit_open(seed)};
	hec_model_config config = toy_config(dropout);
	OK(&w.k, hec_model_create(w.k.ctx, &config, HEC_F32, 7, &w.model));
	OK(&w.k, hec_trainer_create(w.k.ctx, w.model, o, &w.trainer));
	return w;
}

static inline void world_close(world *w)
{
	hec_trainer_destroy(w->trainer);
	hec_model_destroy(w->model);
	kit_close(&w->k);
}

#endif
