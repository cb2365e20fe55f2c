/* test_trainer_steps.c — steps of learning against their definition, in double: which batch counts how much,
 * what is cut, what decays, and what a step that was skipped leaves as it was.
 *
 * Only the gradient of a batch is the library's own; test_gradient_model.c holds that to differences. */
#include "support/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/trainer.h>

enum { BATCHES = 2, STEPS = 9, SKIPPED = 4, SOURCE = 3, TARGET = 4, MOST_ROWS = 5 };

typedef struct lesson {
	model_batch data[BATCHES];
	hec_batch batches[BATCHES];
} lesson;

/* Batches of different sizes: a mean of their means is another number. */
static void draw_lesson(kit *k, const hec_model *m, lesson *l)
{
	const hec_model_config *c = hec_model_config_of(m);
	for (int i = 0; i < BATCHES; i++) {
		model_batch *data = &l->data[i];
		batch_open(data, k, m, i == 0 ? MOST_ROWS : 2, SOURCE, TARGET, true);
		const bool decoder = c->decoder.layers > 0;
		const hec_tensor *ids = decoder ? &data->input.decoder_ids : &data->input.ids;
		const int32_t *length = decoder ? data->decoder_length : data->length;
		hec_tensor targets = make(k, HEC_I32, SHAPE(ids->shape[0], ids->shape[1]));
		for (int64_t j = 0; j < hec_tensor_count(&targets); j++) {
			const bool asked = j % ids->shape[1] < length[j / ids->shape[1]];
			put(&targets, j, asked ? (double)draw_in(k, 0, c->vocab - 1) : -100);
		}
		l->batches[i] = (hec_batch){
			.size = sizeof l->batches[i], .input = &data->input, .targets = targets};
	}
}

static hec_trainer_options options(void)
{
	hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
	o.schedule = HEC_SCHEDULE_COSINE;
	o.lr = 0.02;
	o.lr_end = 0.004;
	o.warmup = 3;
	o.steps = STEPS;
	o.beta1 = 0.8;
	o.beta2 = 0.95;
	o.weight_decay = 0.1;
	o.smoothing = 0.2;
	o.seed = 0x700000005;
	o.max_tokens = MOST_ROWS * 2 * TARGET;
	o.max_source = o.max_target = TARGET;
	return o;
}

static double rate(const hec_trainer_options *o, int step)
{
	if (step < o->warmup)
		return o->lr * step / (double)o->warmup;
	const double way = (double)(step - o->warmup) / (double)(o->steps + 1 - o->warmup);
	return o->lr_end + (o->lr - o->lr_end) * (1 + cos(acos(-1) * way)) / 2;
}

/* The sum of the gradients of all batches, each with the dropout of its own number. */
typedef struct gradient {
	hec_model *sum;
	double loss, norm; /* of the mean over all targets */
	int64_t targets;
} gradient;

static void sum_gradients(kit *k, const hec_model *m, const hec_trainer_options *o, const lesson *l,
                          int step, gradient *g)
{
	hec_tensor block = hec_model_block(g->sum);
	double square = 0;
	fill_with(&block, 0);
	g->loss = 0;
	g->targets = 0;
	for (int i = 0; i < BATCHES; i++) {
		const hec_dropout_key key = {o->seed, (uint32_t)step, (uint16_t)i};
		hec_model_loss loss = HEC_MODEL_LOSS_INIT;
		double sum;
		int64_t count;
		loss.targets = l->batches[i].targets;
		loss.smoothing = o->smoothing;
		loss.plain = true;
		OK(k, hec_model_learn(k->ctx, k->arena, m, l->batches[i].input, &loss, &key, g->sum,
		                      &sum, &count));
		g->loss += sum;
		g->targets += count;
	}
	for (int64_t i = 0; i < block.shape[0]; i++)
		square += get(&block, i) * get(&block, i);
	g->loss /= (double)g->targets;
	g->norm = sqrt(square) / (double)g->targets;
}

/* By its name: matrices of linears and tables, no biases and norms, nothing that is never learned. */
static bool decays(const hec_model *m, size_t i)
{
	const char *name = hec_model_param_at(m, i)->name, *leaf = strrchr(name, '.');
	if (strcmp(name, "encoder.positions") == 0)
		return !hec_model_config_of(m)->encoder.position.fixed;
	return !leaf || (strcmp(leaf, ".b") != 0 && strcmp(leaf, ".gamma") != 0 &&
	                 strcmp(leaf, ".beta") != 0);
}

typedef struct moments {
	double *first, *second; /* as the block lies */
} moments;

/* w, as it was before, and what a step makes of it. */
static void check_step(kit *k, const hec_model *m, const hec_tensor *before,
                       const hec_trainer_options *o, double lr, const gradient *g, int applied,
                       const moments *at)
{
	const hec_tensor dw = hec_model_block(g->sum), w = hec_model_block(m);
	const double scale = (g->norm > o->clip ? o->clip / g->norm : 1) / (double)g->targets;
	for (size_t p = 0; p < hec_model_param_count(m); p++) {
		const hec_model_param *param = hec_model_param_at(m, p);
		for (int64_t i = param->offset; i < param->offset + param->count; i++) {
			const double d = get(&dw, i) * scale, old = get(before, i);
			double *a = &at->first[i], *b = &at->second[i];
			*a = o->beta1 * *a + (1 - o->beta1) * d;
			*b = o->beta2 * *b + (1 - o->beta2) * d * d;
			const double want =
				old - lr * (decays(m, p) ? o->weight_decay : 0) * old -
				lr * (*a / (1 - pow(o->beta1, applied))) /
					(sqrt(*b / (1 - pow(o->beta2, applied))) + o->eps);
			/* Some roundings of w, and of both moments: the square root of the second is at
			 * least a quarter of the largest gradient so far. */
			const double most = 0x1p-24 * (4 * fabs(old) + 256 * lr);
			CHECK(k, fabs(get(&w, i) - want) <= most,
			      "%s: element %lld is %.9g, by definition %.9g (it was %.9g)",
			      param->name, (long long)(i - param->offset), get(&w, i), want, old);
		}
	}
}

static hec_status step_lesson(hec_trainer *t, const lesson *l)
{
	const hec_batch *const batches[BATCHES] = {&l->batches[0], &l->batches[1]};
	return hec_trainer_step(t, batches, BATCHES);
}

/* Weights that are no numbers: nothing of the step remains but its number. */
static void skip_step(kit *k, hec_trainer *t, hec_model *m, const lesson *l)
{
	hec_tensor block = hec_model_block(m), healthy = make_copy(k, &block);
	fill_with(&block, NAN);
	OK(k, hec_model_pack(k->ctx, m, true));
	OK(k, step_lesson(t, l));
	const hec_step_report *r = hec_trainer_report(t);
	CHECK(k, r->skipped && r->step == SKIPPED, "step %lld", (long long)r->step);
	OK(k, hec_tensor_copy(k->ctx, &healthy, &block));
	OK(k, hec_model_pack(k->ctx, m, true));
}

/* Returns how many of the steps were cut. */
static int follow_steps(kit *k, const hec_model_config *config)
{
	hec_model *m = model_open(k, config, HEC_F32);
	hec_trainer_options o = options();
	hec_trainer *t = NULL;
	gradient g = {0};
	int cut = 0, applied = 0;
	hec_tensor block = hec_model_block(m);
	moments at = {calloc((size_t)block.shape[0], sizeof(double)),
	              calloc((size_t)block.shape[0], sizeof(double))};
	assert_true(at.first && at.second);
	o.clip = 2;
	OK(k, hec_trainer_create(k->ctx, m, &o, &t));
	OK(k, hec_model_create_like(m, &g.sum));
	for (int step = 1; step <= STEPS; step++) {
		lesson l;
		draw_lesson(k, m, &l);
		if (step == SKIPPED) {
			skip_step(k, t, m, &l);
			continue;
		}
		sum_gradients(k, m, &o, &l, step, &g);
		hec_tensor before = make_copy(k, &block);
		OK(k, step_lesson(t, &l));
		const hec_step_report *r = hec_trainer_report(t);
		CHECK(k,
		      !r->skipped && r->step == step && r->targets == g.targets &&
		              fabs(r->loss - g.loss) < 1e-6 * g.loss &&
		              fabs(r->grad_norm - g.norm) < 1e-6 * g.norm &&
		              fabs(r->lr - rate(&o, step)) < 1e-12,
		      "step %d: %lld targets, loss %g, norm %g, rate %g", step,
		      (long long)r->targets, r->loss, r->grad_norm, r->lr);
		check_step(k, m, &before, &o, rate(&o, step), &g, ++applied, &at);
		cut += g.norm > o.clip;
	}
	free(at.first);
	free(at.second);
	hec_model_destroy(g.sum);
	hec_trainer_destroy(t);
	hec_model_destroy(m);
	return cut;
}

static void every_step_is_its_definition(void **state)
{
	(void)state;
	int cut = 0, all = 0;
	for (int n = 0; n < MODEL_VARIANTS; n++) {
		for (int form = 0; form < MODEL_FORMS; form++, all += STEPS - 1) {
			kit k = kit_open(7500 + (uint64_t)(n + 10 * form));
			hec_model_config config = model_variant(
				(model_form)form, n,
				form == FORM_ENCODER ? HEC_HEAD_MASKED : HEC_HEAD_LM, 0.2);
			cut += follow_steps(&k, &config);
			kit_close(&k);
		}
	}
	assert_true(cut > all / 8 && cut < 7 * all / 8);
}

static void a_table_that_is_never_learned_does_not_decay(void **state)
{
	(void)state;
	kit k = kit_open(7550);
	hec_model_config config = frames_variant(6, HEC_HEAD_LM, 0.2);
	assert_true(config.encoder.position.fixed);
	(void)follow_steps(&k, &config);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_is_its_definition),
		cmocka_unit_test(a_table_that_is_never_learned_does_not_decay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
