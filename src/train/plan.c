/* plan.c — what learning will take, found by passes in a dry context.
 *
 * Memory grows with rows and with lengths, so of all batches that the options allow only those count
 * that could not have one more row: for each number of rows, the longest sequences. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"
#include "model/model.h"
#include "tensor/arena.h"
#include "tensor/check.h"
#include "train/trainer.h"

#define IGNORE (-100)
#define BYTES_PER_PARAMETER 16 /* weight, gradient, two moments */

typedef struct planner {
	hec_ctx *dry;
	hec_arena *arena;
	const hec_model *model;
	const hec_trainer_options *o;
	int32_t *words, *targets, *lengths[2];
} planner;

/* A head that reads where the end stands wants one in every sequence. */
static bool wants_ends(const hec_model_config *c)
{
	return c->head == HEC_HEAD_CLASSIFY && c->head_row == HEC_ROW_EOS;
}

static void set_lengths(planner *p, int64_t rows, int64_t S, int64_t T)
{
	for (int64_t i = 0; i < rows; i++) {
		p->lengths[0][i] = (int32_t)S;
		p->lengths[1][i] = (int32_t)T;
	}
}

/* A batch of that shape: all its words are word 0, or the end where the head looks for one. */
static void make_batch(planner *p, int64_t rows, int64_t S, int64_t T, hec_model_input *in,
                       hec_batch *batch)
{
	const hec_model_config *c = hec_model_config_of(p->model);
	set_lengths(p, rows, S, T);
	if (c->front.features > 0) { /* of which no number is looked at */
		in->features = hec_tensor_3d(p->words, HEC_F32, rows, c->front.features, 2 * S);
	} else if (c->encoder.layers > 0) {
		in->ids = hec_tensor_2d(p->words, HEC_I32, rows, S);
		in->length = p->lengths[0];
		batch->targets = in->ids;
	}
	if (c->decoder.layers > 0) {
		in->decoder_ids = hec_tensor_2d(p->words, HEC_I32, rows, T);
		in->decoder_length = p->lengths[1];
		batch->targets = in->decoder_ids;
	}
	if (c->head == HEC_HEAD_CLASSIFY)
		batch->targets = hec_tensor_1d(p->words, HEC_I32, rows);
	if (c->head == HEC_HEAD_ANSWER)
		batch->targets = hec_tensor_2d(p->words, HEC_I32, rows, 2);
	batch->targets.data = p->targets;
	batch->input = in;
}

/* Makes the arena as large as a step over such a batch needs. */
static hec_status measure_shape(planner *p, int64_t rows, int64_t S, int64_t T)
{
	hec_model_input input = HEC_MODEL_INPUT_INIT;
	hec_batch batch = HEC_BATCH_INIT;
	make_batch(p, rows, S, T, &input, &batch);
	const hec_dropout_key key = {.seed = 1};
	double sum = 0;
	int64_t targets = 0;
	/* Nothing is written: the model can stand in for its own gradient. Rows without a target are
	 * left out of the loss, which takes memory as well: once with all of them, once without one. */
	for (int32_t first = 0; first >= IGNORE; first += IGNORE) {
		p->targets[0] = first;
		HEC_TRY(trainer_pass(p->dry, p->arena, p->model, &batch, &key, p->o->smoothing,
		                     (hec_model *)(uintptr_t)p->model, &sum, &targets));
	}
	return HEC_OK;
}

static int64_t rows_at(const hec_trainer_options *o, int64_t length)
{
	int64_t rows = max_i64(o->max_tokens / length, 1);
	return o->max_rows > 0 ? min_i64(rows, o->max_rows) : rows;
}

static hec_status measure_all(planner *p)
{
	const hec_model_config *c = hec_model_config_of(p->model);
	/* Frames fill their window, however short the sound is. */
	const bool frames = c->front.features > 0;
	int64_t S = frames ? c->encoder.position.max : c->encoder.layers > 0 ? p->o->max_source : 1;
	int64_t T = c->decoder.layers > 0 ? p->o->max_target : 1;
	int64_t longest = min_i64(max_i64(S, T), p->o->max_tokens);
	if (frames)
		longest = max_i64(longest, S);
	for (int64_t length = frames ? S : 1; length <= longest;) {
		int64_t rows = rows_at(p->o, length);
		int64_t last = min_i64(p->o->max_tokens / rows, longest); /* with as many rows */
		last = max_i64(last, length);
		HEC_TRY(measure_shape(p, rows, min_i64(last, S), min_i64(last, T)));
		length = last + 1;
	}
	return HEC_OK;
}

static hec_status measure_batches(planner *p, hec_ctx *ctx)
{
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = 1; /* what a pass takes does not depend on the threads */
	options.isa = hec_ctx_isa(ctx);
	/* One row may always be, however long it is. */
	size_t n = (size_t)max_i64(p->o->max_tokens, max_i64(p->o->max_source, p->o->max_target));
	p->words = mem_zeros(n, sizeof *p->words);
	p->targets = mem_zeros(2 * n, sizeof *p->targets); /* ANSWER: two a row */
	p->lengths[0] = mem_alloc(n * sizeof **p->lengths);
	p->lengths[1] = mem_alloc(n * sizeof **p->lengths);
	if (!p->words || !p->targets || !p->lengths[0] || !p->lengths[1])
		return fail(HEC_ERR_MEMORY, "trainer: no memory for a batch of %zu tokens", n);
	const hec_model_config *c = hec_model_config_of(p->model);
	for (size_t i = 0; wants_ends(c) && i < n; i++)
		p->words[i] = c->eos_id;
	HEC_TRY(hec_ctx_create_dry(&options, &p->dry));
	HEC_TRY(arena_reserve(&p->arena));
	return measure_all(p);
}

hec_status trainer_measure(hec_ctx *ctx, const hec_model *model, const hec_trainer_options *o,
                           hec_trainer_memory *memory)
{
	if (!hec_model_block(model).data)
		return fail(HEC_ERR_ARGUMENT, "trainer: the model was loaded to run; "
		                              "hec_model_unpack makes what learning needs");
	planner p = {.model = model, .o = o};
	hec_status status = measure_batches(&p, ctx);
	if (status == HEC_OK)
		*memory = (hec_trainer_memory){
			.parameters = (size_t)hec_model_block(model).shape[0] * BYTES_PER_PARAMETER,
			.activations = hec_arena_peak(p.arena),
			.packs = packs_bytes(ctx, model, true),
		};
	hec_arena_destroy(p.arena);
	hec_ctx_destroy(p.dry);
	mem_free(p.words);
	mem_free(p.targets);
	mem_free(p.lengths[0]);
	mem_free(p.lengths[1]);
	return status;
}

hec_status hec_trainer_plan(hec_ctx *ctx, const hec_model *model, const hec_trainer_options *given,
                            hec_trainer_memory **out)
{
	HEC_TRY(CHECK_GIVEN("trainer", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("trainer", ctx));
	HEC_TRY(CHECK_GIVEN("trainer", model));
	hec_trainer_options o;
	hec_trainer_memory memory;
	HEC_TRY(trainer_take_options(given, &o));
	HEC_TRY(trainer_measure(ctx, model, &o, &memory));
	*out = mem_alloc(sizeof **out);
	if (!*out)
		return fail(HEC_ERR_MEMORY, "trainer: no memory");
	**out = memory;
	return HEC_OK;
}

void hec_trainer_memory_free(hec_trainer_memory *memory)
{
	mem_free(memory);
}
