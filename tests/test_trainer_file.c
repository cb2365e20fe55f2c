/* test_trainer_file.c — a trainer's folder that is of another model, or damaged, is refused and changes
 * nothing; the mean of several folders is that of their numbers. */
#include "support/train.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hecate/trainer.h>

#include "base/file.h"
#include "train/checkpoint.h"
#include "train/sums.h"
#include "train/trainer.h"

enum { WORDS = 11, LENGTH = 6 };

static hec_stack_config stack(void)
{
	return (hec_stack_config){
		.layers = 1,
		.attention = {.size = sizeof(hec_multi_head_config), .heads = 2},
		.feed_forward = {.size = sizeof(hec_feed_forward_config),
	                         .hidden = 24,
	                         .act = HEC_ACT_RELU},
		.embedding_scale = 4,
		.position = {.kind = HEC_POSITION_SINUSOIDAL,
	                     .max = 16,
	                     .sinusoid = HEC_SINUSOID_HALVES},
	};
}

static hec_model_config config_of(void)
{
	return (hec_model_config){.size = sizeof(hec_model_config),
	                          .vocab = WORDS,
	                          .width = 16,
	                          .encoder = stack(),
	                          .decoder = stack(),
	                          .output_bias = true,
	                          .head = HEC_HEAD_LM,
	                          .pad_id = WORDS - 1,
	                          .bos_id = -1,
	                          .eos_id = 0,
	                          .start_id = WORDS - 1};
}

static hec_trainer *open_trainer(kit *k, const hec_model_config *c, uint64_t seed, hec_model **m)
{
	hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
	hec_trainer *t = NULL;
	o.max_tokens = o.max_source = o.max_target = LENGTH;
	OK(k, hec_model_create(k->ctx, c, HEC_F32, seed, m));
	OK(k, hec_trainer_create(k->ctx, *m, &o, &t));
	return t;
}

static void step(kit *k, hec_trainer *t, int32_t word)
{
	int32_t source[LENGTH], target[LENGTH], length = LENGTH;
	for (int i = 0; i < LENGTH; i++) {
		source[i] = (word + i) % (WORDS - 1);
		target[i] = (word + 2 * i) % (WORDS - 1);
	}
	hec_model_input read = HEC_MODEL_INPUT_INIT;
	read.ids = hec_tensor_2d(source, HEC_I32, 1, LENGTH);
	read.decoder_ids = hec_tensor_2d(source, HEC_I32, 1, LENGTH);
	read.length = read.decoder_length = &length;
	hec_batch b = HEC_BATCH_INIT;
	b.input = &read;
	b.targets = hec_tensor_2d(target, HEC_I32, 1, LENGTH);
	const hec_batch *const batches[1] = {&b};
	OK(k, hec_trainer_step(t, batches, 1));
}

static bool same_block(const hec_model *a, const hec_model *b)
{
	hec_tensor x = hec_model_block(a), y = hec_model_block(b);
	return x.shape[0] == y.shape[0] &&
	       memcmp(x.data, y.data, (size_t)x.shape[0] * sizeof(float)) == 0;
}

static bool same_trainer(const hec_trainer *a, const hec_trainer *b)
{
	return a->step == b->step && a->skips == b->skips && same_block(a->model, b->model) &&
	       same_block(a->first, b->first) && same_block(a->second, b->second);
}

/* ---- of another model ---- */

static void other_heads(hec_model_config *c)
{
	c->encoder.attention.heads = c->decoder.attention.heads = 4;
}
static void other_act(hec_model_config *c)
{
	c->encoder.feed_forward.act = c->decoder.feed_forward.act = HEC_ACT_GELU;
}
static void other_order(hec_model_config *c)
{
	c->encoder.norm_first = c->decoder.norm_first = true;
}
static void other_scale(hec_model_config *c)
{
	c->encoder.embedding_scale = c->decoder.embedding_scale = 1;
}
static void other_positions(hec_model_config *c)
{
	c->encoder.position.kind = c->decoder.position.kind = HEC_POSITION_NONE;
}
static void other_sinusoid(hec_model_config *c)
{
	c->encoder.position.sinusoid = c->decoder.position.sinusoid = HEC_SINUSOID_INTERLEAVED;
}
static void other_width(hec_model_config *c)
{
	c->encoder.feed_forward.hidden = 32;
}
static void other_words(hec_model_config *c)
{
	c->vocab = WORDS + 1;
}
static void other_end(hec_model_config *c)
{
	c->eos_id = 1;
}

static const struct {
	void (*change)(hec_model_config *c);
	const char *field, *there, *here;
} others[] = {
	{other_heads, "'encoder.attention.heads'", "2 there", "4 here"},
	{other_act, "'encoder.feed_forward.act'", "relu", "gelu"},
	{other_order, "'encoder.norm_first'", "false there", "true here"},
	{other_scale, "'encoder.embedding_scale'", "4.0 there", "1.0 here"},
	{other_positions, "'encoder.position.kind'", "sinusoidal", "none"},
	{other_sinusoid, "'encoder.position.sinusoid'", "halves", "interleaved"},
	{other_width, "'encoder.feed_forward.hidden'", "24 there", "32 here"},
	{other_words, "'vocab_size'", "11 there", "12 here"},
	{other_end, "'eos_token_id'", "0 there", "1 here"},
};

static void a_folder_of_another_model_is_refused_by_what_differs(void **state)
{
	(void)state;
	lab l = lab_open(8200);
	kit *k = &l.k;
	hec_model_config c = config_of();
	hec_model *m = NULL, *n = NULL;
	hec_trainer *saved = open_trainer(k, &c, 1, &m);
	step(k, saved, 3);
	OK(k, hec_trainer_save(saved, lab_path(&l, "")));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		hec_model_config other = c;
		others[i].change(&other);
		hec_trainer *t = open_trainer(k, &other, 2, &n);
		step(k, t, 5);
		FAILS(k, HEC_ERR_FORMAT, hec_trainer_load(t, lab_path(&l, "")), "another model",
		      others[i].field, others[i].there, others[i].here);
		assert_int_equal(hec_trainer_steps(t), 1);
		hec_trainer_destroy(t);
		hec_model_destroy(n);
	}
	hec_trainer_destroy(saved);
	hec_model_destroy(m);
	lab_close(&l);
}

/* Rates of dropout are no part of what was learned; nor is how far a table of positions goes that is
 * computed. */
static void other_dropouts_and_a_longer_table_go_on(void **state)
{
	(void)state;
	lab l = lab_open(8210);
	kit *k = &l.k;
	hec_model_config c = config_of();
	hec_model *m = NULL, *n = NULL;
	hec_trainer *saved = open_trainer(k, &c, 1, &m);
	step(k, saved, 3);
	OK(k, hec_trainer_save(saved, lab_path(&l, "")));
	c.encoder.dropout = c.decoder.attention.dropout_weights = 0.25;
	c.encoder.position.max = c.decoder.position.max = 40;
	hec_trainer *t = open_trainer(k, &c, 2, &n);
	CHECK(k, !same_trainer(saved, t), "two seeds gave the same weights");
	OK(k, hec_trainer_load(t, lab_path(&l, "")));
	CHECK(k, same_trainer(saved, t), "not what was saved");
	hec_trainer_destroy(t);
	hec_trainer_destroy(saved);
	hec_model_destroy(n);
	hec_model_destroy(m);
	lab_close(&l);
}

/* ---- damaged ---- */

static void change_byte(const lab *l, const char *name, size_t from_end)
{
	char *bytes;
	size_t size;
	assert_int_equal(file_read(lab_path(l, name), 1 << 24, &bytes, &size), HEC_OK);
	bytes[size - from_end] ^= 1;
	lab_write(l, name, bytes, size);
	free(bytes);
}

/* A number that is wrong is found before anything of the trainer is overwritten. */
static void damaged_numbers_leave_the_trainer_as_it_was(void **state)
{
	(void)state;
	lab l = lab_open(8220);
	kit *k = &l.k;
	hec_model_config c = config_of();
	hec_model *models[3] = {NULL};
	hec_trainer *saved = open_trainer(k, &c, 1, &models[0]);
	hec_trainer *t = open_trainer(k, &c, 2, &models[1]);
	hec_trainer *twin = open_trainer(k, &c, 2, &models[2]);
	step(k, saved, 3);
	OK(k, hec_trainer_save(saved, lab_path(&l, "")));
	step(k, t, 5);
	step(k, twin, 5);
	static const char *const files[2] = {"optimizer.safetensors", "model.safetensors"};
	for (size_t i = 0; i < 2; i++) {
		change_byte(&l, files[i], 9);
		FAILS(k, HEC_ERR_FORMAT, hec_trainer_load(t, lab_path(&l, "")),
		      "not those that were saved together");
		CHECK(k, same_trainer(t, twin), "%s: the trainer was changed", files[i]);
		change_byte(&l, files[i], 9);
	}
	step(k, t, 6);
	step(k, twin, 6);
	CHECK(k, same_trainer(t, twin), "it goes on in another way");
	OK(k, hec_trainer_load(t, lab_path(&l, "")));
	CHECK(k, same_trainer(t, saved), "not what was saved");
	step(k, t, 7);
	step(k, saved, 7);
	CHECK(k, same_trainer(t, saved), "it goes on in another way than the one that was saved");
	hec_trainer_destroy(saved);
	hec_trainer_destroy(t);
	hec_trainer_destroy(twin);
	for (int i = 0; i < 3; i++)
		hec_model_destroy(models[i]);
	lab_close(&l);
}

/* ---- the mean ---- */

/* GPT-2's: its files have matrices the other way round, and q, k and v as one. */
static hec_model_config gpt2_config(void)
{
	hec_model_config c = config_of();
	c.encoder = (hec_stack_config){0};
	c.decoder.norm_first = c.decoder.final_norm = true;
	c.decoder.attention.fused = true;
	c.decoder.feed_forward.act = HEC_ACT_GELU_TANH;
	c.decoder.embedding_scale = 1;
	c.decoder.position.kind = HEC_POSITION_LEARNED;
	c.output_bias = false;
	c.bos_id = c.eos_id;
	c.start_id = -1;
	return c;
}

static const run_identity of_run = {.seed = 5, .max_tokens = 80, .accumulate = 1, .data = 17};

/* The weights of a step as a checkpoint has them: with the sums of its files. */
static void save_step(const lab *l, const char *name, int64_t step, const hec_model *m)
{
	char path[256];
	run_state s = {.identity = of_run, .step = step, .chosen = -1};
	json_t *files = NULL;
	(void)mkdir(lab_path(l, name), 0777);
	snprintf(path, sizeof path, "%s/state.json", lab_path(l, name));
	unlink(path);
	OK(&l->k, hec_model_save(l->k.ctx, m, HEC_F32, lab_path(l, name)));
	OK(&l->k, sums_make(lab_path(l, name), &files));
	OK(&l->k, state_write(path, &s, files));
	json_decref(files);
}

/* Of the three newest of four, newest first, in double. */
static void check_mean(uint64_t seed, const hec_model_config *c)
{
	lab l = lab_open(seed);
	kit *k = &l.k;
	static const char *const names[4] = {"step-00000010", "step-00000020", "step-00000030",
	                                     "step-00000040"};
	hec_model *models[4] = {NULL}, *mean = NULL;
	for (size_t i = 0; i < 4; i++) {
		OK(k, hec_model_create(k->ctx, c, HEC_F32, seed + i, &models[i]));
		save_step(&l, names[i], 10 * (int64_t)(i + 1), models[i]);
	}
	OK(k, hec_model_create(k->ctx, c, HEC_F32, 99, &mean));
	const checkpoints all = {.dir = l.dir, .every = 10};
	int64_t count = 0;
	OK(k, checkpoint_average(&all, k->ctx, 3, 40, &of_run, mean, &count));
	assert_int_equal(count, 3);
	hec_tensor block = hec_model_block(mean);
	for (int64_t i = 0; i < block.shape[0]; i++) {
		double sum = 0;
		for (size_t m = 4; m-- > 1;)
			sum += (double)((const float *)hec_model_block(models[m]).data)[i];
		float wanted = (float)(sum / 3), got = ((const float *)block.data)[i];
		CHECK(k, memcmp(&wanted, &got, sizeof got) == 0 || wanted == got,
		      "number %lld is %g, not %g", (long long)i, (double)got, (double)wanted);
	}
	/* One of them is of another model: nothing is changed. */
	hec_model_config other = *c;
	other.decoder.attention.heads = 1;
	hec_model *strange = NULL;
	OK(k, hec_model_create(k->ctx, &other, HEC_F32, 5, &strange));
	save_step(&l, names[2], 30, strange);
	FAILS(k, HEC_ERR_FORMAT, checkpoint_average(&all, k->ctx, 3, 40, &of_run, mean, &count),
	      "step-00000030", "heads");
	hec_model_destroy(strange);
	hec_model_destroy(mean);
	for (size_t i = 0; i < 4; i++)
		hec_model_destroy(models[i]);
	lab_close(&l);
}

static void a_mean_is_that_of_the_numbers(void **state)
{
	(void)state;
	hec_model_config marian = config_of(), gpt2 = gpt2_config();
	check_mean(8230, &marian);
	check_mean(8240, &gpt2);
}

/* As text, the newest would be the first. A stop in between, which no plan has, does not count. */
static void the_newest_are_those_of_the_highest_steps(void **state)
{
	(void)state;
	lab l = lab_open(8250);
	kit *k = &l.k;
	static const char *const names[4] = {"step-99999980", "step-99999990", "step-100000000",
	                                     "step-99999985"};
	hec_model_config c = config_of();
	static const int64_t steps[4] = {99999980, 99999990, 100000000, 99999985};
	hec_model *models[4] = {NULL}, *mean = NULL;
	for (size_t i = 0; i < 4; i++) {
		OK(k, hec_model_create(k->ctx, &c, HEC_F32, 60 + i, &models[i]));
		save_step(&l, names[i], steps[i], models[i]);
	}
	OK(k, hec_model_create(k->ctx, &c, HEC_F32, 99, &mean));
	const checkpoints all = {.dir = l.dir, .every = 10};
	int64_t count = 0;
	OK(k, checkpoint_average(&all, k->ctx, 1, 100000000, &of_run, mean, &count));
	CHECK(k, same_block(mean, models[2]), "not the one of step 100000000");
	OK(k, checkpoint_average(&all, k->ctx, 1, 99999999, &of_run, mean, &count));
	CHECK(k, same_block(mean, models[1]), "not the one of step 99999990");
	OK(k, checkpoint_average(&all, k->ctx, 1, 99999989, &of_run, mean, &count));
	CHECK(k, same_block(mean, models[0]), "not the one of step 99999980");
	hec_model_destroy(mean);
	for (size_t i = 0; i < 4; i++)
		hec_model_destroy(models[i]);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_of_another_model_is_refused_by_what_differs),
		cmocka_unit_test(other_dropouts_and_a_longer_table_go_on),
		cmocka_unit_test(damaged_numbers_leave_the_trainer_as_it_was),
		cmocka_unit_test(a_mean_is_that_of_the_numbers),
		cmocka_unit_test(the_newest_are_those_of_the_highest_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
