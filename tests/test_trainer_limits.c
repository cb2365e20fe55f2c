/* test_trainer_limits.c — a step never applies what is not finite, and cuts what is too long. */
#include "support/models.h"

#include "train/trainer.h"
#include "trainer_toy.h"

static void a_step_that_is_not_finite_changes_nothing(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	world w = world_open(7020, 0, &o);
	kit *k = &w.k;
	toy t;
	const hec_step_report *r = NULL;
	make_toy(k, ROWS, &t);
	OK(k, step_once(w.trainer, &t.batch));
	/* A weight that overflows makes the loss, or the gradient alone, not finite. */
	hec_tensor block = hec_model_block(w.model);
	for (int which = 0; which < 2; which++) {
		float *weight = (float *)block.data + (which ? 40 : block.shape[0] - 16),
		      old = *weight;
		*weight = which ? 1e38f : NAN;
		OK(k, hec_model_pack(k->ctx, w.model, true));
		hec_tensor before = make_copy(k, &block);
		for (int i = 0; i < 2; i++) {
			OK(k, step_once(w.trainer, &t.batch));
			r = hec_trainer_report(w.trainer);
			if (which == 0)
				CHECK(k, r->skipped, "a loss of %g was applied", r->loss);
			if (r->skipped)
				check_same_bits(k, "weights after a skipped step", &before, &block);
		}
		if (which == 0)
			assert_int_equal(r->skips, 2);
		*weight = old;
		OK(k, hec_model_pack(k->ctx, w.model, true));
		if (which == 0) {
			OK(k, step_once(w.trainer, &t.batch));
			r = hec_trainer_report(w.trainer);
			CHECK(k, !r->skipped && isfinite(r->loss) && r->step == 4,
			      "it does not go on: step %lld, loss %g", (long long)r->step, r->loss);
		}
	}
	check_all_finite(k, "weights", &block);
	world_close(&w);
}

/* A word that cannot be: the loss of its targets is infinite, and every gradient is finite. */
static void a_loss_that_is_not_finite_is_not_applied_be_the_gradient_as_it_may(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	world w = world_open(7025, 0, &o);
	kit *k = &w.k;
	toy t;
	make_toy(k, ROWS, &t);
	size_t i = 0;
	while (strcmp(hec_model_param_at(w.model, i)->name, "head.output.b") != 0)
		i++;
	const hec_tensor bias = hec_model_tensor(w.model, i);
	put(&bias, t.target[0], -INFINITY);
	OK(k, hec_model_pack(k->ctx, w.model, true));
	hec_tensor block = hec_model_block(w.model), before = make_copy(k, &block);
	OK(k, hec_trainer_add(w.trainer, &t.batch));
	const hec_tensor gradient = hec_model_block(w.trainer->grad);
	check_all_finite(k, "the gradient", &gradient);
	OK(k, hec_trainer_apply(w.trainer));
	const hec_step_report *r = hec_trainer_report(w.trainer);
	CHECK(k, r->skipped && r->skips == 1 && !isfinite(r->loss), "a loss of %g was applied",
	      r->loss);
	check_same_bits(k, "weights after a skipped step", &before, &block);
	world_close(&w);
}

static void gradients_are_cut_to_their_length(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	o.clip = 1e-6;
	o.lr = 1;
	o.eps = 0.9; /* so large that the step is in proportion to the gradient */
	o.beta1 = 0;
	o.warmup = 0;
	o.schedule = HEC_SCHEDULE_CONSTANT;
	world w = world_open(7030, 0, &o);
	hec_tensor block = hec_model_block(w.model), before = make_copy(&w.k, &block);
	toy t;
	make_toy(&w.k, ROWS, &t);
	OK(&w.k, step_once(w.trainer, &t.batch));
	const hec_step_report *r = hec_trainer_report(w.trainer);
	double square = 0;
	for (int64_t i = 0; i < block.shape[0]; i++) {
		double d = get(&block, i) - get(&before, i);
		square += d * d;
	}
	CHECK(&w.k, r->grad_norm > 0.01 && sqrt(square) < 2e-6, "norm %g moved the weights by %g",
	      r->grad_norm, sqrt(square));
	world_close(&w);
}

/* AdamW keeps the square of a gradient in f32: where that is not finite it would stay so. */
static void a_gradient_whose_square_does_not_fit_is_not_applied(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	o.clip = 0;
	world w = world_open(7031, 0, &o);
	hec_tensor block = hec_model_block(w.model), before = make_copy(&w.k, &block);
	hec_tensor second = hec_model_block(w.trainer->second);
	toy t;
	make_toy(&w.k, ROWS, &t);
	OK(&w.k, hec_trainer_add(w.trainer, &t.batch));
	((float *)hec_model_block(w.trainer->grad).data)[3] = 1e30f;
	OK(&w.k, hec_trainer_apply(w.trainer));
	const hec_step_report *r = hec_trainer_report(w.trainer);
	CHECK(&w.k, r->skipped && r->skips == 1, "a gradient of %g was applied", r->grad_norm);
	check_same_bits(&w.k, "weights after a skipped step", &before, &block);
	OK(&w.k, step_once(w.trainer, &t.batch));
	r = hec_trainer_report(w.trainer);
	CHECK(&w.k, !r->skipped, "it does not go on: a norm of %g", r->grad_norm);
	check_all_finite(&w.k, "squares", &second);
	world_close(&w);
}

/* The norm is a double: gradients whose squares no float holds are cut like any others. */
static void a_norm_beyond_floats_is_cut_to_its_length(void **state)
{
	(void)state;
	hec_trainer_options o = toy_options();
	o.clip = 1;
	o.lr = 1;
	o.eps = 0.9; /* so large that the step is in proportion to the gradient */
	o.beta1 = 0;
	o.warmup = 0;
	o.schedule = HEC_SCHEDULE_CONSTANT;
	/* Of the last, too little would be left: floats below FLT_MIN lose their digits. */
	static const double sizes[] = {1e25, 3e34, 3e38};
	for (int i = 0; i < 3; i++) {
		world w = world_open(7032, 0, &o);
		hec_tensor block = hec_model_block(w.model),
			   grad = hec_model_block(w.trainer->grad),
			   before = make_copy(&w.k, &block);
		toy t;
		make_toy(&w.k, ROWS, &t);
		OK(&w.k, hec_trainer_add(w.trainer, &t.batch));
		for (int64_t j = 0; j < 16; j++)
			put(&grad, j, j % 2 ? sizes[i] : -sizes[i]);
		OK(&w.k, hec_trainer_apply(w.trainer));
		const hec_step_report *r = hec_trainer_report(w.trainer);
		CHECK(&w.k, isfinite(r->grad_norm) && r->skipped == (i == 2),
		      "gradients of %g: a norm of %g, skipped %d", sizes[i], r->grad_norm,
		      (int)r->skipped);
		/* g = ±1/4, m/(√v/√c + eps) with v/c = g² */
		for (int64_t j = 0; j < 16; j++) {
			const double step = get(&block, j) - get(&before, j),
				     want = i == 2 ? 0 : (j % 2 ? -1 : 1) * 0.25 / (0.25 + 0.9);
			CHECK(&w.k, fabs(step - want) <= 1e-3, "a step of %g, not %g", step, want);
		}
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_that_is_not_finite_changes_nothing),
		cmocka_unit_test(
			a_loss_that_is_not_finite_is_not_applied_be_the_gradient_as_it_may),
		cmocka_unit_test(gradients_are_cut_to_their_length),
		cmocka_unit_test(a_gradient_whose_square_does_not_fit_is_not_applied),
		cmocka_unit_test(a_norm_beyond_floats_is_cut_to_its_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
