/* trainer.c — a step: gradients of its batches summed, cut to length, applied by AdamW.
 *
 * The gradient of the mean is the sum over all batches divided by all their targets: the division
 * is left to the update, so that batches need not know of each other. */
#include "train/trainer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <hecate/adamw.h>
#include <hecate/ops.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "tensor/check.h"
#include "train/schedule.h"

#define LONGEST_GRADIENT 1e19 /* its square is less than FLT_MAX */

/* ---- one pass ---- */

hec_status trainer_pass(hec_ctx *ctx, hec_arena *arena, const hec_model *model,
                        const hec_batch *given, const hec_dropout_key *key, double smoothing,
                        hec_model *grad, double *sum, int64_t *targets)
{
	hec_batch batch = HEC_BATCH_INIT;
	HEC_TRY(options_take("hec_batch", &batch, sizeof batch, given));
	HEC_TRY(CHECK_GIVEN("trainer", batch.input));
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	loss.targets = batch.targets;
	/* Label smoothing does not apply to answer spans. */
	loss.smoothing = hec_model_config_of(model)->head == HEC_HEAD_ANSWER ? 0 : smoothing;
	loss.plain = true; /* so that learning and validation tell the same measure */
	double part = 0;
	int64_t count = 0;
	HEC_TRY(hec_model_learn(ctx, arena, model, batch.input, &loss, key, grad, &part, &count));
	*sum += part;
	*targets += count;
	return HEC_OK;
}

/* ---- making ---- */

static hec_status check_number(const char *name, double value, double low, double high)
{
	if (value >= low && value < high)
		return HEC_OK;
	return fail(HEC_ERR_ARGUMENT, "trainer: %s is %g; it must be at least %g and less than %g",
	            name, value, low, high);
}

hec_status trainer_take_options(const hec_trainer_options *given, hec_trainer_options *o)
{
	*o = (hec_trainer_options)HEC_TRAINER_OPTIONS_INIT;
	HEC_TRY(options_take("hec_trainer_options", o, sizeof *o, given));
	HEC_TRY(check_number("lr", o->lr, 0, 1e6));
	HEC_TRY(check_number("lr_end", o->lr_end, 0, 1e6));
	HEC_TRY(check_number("beta1", o->beta1, 0, 1));
	HEC_TRY(check_number("beta2", o->beta2, 0, 1));
	HEC_TRY(check_number("eps", o->eps, FLT_MIN, 1)); /* a kernel divides by it */
	HEC_TRY(check_number("weight_decay", o->weight_decay, 0, 1e6));
	HEC_TRY(check_number("clip", o->clip, 0, 1e30));
	HEC_TRY(check_number("smoothing", o->smoothing, 0, 1));
	HEC_TRY(check_number("warmup", (double)o->warmup, 0, 1e15));
	HEC_TRY(check_number("max_rows", (double)o->max_rows, 0, 1e9));
	HEC_TRY(check_number("max_tokens", (double)o->max_tokens, 1, HEC_MAX_BATCH_TOKENS + 1.0));
	HEC_TRY(check_number("max_source", (double)o->max_source, 1, 1e7));
	HEC_TRY(check_number("max_target", (double)o->max_target, 1, 1e7));
	if ((int)o->schedule < 0 || o->schedule > HEC_SCHEDULE_CONSTANT)
		return fail(HEC_ERR_ARGUMENT, "trainer: there is no schedule %d", (int)o->schedule);
	return HEC_OK;
}

static hec_status make_ranges(hec_trainer *t)
{
	size_t n = hec_model_param_count(t->model);
	hec_tensor block = hec_model_block(t->model);
	t->ranges = mem_zeros(n > 0 ? n : 1, sizeof *t->ranges);
	if (!t->ranges)
		return fail(HEC_ERR_MEMORY, "trainer: no memory for %zu parameters", n);
	for (size_t i = 0; i < n; i++) {
		const hec_model_param *p = hec_model_param_at(t->model, i);
		const hec_model_param *next = hec_model_param_at(t->model, i + 1);
		/* Gaps are zero in all four blocks, and stay so. */
		int64_t end = next ? next->offset : block.shape[0];
		bool decay = p->decay && t->options.weight_decay > 0;
		decay_range *last = t->range_count ? &t->ranges[t->range_count - 1] : NULL;
		if (last && last->decay == decay && last->end == p->offset)
			last->end = end;
		else
			t->ranges[t->range_count++] = (decay_range){p->offset, end, decay};
	}
	return HEC_OK;
}

static hec_status make_trainer(hec_trainer *t)
{
	hec_trainer_memory memory;
	HEC_TRY(hec_model_unpack(t->ctx, t->model));
	HEC_TRY(trainer_measure(t->ctx, t->model, &t->options, &memory));
	HEC_TRY(hec_arena_create(memory.activations, &t->arena));
	HEC_TRY(hec_model_create_like(t->model, &t->grad));
	HEC_TRY(hec_model_create_like(t->model, &t->first));
	HEC_TRY(hec_model_create_like(t->model, &t->second));
	HEC_TRY(make_ranges(t));
	return hec_model_pack(t->ctx, t->model, true);
}

hec_status hec_trainer_create(hec_ctx *ctx, hec_model *model, const hec_trainer_options *options,
                              hec_trainer **out)
{
	HEC_TRY(CHECK_GIVEN("trainer", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("trainer", ctx));
	HEC_TRY(CHECK_GIVEN("trainer", model));
	hec_trainer_options o;
	HEC_TRY(trainer_take_options(options, &o));
	hec_dtype dtype = hec_model_block(model).dtype;
	if (dtype != HEC_F32)
		return fail(HEC_ERR_UNSUPPORTED, "trainer: the model is %s; f32 is learned",
		            hec_dtype_name(dtype));
	hec_trainer *t = mem_zeros(1, sizeof *t);
	if (!t)
		return fail(HEC_ERR_MEMORY, "trainer: no memory");
	t->ctx = ctx;
	t->model = model;
	t->options = o;
	hec_status status = make_trainer(t);
	if (status != HEC_OK) {
		hec_trainer_destroy(t);
		return status;
	}
	*out = t;
	return HEC_OK;
}

void hec_trainer_destroy(hec_trainer *t)
{
	if (!t)
		return;
	hec_model_destroy(t->grad);
	hec_model_destroy(t->first);
	hec_model_destroy(t->second);
	hec_arena_destroy(t->arena);
	mem_free(t->ranges);
	mem_free(t);
}

const hec_step_report *hec_trainer_report(const hec_trainer *t)
{
	return &t->report;
}

int64_t hec_trainer_steps(const hec_trainer *t)
{
	return t->step;
}

hec_model *hec_trainer_model(const hec_trainer *t)
{
	return t->model;
}

/* ---- a step ---- */

static hec_status begin_step(hec_trainer *t)
{
	hec_tensor block = hec_model_block(t->grad);
	t->targets = 0;
	t->loss = 0;
	t->broken = false;
	return hec_tensor_fill(t->ctx, 0, &block);
}

hec_status hec_trainer_add(hec_trainer *t, const hec_batch *batch)
{
	HEC_TRY(CHECK_GIVEN("trainer", t));
	HEC_TRY(CHECK_GIVEN("trainer", batch));
	if (t->batches == 0)
		HEC_TRY(begin_step(t));
	if (t->batches > UINT16_MAX)
		return fail(HEC_ERR_ARGUMENT, "trainer: more than %d batches in a step",
		            UINT16_MAX + 1);
	hec_dropout_key key = {.seed = t->options.seed,
	                       .step = (uint32_t)(t->step + 1),
	                       .micro_batch = (uint16_t)t->batches};
	HEC_TRY(trainer_pass(t->ctx, t->arena, t->model, batch, &key, t->options.smoothing, t->grad,
	                     &t->loss, &t->targets));
	t->broken = t->broken || !isfinite(t->loss);
	t->batches++;
	return HEC_OK;
}

void hec_trainer_drop(hec_trainer *t)
{
	t->batches = 0; /* the next begins by clearing the gradient */
}

static hec_tensor range_of(const hec_model *m, const decay_range *r)
{
	hec_tensor block = hec_model_block(m);
	return hec_tensor_1d((float *)block.data + r->begin, HEC_F32, r->end - r->begin);
}

static hec_status update(hec_trainer *t, double lr, double scale)
{
	const hec_trainer_options *o = &t->options;
	hec_adamw adamw = HEC_ADAMW_INIT;
	adamw.lr = lr;
	adamw.beta1 = o->beta1;
	adamw.beta2 = o->beta2;
	adamw.eps = o->eps;
	adamw.grad_scale = scale;
	for (size_t i = 0; i < t->range_count; i++) {
		const decay_range *r = &t->ranges[i];
		hec_tensor w = range_of(t->model, r), dw = range_of(t->grad, r);
		hec_tensor m = range_of(t->first, r), v = range_of(t->second, r);
		adamw.weight_decay = r->decay ? o->weight_decay : 0;
		HEC_TRY(hec_adamw_step(t->ctx, &adamw, t->step - t->skips + 1, &dw, &m, &v, &w));
	}
	return hec_model_pack(t->ctx, t->model, true);
}

hec_status hec_trainer_apply(hec_trainer *t)
{
	HEC_TRY(CHECK_GIVEN("trainer", t));
	if (t->batches == 0)
		return fail(HEC_ERR_ARGUMENT, "trainer: a step without a batch");
	const hec_trainer_options *o = &t->options;
	int width = (int)hec_model_config_of(t->model)->width;
	double square = 0, count = (double)(t->targets > 0 ? t->targets : 1);
	hec_tensor block = hec_model_block(t->grad);
	if (!t->broken)
		HEC_TRY(hec_sum_squares(t->ctx, &block, &square));
	double norm = t->broken ? NAN : sqrt(square) / count, scale = 1 / count;
	double lr = schedule_rate(o, width, t->step + 1);
	bool cut = o->clip > 0 && norm > o->clip;
	if (cut)
		scale *= o->clip / norm;
	/* AdamW keeps squares in f32: one that does not fit would stay for ever. And it scales in f32:
	 * by less than FLT_MIN nothing sure would be left of a gradient. */
	bool skip = !isfinite(norm) || t->targets == 0 || scale < FLT_MIN ||
	            (cut ? o->clip : norm) > LONGEST_GRADIENT;
	t->batches = 0; /* whatever comes now, the step is over */
	if (!skip)
		HEC_TRY(update(t, lr, scale));
	t->step++;
	t->skips += skip;
	t->report = (hec_step_report){.step = t->step,
	                              .loss = t->loss / count,
	                              .targets = t->targets,
	                              .lr = lr,
	                              .grad_norm = norm,
	                              .skipped = skip,
	                              .skips = t->skips};
	return HEC_OK;
}

hec_status hec_trainer_step(hec_trainer *t, const hec_batch *const *batches, size_t n)
{
	HEC_TRY(CHECK_GIVEN("trainer", t));
	HEC_TRY(CHECK_GIVEN("trainer", batches));
	hec_status status = HEC_OK;
	for (size_t i = 0; i < n && status == HEC_OK; i++)
		status = hec_trainer_add(t, batches[i]);
	if (status != HEC_OK)
		hec_trainer_drop(t);
	return status == HEC_OK ? hec_trainer_apply(t) : status;
}

hec_status hec_trainer_loss(hec_trainer *t, const hec_batch *batch, double *sum, int64_t *targets)
{
	HEC_TRY(CHECK_GIVEN("trainer", t));
	HEC_TRY(CHECK_GIVEN("trainer", batch));
	HEC_TRY(CHECK_GIVEN("trainer", sum));
	HEC_TRY(CHECK_GIVEN("trainer", targets));
	return trainer_pass(t->ctx, t->arena, t->model, batch, NULL, 0, NULL, sum, targets);
}
