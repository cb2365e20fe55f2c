/* test_gradient_model.c — the gradient of every parameter of whole models, by central differences:
 * both stacks, every kind of position, every head, tied and separate tables. */
#include "support/gradient.h"
#include "support/models.h"

#include <string.h>

static const hec_dropout_key key = {77, 5, 1};

typedef struct model_case {
	kit *k;
	hec_model *model;
	model_batch batch;
	hec_tensor y, cotangent; /* the logits, or the hidden states where there is no head */
	const hec_dropout_key *key;
} model_case;

static hec_status run(model_case *c, hec_model_kept **kept)
{
	hec_model_output out = {.size = sizeof out};
	if (hec_model_config_of(c->model)->head == HEC_HEAD_NONE)
		out.hidden = c->y;
	else
		out.logits = c->y;
	return hec_model_fwd(c->k->ctx, c->k->arena, c->model, &c->batch.input, c->key, &out, kept);
}

static double model_loss(void *arg, double *magnitude)
{
	model_case *c = arg;
	size_t mark = hec_arena_used(c->k->arena);
	poison(&c->y);
	OK(c->k, run(c, NULL));
	CHECK(c->k, hec_arena_used(c->k->arena) == mark, "only running left something behind");
	return weighted_sum(&c->y, &c->cotangent, magnitude);
}

static void model_check(kit *k, const hec_model_config *config, bool ragged,
                        const hec_dropout_key *dropout)
{
	model_case c = {.k = k, .key = dropout, .model = model_open(k, config, HEC_F64)};
	batch_open(&c.batch, k, c.model, 2, 3, 4, ragged);
	c.y = logits_open(k, c.model, &c.batch.input);
	c.cotangent = make_random(k, HEC_F64, SHAPE(hec_tensor_count(&c.y)));
	hec_model *grad = NULL;
	OK(k, hec_model_create_like(c.model, &grad));
	hec_tensor block = hec_model_block(grad);
	check_all_zero(k, "a new gradient", &block);
	fill_with(&block, GRADIENT_START);

	hec_model_kept *kept = NULL;
	OK(k, run(&c, &kept));
	hec_tensor dlogits = make_copy(k, &c.cotangent);
	OK(k, hec_tensor_reshape(&dlogits, c.y.rank, c.y.shape, &dlogits));
	OK(k,
	   hec_model_bwd(k->ctx, k->arena, c.model, &c.batch.input, dropout, kept, &dlogits, grad));
	for (size_t i = 0; i < hec_model_param_count(c.model); i++) {
		hec_tensor w = hec_model_tensor(c.model, i), dw = hec_model_tensor(grad, i);
		if (config->encoder.position.fixed &&
		    strcmp(hec_model_param_at(c.model, i)->name, "encoder.positions") == 0) {
			for (int64_t j = 0; j < hec_tensor_count(&dw); j++)
				CHECK(k, get(&dw, j) == GRADIENT_START, "a fixed table learns");
			CHECK(k, !hec_model_param_at(c.model, i)->decay, "a fixed table decays");
			continue;
		}
		check_gradient(k, hec_model_param_at(c.model, i)->name, model_loss, &c, &w, &dw,
		               GRADIENT_START);
	}
	hec_model_destroy(grad);
	hec_model_destroy(c.model);
	hec_arena_rewind(k->arena, 0);
	kit_check_guards(k);
}

static void check_form(model_form form, hec_head head)
{
	for (int n = 0; n < MODEL_VARIANTS; n++) {
		kit k = kit_open_at(6000 + (uint64_t)(n + 10 * form), "ref", 1);
		hec_model_config config = model_variant(form, n, head, 0);
		model_check(&k, &config, n % 2 == 0, NULL);
		kit_close(&k);
	}
}

static void encoder_only_models(void **state)
{
	(void)state;
	check_form(FORM_ENCODER, HEC_HEAD_MASKED);
}

static void decoder_only_models(void **state)
{
	(void)state;
	check_form(FORM_DECODER, HEC_HEAD_LM);
}

static void encoder_decoder_models(void **state)
{
	(void)state;
	check_form(FORM_BOTH, HEC_HEAD_LM);
}

static void models_of_frames(void **state)
{
	(void)state;
	for (int n = 0; n < MODEL_VARIANTS; n++) {
		kit k = kit_open_at(6300 + (uint64_t)n, "ref", 1);
		hec_model_config config = frames_variant(n, HEC_HEAD_LM, n % 2 ? 0.2 : 0);
		model_check(&k, &config, false, n % 2 ? &key : NULL);
		kit_close(&k);
	}
}

static void every_head(void **state)
{
	(void)state;
	for (int head = HEC_HEAD_NONE; head <= HEC_HEAD_ANSWER; head++) {
		for (int form = 0; form < MODEL_FORMS; form++) {
			kit k = kit_open_at(6100 + (uint64_t)head, "ref", 1);
			hec_model_config config = model_variant(form, head, (hec_head)head, 0.2);
			model_check(&k, &config, false, form == FORM_ENCODER ? &key : NULL);
			kit_close(&k);
		}
	}
}

static void models_with_every_dropout(void **state)
{
	(void)state;
	for (int n = 0; n < 4; n++) {
		kit k = kit_open_at(6200 + (uint64_t)n, "ref", 1);
		hec_model_config config =
			model_variant((model_form)(n % MODEL_FORMS), n, HEC_HEAD_LM, 0.2);
		model_check(&k, &config, true, &key);
		kit_close(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encoder_only_models),       cmocka_unit_test(decoder_only_models),
		cmocka_unit_test(encoder_decoder_models),    cmocka_unit_test(every_head),
		cmocka_unit_test(models_with_every_dropout), cmocka_unit_test(models_of_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
