/* batch.c — how large a batch is, how many make a step, and what that takes. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/size.h"
#include "training/settle.h"

#define EPOCHS_COUNTED 16
#define VALIDATIONS 20 /* of a run whose end is known, or fewer */
#define LEAST_VALID_EVERY 50
#define VALIDATION_SHARE 0.15 /* of the time of learning, at most */

void trainer_options(const hec_training *t, hec_trainer_options *o)
{
	const hec_training_options *of = &t->o;
	*o = (hec_trainer_options)HEC_TRAINER_OPTIONS_INIT;
	o->schedule = (hec_schedule)of->schedule;
	o->lr = of->lr;
	o->lr_end = of->lr_end;
	o->warmup = max_i64(0, of->warmup); /* less: settled once the batches are */
	o->steps = of->steps;
	o->beta1 = of->beta1;
	o->beta2 = of->beta2;
	o->eps = of->eps;
	o->weight_decay = of->weight_decay;
	o->clip = of->clip;
	o->smoothing = of->smoothing;
	o->seed = of->seed + 1; /* not that of the weights */
	o->max_rows = of->batch_rows;
	o->max_tokens = of->batch_tokens;
	o->max_source = o->max_target = of->max_length;
}

/* ---- memory ---- */

/* Places that a sound takes in the encoder; 0: the model reads text. */
static int64_t places_of(const hec_training *t)
{
	return t->sounds ? t->given.encoder.position.max : 0;
}

/* Features to learn from, and to validate on: two frames for a place. */
static size_t sound_bytes(const hec_training *t)
{
	const int64_t places = places_of(t), bands = t->given.front.features;
	if (places == 0)
		return 0;
	int64_t rows = max_i64(1, t->o.batch_tokens / places);
	if (t->o.batch_rows > 0)
		rows = min_i64(rows, t->o.batch_rows);
	return (size_t)(rows * bands * 2 * places) * sizeof(float) * (t->o.valid_count > 0 ? 2 : 1);
}

hec_status hec_training_memory_of(const hec_training *t, hec_training_memory **out)
{
	hec_trainer_options o;
	hec_trainer_memory *plan;
	if (out)
		*out = NULL;
	if (!t || !out || !t->model)
		return fail(HEC_ERR_ARGUMENT, "hec_training_memory_of: %s",
		            t && out ? "the training is not open" : "NULL");
	trainer_options(t, &o);
	HEC_TRY(hec_trainer_plan(t->ctx, t->model, &o, &plan));
	hec_training_memory *memory = mem_zeros(1, sizeof *memory);
	if (memory) {
		memory->parameters = plan->parameters;
		memory->activations = plan->activations;
		memory->packs = plan->packs;
		memory->sounds = sound_bytes(t);
	}
	hec_trainer_memory_free(plan);
	*out = memory;
	return memory ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a plan");
}

void hec_training_memory_free(hec_training_memory *memory)
{
	mem_free(memory);
}

/* ---- batches ---- */

/* Tokens of the longest example on its longer side. */
static int64_t longest_side(const hec_training *t)
{
	return max_i64(places_of(t), t->o.max_length);
}

static hec_status fits(const hec_training *t, double limit, bool *fit)
{
	hec_training_memory *m;
	HEC_TRY(hec_training_memory_of(t, &m));
	*fit = (double)(m->parameters + m->activations + m->packs + m->sounds) <= limit;
	hec_training_memory_free(m);
	return HEC_OK;
}

/* The tokens of a step, cut into as few batches as fit into memory. */
static hec_status fit_memory(hec_training *t, int64_t wanted)
{
	const double limit = t->o.memory > 0 ? (double)t->o.memory * 1e6
	                                     : (double)process_memory_available() / 2;
	const int64_t least = longest_side(t);
	wanted = min_i64(wanted, HEC_MAX_BATCH_TOKENS);
	for (int64_t batches = 1;; batches *= 2) {
		bool fit;
		t->o.batch_tokens = max_i64(least, div_up(wanted, batches));
		HEC_TRY(fits(t, limit, &fit));
		if (fit || t->o.batch_tokens == least) {
			if (t->o.accumulate == 0)
				t->o.accumulate = batches;
			return HEC_OK;
		}
	}
}

/* Steps of so many epochs. They differ by a batch or two: many are as long as the first ones. */
static hec_status count_steps(const hec_training *t, int64_t epochs, int64_t *steps)
{
	const hec_training_options *o = &t->o;
	const int64_t counted = min_i64(epochs, EPOCHS_COUNTED);
	int64_t batches;
	HEC_TRY(hec_corpus_batches(t->train, o->batch_tokens, o->batch_rows, o->seed, counted,
	                           &batches));
	*steps = div_up(batches / counted * epochs + batches % counted * epochs / counted,
	                o->accumulate);
	return HEC_OK;
}

/* Forward alone takes a third of the time of a step. */
double validation_steps(const hec_training *t)
{
	const hec_training_options *o = &t->o;
	if (!t->valid)
		return 0;
	const hec_corpus_counts *c = hec_corpus_counts_of(t->valid);
	return (double)max_i64(c->source_tokens, c->target_tokens) / 3 /
	       (double)(o->batch_tokens * o->accumulate);
}

/* Steps between validations: often enough to see where it goes, and seldom enough that they cost little. */
static int64_t space_validations(const hec_training *t, int64_t epoch)
{
	const hec_training_options *o = &t->o;
	const int64_t wanted = o->steps > 0 ? o->steps / VALIDATIONS : epoch;
	int64_t every = min_i64(1000, max_i64(LEAST_VALID_EVERY, wanted));
	return max_i64(every, (int64_t)(validation_steps(t) / VALIDATION_SHARE));
}

static hec_status find_steps(hec_training *t)
{
	hec_training_options *o = &t->o;
	int64_t usual, epoch;
	HEC_TRY(count_steps(t, 1, &epoch));
	if (o->epochs > 0)
		HEC_TRY(count_steps(t, o->epochs, &usual));
	else
		usual = o->from ? epoch * effort_epochs(o->effort)
		                : steps_by_text(t, o->batch_tokens * o->accumulate, epoch);
	settle_steps(o, usual);
	if (o->valid_every == 0)
		o->valid_every = space_validations(t, epoch);
	if (o->save_every == 0)
		o->save_every = o->valid_every;
	return HEC_OK;
}

hec_status settle_by_model(hec_training *t)
{
	hec_training_options *o = &t->o;
	if (o->batch_tokens < 0)
		HEC_TRY(fit_memory(t, o->from && o->batch_rows > 0 ? o->batch_rows * longest_side(t)
		                                                   : step_tokens_of(t)));
	if (o->accumulate == 0)
		o->accumulate = 1;
	return find_steps(t);
}
