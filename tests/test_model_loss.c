/* test_model_loss.c — hec_model_learn against its parts: hec_model_fwd, the cross-entropy of all
 * logits at once, hec_model_bwd. */
#include "support/models.h"

#include <math.h>
#include <string.h>

static const hec_dropout_key key = {5, 6, 7};

/* Targets of a head, every third one ignored. */
static hec_tensor draw_targets(kit *k, const hec_tensor *logits, hec_head head, int32_t ignore)
{
	const int64_t B = logits->shape[0], T = logits->shape[1];
	hec_tensor t = head == HEC_HEAD_CLASSIFY ? make(k, HEC_I32, SHAPE(B))
	               : head == HEC_HEAD_ANSWER ? make(k, HEC_I32, SHAPE(B, 2))
	                                         : make(k, HEC_I32, SHAPE(B, T));
	const int64_t classes = head == HEC_HEAD_ANSWER ? T : logits->shape[logits->rank - 1];
	for (int64_t i = 0; i < hec_tensor_count(&t); i++)
		put(&t, i, i % 3 == 2 ? ignore : (double)draw_in(k, 0, classes - 1));
	return t;
}

typedef struct learned {
	double sum;
	int64_t count;
	hec_model *grad;
} learned;

/* The same by parts, with all logits at once. Not for ANSWER. */
static learned by_parts(kit *k, const hec_model *m, const hec_model_input *input,
                        const hec_model_loss *loss)
{
	learned r = {0};
	OK(k, hec_model_create_like(m, &r.grad));
	size_t mark = hec_arena_used(k->arena);
	hec_model_output out = {.size = sizeof out, .logits = logits_open(k, m, input)};
	hec_model_kept *kept = NULL;
	OK(k, hec_model_fwd(k->ctx, k->arena, m, input, &key, &out, &kept));
	const hec_tensor *y = &out.logits;
	const int64_t W = y->shape[y->rank - 1], N = hec_tensor_count(y) / W;
	hec_tensor rows, targets, losses = make(k, y->dtype, SHAPE(N)),
				  lse = make(k, y->dtype, SHAPE(N));
	OK(k, hec_tensor_reshape(y, 2, (int64_t[]){N, W}, &rows));
	OK(k, hec_tensor_reshape(&loss->targets, 1, &N, &targets));
	const hec_cross_entropy o = {
		.size = sizeof o, .smoothing = loss->smoothing, .ignore = loss->ignore};
	OK(k, hec_cross_entropy_fwd(k->ctx, &o, &rows, &targets, &losses, &lse));
	OK(k, hec_cross_entropy_sum(k->ctx, &o, &losses, &targets, &r.sum, &r.count));
	OK(k, hec_cross_entropy_bwd(k->ctx, &o, &rows, &targets, &lse, loss->scale, &rows));
	OK(k, hec_model_bwd(k->ctx, k->arena, m, input, &key, kept, &out.logits, r.grad));
	hec_arena_rewind(k->arena, mark);
	return r;
}

static learned at_once(kit *k, const hec_model *m, const hec_model_input *input,
                       const hec_model_loss *loss)
{
	learned r = {0};
	double sum = 0;
	int64_t count = 0;
	OK(k, hec_model_create_like(m, &r.grad));
	size_t mark = hec_arena_used(k->arena);
	OK(k, hec_model_learn(k->ctx, k->arena, m, input, loss, &key, r.grad, &r.sum, &r.count));
	OK(k, hec_model_learn(k->ctx, k->arena, m, input, loss, &key, NULL, &sum, &count));
	CHECK(k, hec_arena_used(k->arena) == mark, "the arena is not as it was");
	CHECK(k, sum == r.sum && count == r.count,
	      "%.17g of %lld without a gradient, %.17g of %lld with", sum, (long long)count, r.sum,
	      (long long)r.count);
	return r;
}

static void compare(kit *k, const hec_model *m, const hec_model_input *input,
                    const hec_model_loss *loss, double relative)
{
	learned want = by_parts(k, m, input, loss), got = at_once(k, m, input, loss);
	CHECK(k, want.count == got.count && fabs(want.sum - got.sum) <= relative * fabs(want.sum),
	      "%.17g of %lld, by parts %.17g of %lld", got.sum, (long long)got.count, want.sum,
	      (long long)want.count);
	for (size_t i = 0; i < hec_model_param_count(m); i++) {
		hec_tensor a = hec_model_tensor(want.grad, i), b = hec_model_tensor(got.grad, i);
		check_close(k, hec_model_param_at(m, i)->name, &b, &a, relative);
	}
	hec_model_destroy(want.grad);
	hec_model_destroy(got.grad);
}

static void learning_at_once_is_forward_loss_and_backward(void **state)
{
	(void)state;
	for (int head = HEC_HEAD_LM; head <= HEC_HEAD_TOKENS; head++) {
		for (int form = 0; form < MODEL_FORMS; form++) {
			kit k = kit_open(6400 + (uint64_t)head);
			hec_model_config config =
				model_variant((model_form)form, form + 3, (hec_head)head, 0.2);
			hec_model *m = model_open(&k, &config, HEC_F64);
			model_batch batch;
			batch_open(&batch, &k, m, 4, 6, 5, true);
			hec_tensor logits = logits_open(&k, m, &batch.input);
			hec_model_loss loss = HEC_MODEL_LOSS_INIT;
			loss.targets = draw_targets(&k, &logits, (hec_head)head, -100);
			loss.smoothing = 0.1;
			loss.scale = 0.125;
			compare(&k, m, &batch.input, &loss, 1e-11);
			for (int64_t i = 0; i < hec_tensor_count(&loss.targets); i++)
				put(&loss.targets, i, 1); /* nothing is ignored */
			compare(&k, m, &batch.input, &loss, 1e-11);
			hec_model_destroy(m);
			kit_close(&k);
		}
	}
}

/* The gradient is that with smoothing, the sum that without. */
static void a_plain_loss_is_told_beside_a_smoothed_gradient(void **state)
{
	(void)state;
	kit k = kit_open(6405);
	hec_model_config config = model_variant(FORM_DECODER, 3, HEC_HEAD_LM, 0.2);
	hec_model *m = model_open(&k, &config, HEC_F64);
	model_batch batch;
	batch_open(&batch, &k, m, 4, 6, 5, true);
	hec_tensor logits = logits_open(&k, m, &batch.input);
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	loss.targets = draw_targets(&k, &logits, HEC_HEAD_LM, -100);
	const learned without = at_once(&k, m, &batch.input, &loss);
	loss.smoothing = 0.1;
	const learned smoothed = at_once(&k, m, &batch.input, &loss);
	loss.plain = true;
	const learned plain = at_once(&k, m, &batch.input, &loss);
	CHECK(&k, plain.sum == without.sum && plain.sum != smoothed.sum, "%.17g, not %.17g",
	      plain.sum, without.sum);
	const hec_tensor a = hec_model_block(plain.grad), b = hec_model_block(smoothed.grad);
	CHECK(&k, memcmp(a.data, b.data, (size_t)hec_tensor_count(&a) * sizeof(double)) == 0,
	      "another gradient");
	hec_model_destroy(without.grad);
	hec_model_destroy(smoothed.grad);
	hec_model_destroy(plain.grad);
	hec_model_destroy(m);
	kit_close(&k);
}

static void a_large_vocabulary_goes_in_pieces(void **state)
{
	(void)state;
	kit k = kit_open_at(6410, NULL, 1);
	hec_model_config config = model_variant(FORM_DECODER, 0, HEC_HEAD_LM, 0);
	config.vocab = 40000; /* 2²³ logits are 209 rows of it */
	config.decoder.position.max = 60;
	hec_model *m = model_open(&k, &config, HEC_F32);
	model_batch batch;
	batch_open(&batch, &k, m, 5, 1, 60, false);
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	hec_tensor logits = logits_open(&k, m, &batch.input);
	loss.targets = draw_targets(&k, &logits, HEC_HEAD_TOKENS, -100);
	for (int64_t i = 0; i < 300; i++)
		put(&loss.targets, i, (double)draw_in(&k, 0, 39999));
	loss.scale = 1;
	compare(&k, m, &batch.input, &loss, 1e-5);
	hec_model_destroy(m);
	kit_close(&k);
}

/* By its definition: two softmaxes over the positions of each sequence. */
static void an_answer_is_a_begin_and_an_end(void **state)
{
	(void)state;
	kit k = kit_open(6420);
	hec_model_config config = model_variant(FORM_ENCODER, 1, HEC_HEAD_ANSWER, 0);
	hec_model *m = model_open(&k, &config, HEC_F64);
	model_batch batch;
	batch_open(&batch, &k, m, 3, 6, 1, true);
	hec_model_output out = {.size = sizeof out, .logits = logits_open(&k, m, &batch.input)};
	OK(&k, hec_model_fwd(k.ctx, k.arena, m, &batch.input, NULL, &out, NULL));
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	loss.targets = make(&k, HEC_I32, SHAPE(3, 2));
	double want = 0;
	for (int64_t i = 0; i < 6; i++) {
		const int64_t b = i / 2, n = batch.length[b], target = draw_in(&k, 0, n - 1);
		put(&loss.targets, i, (double)target);
		double total = 0;
		for (int64_t t = 0; t < n; t++)
			total += exp(get(&out.logits, (b * 6 + t) * 2 + i % 2));
		want += log(total) - get(&out.logits, (b * 6 + target) * 2 + i % 2);
	}
	double sum = 0;
	int64_t count = 0;
	hec_model *grad = NULL;
	OK(&k, hec_model_create_like(m, &grad));
	OK(&k, hec_model_learn(k.ctx, k.arena, m, &batch.input, &loss, NULL, grad, &sum, &count));
	CHECK(&k, count == 6 && fabs(sum - want) < 1e-12 * want, "%.17g of %lld, expected %.17g",
	      sum, (long long)count, want);
	/* Behind the end of its sequence there is no answer. */
	int64_t b = 0;
	while (b < 3 && batch.length[b] == 6)
		b++;
	CHECK(&k, b < 3, "all sequences are whole");
	const double begin = get(&loss.targets, 2 * b);
	put(&loss.targets, 2 * b, batch.length[b]);
	FAILS(&k, HEC_ERR_ARGUMENT,
	      hec_model_learn(k.ctx, k.arena, m, &batch.input, &loss, NULL, NULL, &sum, &count),
	      "is not one of");
	put(&loss.targets, 2 * b, begin);
	/* The gradient of one parameter by differences: the others follow the same path. */
	for (size_t i = 0; i < hec_model_param_count(m); i += 3) {
		hec_tensor w = hec_model_tensor(m, i), dw = hec_model_tensor(grad, i);
		double old = get(&w, 0), up, down, h = 1e-5;
		put(&w, 0, old + h);
		OK(&k, hec_model_learn(k.ctx, k.arena, m, &batch.input, &loss, NULL, NULL, &up,
		                       &count));
		put(&w, 0, old - h);
		OK(&k, hec_model_learn(k.ctx, k.arena, m, &batch.input, &loss, NULL, NULL, &down,
		                       &count));
		put(&w, 0, old);
		CHECK(&k,
		      fabs((up - down) / (2 * h) - get(&dw, 0)) < 1e-6 * (1 + fabs(get(&dw, 0))),
		      "%s: gradient %g, difference quotient %g", hec_model_param_at(m, i)->name,
		      get(&dw, 0), (up - down) / (2 * h));
	}
	hec_model_destroy(grad);
	hec_model_destroy(m);
	kit_close(&k);
}

static void wrong_targets_are_named(void **state)
{
	(void)state;
	kit k = kit_open(6430);
	hec_model_config config = model_variant(FORM_DECODER, 0, HEC_HEAD_LM, 0);
	hec_model *m = model_open(&k, &config, HEC_F32);
	model_batch batch;
	batch_open(&batch, &k, m, 2, 1, 4, false);
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	double sum;
	int64_t count;
	loss.targets = make_zero(&k, HEC_I32, SHAPE(2, 4));
#define LEARN() hec_model_learn(k.ctx, k.arena, m, &batch.input, &loss, NULL, NULL, &sum, &count)
	put(&loss.targets, 6, 7);
	FAILS(&k, HEC_ERR_ARGUMENT, LEARN(), "target 7 at position 6", "7");
	loss.targets = make_zero(&k, HEC_I32, SHAPE(2, 3));
	FAILS(&k, HEC_ERR_SHAPE, LEARN(), "model: targets", "[2, 3]");
	loss.targets = make_zero(&k, HEC_I32, SHAPE(2, 4));
	loss.smoothing = 1;
	FAILS(&k, HEC_ERR_ARGUMENT, LEARN(), "smoothing");
	loss.smoothing = 0;
	fill_with(&loss.targets, -100);
	OK(&k, LEARN());
	assert_true(sum == 0 && count == 0);
#undef LEARN
	hec_model_destroy(m);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learning_at_once_is_forward_loss_and_backward),
		cmocka_unit_test(a_plain_loss_is_told_beside_a_smoothed_gradient),
		cmocka_unit_test(a_large_vocabulary_goes_in_pieces),
		cmocka_unit_test(an_answer_is_a_begin_and_an_end),
		cmocka_unit_test(wrong_targets_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
